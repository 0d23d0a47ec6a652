// Forward dynamics: the articulated-body algorithm in link coordinates with classical accelerations
// ([HAND07] ch. 3; Featherstone).
//
// Spherical and free joints have a branch of their own: their joint-space inertia is the whole angular block J (or
// the whole inertia), so that only the linear block M - C J^-1 C^T passes to the parent.
#pragma once
#include <utility>

#include "elastic.hpp"
#include "joints.hpp"
#include "level_vector.hpp"

UKEMI_BEGIN

template <class T> struct AbaBody {
    Placement<T> X;
    Vec3<T> w;
    Vec3<T> gamma;   // linear bias acceleration, parent coordinates
    Vec3<T> zeta;    // angular bias acceleration, child coordinates
    Inertia<T> I;    // articulated inertia
    Force<T> F;      // articulated bias force
    Vec3<T> a, alpha;
};

/// Work of one pack of states: bodies, and per freedom room for the gains U D^-1 and the factor of D, the solved torque
/// D^-1 u, and the torque.
template <class T> struct AbaWork {
    AbaBody<T>* bodies;
    T* gain;   // gain_size nv: per joint its own layout, see absorb_*
    T* drive;  // nv: D^-1 u
    T* tau;    // nv: applied torque with springs and dampers
};
inline constexpr int gain_size = 12;

template <class T> UKEMI_INLINE Mat3<T>& stored_mat(T* p) { return *reinterpret_cast<Mat3<T>*>(p); }
template <class T> UKEMI_INLINE Sym3<T>& stored_sym(T* p) { return *reinterpret_cast<Sym3<T>*>(p); }
template <class T> UKEMI_INLINE Vec3<T>& stored_vec(T* p) { return *reinterpret_cast<Vec3<T>*>(p); }

/// Whether a joint takes its own branch or the general one.
UKEMI_INLINE bool is_plain(const Body& b, JointKind kind) { return b.kind == kind && !b.armed; }

template <class T> UKEMI_INLINE Inertia<T> rigid_inertia(const Body& b) {
    const T o{}, m = b.mass + T{}, x = b.h.x + T{}, y = b.h.y + T{}, z = b.h.z + T{};
    return {{m, o, o, m, o, m},
            {o, z, -y, -z, o, x, y, -x, o},  // C = -[h]x
            {b.I.xx + T{}, b.I.xy + T{}, b.I.xz + T{}, b.I.yy + T{}, b.I.yz + T{}, b.I.zz + T{}}};
}

/// Adds to the parent a wrench f, n (child coordinates, n at the child's origin; f already in parent coordinates).
template <class T> UKEMI_INLINE void pass_force(AbaBody<T>& parent, const Placement<T>& X, const Vec3<T>& f_P, const Vec3<T>& n) {
    parent.F.f += f_P;
    parent.F.n += X.R * n + cross(X.p, f_P);
}

/// Adds to the parent an inertia whose only block is the linear one, given in parent coordinates.
template <class T> UKEMI_INLINE void pass_linear(AbaBody<T>& parent, const Sym3<T>& K, const Vec3<T>& p) {
    const Mat3<T> Kp = times_cross(K, p);
    parent.I.M += K;
    parent.I.C -= Kp;
    parent.I.J -= symmetric_cross(p, Kp);
}

/// Adds to the parent a full inertia given in child coordinates, and the bias force that goes with it.
template <class T, class S>
UKEMI_INLINE void pass_inertia(AbaBody<T>& parent, const Placement<T>& X, const Inertia<S>& I, const Force<T>& F, const Vec3<T>& gamma,
                               const Vec3<T>& zeta) {
    const Sym3<T> M = rotate(X.R, I.M);
    const Mat3<T> C = mult(X.R * I.C, X.R);
    const Mat3<T> C_P = [&] { Mat3<T> m = C; m -= times_cross(M, X.p); return m; }();
    parent.I.M += M;
    parent.I.C += C_P;
    // J_P = R J R^T + [p] C_P + ([p] C)^T: the sum is symmetric, so each entry is read where it is cheapest
    const Mat3<T> A = cross_times(X.p, C_P), B = cross_times(X.p, C);
    parent.I.J += rotate(X.R, I.J);
    parent.I.J += Sym3<T>{A.xx + B.xx, A.xy + B.yx, A.xz + B.zx, A.yy + B.yy, A.yz + B.zy, A.zz + B.zz};
    const Vec3<T> f = X.R * (F.f + I.C * zeta) + M * gamma;
    const Vec3<T> n = F.n + tmul(I.C, tmul(X.R, gamma)) + I.J * zeta;
    pass_force(parent, X, f, n);
}

