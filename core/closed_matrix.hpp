// The constraint matrix B = H_C A^-1 H_C^T of closed chains: its entries, its factor, its solutions.
#pragma once
#include <algorithm>

#include "closed_rows.hpp"

UKEMI_BEGIN

/// Carries a group of rows' wrenches towards the world, leaving S^T F in u; `articulated`: what each joint takes away is
/// left out of what goes on (the response of the tree), else all goes on (the rows of the Jacobian).
template <bool articulated> inline void carry(const Tree& tree, const Loops& loops, const Loop& loop, const RowWrenches& wrench, const In<double>& q, const ClosedWork& work, Pack* u, Pack* y) {
    const Force<Pack> nothing{zero3<Pack>(), zero3<Pack>()};
    for (int k = loop.path; k < loop.path_end; ++k) work.carried[loops.bodies[k]] = nothing;
    if (loop.b >= 0) work.carried[loop.b] = wrench.on_b;
    if (loop.a >= 0) work.carried[loop.a] = wrench.on_a;
    for (int k = loop.path; k < loop.path_end; ++k) {
        const int i = loops.bodies[k];
        const Body& b = tree.bodies[i];
        const AbaBody<double>& x = work.aba.bodies[i];
        Force<Pack> F = work.carried[i];
        double* g = work.aba.gain + gain_size * b.iv;
        if (b.kind == JointKind::revolute) u[0] = dot(b.axis, F.n);
        else if (b.kind == JointKind::spherical) stored_vec(u) = F.n;
        else if (b.kind == JointKind::free) stored_vec(u) = F.f, stored_vec(u + 3) = F.n;
        else {
            for (int d = 0; d < b.nv; ++d) {
                const Motion<double> S = subspace(b, x.X.R, q, d);
                u[d] = dot(S.lin, F.f) + dot(S.ang, F.n);
            }
        }
        if constexpr (articulated) {
            if (is_plain(b, JointKind::spherical)) {
                stored_vec(y) = stored_sym(g + 9) * F.n;
                F = {F.f - stored_mat(g) * F.n, zero3<Pack>()};
            } else if (b.kind == JointKind::revolute) {
                y[0] = g[6] * u[0];
                F = {F.f - stored_vec(g) * u[0], F.n - stored_vec(g + 3) * u[0]};
            } else if (is_plain(b, JointKind::free)) {
                const Motion<Pack> a = free_response(g, F.f, F.n);
                stored_vec(y) = a.lin, stored_vec(y + 3) = a.ang;
                F = nothing;
            } else {
                for (int d = 0; d < b.nv; ++d) {
                    y[d] = u[d];
                    F.f -= stored_vec(g + 6 * d) * u[d];
                    F.n -= stored_vec(g + 6 * d + 3) * u[d];
                }
                small_solve(g + 6 * b.nv, b.nv, y);
            }
            y += b.nv;
        }
        if (b.parent >= 0) {
            Force<Pack>& F_P = work.carried[b.parent];
            const Vec3<Pack> f = x.X.R * F.f;
            F_P.f += f;
            F_P.n += x.X.R * F.n + cross(x.X.p, f);
        }
        u += b.nv;
    }
}

/// What B's diagonal would be for a unit force at the connection, and for a unit moment, if every joint on the way could
/// follow it fully: the scale against which a diagonal is rounding.
inline void row_bounds(const Tree& tree, const Loops& loops, const Loop& loop, const Relative& r, const ClosedWork& work) {
    double force = 0, moment = 0;
    for (int k = loop.path; k < loop.path_end; ++k) {
        const int i = loops.bodies[k];
        const Body& b = tree.bodies[i];
        const Vec3<double> arm = r.at - work.X[i].p;
        const double reach = dot(arm, arm);
        const double* g = work.aba.gain + gain_size * b.iv;
        double slide = 0, turn = 0;  // D^-1 of its freedoms
        if (is_plain(b, JointKind::spherical)) turn = g[9] + g[12] + g[14];
        else if (b.kind == JointKind::revolute) turn = g[6];
        else if (is_plain(b, JointKind::free)) slide = g[15] + g[18] + g[20], turn = g[9] + g[12] + g[14];
        else {
            for (int d = 0; d < b.nv; ++d) slide += 1.0 / g[6 * b.nv + d * b.nv + d];
            turn = slide;
        }
        force += slide + turn * reach;
        moment += turn;
    }
    int k = loop.row;
    for (int i = 0; i < 3; ++i)
        if (loop.lin[i]) work.bound[k++] = force;
    for (int i = 0; i < loop.rot; ++i) work.bound[k++] = moment;
}

/// Where a group of a loop's rows keeps its responses.
UKEMI_INLINE std::size_t group_store(const Loop& loop, int group) {
    return static_cast<std::size_t>(loop.store / side_by_side + group * (loop.dofs_end - loop.dofs));
}

