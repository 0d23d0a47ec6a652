// The constraint matrix B = H_C A^-1 H_C^T of closed chains: its entries, its factor, its solutions.
#pragma once
#include <algorithm>

#include "closed_rows.hpp"

UKEMI_BEGIN

/// Carries wrenches along a block's path towards the world, leaving S^T F in u: F at the first body, if all of the path is
/// one `branch`, or what stands in work.carried. `pushed`: u holds generalized forces already, which are added. `articulated`: what each joint takes away is left out of what goes on (the
/// response of the tree, D^-1 u in y), else all goes on (the rows of the Jacobian).
template <bool articulated, bool pushed, bool branch> inline void carry(const Tree& tree, const Loops& loops, const RowBlock& block, Force<Pack> F, const In<double>& q, const ClosedWork& work, Pack* u, Pack* y) {
    const Force<Pack> nothing{zero3<Pack>(), zero3<Pack>()};
    auto put = [](Pack& to, const Pack& value) {
        if constexpr (pushed) to += value;
        else to = value;
    };
    auto put3 = [&](Pack* to, const Vec3<Pack>& value) { put(to[0], value.x), put(to[1], value.y), put(to[2], value.z); };
    for (int k = block.path; k < block.path_end; ++k) {
        const int i = loops.bodies[k];
        const Body& b = tree.bodies[i];
        const AbaBody<double>& x = work.aba.bodies[i];
        if constexpr (!branch) F = work.carried[i];
        double* g = work.aba.gain + gain_size * b.iv;
        if (b.kind == JointKind::revolute) put(u[0], dot(b.axis, F.n));
        else if (b.kind == JointKind::spherical) put3(u, F.n);
        else if (b.kind == JointKind::free) put3(u, F.f), put3(u + 3, F.n);
        else {
            for (int d = 0; d < b.nv; ++d) {
                const Motion<double> S = subspace(b, x.X.R, q, d);
                put(u[d], dot(S.lin, F.f) + dot(S.ang, F.n));
            }
        }
        if constexpr (articulated) {
            if (is_plain(b, JointKind::spherical)) {
                const Vec3<Pack> n = stored_vec(u);
                stored_vec(y) = stored_sym(g + 9) * n;
                F = {F.f - stored_mat(g) * n, pushed ? F.n - n : nothing.n};
            } else if (b.kind == JointKind::revolute) {
                y[0] = g[6] * u[0];
                F = {F.f - stored_vec(g) * u[0], F.n - stored_vec(g + 3) * u[0]};
            } else if (is_plain(b, JointKind::free)) {
                const Vec3<Pack> f = stored_vec(u), n = stored_vec(u + 3);
                const Motion<Pack> a = free_response(g, f, n);
                stored_vec(y) = a.lin, stored_vec(y + 3) = a.ang;
                F = pushed ? Force<Pack>{F.f - f, F.n - n} : nothing;
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
            const Vec3<Pack> f = x.X.R * F.f, n = x.X.R * F.n + cross(x.X.p, f);
            if constexpr (branch) F = {f, n};
            else work.carried[b.parent].f += f, work.carried[b.parent].n += n;
        }
        u += b.nv;
    }
}

/// Sums of D^-1 over a body's freedoms to slide and to turn.
struct Ease { double slide, turn; };
inline Ease joint_ease(const Body& b, const ClosedWork& work) {
    const double* g = work.aba.gain + gain_size * b.iv;
    if (is_plain(b, JointKind::spherical)) return {0, g[9] + g[12] + g[14]};
    if (b.kind == JointKind::revolute) return {0, g[6]};
    if (is_plain(b, JointKind::free)) return {g[15] + g[18] + g[20], g[9] + g[12] + g[14]};
    double sum = 0;
    for (int d = 0; d < b.nv; ++d) sum += 1.0 / g[6 * b.nv + d * b.nv + d];
    return {sum, sum};
}
/// What B's diagonal would be for a unit force at the connection, and for a unit moment, if every joint on the way could
/// follow it fully: the scale against which a diagonal is rounding.
inline void row_bounds(const Tree& tree, const Loops& loops, const Loop& loop, const RowBlock& block, const Relative& r, const ClosedWork& work) {
    double force = 0, moment = 0;
    for (int k = block.path; k < block.path_end; ++k) {
        const int i = loops.bodies[k];
        const Vec3<double> arm = r.at - work.X[i].p;
        const Ease ease = joint_ease(tree.bodies[i], work);
        force += ease.slide + ease.turn * dot(arm, arm);
        moment += ease.turn;
    }
    int k = block.row;
    for (int i = 0; i < 3; ++i)
        if (loop.lin[i]) work.bound[k++] = force;
    for (int i = 0; i < loop.rot; ++i) work.bound[k++] = moment;
}
/// The same for a tie: the response of its own joints.
inline double tie_bound(const Tree& tree, const Loops& loops, const Tie& tie, const ClosedWork& work) {
    double bound = 0;
    for (int t = tie.term; t < tie.term_end; ++t) {
        const Ease ease = joint_ease(tree.bodies[loops.terms[t].body], work);
        const Vec3<double> c = read3(work.coefficient + 3 * t);
        bound += dot(c, c) * std::max(ease.slide, ease.turn);
    }
    return bound;
}

/// Where a group of a block's rows keeps its responses.
UKEMI_INLINE std::size_t group_store(const RowBlock& block, int group) { return static_cast<std::size_t>(block.store + group * (block.dofs_end - block.dofs)); }

/// Responses of all rows: u and, if articulated, y and the bounds. Needs closed_relatives.
template <bool articulated> inline void closed_responses(const Tree& tree, const Loops& loops, const In<double>& q, const ClosedWork& work) {
    const Force<Pack> nothing{zero3<Pack>(), zero3<Pack>()};
    auto clear = [&](const RowBlock& block) {
        for (int k = block.path; k < block.path_end; ++k) work.carried[loops.bodies[k]] = nothing;
    };
    closed_unit_wrenches(loops, work);
    for (std::size_t l = 0; l < loops.items.size(); ++l) {
        const Loop& loop = loops.items[l];
        const RowBlock& block = loops.blocks[l];
        if (articulated) row_bounds(tree, loops, loop, block, work.relative[l], work);
        for (int g = 0; g < block.tiles; ++g) {
            const RowWrenches& wrench = work.wrench[6 * l + static_cast<std::size_t>(g)];
            Pack *u = work.u + group_store(block, g), *y = work.y + group_store(block, g);
            if (loop.a < 0 || loop.b < 0) {
                carry<articulated, false, true>(tree, loops, block, loop.a < 0 ? wrench.on_b : wrench.on_a, q, work, u, y);
            } else {
                clear(block);
                work.carried[loop.b] = wrench.on_b, work.carried[loop.a] = wrench.on_a;
                carry<articulated, false, false>(tree, loops, block, nothing, q, work, u, y);
            }
        }
    }
    for (std::size_t t = 0; t < loops.ties.size(); ++t) {
        const RowBlock& block = loops.blocks[loops.items.size() + t];
        Pack* u = work.u + group_store(block, 0);
        if (articulated) work.bound[block.row] = tie_bound(tree, loops, loops.ties[t], work);
        clear(block);
        for (int d = 0; d < block.dofs_end - block.dofs; ++d) u[d] = Pack{};
        for_each_coefficient(loops, loops.ties[t], work, [&](int, int d, double c) { set_lane(u[d], 0, c + get_lane(u[d], 0)); });
        carry<articulated, true, false>(tree, loops, block, nothing, q, work, u, work.y + group_store(block, 0));
    }
}

/// B, tile by tile, where blocks share freedoms.
inline void constraint_matrix(const Loops& loops, const ClosedWork& work) {
    std::fill(work.L, work.L + loops.tile_count, Tile{});
    for (const BlockPair& pair : loops.pairs) {
        const RowBlock &p = loops.blocks[pair.first], &s = loops.blocks[pair.second];
        for (int gs = 0; gs < s.tiles; ++gs) {
            Tile* line = work.L + loops.tiles[s.tile + gs].offset;
            for (int gp = 0; gp < p.tiles && p.tile + gp <= s.tile + gs; ++gp) {
                Tile sums{};  // products of all rows of one group with all rows of the other
                for (int k = pair.runs; k < pair.runs_end; ++k) {
                    const SharedRun& run = loops.runs[k];
                    const Pack *a = work.u + group_store(p, gp) + run.i, *b = work.y + group_store(s, gs) + run.j;
                    for (int d = 0; d < run.count; ++d)
                        for (int i = 0; i < side_by_side; ++i) sums.column[i] += lane_in_memory(a[d], i) * b[d];
                }
                line[p.tile + gp] = sums;
            }
        }
    }
    for (std::size_t t = 0; t < loops.ties.size(); ++t) {
        if (loops.ties[t].compliance == 0) continue;
        const int tile = loops.blocks[loops.items.size() + t].tile;
        Pack& diagonal = work.L[loops.tiles[tile].offset + tile].column[0];
        set_lane(diagonal, 0, get_lane(diagonal, 0) + loops.ties[t].compliance);
    }
}

// Tiles are worked on as local copies: the compiler then knows that they stay in registers.

/// t - a b^T
UKEMI_INLINE Tile minus_product(Tile t, const Tile& a, const Tile& b) {
    for (int m = 0; m < side_by_side; ++m) {
        const Pack column = a.column[m];
        for (int j = 0; j < side_by_side; ++j) t.column[j] -= column * lane_in_memory(b.column[m], j);
    }
    return t;
}
/// t L^-T, with L^-1 - 1 of the unit lower triangle L.
UKEMI_INLINE Tile over_triangle(const Tile& t, const Tile& unit_inverse) {
    Tile result = t;
    for (int m = 0; m < side_by_side; ++m)
        for (int j = m + 1; j < side_by_side; ++j) result.column[j] += t.column[m] * lane_in_memory(unit_inverse.column[m], j);
    return result;
}
/// How well the rows that hold determine their forces: the smallest pivot as a share of its diagonal (of what the row would
/// be alone) and of its bound (of what it would be in the best pose).
struct Strength { double alone = 1, best = 1; };

/// L D L^T of a tile on the diagonal, whose rows had `diagonal` in B; leaves L without its unit diagonal, and L^-1 - 1.
inline void factor_diagonal(Tile& t, const TileRow& tiles, const double* diagonal, double tolerance, const ClosedWork& work, Pack& inverse, Tile& unit_inverse, Strength& strength) {
    Tile N{};
    inverse = Pack{};
    for_each_lane([&](auto j) {
        double over = 0;
        if (j < tiles.rows) {
            const int r = tiles.row + j;
            const double pivot = get_lane(t.column[j], j);
            const bool holds = pivot > std::max(tolerance * diagonal[j], immovable * work.bound[r]);
            work.pivot[r] = holds ? pivot : 0.0;
            if (holds) {
                over = 1.0 / pivot;
                strength.alone = std::min(strength.alone, pivot / diagonal[j]), strength.best = std::min(strength.best, pivot / work.bound[r]);
            }
        }
        set_lane(inverse, j, over);
        const Pack below = t.column[j];  // L times pivot j
        Pack l = below * over;
        for_each_lane([&](auto i) { if constexpr (i <= j) set_lane(l, i, 0.0); });
        t.column[j] = l;
        for_each_lane([&](auto i) {
            if constexpr (i > j) t.column[i] -= below * get_lane(l, i);
            if constexpr (i < j) N.column[i] -= l * get_lane(N.column[i], j);
        });
        N.column[j] = -l;
    });
    unit_inverse = N;
}

/// B and its factor L D L^T within the skyline. Needs closed_relatives and the articulated inertias.
inline Strength closed_factor(const Tree& tree, const Loops& loops, const In<double>& q, double tolerance, const ClosedWork& work) {
    closed_responses<true>(tree, loops, q, work);
    constraint_matrix(loops, work);
    Strength strength;
    const int n = static_cast<int>(loops.tiles.size());
    for (int r = 0; r < n; ++r) {
        const TileRow& row = loops.tiles[r];
        Tile* line = work.L + row.offset;
        double diagonal[side_by_side];
        for (int i = 0; i < side_by_side; ++i) diagonal[i] = get_lane(line[r].column[i], i);
        for (int c = row.first; c < r; ++c) {
            const Tile* other = work.L + loops.tiles[c].offset;
            Tile tile = line[c];
            for (int k = std::max(row.first, loops.tiles[c].first); k < c; ++k) tile = minus_product(tile, line[k], other[k]);
            line[c] = over_triangle(tile, work.unit_inverse[c]);  // L times the pivots of c, for now
        }
        Tile last = line[r];
        for (int c = row.first; c < r; ++c) {
            const Tile scaled = line[c];
            for (int m = 0; m < side_by_side; ++m) line[c].column[m] = scaled.column[m] * lane_in_memory(work.inverse[c], m);
            last = minus_product(last, scaled, line[c]);
        }
        factor_diagonal(last, row, diagonal, tolerance, work, work.inverse[r], work.unit_inverse[r], strength);
        line[r] = last;
    }
    return strength;
}

/// Calls f(row c, L_rc) for every entry left of the diagonal in row r of the factor, the row at a lane of a row of tiles.
template <class F> inline void for_each_left(const Loops& loops, const ClosedWork& work, int tile_row, int lane, F&& f) {
    const TileRow& row = loops.tiles[tile_row];
    for (int c = row.first; c <= tile_row; ++c)
        for (int m = 0; m < (c < tile_row ? loops.tiles[c].rows : lane); ++m) f(loops.tiles[c].row + m, get_lane(work.L[row.offset + c].column[m], lane));
}

/// x := B^-1 x over the independent rows; dropped rows get 0. The solution also stays in work.x.
inline void closed_solve(const Loops& loops, const ClosedWork& work, double* x) {
    const int n = static_cast<int>(loops.tiles.size());
    Pack* X = work.x;
    for (int r = 0; r < n; ++r) {
        const TileRow& row = loops.tiles[r];
        const Tile* line = work.L + row.offset;
        Pack value{};
        for (int i = 0; i < row.rows; ++i) set_lane(value, i, x[row.row + i]);
        for (int c = row.first; c < r; ++c)
            for (int m = 0; m < side_by_side; ++m) value -= line[c].column[m] * lane_in_memory(X[c], m);
        X[r] = value;
        for_each_lane([&](auto m) { X[r] += work.unit_inverse[r].column[m] * get_lane(value, m); });
    }
    for (int r = 0; r < n; ++r) X[r] = X[r] * work.inverse[r];
    for (int r = n - 1; r >= 0; --r) {
        const TileRow& row = loops.tiles[r];
        const Tile* line = work.L + row.offset;
        Pack taken{};
        for_each_lane([&](auto m) { set_lane(taken, m, sum_of_lanes(work.unit_inverse[r].column[m] * X[r])); });
        const Pack value = X[r] += taken;
        for (int c = row.first; c < r; ++c) {
            for_each_lane([&](auto m) { set_lane(taken, m, sum_of_lanes(line[c].column[m] * value)); });
            X[c] -= taken;
        }
        for (int i = 0; i < row.rows; ++i) x[row.row + i] = get_lane(value, i);
    }
}

/// Drives of the constraint forces that closed_solve found last, added to `drive`.
inline void closed_drive(const Loops& loops, const ClosedWork& work, double* drive) {
    for (const RowBlock& block : loops.blocks) {
        const int width = block.dofs_end - block.dofs;
        const Pack* y = work.y + block.store;
        for (int d = 0; d < width; ++d) {
            Pack sum{};
            for (int g = 0; g < block.tiles; ++g) sum += work.x[block.tile + g] * y[g * width + d];
            drive[loops.freedoms[block.dofs + d]] += sum_of_lanes(sum);
        }
    }
}

/// H_C theta_dd + H_C_dot theta_d of every row, from the accelerations that the last outward pass left in the bodies and in
/// `a` (theta_dd; null: zero).
inline void closed_row_accelerations(const Loops& loops, const ClosedWork& work, const Vec3<double>& a_world, const double* a, double* out) {
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
        for_each_row(loop, r, loops.blocks[l].row, [&](int k, const Vec3<double>& f, const Vec3<double>& n, double, double, double extra) { out[k] = dot(f, p_dd) + dot(n, w_d) + extra; });
    }
    for (std::size_t t = 0; t < loops.ties.size(); ++t) {
        double sum = work.product[t];
        if (a) for_each_coefficient(loops, loops.ties[t], work, [&](int i, int, double c) { sum += c * a[i]; });
        out[loops.blocks[loops.items.size() + t].row] = sum;
    }
}

UKEMI_END
