// Inverse dynamics: recursive Newton-Euler in link coordinates with classical accelerations.
#pragma once
#include "elastic.hpp"
#include "joints.hpp"

UKEMI_BEGIN

template <class T> struct RneaBody {
    Placement<T> X;
    Vec3<T> w, a, alpha;  // angular velocity; acceleration of the origin (gravity included); angular acceleration
    Force<T> F;           // wrench that the joint passes to the body, at its origin
};

/// tau = M a + bias - J^T external, with springs and dampers in the bias.
/// v, a and external may be absent (zero). external: a wrench per body, in body coordinates.
template <class T>
inline void rnea(const Tree& tree, const In<T>& q, const In<T>& v, const In<T>& a, const In<T>& external, const Vec3<double>& gravity,
                 RneaBody<T>* work, const Out<T>& tau) {
    const int n = static_cast<int>(tree.bodies.size());
    const Vec3<T> none = zero3<T>();
    const Vec3<T> a_world = {-gravity.x + T{}, -gravity.y + T{}, -gravity.z + T{}};

    // Outwards: accelerations, and the force that each body needs.
    for (int i = 0; i < n; ++i) {
        const Body& b = tree.bodies[i];
        RneaBody<T>& x = work[i];
        x.X = placement(b, q);
        const bool rooted = b.parent < 0;
        const Vec3<T> a_P = rooted ? a_world : work[b.parent].a;
        Vec3<T> a_in = a_P;  // of the child's origin, parent coordinates
        x.w = x.alpha = none;
        Rates<T> r{none, none, none, none, false};
        if (v) r = rates(b, x.X.R, v);
        if (!rooted) {
            const Vec3<T>&w_P = work[b.parent].w, &alpha_P = work[b.parent].alpha;
            Vec3<T> wp = cross(w_P, x.X.p);
            if (r.slides) wp += r.p_dot * 2.0;
            a_in += cross(alpha_P, x.X.p) + cross(w_P, wp);
            x.w = tmul(x.X.R, w_P);
            x.alpha = tmul(x.X.R, alpha_P) + cross(x.w, r.w);
        }
        if (v) {
            x.w += r.w;
            x.alpha += r.zeta;
            if (b.kind == JointKind::free) a_in += r.gamma;
        }
        x.a = tmul(x.X.R, a_in);
        if (a) {
            const Motion<T> m = joint_motion(b, x.X.R, q, a);
            x.a += m.lin;
            x.alpha += m.ang;
        }
        x.F.f = x.a * b.mass + cross(x.alpha, b.h) + cross(x.w, cross(x.w, b.h));
        x.F.n = cross(b.h, x.a) + b.I * x.alpha + cross(x.w, b.I * x.w);
        if (external) {
            x.F.f -= load3(external, 6 * i);
            x.F.n -= load3(external, 6 * i + 3);
        }
    }

    // Inwards: what each joint passes on.
    for (int i = n - 1; i >= 0; --i) {
        const Body& b = tree.bodies[i];
        RneaBody<T>& x = work[i];
        project(b, x.X.R, q, x.F, [&](int k, const T& t) {
            tau.set(b.iv + k, b.armed && a ? t + b.armature[k] * a[b.iv + k] : t);
        });
        if (b.parent >= 0) {
            Force<T>& F_P = work[b.parent].F;
            const Vec3<T> f = x.X.R * x.F.f;
            F_P.f += f;
            F_P.n += x.X.R * x.F.n + cross(x.X.p, f);
        }
    }

    if (a)
        for_each_joint_inertia(tree, [&](int row, int column, double m) {
            for (int l = 0; l < lanes<T>; ++l) tau.data[l * tau.stride + row] += m * a.data[l * a.stride + column];
        });
    for_each_elastic_torque(tree, q, v, [&](int lane, int k, double torque) { tau.data[lane * tau.stride + k] += torque; });
}

UKEMI_END
