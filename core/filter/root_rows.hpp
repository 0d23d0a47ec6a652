// Root equations of a motion: rate of the whole figure's momentum, and its derivatives by the motion.
//
// Everything is in world axes about a point O at rest (the root's origin at this instant). Let a body be displaced by the twist
// xi = sum_j S_j x_j over the joints that carry it. Then (right-invariant variation, as in Garofalo, Ott, Albu-Schaeffer 2015)
//   delta h_i = xi x* h_i + I_i xi',       h_i = I_i V_i,
// and the time derivative of that, summed over the bodies that joint j carries (composites m, c, J, h of the subtree), is
//   d w / d x''_j = I S,   d w / d x'_j = 2 I S' + S x* h + I' S,
//   d w / d x_j   = I S'' + S' x* h + S x* h' + I' S' - (what gravity does to the displaced mass),
// S' = U x S, S'' = U' x S + U x S', U the velocity of the frame in which the joint's axis is fixed.
#pragma once
#include "../kinematics.hpp"
#include "trajectory_data.hpp"

UKEMI_BEGIN

/// Motion of a body and what its subtree adds up to, in world axes about O.
struct RootBody {
    Mat3<double> R;
    Vec3<double> p;                     // origin, from O
    Motion<double> V, A;                // velocity and spatial acceleration at O
    double m;                           // composites from here
    Vec3<double> mc, P, L, P_dot, L_dot;
    Mat3<double> J, J_dot;
    Vec3<double> f;                     // contact forces: sum of f, of p f^T, of p . f
    Mat3<double> pf;
};

UKEMI_INLINE Motion<double> cross_motion(const Motion<double>& a, const Motion<double>& b) {
    return {cross(a.ang, b.lin) + cross(a.lin, b.ang), cross(a.ang, b.ang)};
}
UKEMI_INLINE Motion<double> operator+(const Motion<double>& a, const Motion<double>& b) { return {a.lin + b.lin, a.ang + b.ang}; }
UKEMI_INLINE Motion<double> operator*(const Motion<double>& a, double s) { return {a.lin * s, a.ang * s}; }
UKEMI_INLINE Force<double> operator+(const Force<double>& a, const Force<double>& b) { return {a.f + b.f, a.n + b.n}; }
UKEMI_INLINE Force<double> cross_force(const Motion<double>& a, const Force<double>& w) {
    return {cross(a.ang, w.f), cross(a.ang, w.n) + cross(a.lin, w.f)};
}
/// a b^T
UKEMI_INLINE Mat3<double> outer(const Vec3<double>& a, const Vec3<double>& b) {
    return {a.x * b.x, a.x * b.y, a.x * b.z, a.y * b.x, a.y * b.y, a.y * b.z, a.z * b.x, a.z * b.y, a.z * b.z};
}
UKEMI_INLINE Mat3<double> full(const Sym3<double>& s) { return {s.xx, s.xy, s.xz, s.xy, s.yy, s.yz, s.xz, s.yz, s.zz}; }
/// s 1 - a b^T - b a^T, which is the inertia that the first moment a at b adds (s = 2 a . b)
UKEMI_INLINE Mat3<double> moment_pair(const Vec3<double>& a, const Vec3<double>& b) {
    Mat3<double> m = outer(a, b);
    const double s = 2 * dot(a, b);
    return {s - 2 * m.xx, -m.xy - m.yx, -m.xz - m.zx, -m.xy - m.yx, s - 2 * m.yy, -m.yz - m.zy, -m.xz - m.zx, -m.yz - m.zy, s - 2 * m.zz};
}

/// Motions of all bodies, their own momenta (not yet composites), about the root's origin, which is returned.
inline Vec3<double> root_motions(const Tree& tree, const double* q, const double* v, const double* a, BodyMotion* motions, RootBody* bodies) {
    body_motions(tree, {q, 0}, {v, 0}, motions, {a, 0});
    const Vec3<double> O = motions[0].X.p;
    for (std::size_t i = 0; i < tree.bodies.size(); ++i) {
        const Body& b = tree.bodies[i];
        const BodyMotion& x = motions[i];
        RootBody& y = bodies[i];
        y.R = x.X.R;
        const Vec3<double> d = y.p = x.X.p - O, v_w = y.R * x.v, w = y.R * x.w, a_w = y.R * x.a, alpha = y.R * x.alpha;
        y.V = {v_w - cross(w, d), w};
        y.A = {a_w - cross(alpha, d) - cross(w, v_w), alpha};
        const Vec3<double> h = y.R * b.h, h_dot = cross(w, h);
        const Mat3<double> J = full(rotate(y.R, b.I));
        y.m = b.mass;
        y.mc = h + d * b.mass;
        y.P = v_w * b.mass + h_dot;
        y.L = cross(h, v_w) + J * w + cross(d, y.P);
        y.P_dot = a_w * b.mass + cross(alpha, h) + cross(w, h_dot);
        y.L_dot = cross(h, a_w) + J * alpha + cross(w, J * w) + cross(d, y.P_dot);
        y.J = J;
        y.J += moment_pair(h, d);
        y.J += moment_pair(d * (0.5 * b.mass), d);
        y.J_dot = cross_times(w, J);
        y.J_dot -= times_cross(J, w);
        y.J_dot += moment_pair(h_dot, d);
        y.J_dot += moment_pair(h, v_w);
        y.J_dot += moment_pair(d * b.mass, v_w);
        y.f = zero3<double>();
        y.pf = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    }
    return O;
}

