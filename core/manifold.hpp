// Motion on the configuration manifold: exponential and logarithm of rotations and of rigid motions, integrate,
// difference, and the chart in which the integrators work. Scalar code: it runs once per step.
#pragma once
#include <cmath>

#include "spatial.hpp"

UKEMI_BEGIN

struct Quat { double w, x, y, z; };

inline Quat operator*(const Quat& a, const Quat& b) {
    return {a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
            a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}
inline Quat conjugate(const Quat& a) { return {a.w, -a.x, -a.y, -a.z}; }
inline Quat normalized(const Quat& a) {
    const double s = 1.0 / std::sqrt(a.w * a.w + a.x * a.x + a.y * a.y + a.z * a.z);
    return {a.w * s, a.x * s, a.y * s, a.z * s};
}
inline Quat load_quat(const double* q) { return {q[0], q[1], q[2], q[3]}; }
inline void store_quat(double* q, const Quat& a) { q[0] = a.w, q[1] = a.x, q[2] = a.y, q[3] = a.z; }

/// Quaternion of a rotation vector ([SV00] eq. 39-44).
inline Quat exp_rotation(const Vec3<double>& r) {
    const double t2 = dot(r, r), t = std::sqrt(t2);
    const double s = t < 1e-4 ? 0.5 - t2 / 48 : std::sin(0.5 * t) / t;
    return {std::cos(0.5 * t), r.x * s, r.y * s, r.z * s};
}
/// Rotation vector of a unit quaternion, of length at most pi.
inline Vec3<double> log_rotation(const Quat& a) {
    const double sign = a.w < 0 ? -1.0 : 1.0;
    const double n2 = a.x * a.x + a.y * a.y + a.z * a.z, n = std::sqrt(n2), w = std::fabs(a.w);
    const double s = sign * (n < 1e-7 ? 2.0 / w : 2.0 * std::atan2(n, w) / n);
    return {a.x * s, a.y * s, a.z * s};
}

/// Coefficients of the series below: (1 - cos t) / t^2, (t - sin t) / t^3, and (1 - (t/2) cot(t/2)) / t^2.
struct RotationSeries { double b, c, d; };
inline RotationSeries rotation_series(double t2) {
    if (t2 < 1e-4) {
        return {0.5 - t2 / 24 + t2 * t2 / 720, 1.0 / 6 - t2 / 120 + t2 * t2 / 5040, 1.0 / 12 + t2 / 720 + t2 * t2 / 30240};
    }
    const double t = std::sqrt(t2), s = std::sin(0.5 * t);
    return {2 * s * s / t2, (t - std::sin(t)) / (t2 * t), (1.0 - 0.5 * t * std::cos(0.5 * t) / s) / t2};
}
/// V r: displacement in the starting frame of a body that moves with constant twist (v, w) for unit time.
inline Vec3<double> screw_displacement(const Vec3<double>& w, const Vec3<double>& v) {
    const RotationSeries k = rotation_series(dot(w, w));
    const Vec3<double> wv = cross(w, v);
    return v + wv * k.b + cross(w, wv) * k.c;
}
/// The inverse of screw_displacement.
inline Vec3<double> screw_velocity(const Vec3<double>& w, const Vec3<double>& p) {
    const RotationSeries k = rotation_series(dot(w, w));
    const Vec3<double> wp = cross(w, p);
    return p - wp * 0.5 + cross(w, wp) * k.d;
}
/// Rate of a rotation vector r when the body turns at w in its own coordinates: the inverse right Jacobian.
inline Vec3<double> rotation_vector_rate(const Vec3<double>& r, const Vec3<double>& w) {
    const RotationSeries k = rotation_series(dot(r, r));
    const Vec3<double> rw = cross(r, w);
    return w + rw * 0.5 + cross(r, rw) * k.d;
}

inline Vec3<double> turn(const Quat& a, const Vec3<double>& p) { return rotation(a.w, a.x, a.y, a.z) * p; }
inline Vec3<double> turn_back(const Quat& a, const Vec3<double>& p) { return tmul(rotation(a.w, a.x, a.y, a.z), p); }
inline Vec3<double> read3(const double* p) { return {p[0], p[1], p[2]}; }
inline void write3(double* p, const Vec3<double>& a) { p[0] = a.x, p[1] = a.y, p[2] = a.z; }

/// q_new = q moved by the constant velocity v for a time dt.
inline void integrate(const Tree& tree, const double* q, const double* v, double dt, double* q_new) {
    for (const Body& b : tree.bodies) {
        const double *x = q + b.iq, *u = v + b.iv;
        double* y = q_new + b.iq;
        if (b.kind == JointKind::spherical) {
            store_quat(y, normalized(load_quat(x) * exp_rotation(read3(u) * dt)));
        } else if (b.kind == JointKind::free) {
            const Quat a = load_quat(x + 3);
            const Vec3<double> w = read3(u + 3) * dt, p = read3(x);
            const Vec3<double> p_new = p + turn(a, screw_displacement(w, read3(u) * dt));
            store_quat(y + 3, normalized(a * exp_rotation(w)));
            write3(y, p_new);
        } else {
            for (int k = 0; k < b.nv; ++k) y[k] = x[k] + u[k] * dt;
        }
    }
}

/// Semi-implicit Euler: v by the accelerations a, then q by the new v. The linear velocity of a free joint goes on in world
/// axes, in which a body in flight keeps it: in link axes its turning would add (dt w)^2 of it in every step.
inline void semi_implicit(const Tree& tree, const double* a, double dt, double* q, double* v) {
    for (const Body& b : tree.bodies) {
        double *x = q + b.iq, *u = v + b.iv;
        const double* rate = a + b.iv;
        if (b.kind == JointKind::free) {
            const Vec3<double> v_L = read3(u), w = read3(u + 3), w_new = w + read3(rate + 3) * dt;
            const Quat before = load_quat(x + 3), after = normalized(before * exp_rotation(w_new * dt));
            const Vec3<double> v_W = turn(before, v_L + (read3(rate) + cross(w, v_L)) * dt);
            write3(x, read3(x) + v_W * dt), store_quat(x + 3, after);
            write3(u, turn_back(after, v_W)), write3(u + 3, w_new);
            continue;
        }
        for (int k = 0; k < b.nv; ++k) u[k] += dt * rate[k];
        if (b.kind == JointKind::spherical) store_quat(x, normalized(load_quat(x) * exp_rotation(read3(u) * dt)));
        else for (int k = 0; k < b.nv; ++k) x[k] += dt * u[k];
    }
}

/// The velocity that moves q0 to q1 in unit time, for one joint.
inline void joint_difference(const Body& b, const double* x0, const double* x1, double* d) {
    if (b.kind == JointKind::spherical) {
        write3(d, log_rotation(conjugate(load_quat(x0)) * load_quat(x1)));
    } else if (b.kind == JointKind::free) {
        const Quat a = load_quat(x0 + 3);
        const Vec3<double> w = log_rotation(conjugate(a) * load_quat(x1 + 3));
        write3(d, screw_velocity(w, turn_back(a, read3(x1) - read3(x0))));
        write3(d + 3, w);
    } else {
        for (int k = 0; k < b.nv; ++k) d[k] = x1[k] - x0[k];
    }
}
inline void difference(const Tree& tree, const double* q0, const double* q1, double* d) {
    for (const Body& b : tree.bodies) joint_difference(b, q0 + b.iq, q1 + b.iq, d + b.iv);
}

/// The integrators' chart around q0: positions and angles add, rotations multiply by exp.
inline void retract(const Tree& tree, const double* q0, const double* x, double* q) {
    for (const Body& b : tree.bodies) {
        const double *u = x + b.iv, *from = q0 + b.iq;
        double* to = q + b.iq;
        const int plain = b.kind == JointKind::spherical ? 0 : b.kind == JointKind::free ? 3 : b.nv;
        for (int k = 0; k < plain; ++k) to[k] = from[k] + u[k];
        if (plain < b.nv) store_quat(to + plain, normalized(load_quat(from + plain) * exp_rotation(read3(u + plain))));
    }
}
/// Rate of the chart's coordinates x at the state (q, v), q = retract(q0, x).
inline void chart_rate(const Tree& tree, const double* x, const double* q, const double* v, double* rate) {
    for (const Body& b : tree.bodies) {
        const double* u = v + b.iv;
        double* out = rate + b.iv;
        if (b.kind == JointKind::spherical) {
            write3(out, rotation_vector_rate(read3(x + b.iv), read3(u)));
        } else if (b.kind == JointKind::free) {
            write3(out, turn(load_quat(q + b.iq + 3), read3(u)));
            write3(out + 3, rotation_vector_rate(read3(x + b.iv + 3), read3(u + 3)));
        } else {
            for (int k = 0; k < b.nv; ++k) out[k] = u[k];
        }
    }
}

UKEMI_END
