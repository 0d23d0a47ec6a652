// Dynamics of closed chains by constraint forces ([CC00] eq. 11-21), through the articulated bodies of the tree.
//
// A row of a loop is a unit wrench on body b and its reaction on body a; a row of a tie is a push at its joints. Carried towards the world with the
// articulated gains it leaves u = S^T F at every joint on its way; the constraint matrix is then
//   B = H_C A^-1 H_C^T,  B_rs = sum over shared joints of u_r^T D^-1 u_s,
// in O(n) per row, without forming A, H_C or any inverse ([HAND07] 4.1 does the same for impulses). B is kept in its
// skyline and factorised as L D L^T; a row whose pivot vanishes depends on the rows before it and is dropped.
#pragma once
#include <algorithm>
#include <cmath>
#include <numeric>

#include "closed_matrix.hpp"
#include "level_vector.hpp"

UKEMI_BEGIN

/// Accelerations and constraint forces of the closed chain. external: per body, body coordinates, or null. Returns how far
/// the pose is from a singular one: the weakest row's response as a share of what it would be in the best pose.
inline double closed_dynamics(const Tree& tree, const Loops& loops, const double* q, const double* v, const double* tau, const double* external, const double* gravity,
                            void* memory, double* a, double* lambda) {
    const ClosedWork work = closed_work(tree, loops, memory);
    const In<double> Q{q, 0}, V{v, 0}, TAU{tau, 0};
    const std::size_t n6 = 6 * tree.bodies.size();
    const double* wrenches = external;
    if (std::any_of(loops.items.begin(), loops.items.end(), [](const Loop& l) { return l.elastic; })) {
        world_motion_at(tree, loops, q, v, work);
        if (external) std::copy(external, external + n6, work.external);
        else std::fill(work.external, work.external + n6, 0.0);
        elastic_loops(loops, work);
        wrenches = work.external;
    }
    aba_inward<double>(tree, Q, V, TAU, {wrenches, 0}, work.aba);
    const Vec3<double> a_world = {-gravity[0], -gravity[1], -gravity[2]};
    const AllBodies all{static_cast<int>(tree.bodies.size())};
    if (loops.rows == 0) {
        aba_outward<true>(tree, all, Q, a_world, work.aba, work.aba.drive, Out<double>{a, 0});
        return 1;
    }
    aba_outward<true>(tree, touched(loops), Q, a_world, work.aba, work.aba.drive, Out<double>{a, 0});
    if (!loops.items.empty()) world_motion(tree, loops, v, work);
    closed_relatives(loops, q, v, work);
    const Strength strength = closed_factor(tree, loops, Q, dependent, work);
    closed_row_accelerations(loops, work, a_world, a, lambda);
    for (std::size_t t = 0; t < loops.ties.size(); ++t) lambda[loops.blocks[loops.items.size() + t].row] -= loops.ties[t].target;
    for (int r = 0; r < loops.rows; ++r) lambda[r] = -lambda[r];
    closed_solve(loops, work, lambda);
    std::copy(work.aba.drive, work.aba.drive + tree.nv, work.drive);
    closed_drive(loops, work, work.drive);
    aba_outward<true>(tree, all, Q, a_world, work.aba, work.drive, Out<double>{a, 0});
    for (int refinement = 0; refinement < 2 && strength.alone < ill_conditioned; ++refinement) {
        closed_row_accelerations(loops, work, a_world, a, work.rhs);
        for (std::size_t t = 0; t < loops.ties.size(); ++t) {
            const int row = loops.blocks[loops.items.size() + t].row;
            work.rhs[row] += loops.ties[t].compliance * lambda[row] - loops.ties[t].target;
        }
        for (int r = 0; r < loops.rows; ++r) work.rhs[r] = -work.rhs[r];
        closed_solve(loops, work, work.rhs);
        for (int r = 0; r < loops.rows; ++r) lambda[r] += work.rhs[r];
        closed_drive(loops, work, work.drive);
        aba_outward<true>(tree, all, Q, a_world, work.aba, work.drive, Out<double>{a, 0});
    }
    return strength.best;
}