/// B in its skyline and its factor; returns the smallest pivot as a share of its diagonal. Needs closed_rows and the
/// articulated inertias.
inline double closed_factor(const Tree& tree, const Loops& loops, const In<double>& q, double tolerance, const ClosedWork& work) {
    closed_unit_wrenches(loops, work);
    for (std::size_t l = 0; l < loops.items.size(); ++l) {
        const Loop& loop = loops.items[l];
        row_bounds(tree, loops, loop, work.relative[l], work);
        for (int g = 0; g * side_by_side < loop.rows; ++g)
            carry<true>(tree, loops, loop, work.wrench[6 * l + static_cast<std::size_t>(g)], q, work, work.u + group_store(loop, g), work.y + group_store(loop, g));
    }
    std::fill(work.L, work.L + loops.envelope, 0.0);
    for (const LoopPair& pair : loops.pairs) {
        const Loop &p = loops.items[pair.first], &s = loops.items[pair.second];
        for (int gs = 0; gs * side_by_side < s.rows; ++gs) {
            for (int gp = 0; gp * side_by_side < p.rows; ++gp) {
                // products of all rows of one group with all rows of the other
                Pack sums[side_by_side] = {};
                for (int k = pair.runs; k < pair.runs_end; ++k) {
                    const SharedRun& run = loops.runs[k];
                    const Pack *a = work.u + group_store(p, gp) + run.i, *b = work.y + group_store(s, gs) + run.j;
                    for (int d = 0; d < run.count; ++d)
                        for (int i = 0; i < side_by_side; ++i) sums[i] += get_lane(a[d], i) * b[d];
                }
                for (int j = 0; j < side_by_side && gs * side_by_side + j < s.rows; ++j) {
                    const int row = s.row + gs * side_by_side + j;
                    for (int i = 0; i < side_by_side && gp * side_by_side + i < p.rows; ++i) {
                        const int column = p.row + gp * side_by_side + i;
                        if (column <= row) work.L[loops.offset[row] + column] = get_lane(sums[i], j);
                    }
                }
            }
        }
    }
    double weakest = 1;
    // L D L^T within the skyline; entries of L are kept divided by their pivots
    for (int r = 0; r < loops.rows; ++r) {
        double* line = work.L + loops.offset[r];
        const int first = loops.first[r];
        const double diagonal = line[r];
        for (int c = first; c < r; ++c) {
            const double* other = work.L + loops.offset[c];
            double sum = line[c];
            for (int k = std::max(first, loops.first[c]); k < c; ++k) sum -= line[k] * other[k];
            line[c] = sum;  // L_rc times pivot c, for now
        }
        double pivot = diagonal;
        for (int c = first; c < r; ++c) {
            const double l = work.pivot[c] > 0 ? line[c] / work.pivot[c] : 0.0;
            pivot -= l * line[c];
            line[c] = l;
        }
        work.pivot[r] = pivot > std::max(tolerance * diagonal, immovable * work.bound[r]) ? pivot : 0.0;
        if (work.pivot[r] > 0) weakest = std::min(weakest, pivot / diagonal);
    }
    return weakest;
}

/// x := B^-1 x over the independent rows; dropped rows get 0.
inline void closed_solve(const Loops& loops, const ClosedWork& work, double* x) {
    for (int r = 0; r < loops.rows; ++r) {
        const double* line = work.L + loops.offset[r];
        for (int c = loops.first[r]; c < r; ++c) x[r] -= line[c] * x[c];
        if (work.pivot[r] == 0) x[r] = 0;
    }
    for (int r = 0; r < loops.rows; ++r) x[r] = work.pivot[r] > 0 ? x[r] / work.pivot[r] : 0.0;
    for (int r = loops.rows - 1; r >= 0; --r) {
        const double* line = work.L + loops.offset[r];
        for (int c = loops.first[r]; c < r; ++c) x[c] -= line[c] * x[r];
    }
}

/// Drives of the constraint forces lambda, added to `drive`.
inline void closed_drive(const Loops& loops, const ClosedWork& work, const double* lambda, double* drive) {
    for (const Loop& loop : loops.items) {
        const int width = loop.dofs_end - loop.dofs;
        for (int g = 0; g * side_by_side < loop.rows; ++g) {
            Pack force{};
            for (int s = 0; s < side_by_side && g * side_by_side + s < loop.rows; ++s) set_lane(force, s, lambda[loop.row + g * side_by_side + s]);
            const Pack* y = work.y + group_store(loop, g);
            for (int d = 0; d < width; ++d) {
                const Pack product = force * y[d];
                double sum = 0;
                for (int s = 0; s < side_by_side; ++s) sum += get_lane(product, s);
                drive[loops.freedoms[loop.dofs + d]] += sum;
            }
        }
    }
}

/// H_C theta_dd + H_C_dot theta_d of every row, from the accelerations that the last outward pass left in the bodies.
inline void closed_row_accelerations(const Loops& loops, const ClosedWork& work, const Vec3<double>& a_world, double* out) {
    auto of_point = [&](int body, const Vec3<double>& at, Vec3<double>& alpha) {
        if (body < 0) {
            alpha = {0, 0, 0};
            return a_world;
        }
        const Placement<double>& X = work.X[body];
        const AbaBody<double>& x = work.aba.bodies[body];
        const Vec3<double> arm = at - X.p, w = work.V[body].ang;
        alpha = X.R * x.alpha;
        return X.R * x.a + cross(alpha, arm) + cross(w, cross(w, arm));
    };
    for (std::size_t l = 0; l < loops.items.size(); ++l) {
        const Loop& loop = loops.items[l];
        const Relative& r = work.relative[l];
        Vec3<double> alpha_a, alpha_b;
        const Vec3<double> a_b = of_point(loop.b, r.at, alpha_b), a_a = of_point(loop.a, r.at, alpha_a);
        const Mat3<double>& R = r.X_A.R;
        const Vec3<double> p_dd = tmul(R, a_b - a_a - cross(r.w_a, R * r.p_dot) * 2.0);
        const Vec3<double> w_d = tmul(R, alpha_b - alpha_a - cross(r.w_a, R * r.w));
        for_each_row(loop, r, [&](int k, const Vec3<double>& f, const Vec3<double>& n, double, double, double extra) { out[k] = dot(f, p_dd) + dot(n, w_d) + extra; });
    }
}

UKEMI_END
