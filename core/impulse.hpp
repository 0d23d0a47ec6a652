// Impulses through a tree ([HAND07] ch. 4): its response to impulses, and the inverse inertia Psi that links feel.
//
// An impulse F at a link goes towards the root, and each joint takes away what it gives way to: A_i F (eq. 4.13). The
// change of velocity comes back outwards by A_i^T (eq. 4.15). Nothing depends on velocities, gravity or springs.
#pragma once
#include <algorithm>

#include "closed_work.hpp"

UKEMI_BEGIN

/// Articulated inertias and impulse biases: joint impulses (nv) and impulses on bodies (6 each) may be absent.
template <class T> inline void impulse_inward(const Tree& tree, const In<T>& q, const In<T>& joint, const In<T>& external, const AbaWork<T>& work) {
    const Vec3<T> none = zero3<T>();
    for (int k = 0; k < tree.nv; ++k) work.tau[k] = joint ? joint[k] : T{};
    for (std::size_t i = 0; i < tree.bodies.size(); ++i) {
        AbaBody<T>& x = work.bodies[i];
        x.X = placement(tree.bodies[i], q);
        x.gamma = x.zeta = none;
        x.I = rigid_inertia<T>(tree.bodies[i]);
        x.F = {none, none};
        if (!external) continue;
        x.F.f -= load3(external, 6 * static_cast<int>(i));
        x.F.n -= load3(external, 6 * static_cast<int>(i) + 3);
    }
    absorb_all(tree, q, work);
}

/// Change of the joint velocities, M^-1 (joint + sum J^T external), in O(n) (section 4.1.2).
template <class T> inline void impulse_response(const Tree& tree, const In<T>& q, const In<T>& joint, const In<T>& external, const AbaWork<T>& work, const Out<T>& out) {
    impulse_inward(tree, q, joint, external, work);
    aba_outward<false>(tree, AllBodies{static_cast<int>(tree.bodies.size())}, q, zero3<T>(), work, work.drive, out);
}

/// A_i F in the child's own coordinates (eq. 4.13 before X^T): what joint i lets through.
template <class W> UKEMI_INLINE Force<W> let_through(const Body& b, const AbaBody<double>& x, const In<double>& q, const double* gain, const Force<W>& F) {
    double* g = const_cast<double*>(gain);
    if (is_plain(b, JointKind::spherical)) return {F.f - stored_mat(g) * F.n, zero3<W>()};
    if (is_plain(b, JointKind::free)) return {zero3<W>(), zero3<W>()};
    Force<W> left = F;
    for (int k = 0; k < b.nv; ++k, g += 6) {
        const Motion<double> S = subspace(b, x.X.R, q, k);
        const W u = dot(S.lin, F.f) + dot(S.ang, F.n);
        left.f -= stored_vec(g) * u;
        left.n -= stored_vec(g + 3) * u;
    }
    return left;
}
template <class W> UKEMI_INLINE Force<W> to_parent(const Placement<double>& X, const Force<W>& F) {
    const Vec3<W> f = X.R * F.f;
    return {f, X.R * F.n + cross(X.p, f)};
}
/// A_i^T dv: change of the child's velocity when its parent's changes by dv.
template <class W> UKEMI_INLINE Motion<W> from_parent(const Body& b, const AbaBody<double>& x, const In<double>& q, const double* gain, const Motion<W>& dv) {
    const Vec3<W> lin = tmul(x.X.R, dv.lin + cross(dv.ang, x.X.p)), ang = tmul(x.X.R, dv.ang);
    double* g = const_cast<double*>(gain);
    if (is_plain(b, JointKind::spherical)) return {lin, -tmul(stored_mat(g), lin)};
    if (is_plain(b, JointKind::free)) return {zero3<W>(), zero3<W>()};
    Motion<W> m = {lin, ang};
    for (int k = 0; k < b.nv; ++k, g += 6) {
        const Motion<double> S = subspace(b, x.X.R, q, k);
        const W give = dot(stored_vec(g), lin) + dot(stored_vec(g + 3), ang);
        m.lin -= S.lin * give;
        m.ang -= S.ang * give;
    }
    return m;
}
/// psi_i F = S D^-1 S^T F (eq. 4.16).
template <class W> UKEMI_INLINE Motion<W> give_way(const Body& b, const AbaBody<double>& x, const In<double>& q, const double* gain, const Force<W>& F) {
    double* g = const_cast<double*>(gain);
    if (is_plain(b, JointKind::spherical)) return {zero3<W>(), stored_sym(g + 9) * F.n};
    if (is_plain(b, JointKind::free)) return free_response(g, F.f, F.n);
    if (b.kind == JointKind::revolute) return {zero3<W>(), b.axis * (g[6] * dot(b.axis, F.n))};
    W y[6];
    Motion<W> m{zero3<W>(), zero3<W>()};
    for (int k = 0; k < b.nv; ++k) {
        const Motion<double> S = subspace(b, x.X.R, q, k);
        y[k] = dot(S.lin, F.f) + dot(S.ang, F.n);
    }
    small_solve(g + 6 * b.nv, b.nv, y);
    for (int k = 0; k < b.nv; ++k) {
        const Motion<double> S = subspace(b, x.X.R, q, k);
        m.lin += S.lin * y[k];
        m.ang += S.ang * y[k];
    }
    return m;
}