/// Prepares the response at q: inertias, rows (errors, rates at v), factor; `careful` leaves nearly dependent rows out.
inline void closed_prepare(const Tree& tree, const Loops& loops, const double* q, const double* v, bool careful, void* memory) {
    const ClosedWork work = closed_work(tree, loops, memory);
    aba_inward<double>(tree, {q, 0}, {v, 0}, {nullptr, 0}, {nullptr, 0}, work.aba);
    if (!loops.items.empty()) world_motion(tree, loops, v, work);
    closed_rows(loops, q, v, work);
    closed_factor(tree, loops, {q, 0}, careful ? nearly_dependent : dependent, work);
}
/// Response of the prepared chain to impulses along its rows that change the rows' velocities by `change`: impulses
/// F = B^-1 change ([CC00] eq. 18) and the change of v, A^-1 H_C^T F (eq. 19).
inline void closed_respond(const Tree& tree, const Loops& loops, const double* q, void* memory, const double* change, double* impulse, double* dv) {
    const ClosedWork work = closed_work(tree, loops, memory);
    std::copy(change, change + loops.rows, impulse);
    closed_solve(loops, work, impulse);
    std::fill(work.drive, work.drive + tree.nv, 0.0);
    closed_drive(loops, work, work.drive);
    aba_outward<false>(tree, AllBodies{static_cast<int>(tree.bodies.size())}, In<double>{q, 0}, Vec3<double>{0, 0, 0}, work.aba, work.drive, Out<double>{dv, 0});
}
/// Errors and rates of all rows at (q, v).
inline void closed_state(const Tree& tree, const Loops& loops, const double* q, const double* v, void* memory, double* error, double* rate) {
    const ClosedWork work = closed_work(tree, loops, memory);
    if (!loops.items.empty()) world_motion_at(tree, loops, q, v, work);
    closed_rows(loops, q, v, work);
    std::copy(work.error, work.error + loops.rows, error);
    std::copy(work.rate, work.rate + loops.rows, rate);
}
/// Errors and rates of all rows, of the state that was prepared.
inline void closed_errors(const Tree& tree, const Loops& loops, void* memory, double* error, double* rate) {
    const ClosedWork work = closed_work(tree, loops, memory);
    std::copy(work.error, work.error + loops.rows, error);
    std::copy(work.rate, work.rate + loops.rows, rate);
}
/// Adds the constraint forces of a loop to a wrench on B (A's axes, at the origin of B), and writes what acts on A: force
/// and moment at the origin of B, in the coordinates of body a.
inline void write_wrench(const Loop& loop, const Relative& r, int row, const double* lambda, Force<double> F, double* out) {
    for_each_row(loop, r, row, [&](int k, const Vec3<double>& f, const Vec3<double>& n, double, double, double) { F.f += f * lambda[k], F.n += n * lambda[k]; });
    write3(out, -(loop.X_a.R * F.f)), write3(out + 3, -(loop.X_a.R * F.n));
}
/// For each loop the wrench that acts on A, of its rows (lambda) and its springs and dampers (6 per loop). Returns the
/// energy in the springs.
inline double closed_wrenches(const Tree& tree, const Loops& loops, const double* q, const double* v, const double* lambda, void* memory, double* out) {
    const ClosedWork work = closed_work(tree, loops, memory);
    world_motion_at(tree, loops, q, v, work);
    double energy = 0;
    for (std::size_t l = 0; l < loops.items.size(); ++l) {
        const Loop& loop = loops.items[l];
        const Relative r = relative_motion(loop, work);
        Force<double> F{zero3<double>(), zero3<double>()};
        if (loop.elastic) energy += elastic_wrench(loop, r, F);
        write_wrench(loop, r, loops.blocks[l].row, lambda, F, out + 6 * l);
    }
    return energy;
}
/// The same without springs, for impulses at the state that was prepared.
inline void closed_prepared_wrenches(const Tree& tree, const Loops& loops, const double* lambda, void* memory, double* out) {
    const ClosedWork work = closed_work(tree, loops, memory);
    const Force<double> none{zero3<double>(), zero3<double>()};
    for (std::size_t l = 0; l < loops.items.size(); ++l) write_wrench(loops.items[l], work.relative[l], loops.blocks[l].row, lambda, none, out + 6 * l);
}
/// Generalized forces (nv) of the springs and dampers of the loops.
inline void closed_spring_torques(const Tree& tree, const Loops& loops, const double* q, const double* v, void* memory, double* out) {
    const ClosedWork work = closed_work(tree, loops, memory);
    std::fill(work.external, work.external + 6 * tree.bodies.size(), 0.0);
    std::fill(out, out + tree.nv, 0.0);
    world_motion_at(tree, loops, q, v, work);
    elastic_loops(loops, work);
    for (auto i = loops.touched.rbegin(); i != loops.touched.rend(); ++i) {
        const Body& b = tree.bodies[*i];
        const Placement<double>& X = work.aba.bodies[*i].X;
        const Force<double> F = {read3(work.external + 6 * *i), read3(work.external + 6 * *i + 3)};
        project(b, X.R, In<double>{q, 0}, F, [&](int k, double value) { out[b.iv + k] = value; });
        if (b.parent < 0) continue;
        double* above = work.external + 6 * b.parent;
        const Vec3<double> f = X.R * F.f;
        write3(above, read3(above) + f), write3(above + 3, read3(above + 3) + X.R * F.n + cross(X.p, f));
    }
}
/// H_C (rows x nv, row-major, cleared by the caller) and H_C_dot v.
inline void closed_jacobian(const Tree& tree, const Loops& loops, const double* q, const double* v, void* memory, double* H, double* rate_v) {
    const ClosedWork work = closed_work(tree, loops, memory);
    const In<double> Q{q, 0}, V{v, 0};
    aba_inward<double>(tree, Q, V, {nullptr, 0}, {nullptr, 0}, work.aba);
    if (!loops.items.empty()) world_motion(tree, loops, v, work);
    closed_rows(loops, q, v, work);
    closed_responses<false>(tree, loops, Q, work);
    for (const RowBlock& block : loops.blocks) {
        for (int g = 0; g < block.tiles; ++g) {
            const Pack* u = work.u + group_store(block, g);
            for (int s = 0; s < side_by_side && g * side_by_side + s < block.rows; ++s)
                for (int d = 0; d < block.dofs_end - block.dofs; ++d)
                    H[static_cast<std::ptrdiff_t>(block.row + g * side_by_side + s) * tree.nv + loops.freedoms[block.dofs + d]] = get_lane(u[d], s);
        }
    }
    // qdd = 0, no gravity: what is left of the rows' accelerations is H_dot v
    for (std::size_t i = 0; i < tree.bodies.size(); ++i) {
        const Body& b = tree.bodies[i];
        AbaBody<double>& x = work.aba.bodies[i];
        Vec3<double> a = x.gamma, alpha = x.zeta;
        if (b.parent >= 0) {
            const AbaBody<double>& P = work.aba.bodies[b.parent];
            a += P.a + cross(P.alpha, x.X.p);
            alpha += tmul(x.X.R, P.alpha);
        }
        x.a = tmul(x.X.R, a), x.alpha = alpha;
    }
    closed_row_accelerations(loops, work, {0, 0, 0}, nullptr, rate_v);
}