/// Cholesky factor and solve of a small symmetric positive matrix (n <= 6), lower triangle, in place.
template <class T> UKEMI_INLINE void small_cholesky(T* D, int n) {
    for (int j = 0; j < n; ++j) {
        for (int k = 0; k < j; ++k) {
            const T f = D[j * n + k] * D[k * n + k];
            for (int i = j; i < n; ++i) D[i * n + j] -= D[i * n + k] * f;
        }
        for (int i = j + 1; i < n; ++i) D[i * n + j] = D[i * n + j] / D[j * n + j];
    }
}
template <class T, class X> UKEMI_INLINE void small_solve(const T* D, int n, X* x) {
    for (int i = 0; i < n; ++i)
        for (int k = 0; k < i; ++k) x[i] -= D[i * n + k] * x[k];
    for (int i = 0; i < n; ++i) x[i] = x[i] / D[i * n + i];
    for (int i = n - 1; i >= 0; --i)
        for (int k = i + 1; k < n; ++k) x[i] -= D[k * n + i] * x[k];
}

/// What a joint's freedoms feel, through its subspace S: U = I S, D = S^T U + joint inertia, u = tau - S^T F.
template <class T> UKEMI_INLINE void joint_terms(const Tree& tree, const Body& b, const In<T>& q, const AbaBody<T>& x, const T* tau, Force<T>* U, T* D, T* u) {
    const int n = b.nv;
    Motion<T> S[6];
    for (int k = 0; k < n; ++k) {
        S[k] = subspace(b, x.X.R, q, k);
        U[k].f = x.I.M * S[k].lin + x.I.C * S[k].ang;
        U[k].n = tmul(x.I.C, S[k].lin) + x.I.J * S[k].ang;
        u[k] = tau[k] - dot(S[k].lin, x.F.f) - dot(S[k].ang, x.F.n);
    }
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < n; ++j) D[i * n + j] = dot(S[i].lin, U[j].f) + dot(S[i].ang, U[j].n);
        D[i * n + i] += b.armature[i];
    }
    if (b.coupled)
        for (int i = 0; i < n * n; ++i) D[i] += tree.joint_inertias[static_cast<std::size_t>(b.coupled - 1)].matrix[i];
}
/// The parent feels I - U D^-1 U^T and F + U D^-1 u. Leaves the gains U D^-1 (6 per freedom), the factor of D and the drive D^-1 u.
template <class T> UKEMI_INLINE void absorb_terms(int n, const AbaBody<T>& x, Force<T> F, const Force<T>* U, T* D, T* u, T* gain, AbaBody<T>* parent) {
    small_cholesky(D, n);
    // gains: row c of U D^-1, for each of the six components
    for (int c = 0; c < 6; ++c) {
        T row[6];
        for (int k = 0; k < n; ++k) {
            const Force<T>& w = U[k];
            row[k] = c == 0 ? w.f.x : c == 1 ? w.f.y : c == 2 ? w.f.z : c == 3 ? w.n.x : c == 4 ? w.n.y : w.n.z;
        }
        small_solve(D, n, row);
        for (int k = 0; k < n; ++k) gain[6 * k + c] = row[k];
    }
    if (parent) {
        Inertia<T> I = x.I;
        for (int k = 0; k < n; ++k) {
            const T* g = gain + 6 * k;
            const Vec3<T> gf = {g[0], g[1], g[2]}, gn = {g[3], g[4], g[5]};
            F.f += gf * u[k];
            F.n += gn * u[k];
            const Force<T>& w = U[k];
            I.M -= Sym3<T>{gf.x * w.f.x, gf.x * w.f.y, gf.x * w.f.z, gf.y * w.f.y, gf.y * w.f.z, gf.z * w.f.z};
            I.C -= Mat3<T>{gf.x * w.n.x, gf.x * w.n.y, gf.x * w.n.z, gf.y * w.n.x, gf.y * w.n.y, gf.y * w.n.z, gf.z * w.n.x, gf.z * w.n.y, gf.z * w.n.z};
            I.J -= Sym3<T>{gn.x * w.n.x, gn.x * w.n.y, gn.x * w.n.z, gn.y * w.n.y, gn.y * w.n.z, gn.z * w.n.z};
        }
        pass_inertia(*parent, x.X, I, F, x.gamma, x.zeta);
    }
    small_solve(D, n, u);
}
/// Any joint. Stores the gains U D^-1 (6 per freedom), then the factor of D.
template <class T> inline void absorb_general(const Tree& tree, const Body& b, const In<T>& q, AbaBody<T>& x, AbaBody<T>* parent, const AbaWork<T>& work) {
    Force<T> U[6];
    T *drive = work.drive + b.iv, *gain = work.gain + gain_size * b.iv, *D = gain + 6 * b.nv;
    joint_terms(tree, b, q, x, work.tau + b.iv, U, D, drive);
    absorb_terms(b.nv, x, x.F, U, D, drive, gain, parent);
}

