// Inertia matrix by composite bodies, in link coordinates.
//
// Each column of a joint is the momentum of its composite body; carried towards the root, its products with the
// ancestors' subspaces are the entries of M. For spherical and free joints those products are the momentum's own
// components. On one state a spherical joint's three columns travel as the lanes of one pack.
#pragma once
#include "elastic.hpp"
#include "joints.hpp"

UKEMI_BEGIN

template <class T> struct CrbaBody {
    Placement<T> X;  // in the parent
    T mass;          // composite mass, first moment and inertia about the body's origin, in its own frame
    Vec3<T> h;
    Sym3<T> I;
};
/// Walks the momentum F of body i's columns (in its frame) towards the root; `put(col, value)` takes the products
/// with the columns of the ancestors.
template <class T, class W, class F> UKEMI_INLINE void climb(const Tree& tree, const In<T>& q, const CrbaBody<T>* bodies, int i, Vec3<W> f, Vec3<W> n, F&& put) {
    for (int j = tree.bodies[i].parent; j >= 0; i = j, j = tree.bodies[j].parent) {
        const Placement<T>& X = bodies[i].X;
        f = X.R * f;
        n = X.R * n + cross(X.p, f);
        const Body& a = tree.bodies[j];
        switch (a.kind) {
            case JointKind::revolute: put(a.iv, dot(a.axis, n)); break;
            case JointKind::spherical: put(a.iv, n.x), put(a.iv + 1, n.y), put(a.iv + 2, n.z); break;
            case JointKind::free:
                put(a.iv, f.x), put(a.iv + 1, f.y), put(a.iv + 2, f.z), put(a.iv + 3, n.x), put(a.iv + 4, n.y), put(a.iv + 5, n.z);
                break;
            default:
                for (int c = 0; c < a.nv; ++c) {
                    const Motion<T> s = subspace(a, bodies[j].X.R, q, c);
                    put(a.iv + c, dot(s.lin, f) + dot(s.ang, n));
                }
        }
    }
}