/// Six columns: of wrenches (a product of A), or of motions (a Psi).
struct Wrenches { Force<double> column[6]; };
struct Motions { Motion<double> column[6]; };

inline double component(const Force<double>& F, int k) { return k == 0 ? F.f.x : k == 1 ? F.f.y : k == 2 ? F.f.z : k == 3 ? F.n.x : k == 4 ? F.n.y : F.n.z; }
inline double component(const Motion<double>& m, int k) { return component(Force<double>{m.lin, m.ang}, k); }
inline Force<double> unit_wrench(int k) {
    const Vec3<double> none{0, 0, 0}, e{k % 3 == 0 ? 1.0 : 0.0, k % 3 == 1 ? 1.0 : 0.0, k % 3 == 2 ? 1.0 : 0.0};
    return k < 3 ? Force<double>{e, none} : Force<double>{none, e};
}
inline Motion<double> times(const Motions& m, const Force<double>& F) {
    Motion<double> sum{{0, 0, 0}, {0, 0, 0}};
    for (int k = 0; k < 6; ++k) {
        const double w = component(F, k);
        sum.lin += m.column[k].lin * w;
        sum.ang += m.column[k].ang * w;
    }
    return sum;
}
inline Force<double> times(const Wrenches& A, const Force<double>& F) {
    Force<double> sum{{0, 0, 0}, {0, 0, 0}};
    for (int k = 0; k < 6; ++k) {
        const double w = component(F, k);
        sum.f += A.column[k].f * w;
        sum.n += A.column[k].n * w;
    }
    return sum;
}
/// A^T m
inline Motion<double> transposed_times(const Wrenches& A, const Motion<double>& m) {
    double out[6];
    for (int k = 0; k < 6; ++k) out[k] = dot(A.column[k].f, m.lin) + dot(A.column[k].n, m.ang);
    return {{out[0], out[1], out[2]}, {out[3], out[4], out[5]}};
}

/// A body where an impulse may act, or where branches with such bodies meet.
struct Junction {
    int body, above;    // the next junction towards the root, -1: none
    Wrenches through;   // product of A from here to that junction: a wrench here, as it arrives there
    Motions response;   // of this junction, to unit wrenches at the one that is looked at
    bool moved;
};

struct PsiWork {
    AbaWork<double> aba;
    Motions* psi;         // per body
    int* marks;           // per body, see below
    Junction* junctions;  // 2 m
};
inline PsiWork psi_work(const Tree& tree, int m, Carver& c) {
    const std::size_t n = tree.bodies.size(), nv = static_cast<std::size_t>(tree.nv);
    const AbaWork<double> aba = {c.take<AbaBody<double>>(n), c.take<double>(gain_size * nv), c.take<double>(nv), c.take<double>(nv)};
    return {aba, c.take<Motions>(n), c.take<int>(n), c.take<Junction>(2 * static_cast<std::size_t>(m))};
}
inline std::size_t psi_bytes(const Tree& tree, int m) {
    Carver c{nullptr};
    psi_work(tree, m, c);
    return c.used + 64;
}