/// What absorb_general does, for two axes of rotation: U has half the entries and D is two by two.
template <class T> UKEMI_INLINE void absorb_universal(const Tree& tree, const Body& b, AbaBody<T>& x, AbaBody<T>* parent, const AbaWork<T>& work) {
    const Vec3<T> s0 = universal_first(b, x.X.R), s1 = {b.axis2.x + T{}, b.axis2.y + T{}, b.axis2.z + T{}};
    const Force<T> U0 = {x.I.C * s0, x.I.J * s0}, U1 = {x.I.C * s1, x.I.J * s1};
    T d00 = dot(s0, U0.n) + b.armature[0], d10 = dot(s1, U0.n), d11 = dot(s1, U1.n) + b.armature[1];
    if (b.coupled) {
        const double* m = tree.joint_inertias[static_cast<std::size_t>(b.coupled - 1)].matrix;
        d00 += m[0], d10 += m[2], d11 += m[3];
    }
    const T u0 = work.tau[b.iv] - dot(s0, x.F.n), u1 = work.tau[b.iv + 1] - dot(s1, x.F.n);
    const T over = 1.0 / (d00 * d11 - d10 * d10), e00 = d11 * over, e10 = -d10 * over, e11 = d00 * over;  // D^-1
    const Force<T> G0 = {U0.f * e00 + U1.f * e10, U0.n * e00 + U1.n * e10}, G1 = {U0.f * e10 + U1.f * e11, U0.n * e10 + U1.n * e11};
    T* g = work.gain + gain_size * b.iv;
    stored_vec(g) = G0.f, stored_vec(g + 3) = G0.n, stored_vec(g + 6) = G1.f, stored_vec(g + 9) = G1.n;
    const T l = d10 / d00;
    g[12] = d00, g[13] = d10, g[14] = l, g[15] = d11 - l * d10;  // as small_cholesky leaves D
    work.drive[b.iv] = e00 * u0 + e10 * u1, work.drive[b.iv + 1] = e10 * u0 + e11 * u1;
    if (!parent) return;
    Inertia<T> I = x.I;
    for (const auto& [G, U] : {std::pair<const Force<T>&, const Force<T>&>{G0, U0}, {G1, U1}}) {
        I.M -= Sym3<T>{G.f.x * U.f.x, G.f.x * U.f.y, G.f.x * U.f.z, G.f.y * U.f.y, G.f.y * U.f.z, G.f.z * U.f.z};
        I.C -= Mat3<T>{G.f.x * U.n.x, G.f.x * U.n.y, G.f.x * U.n.z, G.f.y * U.n.x, G.f.y * U.n.y, G.f.y * U.n.z, G.f.z * U.n.x, G.f.z * U.n.y, G.f.z * U.n.z};
        I.J -= Sym3<T>{G.n.x * U.n.x, G.n.x * U.n.y, G.n.x * U.n.z, G.n.y * U.n.y, G.n.y * U.n.z, G.n.z * U.n.z};
    }
    pass_inertia(*parent, x.X, I, Force<T>{x.F.f + G0.f * u0 + G1.f * u1, x.F.n + G0.n * u0 + G1.n * u1}, x.gamma, x.zeta);
}