inline void root_composites(const Tree& tree, RootBody* bodies) {
    for (int i = static_cast<int>(tree.bodies.size()) - 1; i > 0; --i) {
        const RootBody& x = bodies[i];
        RootBody& y = bodies[tree.bodies[static_cast<std::size_t>(i)].parent];
        y.m += x.m, y.mc += x.mc, y.P += x.P, y.L += x.L, y.P_dot += x.P_dot, y.L_dot += x.L_dot, y.J += x.J, y.J_dot += x.J_dot, y.f += x.f, y.pf += x.pf;
    }
}

/// Whether an axis stands in the parent: the first of a universal joint, the directions of a planar one.
UKEMI_INLINE bool in_parent(const Body& b, int k) { return (b.kind == JointKind::universal && k == 0) || (b.kind == JointKind::planar && k < 2); }

/// The axis of a velocity coordinate in the world, and the velocity and acceleration of the frame it is fixed in.
struct Axis { Motion<double> S, U, U_dot; };
inline Axis root_axis(const Tree& tree, const double* q, const RootBody* bodies, int body, int k) {
    const Body& b = tree.bodies[static_cast<std::size_t>(body)];
    const RootBody& x = bodies[body];
    const Mat3<double> R_local = b.kind == JointKind::planar ? placement(b, In<double>{q, 0}).R : x.R;
    const Motion<double> s = subspace(b, R_local, In<double>{q, 0}, k);
    const Vec3<double> ang = x.R * s.ang, lin = x.R * s.lin - cross(ang, x.p);
    if (!in_parent(b, k)) return {{lin, ang}, x.V, x.A};
    if (b.parent < 0) return {{lin, ang}, {zero3<double>(), zero3<double>()}, {zero3<double>(), zero3<double>()}};
    return {{lin, ang}, bodies[b.parent].V, bodies[b.parent].A};
}

UKEMI_INLINE Force<double> apply_inertia(const RootBody& c, const Motion<double>& t) {
    return {t.lin * c.m + cross(t.ang, c.mc), cross(c.mc, t.lin) + c.J * t.ang};
}
UKEMI_INLINE Force<double> apply_inertia_rate(const RootBody& c, const Motion<double>& t) {
    return {cross(t.ang, c.P), cross(c.P, t.lin) + c.J_dot * t.ang};
}

/// Columns of the root rows by x, x' and x'' of one coordinate; contact forces that move with the subtree included.
inline void root_columns(const Axis& axis, const RootBody& c, const Vec3<double>& g, Force<double>* by_x, Force<double>* by_rate, Force<double>* by_acc) {
    const Motion<double>& S = axis.S;
    const Motion<double> S1 = cross_motion(axis.U, S), S2 = cross_motion(axis.U_dot, S) + cross_motion(axis.U, S1);
    const Force<double> h{c.P, c.L}, h_dot{c.P_dot, c.L_dot};
    *by_acc = apply_inertia(c, S);
    *by_rate = apply_inertia(c, S1 * 2.0) + cross_force(S, h) + apply_inertia_rate(c, S);
    *by_x = apply_inertia(c, S2) + cross_force(S1, h) + cross_force(S, h_dot) + apply_inertia_rate(c, S1);
    by_x->n -= cross(S.lin * c.m + cross(S.ang, c.mc), g);
    // sum of (lin + ang x p) x f = lin x F + (sum p f^T) ang - ang sum p . f
    by_x->n -= cross(S.lin, c.f) + c.pf * S.ang - S.ang * (c.pf.xx + c.pf.yy + c.pf.zz);
}

UKEMI_END
