// Inertia matrix by composite bodies, and its tree-sparse factorisation.
//
// Everything is expressed in the frame of the root body of each tree: there the subspace of a free root is the
// identity, so its rows of M are the composite momenta themselves, and numbers stay small wherever the figure stands.
#pragma once
#include "joints.hpp"

UKEMI_BEGIN

template <class T> struct CrbaBody {
    Placement<T> X;  // in the root body's frame
    T mass;          // composite mass, first moment and inertia about the root body's origin
    Vec3<T> h;
    Sym3<T> I;
};
template <class T> struct CrbaWork {
    CrbaBody<T>* bodies;
    Motion<T>* S;  // nv: every column of the motion subspace, in the root body's frame
};

/// Lower triangle of M (row-major, nv x nv); with `mirror` the upper one too. Entries between different branches are
/// zero and are not touched: the caller clears M once.
template <class T> inline void crba(const Tree& tree, const In<T>& q, bool mirror, const CrbaWork<T>& work, const Out<T>& M) {
    const int n = static_cast<int>(tree.bodies.size());
    const std::ptrdiff_t ld = tree.nv;
    for (int i = 0; i < n; ++i) {
        const Body& b = tree.bodies[i];
        CrbaBody<T>& x = work.bodies[i];
        if (b.parent < 0) {
            const T o{}, e = 1.0 + T{};
            x.X = {{e, o, o, o, e, o, o, o, e}, {o, o, o}};
            x.mass = b.mass + T{};
            x.h = {b.h.x + T{}, b.h.y + T{}, b.h.z + T{}};
            x.I = {b.I.xx + T{}, b.I.xy + T{}, b.I.xz + T{}, b.I.yy + T{}, b.I.yz + T{}, b.I.zz + T{}};
            const Mat3<T> R_joint = b.kind == JointKind::planar ? placement(b, q).R : x.X.R;
            for (int k = 0; k < b.nv; ++k) work.S[b.iv + k] = subspace(b, R_joint, q, k);
            continue;
        }
        const Placement<T>& P = work.bodies[b.parent].X;
        const Placement<T> local = placement(b, q);
        x.X.R = P.R * local.R;
        x.X.p = P.p + P.R * local.p;
        x.mass = b.mass + T{};
        const Vec3<T> h = x.X.R * b.h, mp = x.X.p * b.mass;
        x.h = h + mp;
        // I about the root's origin: R I R^T - [h][p] - [p][h] - m [p][p]
        x.I = rotate(x.X.R, b.I);
        const Vec3<T>&p = x.X.p, s = h + x.h;  // 2 h + m p
        const T diagonal = dot(s, p);
        x.I += Sym3<T>{diagonal - s.x * p.x, -0.5 * (s.x * p.y + s.y * p.x), -0.5 * (s.x * p.z + s.z * p.x),
                       diagonal - s.y * p.y, -0.5 * (s.y * p.z + s.z * p.y), diagonal - s.z * p.z};
        auto column = [&](int k, const Vec3<T>& ang) { work.S[b.iv + k] = {cross(p, ang), ang}; };
        const Mat3<T>& R = x.X.R;
        if (b.kind == JointKind::spherical) {
            column(0, {R.xx, R.yx, R.zx}), column(1, {R.xy, R.yy, R.zy}), column(2, {R.xz, R.yz, R.zz});
        } else if (b.kind == JointKind::revolute) {
            column(0, R * b.axis);
        } else {
            for (int k = 0; k < b.nv; ++k) {
                const Motion<T> s_k = subspace(b, local.R, q, k);
                const Vec3<T> ang = R * s_k.ang;
                work.S[b.iv + k] = {R * s_k.lin + cross(p, ang), ang};
            }
        }
    }

    for (int i = n - 1; i >= 0; --i) {
        const Body& b = tree.bodies[i];
        const CrbaBody<T>& x = work.bodies[i];
        auto put = [&](int row, int col, const T& value) {
            M.set(row * ld + col, value);
            if (mirror) M.set(col * ld + row, value);
        };
        for (int k = 0; k < b.nv; ++k) {
            const int row = b.iv + k;
            const Motion<T>& S = work.S[row];
            const Force<T> F = {S.lin * x.mass - cross(x.h, S.ang), cross(x.h, S.lin) + x.I * S.ang};
            auto entry = [&](int col) { return dot(work.S[col].lin, F.f) + dot(work.S[col].ang, F.n); };
            for (int c = 0; c < k; ++c) put(row, b.iv + c, entry(b.iv + c));
            M.set(row * ld + row, entry(row) + b.armature[k]);
            for (int j = b.parent; j >= 0; j = tree.bodies[j].parent) {
                const Body& a = tree.bodies[j];
                if (a.kind == JointKind::free && a.parent < 0) {
                    put(row, a.iv, F.f.x), put(row, a.iv + 1, F.f.y), put(row, a.iv + 2, F.f.z);
                    put(row, a.iv + 3, F.n.x), put(row, a.iv + 4, F.n.y), put(row, a.iv + 5, F.n.z);
                } else {
                    for (int c = 0; c < a.nv; ++c) put(row, a.iv + c, entry(a.iv + c));
                }
            }
        }
        if (b.parent >= 0) {
            CrbaBody<T>& P = work.bodies[b.parent];
            P.mass += x.mass;
            P.h += x.h;
            P.I += x.I;
        }
    }
}

// --- M = L^T D L with L as sparse as the tree (Featherstone), in place of the lower triangle --------------------------

inline void factorize(const Tree& tree, double* M) {
    const int n = tree.nv;
    const int* up = tree.dof_parent.data();
    for (int k = n - 1; k >= 0; --k) {
        double* row = M + static_cast<std::ptrdiff_t>(k) * n;
        const double d = 1.0 / row[k];
        for (int i = up[k]; i >= 0; i = up[i]) {
            const double l = row[i] * d;
            double* other = M + static_cast<std::ptrdiff_t>(i) * n;
            for (int j = i; j >= 0; j = up[j]) other[j] -= l * row[j];
            row[i] = l;
        }
    }
}

/// x := M^-1 x, with the factor above.
inline void solve(const Tree& tree, const double* L, double* x) {
    const int n = tree.nv;
    const int* up = tree.dof_parent.data();
    for (int k = n - 1; k >= 0; --k) {
        const double* row = L + static_cast<std::ptrdiff_t>(k) * n;
        for (int i = up[k]; i >= 0; i = up[i]) x[i] -= row[i] * x[k];
    }
    for (int k = 0; k < n; ++k) {
        const double* row = L + static_cast<std::ptrdiff_t>(k) * n;
        x[k] /= row[k];
        for (int i = up[k]; i >= 0; i = up[i]) x[k] -= row[i] * x[i];
    }
}

UKEMI_END