/// Stores the six gains U / D, then 1 / D.
template <class T> UKEMI_INLINE void absorb_revolute(const Body& b, AbaBody<T>& x, AbaBody<T>* parent, const AbaWork<T>& work) {
    const Vec3<T> Uf = x.I.C * b.axis, Un = x.I.J * b.axis;
    const T d = 1.0 / (dot(b.axis, Un) + b.armature[0]);
    const T u = work.tau[b.iv] - dot(b.axis, x.F.n);
    const Vec3<T> gf = Uf * d, gn = Un * d;
    T* g = work.gain + gain_size * b.iv;
    stored_vec(g) = gf, stored_vec(g + 3) = gn, g[6] = d;
    work.drive[b.iv] = u * d;
    if (!parent) return;
    Inertia<T> I = x.I;
    I.M -= Sym3<T>{gf.x * Uf.x, gf.x * Uf.y, gf.x * Uf.z, gf.y * Uf.y, gf.y * Uf.z, gf.z * Uf.z};
    I.C -= Mat3<T>{gf.x * Un.x, gf.x * Un.y, gf.x * Un.z, gf.y * Un.x, gf.y * Un.y, gf.y * Un.z, gf.z * Un.x, gf.z * Un.y, gf.z * Un.z};
    I.J -= Sym3<T>{gn.x * Un.x, gn.x * Un.y, gn.x * Un.z, gn.y * Un.y, gn.y * Un.z, gn.z * Un.z};
    pass_inertia(*parent, x.X, I, Force<T>{x.F.f + gf * u, x.F.n + gn * u}, x.gamma, x.zeta);
}

/// Stores G = C J^-1 and J^-1; the drive is the angular acceleration J^-1 u that the torque alone would give.
template <class T> UKEMI_INLINE void absorb_spherical(const Body& b, AbaBody<T>& x, AbaBody<T>* parent, const AbaWork<T>& work) {
    const Sym3<T> J_inv = inverse(x.I.J);
    const Mat3<T> G = x.I.C * J_inv;
    const Vec3<T> tau = {work.tau[b.iv], work.tau[b.iv + 1], work.tau[b.iv + 2]};
    const Vec3<T> u = tau - x.F.n, drive = J_inv * u;
    stored_vec(work.drive + b.iv) = drive;
    T* g = work.gain + gain_size * b.iv;
    stored_mat(g) = G, stored_sym(g + 9) = J_inv;
    if (!parent) return;
    Sym3<T> M = x.I.M;
    M -= symmetric_product(G, x.I.C);
    const Sym3<T> K = rotate(x.X.R, M);
    pass_linear(*parent, K, x.X.p);
    pass_force(*parent, x.X, x.X.R * (x.F.f + G * u) + K * x.gamma, tau);
}

