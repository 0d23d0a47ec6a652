// Forward dynamics with some freedoms held: their accelerations are given, their torques sought (Featherstone's hybrid
// dynamics; [HAND07] 3.3: a saturated joint). A held freedom is cheaper than a free one: it only passes on what it feels.
//
// Of a joint with free freedoms f and held ones h, of accelerations t_h, the body feels I a + F with
//   a = a_P + c + S_f qdd_f + S_h t_h,  qdd_f = D_ff^-1 (tau_f - S_f^T F - D_fh t_h - U_f^T (a_P + c)),  U = I S, D = S^T U + joint inertia,
// so that the parent feels I - U_f D_ff^-1 U_f^T and the bias F + U_h t_h + U_f D_ff^-1 (tau_f - S_f^T F - D_fh t_h).
#pragma once
#include "closed_work.hpp"

UKEMI_BEGIN

/// A joint of which some freedoms are held. Their gains are zero and their drives the accelerations, so that the outward pass
/// serves all.
inline void absorb_held(const Tree& tree, const Body& b, const In<double>& q, const char* held, const double* given, AbaBody<double>& x, AbaBody<double>* parent, const AbaWork<double>& work) {
    const int n = b.nv;
    double *drive = work.drive + b.iv, *gain = work.gain + gain_size * b.iv, *D = gain + 6 * n;
    if (b.leaf >= 0) x.I = rigid_inertia<double>(b);
    Force<double> F = x.F;
    if (b.kind == JointKind::revolute) {
        for (int c = 0; c < 6; ++c) gain[c] = 0;
        drive[0] = given[b.iv];
        F.f += (x.I.C * b.axis) * drive[0], F.n += (x.I.J * b.axis) * drive[0];
        if (parent) pass_inertia(*parent, x.X, x.I, F, x.gamma, x.zeta);
        return;
    }
    Force<double> U[6];
    joint_terms(tree, b, q, x, work.tau + b.iv, U, D, drive);
    for (int h = 0; h < n; ++h) {
        if (!held[b.iv + h]) continue;
        const double t = given[b.iv + h];
        F.f += U[h].f * t, F.n += U[h].n * t;
        for (int k = 0; k < n; ++k) {
            if (!held[b.iv + k]) drive[k] -= D[k * n + h] * t;
            D[k * n + h] = D[h * n + k] = 0;
        }
        D[h * n + h] = 1, drive[h] = t;
        U[h] = {zero3<double>(), zero3<double>()};
    }
    absorb_terms(n, x, F, U, D, drive, gain, parent);
}

/// Torque that holds a freedom, beside the applied one: S^T (I a + F) + joint inertia - tau, after the outward pass.
inline double holding_torque(const Tree& tree, const Body& b, const In<double>& q, int k, const double* a, const AbaWork<double>& work) {
    const AbaBody<double>& x = work.bodies[&b - tree.bodies.data()];
    const Motion<double> S = subspace(b, x.X.R, q, k);
    const Vec3<double> f = x.I.M * x.a + x.I.C * x.alpha + x.F.f, n = tmul(x.I.C, x.a) + x.I.J * x.alpha + x.F.n;
    double torque = dot(S.lin, f) + dot(S.ang, n) + b.armature[k] * a[b.iv + k] - work.tau[b.iv + k];
    if (b.coupled)
        for (int j = 0; j < b.nv; ++j) torque += tree.joint_inertias[static_cast<std::size_t>(b.coupled - 1)].matrix[k * b.nv + j] * a[b.iv + j];
    return torque;
}

/// held (nv): not 0 where the acceleration is given. placed: scratch has the placements of this q, from the last call or from
/// energies. Leaves all accelerations, and the torques of held freedoms.
inline void held_dynamics(const Tree& tree, const char* held, const double* given, const double* q, const double* v, const double* tau, const double* external, const double* gravity,
                          void* scratch, bool placed, double* a, double* torque) {
    Carver c{static_cast<char*>(scratch)};
    const std::size_t count = tree.bodies.size(), nv = static_cast<std::size_t>(tree.nv);
    const AbaWork<double> work = {c.take<AbaBody<double>>(count), c.take<double>(gain_size * nv), c.take<double>(nv), c.take<double>(nv)};
    const In<double> Q{q, 0};
    if (!placed) place_bodies(tree, q, work.bodies, work.gain);
    aba_velocities<double, true>(tree, Q, {v, 0}, {tau, 0}, {external, 0}, work);
    for (int i = static_cast<int>(count) - 1; i >= 0; --i) {
        const Body& b = tree.bodies[i];
        AbaBody<double>* parent = b.parent < 0 ? nullptr : &work.bodies[b.parent];
        bool holds = false;
        for (int k = 0; k < b.nv; ++k) holds |= held[b.iv + k] != 0;
        if (holds) absorb_held(tree, b, Q, held, given, work.bodies[i], parent, work);
        else absorb(tree, b, Q, work.bodies[i], parent, work);
    }
    aba_outward<true>(tree, AllBodies{static_cast<int>(count)}, Q, Vec3<double>{-gravity[0], -gravity[1], -gravity[2]}, work, work.drive, Out<double>{a, 0});
    for (const Body& b : tree.bodies)
        for (int k = 0; k < b.nv; ++k)
            if (held[b.iv + k]) torque[b.iv + k] = holding_torque(tree, b, Q, k, a, work);
}

UKEMI_END