/// Pivots of the last factorisation: 0 marks a dependent row.
inline const double* closed_pivots(const Tree& tree, const Loops& loops, void* memory) { return closed_work(tree, loops, memory).pivot; }

/// Takes out of the constraint forces what does no work: with redundant rows, forces along the combinations z of rows
/// that vanish (H_C^T z = 0) change nothing, and the least of all solutions has no part along them.
inline void closed_least_norm(const Tree& tree, const Loops& loops, void* memory, double* lambda) {
    const ClosedWork work = closed_work(tree, loops, memory);
    const auto rows = static_cast<std::size_t>(loops.rows);
    Vec<Vec<double>> basis;
    for (int t = 0; t < static_cast<int>(loops.tiles.size()); ++t) {
        for (int lane = 0; lane < loops.tiles[t].rows; ++lane) {
            const int r = loops.tiles[t].row + lane;
            if (work.pivot[r] > 0) continue;
            // row r = sum over earlier independent rows of c_k row k, with c = L^-T (line r of L)
            Vec<double> z(rows, 0.0);
            z[static_cast<std::size_t>(r)] = -1.0;
            for_each_left(loops, work, t, lane, [&](int c, double l) { z[static_cast<std::size_t>(c)] = l; });
            for (int s = t; s >= 0; --s) {
                for (int i = loops.tiles[s].rows - 1; i >= 0; --i) {
                    const int k = loops.tiles[s].row + i;
                    if (k < r) for_each_left(loops, work, s, i, [&](int c, double l) { z[static_cast<std::size_t>(c)] -= l * z[static_cast<std::size_t>(k)]; });
                }
            }
            for (const auto& b : basis) {
                const double part = std::inner_product(b.begin(), b.end(), z.begin(), 0.0);
                for (std::size_t k = 0; k < rows; ++k) z[k] -= part * b[k];
            }
            const double length = std::sqrt(std::inner_product(z.begin(), z.end(), z.begin(), 0.0));
            for (double& x : z) x /= length;
            const double part = std::inner_product(z.begin(), z.end(), lambda, 0.0);
            for (std::size_t k = 0; k < rows; ++k) lambda[k] -= part * z[k];
            basis.push_back(z);
        }
    }
}

UKEMI_END