/// The same joints on bodies that carry no other: inertias and gains are constants of the tree. Only single states keep
/// the gains beside the others', for loops.
template <class T> UKEMI_INLINE void absorb_leaf(const Body& b, const Leaf& leaf, AbaBody<T>& x, AbaBody<T>* parent, const AbaWork<T>& work) {
    T* g = work.gain + gain_size * b.iv;
    if (b.kind == JointKind::revolute) {
        const T u = work.tau[b.iv] - dot(b.axis, x.F.n);
        work.drive[b.iv] = u * leaf.d;
        if constexpr (lanes<T> == 1) stored_vec(g) = leaf.gf, stored_vec(g + 3) = leaf.gn, g[6] = leaf.d;
        if (parent) pass_inertia(*parent, x.X, leaf.I, Force<T>{x.F.f + leaf.gf * u, x.F.n + leaf.gn * u}, x.gamma, x.zeta);
    } else {
        const Vec3<T> tau = {work.tau[b.iv], work.tau[b.iv + 1], work.tau[b.iv + 2]}, u = tau - x.F.n;
        stored_vec(work.drive + b.iv) = leaf.J_inv * u;
        if constexpr (lanes<T> == 1) stored_mat(g) = leaf.G, stored_sym(g + 9) = leaf.J_inv;
        if (!parent) return;
        const Sym3<T> K = rotate(x.X.R, leaf.I.M);
        pass_linear(*parent, K, x.X.p);
        pass_force(*parent, x.X, x.X.R * (x.F.f + leaf.G * u) + K * x.gamma, tau);
    }
}
/// Finds the bodies that carry no other and have such constants.
inline void find_leaves(Tree& tree) {
    Vec<char> carries(tree.bodies.size(), 0);
    for (const Body& b : tree.bodies)
        if (b.parent >= 0) carries[static_cast<std::size_t>(b.parent)] = 1;
    for (std::size_t i = 0; i < tree.bodies.size(); ++i) {
        Body& b = tree.bodies[i];
        b.leaf = -1;
        if (carries[i] || !(is_plain(b, JointKind::spherical) || b.kind == JointKind::revolute)) continue;
        double gain[6 * gain_size] = {}, drive[6] = {}, tau[6] = {};
        Body alone = b;
        alone.iv = 0;
        AbaBody<double> x{}, parent{};
        x.X = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
        x.I = rigid_inertia<double>(b);
        const AbaWork<double> work{&x, gain, drive, tau};
        Leaf leaf{};
        if (b.kind == JointKind::revolute) {
            absorb_revolute(alone, x, &parent, work);
            leaf.gf = stored_vec(gain), leaf.gn = stored_vec(gain + 3), leaf.d = gain[6], leaf.I = parent.I;
        } else {
            absorb_spherical(alone, x, &parent, work);
            leaf.G = stored_mat(gain), leaf.J_inv = stored_sym(gain + 9), leaf.I = parent.I;
        }
        b.leaf = static_cast<int>(tree.leaves.size());
        tree.leaves.push_back(leaf);
    }
}

/// Acceleration of a body with articulated inertia under a wrench, by blocks: J^-1, G = C J^-1, (M - G C^T)^-1.
template <class T, class W> UKEMI_INLINE Motion<W> free_response(const T* gain, const Vec3<W>& f, const Vec3<W>& n) {
    T* g = const_cast<T*>(gain);
    const Mat3<T>& G = stored_mat(g);
    const Vec3<W> a = stored_sym(g + 15) * (f - G * n);
    return {a, stored_sym(g + 9) * n - tmul(G, a)};
}

/// A free joint takes all of the body's inertia: the parent feels only the torque applied in the joint. Stores G, J^-1
/// and M'^-1; the drive is the body's whole acceleration.
template <class T> UKEMI_INLINE void absorb_free(const Body& b, AbaBody<T>& x, AbaBody<T>* parent, const AbaWork<T>& work) {
    const T* tau = work.tau + b.iv;
    const Vec3<T> tau_f = {tau[0], tau[1], tau[2]}, tau_n = {tau[3], tau[4], tau[5]};
    T* g = work.gain + gain_size * b.iv;
    const Sym3<T> J_inv = inverse(x.I.J);
    const Mat3<T> G = x.I.C * J_inv;
    Sym3<T> M = x.I.M;
    M -= symmetric_product(G, x.I.C);
    stored_mat(g) = G, stored_sym(g + 9) = J_inv, stored_sym(g + 15) = inverse(M);
    const Motion<T> a = free_response(g, tau_f - x.F.f, tau_n - x.F.n);
    stored_vec(work.drive + b.iv) = a.lin, stored_vec(work.drive + b.iv + 3) = a.ang;
    if (parent) pass_force(*parent, x.X, x.X.R * tau_f, tau_n);
}

