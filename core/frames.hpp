// Frames at the border: plain arithmetic on placements, for code that is compiled once for all processors.
#pragma once
#include "types.hpp"

namespace ukemi {

inline Vec3<double> vec3(const double* p) { return {p[0], p[1], p[2]}; }
inline Mat3<double> mat3(const double* m) { return {m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8]}; }

inline Vec3<double> turned(const Mat3<double>& R, const Vec3<double>& p) {
    return {R.xx * p.x + R.xy * p.y + R.xz * p.z, R.yx * p.x + R.yy * p.y + R.yz * p.z, R.zx * p.x + R.zy * p.y + R.zz * p.z};
}
inline Mat3<double> transposed(const Mat3<double>& R) { return {R.xx, R.yx, R.zx, R.xy, R.yy, R.zy, R.xz, R.yz, R.zz}; }
inline Mat3<double> turned(const Mat3<double>& a, const Mat3<double>& b) {
    const Vec3<double> x = turned(a, Vec3<double>{b.xx, b.yx, b.zx}), y = turned(a, Vec3<double>{b.xy, b.yy, b.zy}), z = turned(a, Vec3<double>{b.xz, b.yz, b.zz});
    return {x.x, y.x, z.x, x.y, y.y, z.y, x.z, y.z, z.z};
}
/// X_AC from X_AB and X_BC.
inline Placement<double> placed(const Placement<double>& X_AB, const Placement<double>& X_BC) {
    const Vec3<double> p = turned(X_AB.R, X_BC.p);
    return {turned(X_AB.R, X_BC.R), {X_AB.p.x + p.x, X_AB.p.y + p.y, X_AB.p.z + p.z}};
}
/// X_BC from X_AB and X_AC.
inline Placement<double> seen_from(const Placement<double>& X_AB, const Placement<double>& X_AC) {
    const Mat3<double> R = transposed(X_AB.R);
    return {turned(R, X_AC.R), turned(R, Vec3<double>{X_AC.p.x - X_AB.p.x, X_AC.p.y - X_AB.p.y, X_AC.p.z - X_AB.p.z})};
}

inline constexpr Placement<double> no_shift{{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};

/// To and from homogeneous matrices (4, 4).
inline Placement<double> from_matrix(const double* X) { return {{X[0], X[1], X[2], X[4], X[5], X[6], X[8], X[9], X[10]}, {X[3], X[7], X[11]}}; }
inline void to_matrix(const Placement<double>& X, double* out) {
    const double m[16] = {X.R.xx, X.R.xy, X.R.xz, X.p.x, X.R.yx, X.R.yy, X.R.yz, X.p.y, X.R.zx, X.R.zy, X.R.zz, X.p.z, 0, 0, 0, 1};
    for (int i = 0; i < 16; ++i) out[i] = m[i];
}

}  // namespace ukemi