/// Psi of m links on any branches: out (6 m x 6 m, row-major, cleared by the caller), rows and columns in link coordinates at the links' origins.
/// Diagonal blocks by eq. 4.19; the block of c1, c2 is (prod A from a to c1)^T Psi_a (prod A from a to c2) with a their nearest
/// common ancestor, zero without one (docs/errata.md on eq. 4.26). O(n + m^2): each joint is passed once.
inline void inverse_inertia(const Tree& tree, const double* q_data, const int* links, int m, void* memory, double* out) {
    Carver carver{static_cast<char*>(memory)};
    const PsiWork work = psi_work(tree, m, carver);
    const In<double> q{q_data, 0};
    impulse_inward<double>(tree, q, {nullptr, 0}, {nullptr, 0}, work.aba);
    const int n = static_cast<int>(tree.bodies.size());
    auto gain = [&](int i) { return work.aba.gain + gain_size * tree.bodies[i].iv; };
    auto body_of = [&](int l) { return tree.links[static_cast<std::size_t>(links[l])].body; };
    // 1: on the way from a link to the root; 2: a junction, where links stand or ways meet
    std::fill(work.marks, work.marks + n, 0);
    for (int l = 0; l < m; ++l) {
        int i = body_of(l);
        if (i < 0) continue;
        bool seen = work.marks[i] != 0;
        work.marks[i] = 2;
        while (!seen && (i = tree.bodies[i].parent) >= 0) {
            seen = work.marks[i] != 0;
            work.marks[i] = seen ? 2 : 1;
        }
    }
    // outwards: Psi of all of them, and the junctions (marks become -1 - junction)
    int junctions = 0;
    for (int i = 0; i < n; ++i) {
        if (work.marks[i] == 0) continue;
        const Body& b = tree.bodies[i];
        const AbaBody<double>& x = work.aba.bodies[i];
        for (int k = 0; k < 6; ++k) {
            const Force<double> e = unit_wrench(k);
            Motion<double>& column = work.psi[i].column[k] = give_way(b, x, q, gain(i), e);
            if (b.parent < 0) continue;
            const Motion<double> above = times(work.psi[b.parent], to_parent(x.X, let_through(b, x, q, gain(i), e)));
            const Motion<double> carried = from_parent(b, x, q, gain(i), above);
            column.lin += carried.lin;
            column.ang += carried.ang;
        }
        if (work.marks[i] == 1) continue;
        Junction& j = work.junctions[junctions];
        j.body = i, j.above = -1;
        for (int k = 0; k < 6; ++k) j.through.column[k] = unit_wrench(k);
        for (int c = i;;) {  // towards the next junction
            const Body& passed = tree.bodies[c];
            const AbaBody<double>& y = work.aba.bodies[c];
            for (int k = 0; k < 6; ++k) {
                Force<double>& F = j.through.column[k];
                F = let_through(passed, y, q, gain(c), F);
                if (passed.parent >= 0) F = to_parent(y.X, F);
            }
            c = passed.parent;
            if (c < 0) break;
            if (work.marks[c] < 0) {
                j.above = -1 - work.marks[c];
                break;
            }
        }
        work.marks[i] = -1 - junctions++;
    }
    // link by link: the response of its own junction, of those towards the root, then of all that hang on them
    const auto width = static_cast<std::ptrdiff_t>(6) * m;
    for (int l = 0; l < m; ++l) {
        if (body_of(l) < 0) continue;
        const Link& at = tree.links[static_cast<std::size_t>(links[l])];
        for (int j = 0; j < junctions; ++j) work.junctions[j].moved = false;
        Force<double> F[6];  // unit wrenches at the link, in its body's coordinates
        for (int k = 0; k < 6; ++k) F[k] = to_parent({at.R, at.p}, unit_wrench(k));
        for (int j = -1 - work.marks[at.body]; j >= 0; j = work.junctions[j].above) {
            Junction& here = work.junctions[j];
            here.moved = true;
            for (int k = 0; k < 6; ++k) {
                here.response.column[k] = times(work.psi[here.body], F[k]);
                F[k] = times(here.through, F[k]);
            }
        }
        for (int j = 0; j < junctions; ++j) {
            Junction& here = work.junctions[j];
            if (here.moved || here.above < 0 || !work.junctions[here.above].moved) continue;
            here.moved = true;
            for (int k = 0; k < 6; ++k) here.response.column[k] = transposed_times(here.through, work.junctions[here.above].response.column[k]);
        }
        for (int r = 0; r < m; ++r) {
            const Link& felt = tree.links[static_cast<std::size_t>(links[r])];
            if (felt.body < 0) continue;
            const Junction& j = work.junctions[-1 - work.marks[felt.body]];
            if (!j.moved) continue;
            for (int k = 0; k < 6; ++k) {
                const Motion<double>& dv = j.response.column[k];
                const Motion<double> seen = {tmul(felt.R, dv.lin + cross(dv.ang, felt.p)), tmul(felt.R, dv.ang)};
                for (int c = 0; c < 6; ++c) out[(6 * r + c) * width + 6 * l + k] = component(seen, c);
            }
        }
    }
}

UKEMI_END