/// Inwards over one joint, by its kind.
template <class T> UKEMI_INLINE void absorb(const Tree& tree, const Body& b, const In<T>& q, AbaBody<T>& x, AbaBody<T>* parent, const AbaWork<T>& work) {
    if (b.leaf >= 0) absorb_leaf(b, tree.leaves[static_cast<std::size_t>(b.leaf)], x, parent, work);
    else if (is_plain(b, JointKind::spherical)) absorb_spherical(b, x, parent, work);
    else if (b.kind == JointKind::revolute) absorb_revolute(b, x, parent, work);
    else if (is_plain(b, JointKind::free)) absorb_free(b, x, parent, work);
    else if (b.kind == JointKind::universal) absorb_universal(tree, b, x, parent, work);
    else absorb_general(tree, b, q, x, parent, work);
}
/// Inwards: articulated inertias and bias forces, from the rigid ones and the torques in the work.
template <class T> inline void absorb_all(const Tree& tree, const In<T>& q, const AbaWork<T>& work) {
    for (int i = static_cast<int>(tree.bodies.size()) - 1; i >= 0; --i) {
        const Body& b = tree.bodies[i];
        absorb(tree, b, q, work.bodies[i], b.parent < 0 ? nullptr : &work.bodies[b.parent], work);
    }
}

/// Where the joints place their bodies; room: for 2 nq numbers.
inline void place_bodies(const Tree& tree, const double* q, AbaBody<double>* bodies, double* room) {
    sin_cos(q, tree.nq, room, room + tree.nq);
    const Turns turns{{q, 0}, room, room + tree.nq};
    for (std::size_t i = 0; i < tree.bodies.size(); ++i) bodies[i].X = placement(tree.bodies[i], turns);
}
/// First pass, outwards: velocities and bias forces. external: a wrench per body, in body coordinates; it and tau may be
/// absent. placed: the bodies' placements are there already.
template <class T, bool placed = false>
inline void aba_velocities(const Tree& tree, const In<T>& q, const In<T>& v, const In<T>& tau, const In<T>& external, const AbaWork<T>& work) {
    const int n = static_cast<int>(tree.bodies.size());
    for (int k = 0; k < tree.nv; ++k) work.tau[k] = tau ? tau[k] : T{};
    for_each_elastic_torque(tree, q, v, [&](int lane, int k, double torque) {
        reinterpret_cast<double*>(work.tau + k)[lane] -= torque;
    });

    // Outwards: velocities, velocity-product accelerations, rigid inertias and their bias forces.
    for (int i = 0; i < n; ++i) {
        const Body& b = tree.bodies[i];
        AbaBody<T>& x = work.bodies[i];
        if (!placed) x.X = placement(b, q);
        const Rates<T> r = rates(b, x.X.R, v);
        x.w = r.w;
        x.gamma = r.gamma;
        x.zeta = r.zeta;
        if (b.parent >= 0) {
            const Vec3<T>& w_P = work.bodies[b.parent].w;
            const Vec3<T> w_in = tmul(x.X.R, w_P);
            Vec3<T> wp = cross(w_P, x.X.p);
            if (r.slides) wp += r.p_dot * 2.0;
            x.gamma += cross(w_P, wp);
            x.zeta += cross(w_in, r.w);
            x.w += w_in;
        }
        if (b.leaf < 0) x.I = rigid_inertia<T>(b);
        x.F.f = cross(x.w, cross(x.w, b.h));
        x.F.n = cross(x.w, b.I * x.w);
        if (external) {
            x.F.f -= load3(external, 6 * i);
            x.F.n -= load3(external, 6 * i + 3);
        }
    }
}
/// First two passes: velocities and bias forces outwards, articulated inertias inwards.
template <class T>
inline void aba_inward(const Tree& tree, const In<T>& q, const In<T>& v, const In<T>& tau, const In<T>& external, const AbaWork<T>& work) {
    aba_velocities(tree, q, v, tau, external, work);
    absorb_all(tree, q, work);
}

/// All bodies of a tree, parents before children; or some of them, closed towards the root.
struct AllBodies {
    int count;
    UKEMI_INLINE int operator[](int i) const { return i; }
};
struct SomeBodies {
    int count;
    const int* list;
    UKEMI_INLINE int operator[](int i) const { return list[i]; }
};

