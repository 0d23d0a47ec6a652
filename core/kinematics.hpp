// Where things are and how they move: poses, Jacobians and their rate times v, centre of mass, momentum, energy.
#pragma once
#include "elastic.hpp"
#include "joints.hpp"

UKEMI_BEGIN

/// World pose of every body.
template <class T> inline void body_poses(const Tree& tree, const In<T>& q, Placement<T>* X) {
    for (std::size_t i = 0; i < tree.bodies.size(); ++i) {
        const Body& b = tree.bodies[i];
        X[i] = placement(b, q);
        if (b.parent >= 0) {
            const Placement<T>& P = X[b.parent];
            X[i] = {P.R * X[i].R, P.p + P.R * X[i].p};
        }
    }
}

template <class T> UKEMI_INLINE Placement<T> link_pose(const Tree& tree, const Placement<T>* X, int link) {
    const Link& l = tree.links[link];
    const Placement<T> local = {{l.R.xx + T{}, l.R.xy + T{}, l.R.xz + T{}, l.R.yx + T{}, l.R.yy + T{}, l.R.yz + T{}, l.R.zx + T{}, l.R.zy + T{}, l.R.zz + T{}},
                                {l.p.x + T{}, l.p.y + T{}, l.p.z + T{}}};
    if (l.body < 0) return local;
    const Placement<T>& B = X[l.body];
    return {B.R * local.R, B.p + B.R * local.p};
}

/// 4x4 homogeneous matrices X_WL, one per link.
template <class T> inline void link_poses(const Tree& tree, const In<T>& q, Placement<T>* X, const Out<T>& out) {
    body_poses(tree, q, X);
    for (std::size_t i = 0; i < tree.links.size(); ++i) {
        const Placement<T> L = link_pose(tree, X, static_cast<int>(i));
        const T entries[16] = {L.R.xx, L.R.xy, L.R.xz, L.p.x, L.R.yx, L.R.yy, L.R.yz, L.p.y,
                               L.R.zx, L.R.zy, L.R.zz, L.p.z, T{}, T{}, T{}, 1.0 + T{}};
        for (int k = 0; k < 16; ++k) out.set(16 * static_cast<std::ptrdiff_t>(i) + k, entries[k]);
    }
}

/// 6 x nv Jacobian of a point of a link (point in link coordinates), in world axes; `out` is cleared by the caller.
inline void jacobian(const Tree& tree, const In<double>& q, int link, const Vec3<double>& point, Placement<double>* X, double* out) {
    body_poses(tree, q, X);
    const Placement<double> L = link_pose(tree, X, link);
    const Vec3<double> at = L.p + L.R * point;
    for (int i = tree.links[link].body; i >= 0; i = tree.bodies[i].parent) {
        const Body& b = tree.bodies[i];
        const Vec3<double> arm = at - X[i].p;
        const Mat3<double> R_local = b.kind == JointKind::planar ? placement(b, q).R : X[i].R;
        for (int k = 0; k < b.nv; ++k) {
            const Motion<double> S = subspace(b, R_local, q, k);
            const Vec3<double> ang = X[i].R * S.ang, lin = X[i].R * S.lin + cross(ang, arm);
            const double column[6] = {lin.x, lin.y, lin.z, ang.x, ang.y, ang.z};
            for (int c = 0; c < 6; ++c) out[c * tree.nv + b.iv + k] = column[c];
        }
    }
}

/// Velocity and acceleration of every body, in body coordinates (no gravity); without qdd that which velocities alone cause.
struct BodyMotion {
    Placement<double> X;          // in the world
    Vec3<double> v, w, a, alpha;  // of the origin, angular; classical accelerations
};
inline void body_motions(const Tree& tree, const In<double>& q, const In<double>& v, BodyMotion* B, const In<double>& qdd = {nullptr, 0}) {
    const Vec3<double> none = zero3<double>();
    const BodyMotion world{{{1, 0, 0, 0, 1, 0, 0, 0, 1}, none}, none, none, none, none};
    for (std::size_t i = 0; i < tree.bodies.size(); ++i) {
        const Body& b = tree.bodies[i];
        const BodyMotion& P = b.parent < 0 ? world : B[b.parent];
        const Placement<double> X = placement(b, q);
        const Rates<double> r = rates(b, X.R, v);
        BodyMotion& x = B[i];
        x.X = {P.X.R * X.R, P.X.p + P.X.R * X.p};
        const Vec3<double> wp = cross(P.w, X.p), w_in = tmul(X.R, P.w);
        x.v = tmul(X.R, P.v + wp + r.p_dot);
        x.w = w_in + r.w;
        x.a = tmul(X.R, P.a + cross(P.alpha, X.p) + cross(P.w, wp + r.p_dot * 2.0) + r.gamma);
        x.alpha = tmul(X.R, P.alpha) + cross(w_in, r.w) + r.zeta;
        if (qdd.data) {
            const Motion<double> m = joint_motion(b, X.R, q, qdd);
            x.a += m.lin, x.alpha += m.ang;
        }
    }
}

/// J_dot v of a point of a link, in world axes: its classical acceleration when qdd = 0.
inline void jacobian_rate(const Tree& tree, const In<double>& q, const In<double>& v, int link, const Vec3<double>& point, BodyMotion* B,
                          double* out) {
    body_motions(tree, q, v, B);
    const Link& l = tree.links[link];
    if (l.body < 0) return;
    const BodyMotion& x = B[l.body];
    const Vec3<double> arm = l.p + l.R * point;
    write3(out, x.X.R * (x.a + cross(x.alpha, arm) + cross(x.w, cross(x.w, arm))));
    write3(out + 3, x.X.R * x.alpha);
}

struct Mechanics {
    double mass;
    Vec3<double> com, linear, angular;  // centre of mass; momentum, about the centre of mass, world axes
    double kinetic;
};
inline Mechanics mechanics(const Tree& tree, const In<double>& q, const In<double>& v, BodyMotion* B) {
    body_motions(tree, q, v, B);
    const Vec3<double> none = zero3<double>();
    Mechanics m{0, none, none, none, 0};
    if (tree.bodies.empty()) return m;
    const Vec3<double> origin = B[0].X.p;  // sums are taken about the first body: no cancellation far from the world's origin
    for (std::size_t i = 0; i < tree.bodies.size(); ++i) {
        const Body& b = tree.bodies[i];
        const BodyMotion& x = B[i];
        const Vec3<double> p_b = x.v * b.mass + cross(x.w, b.h), l_b = cross(b.h, x.v) + b.I * x.w;  // at the body's origin
        const Vec3<double> p = x.X.R * p_b, r = x.X.p - origin;
        m.mass += b.mass;
        m.com += r * b.mass + x.X.R * b.h;
        m.linear += p;
        m.angular += x.X.R * l_b + cross(r, p);
        m.kinetic += 0.5 * (dot(x.v, p_b) + dot(x.w, l_b));
        for (int k = 0; k < b.nv && b.armed; ++k) m.kinetic += 0.5 * b.armature[k] * v[b.iv + k] * v[b.iv + k];
    }
    const double share = m.mass > 0 ? 1.0 / m.mass : 0.0;
    m.com = m.com * share;
    m.angular -= cross(m.com, m.linear);
    m.com += origin;
    return m;
}

UKEMI_END
