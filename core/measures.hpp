// Swing and twist of a spherical joint as coordinates: value, gradient over the angular velocity, velocity products.
#pragma once
#include <cmath>

#include "manifold.hpp"

UKEMI_BEGIN

/// A function of a rotation: x, its gradient (x_dot = gradient . w, w in the child), and x_dd when w does not change.
struct Measured {
    double x;
    Vec3<double> gradient;
    double product;
};

/// Angle of the twist about `axis`: 2 atan2(r . axis, w) of the quaternion (w, r).
inline Measured twist_angle(const Vec3<double>& axis, const Quat& q, const Vec3<double>& w) {
    const Vec3<double> r = {q.x, q.y, q.z};
    const double s = dot(r, axis), size = std::fmax(q.w * q.w + s * s, 1e-12);  // none after half a turn of swing
    Measured m;
    m.x = 2 * std::atan2(s, q.w);
    if (m.x > M_PI) m.x -= 2 * M_PI;
    if (m.x < -M_PI) m.x += 2 * M_PI;
    // x_dot = 2 (w s_dot - s w_dot) / size, and that numerator does not change: q_dd = -|w|^2 / 4 q
    m.gradient = ((axis * q.w + cross(axis, r)) * q.w + r * s) * (1 / size);
    const double w_dot = -0.5 * dot(r, w), s_dot = 0.5 * dot(axis * q.w + cross(axis, r), w);
    m.product = -dot(m.gradient, w) * 2 * (q.w * w_dot + s * s_dot) / size;
    return m;
}

/// f(c) = angle / sine of a swing whose cosine is c, with its first two derivatives.
struct SwingFactor { double f, df, ddf; };
inline SwingFactor swing_factor(double c) {
    const double x = 0.5 * (1 - c);  // sin^2 of half the angle
    if (x < 0.02) {  // sum of a_n x^n, a_(n+1) / a_n = 2 (n + 1) / (2 n + 3)
        double a = 1, power = 1, f = 0, fx = 0, fxx = 0, p1 = 0, p2 = 0;
        for (int n = 0; n < 12; ++n) {
            f += a * power;
            fx += n * a * p1;
            fxx += n * (n - 1) * a * p2;
            p2 = p1, p1 = power, power *= x;
            a *= 2.0 * (n + 1) / (2 * n + 3);
        }
        return {f, -0.5 * fx, 0.25 * fxx};
    }
    const double angle = std::acos(std::fmax(-1.0, c)), s = std::sqrt(std::fmax((1 - c) * (1 + c), 1e-30)), s2 = s * s;
    return {angle / s, (angle * c / s - 1) / s2, (angle - 3 * c / s + 3 * angle * c * c / s2) / (s2 * s)};
}

/// How far the swing of `axis` is out: 1 on the edge of its cone.
inline Measured swing_share(const JointMeasure& cone, const Quat& q, const Vec3<double>& w) {
    const Vec3<double>& a = cone.axis;
    const Vec3<double> other = cross(a, cone.across);
    const Mat3<double> R = rotation(q.w, q.x, q.y, q.z);
    const Vec3<double> d = R * a, u = cross(a, d);
    const SwingFactor k = swing_factor(dot(a, d));
    const Vec3<double> swing = u * k.f;  // rotation vector of the swing
    const double s1 = dot(swing, cone.across), s2 = dot(swing, other);
    const double h1 = cone.wide[s1 < 0 ? 0 : 1], h2 = cone.wide[s2 < 0 ? 2 : 3];
    const double w1 = 1 / (h1 * h1), w2 = 1 / (h2 * h2), x = std::sqrt(s1 * s1 * w1 + s2 * s2 * w2);
    Measured m{x, {0, 0, 0}, 0};
    if (x < 1e-12) return m;  // at rest in the middle: far from any edge
    auto swing_rate = [&](const Vec3<double>& d_dot) { return u * (k.df * dot(a, d_dot)) + cross(a, d_dot) * k.f; };
    auto share_rate = [&](const Vec3<double>& rate) { return (s1 * w1 * dot(rate, cone.across) + s2 * w2 * dot(rate, other)) / x; };
    const Vec3<double> ex{1, 0, 0}, ey{0, 1, 0}, ez{0, 0, 1};
    m.gradient = {share_rate(swing_rate(R * cross(ex, a))), share_rate(swing_rate(R * cross(ey, a))), share_rate(swing_rate(R * cross(ez, a)))};
    // w in the child does not change, so neither does it in the parent: d_dd = w x (w x d)
    const Vec3<double> d_dot = R * cross(w, a), d_dd = R * cross(w, cross(w, a));
    const double c_dot = dot(a, d_dot);
    const Vec3<double> rate = swing_rate(d_dot);
    const Vec3<double> rate_dot = u * (k.ddf * c_dot * c_dot + k.df * dot(a, d_dd)) + cross(a, d_dot) * (2 * k.df * c_dot) + cross(a, d_dd) * k.f;
    const double r1 = dot(rate, cone.across), r2 = dot(rate, other), x_dot = share_rate(rate);
    m.product = ((r1 * r1 + s1 * dot(rate_dot, cone.across)) * w1 + (r2 * r2 + s2 * dot(rate_dot, other)) * w2 - x_dot * x_dot) / x;
    return m;
}

inline Measured measure(const JointMeasure& m, const double* q, const double* v) {
    return m.swing ? swing_share(m, load_quat(q), read3(v)) : twist_angle(m.axis, load_quat(q), read3(v));
}

UKEMI_END