/// Third pass, outwards: accelerations from the drives. `moving`: with the bias accelerations; without them (and with
/// a_world = 0) it is the tree's response to impulses.
template <bool moving, class T, class Which>
inline void aba_outward(const Tree& tree, const Which& which, const In<T>& q, const Vec3<T>& a_world, const AbaWork<T>& work, const T* drives, const Out<T>& out) {
    for (int n = 0; n < which.count; ++n) {
        const int i = which[n];
        const Body& b = tree.bodies[i];
        AbaBody<T>& x = work.bodies[i];
        Vec3<T> a = a_world, alpha = zero3<T>();
        if (moving) a += x.gamma, alpha = x.zeta;
        if (b.parent >= 0) {
            const AbaBody<T>& P = work.bodies[b.parent];
            a = P.a + cross(P.alpha, x.X.p);
            if (moving) a += x.gamma;
            alpha += tmul(x.X.R, P.alpha);
        }
        a = tmul(x.X.R, a);
        T* g = work.gain + gain_size * b.iv;
        const T* drive = drives + b.iv;
        if (lanes<T> > 1 && b.leaf >= 0) {  // nothing hangs on it: its own acceleration is not needed
            const Leaf& leaf = tree.leaves[static_cast<std::size_t>(b.leaf)];
            if (b.kind == JointKind::revolute) out.set(b.iv, drive[0] - (dot(leaf.gf, a) + dot(leaf.gn, alpha)));
            else store3(out, b.iv, Vec3<T>{drive[0], drive[1], drive[2]} - tmul(leaf.G, a) - alpha);
        } else if (is_plain(b, JointKind::spherical)) {
            x.a = a;
            x.alpha = Vec3<T>{drive[0], drive[1], drive[2]} - tmul(stored_mat(g), a);
            store3(out, b.iv, x.alpha - alpha);
        } else if (b.kind == JointKind::revolute) {
            const T qdd = drive[0] - (dot(stored_vec(g), a) + dot(stored_vec(g + 3), alpha));
            out.set(b.iv, qdd);
            x.a = a;
            x.alpha = alpha + b.axis * qdd;
        } else if (b.kind == JointKind::universal) {
            const T first = drive[0] - (dot(stored_vec(g), a) + dot(stored_vec(g + 3), alpha)), second = drive[1] - (dot(stored_vec(g + 6), a) + dot(stored_vec(g + 9), alpha));
            out.set(b.iv, first), out.set(b.iv + 1, second);
            x.a = a;
            x.alpha = alpha + universal_first(b, x.X.R) * first + b.axis2 * second;
        } else if (is_plain(b, JointKind::free)) {
            x.a = {drive[0], drive[1], drive[2]};
            x.alpha = {drive[3], drive[4], drive[5]};
            store3(out, b.iv, x.a - a);
            store3(out, b.iv + 3, x.alpha - alpha);
        } else {
            x.a = a;
            x.alpha = alpha;
            for (int k = 0; k < b.nv; ++k, g += 6) {
                const T qdd = drive[k] - (dot(stored_vec(g), a) + dot(stored_vec(g + 3), alpha));
                const Motion<T> S = subspace(b, x.X.R, q, k);
                out.set(b.iv + k, qdd);
                x.a += S.lin * qdd;
                x.alpha += S.ang * qdd;
            }
        }
    }
}

/// qdd of the tree under tau, gravity and external wrenches.
template <class T>
inline void aba(const Tree& tree, const In<T>& q, const In<T>& v, const In<T>& tau, const In<T>& external, const Vec3<double>& gravity,
                const AbaWork<T>& work, const Out<T>& out) {
    aba_inward(tree, q, v, tau, external, work);
    aba_outward<true>(tree, AllBodies{static_cast<int>(tree.bodies.size())}, q, Vec3<T>{-gravity.x + T{}, -gravity.y + T{}, -gravity.z + T{}}, work, work.drive, out);
}

UKEMI_END