/// Lower triangle of M (row-major, rows `ld` apart); with `mirror` the upper one too. Entries between different branches are
/// zero and are not touched: the caller clears M once. Rows shorter than nv (factor.hpp) have no room for the upper one.
template <class T> inline void crba(const Tree& tree, const In<T>& q, bool mirror, CrbaBody<T>* bodies, const Out<T>& M, std::ptrdiff_t ld) {
    const int n = static_cast<int>(tree.bodies.size());
    for (int i = 0; i < n; ++i) {
        const Body& b = tree.bodies[i];
        CrbaBody<T>& x = bodies[i];
        if (b.parent >= 0 || b.kind == JointKind::planar) x.X = placement(b, q);
        x.mass = b.mass + T{};
        x.h = {b.h.x + T{}, b.h.y + T{}, b.h.z + T{}};
        x.I = {b.I.xx + T{}, b.I.xy + T{}, b.I.xz + T{}, b.I.yy + T{}, b.I.yz + T{}, b.I.zz + T{}};
    }
    for (int i = n - 1; i >= 0; --i) {
        const Body& b = tree.bodies[i];
        const CrbaBody<T>& x = bodies[i];
        auto put = [&](int row, int col, const T& value) {
            M.set(row * ld + col, value);
            if (mirror) M.set(col * ld + row, value);
        };
        const Vec3<T>& h = x.h;
        const Sym3<T>& I = x.I;
        const int r = b.iv;
        if (b.kind == JointKind::spherical) {
            put(r + 1, r, I.xy), put(r + 2, r, I.xz), put(r + 2, r + 1, I.yz);
            M.set(r * ld + r, I.xx + b.armature[0]), M.set((r + 1) * ld + r + 1, I.yy + b.armature[1]), M.set((r + 2) * ld + r + 2, I.zz + b.armature[2]);
            const T o{};
#if UKEMI_HAS_PACK && UKEMI_LANES == 4
            if constexpr (lanes<T> == 1) {
                const Vec3<Pack> f = {Pack{o, h.z, -h.y, o}, Pack{-h.z, o, h.x, o}, Pack{h.y, -h.x, o, o}};
                const Vec3<Pack> m = {Pack{I.xx, I.xy, I.xz, o}, Pack{I.xy, I.yy, I.yz, o}, Pack{I.xz, I.yz, I.zz, o}};
                climb(tree, q, bodies, i, f, m, [&](int col, const Pack& value) {
                    for (int k = 0; k < 3; ++k) put(r + k, col, value[k]);
                });
            } else
#endif
            {
                climb(tree, q, bodies, i, Vec3<T>{o, -h.z, h.y}, Vec3<T>{I.xx, I.xy, I.xz}, [&](int col, const T& value) { put(r, col, value); });
                climb(tree, q, bodies, i, Vec3<T>{h.z, o, -h.x}, Vec3<T>{I.xy, I.yy, I.yz}, [&](int col, const T& value) { put(r + 1, col, value); });
                climb(tree, q, bodies, i, Vec3<T>{-h.y, h.x, o}, Vec3<T>{I.xz, I.yz, I.zz}, [&](int col, const T& value) { put(r + 2, col, value); });
            }
        } else if (b.kind == JointKind::revolute) {
            const Vec3<T> f = cross(b.axis, h), m = I * b.axis;
            M.set(r * ld + r, dot(b.axis, m) + b.armature[0]);
            climb(tree, q, bodies, i, f, m, [&](int col, const T& value) { put(r, col, value); });
        } else if (b.kind == JointKind::free && b.parent < 0) {
            const T o{}, m = x.mass;
            const T block[6][6] = {{m, o, o, o, h.z, -h.y},      {o, m, o, -h.z, o, h.x},     {o, o, m, h.y, -h.x, o},
                                   {o, -h.z, h.y, I.xx, I.xy, I.xz}, {h.z, o, -h.x, I.xy, I.yy, I.yz}, {-h.y, h.x, o, I.xz, I.yz, I.zz}};
            for (int k = 0; k < 6; ++k) {
                for (int c = 0; c < k; ++c) put(r + k, r + c, block[k][c]);
                M.set((r + k) * ld + r + k, block[k][k] + b.armature[k]);
            }
        } else {
            for (int k = 0; k < b.nv; ++k) {
                const Motion<T> S = subspace(b, x.X.R, q, k);
                const Vec3<T> f = S.lin * x.mass - cross(h, S.ang), m = cross(h, S.lin) + I * S.ang;
                for (int c = 0; c < k; ++c) {
                    const Motion<T> s = subspace(b, x.X.R, q, c);
                    put(r + k, r + c, dot(s.lin, f) + dot(s.ang, m));
                }
                M.set((r + k) * ld + r + k, dot(S.lin, f) + dot(S.ang, m) + b.armature[k]);
                climb(tree, q, bodies, i, f, m, [&](int col, const T& value) { put(r + k, col, value); });
            }
        }
        if (b.parent >= 0) {
            CrbaBody<T>& P = bodies[b.parent];
            const Vec3<T>& p = x.X.p;
            const Vec3<T> Rh = x.X.R * h, h_P = Rh + p * x.mass, s = Rh + h_P;  // s = 2 R h + m p
            const T diagonal = dot(s, p);
            P.mass += x.mass;
            P.h += h_P;
            P.I += rotate(x.X.R, I);
            P.I += Sym3<T>{diagonal - s.x * p.x, -0.5 * (s.x * p.y + s.y * p.x), -0.5 * (s.x * p.z + s.z * p.x),
                           diagonal - s.y * p.y, -0.5 * (s.y * p.z + s.z * p.y), diagonal - s.z * p.z};
        }
    }
    for_each_joint_inertia(tree, [&](int row, int column, double m) {
        if (column > row && !mirror) return;
        for (int l = 0; l < lanes<T>; ++l) M.data[l * M.stride + row * ld + column] += m;
    });
}

UKEMI_END
