// Islands: contacts, joint stops and loops that feel each other, with their common response B, and the forces and motions
// that a hypothesis about each of them gives ([DF03] V-B, V-F).
#pragma once
#include "contact_patch.hpp"
#include "dense.hpp"

UKEMI_BEGIN

struct StopState {
    int stop;
    double sign, gap, target, u0;
    bool on;
    double w, u;
};

/// One island at a time is the present one: its groups are `members_`, and its motions, forces and response stand row by row.
class IslandSystem {
public:
    Vec<Patch> patches;
    std::size_t patch_count = 0;      // patches[0 .. patch_count): memory of the others is kept
    Vec<StopState> stops;
    Vec<double> loop_target, loop_w;  // per loop row
    Vec<int> loop_row;        // first row of each loop group

protected:
    struct Island { int begin, end, rows, store; };
    Group& group(RowSystem& rows, std::size_t member) { return rows.groups[static_cast<std::size_t>(members_[member])]; }

    /// Contacts that feel each other stand together; each island gets its B.
    void make_islands(RowSystem& rows) {
        const std::size_t n = rows.groups.size();
        order_.resize(n), island_.resize(n);
        for (std::size_t i = 0; i < n; ++i) order_[i] = static_cast<int>(i), island_[i] = rows.island(rows.groups[i]);
        std::sort(order_.begin(), order_.end(), [&](int a, int b) { return std::pair(island_[static_cast<std::size_t>(a)], a) < std::pair(island_[static_cast<std::size_t>(b)], b); });
        islands_.clear();
        int size = 0;
        for (std::size_t begin = 0, end; begin < n; begin = end) {
            Island island{static_cast<int>(begin), 0, 0, size};
            for (end = begin; end < n && island_[static_cast<std::size_t>(order_[end])] == island_[static_cast<std::size_t>(order_[begin])]; ++end) {
                Group& g = rows.groups[static_cast<std::size_t>(order_[end])];
                g.row = island.rows, island.rows += g.rows;
            }
            island.end = static_cast<int>(end);
            size += island.rows * island.rows;
            islands_.push_back(island);
        }
        store_.resize(static_cast<std::size_t>(size));
        for (const Island& island : islands_) {
            const int ld = island.rows;
            double* B = store_.data() + island.store;
            for (int i = island.begin; i < island.end; ++i) {
                const Group& a = rows.groups[static_cast<std::size_t>(order_[static_cast<std::size_t>(i)])];
                for (int j = island.begin; j <= i; ++j) {
                    const Group& b = rows.groups[static_cast<std::size_t>(order_[static_cast<std::size_t>(j)])];
                    rows.block(a, b, B + a.row * ld + b.row, ld);
                    for (int r = 0; r < a.rows && i != j; ++r)
                        for (int c = 0; c < b.rows; ++c) B[(b.row + c) * ld + a.row + r] = B[(a.row + r) * ld + b.row + c];
                }
            }
        }
    }

    /// Makes an island the present one; v: velocity without its forces.
    void enter(RowSystem& rows, const Island& island, const double* v) {
        members_.assign(order_.begin() + island.begin, order_.begin() + island.end);
        n_ = island.rows, B_ = store_.data() + island.store;
        const auto n = static_cast<std::size_t>(n_);
        u_free_.resize(n), w_.assign(n, 0.0), u_.resize(n);
        for (std::size_t i = 0; i < members_.size(); ++i) {
            const Group& a = group(rows, i);
            rows.velocity(a, v, u_free_.data() + a.row);
            if (a.kind != GroupKind::patch) continue;
            const Vec3<double>& s = patches[static_cast<std::size_t>(a.index)].surface;
            u_free_[static_cast<std::size_t>(a.row)] -= s.x, u_free_[static_cast<std::size_t>(a.row + 1)] -= s.y, u_free_[static_cast<std::size_t>(a.row + 2)] -= s.z;
        }
    }
    /// What the i-th row of a group feels of its own force.
    double own_response(const Group& g, int i) const { return B_[(g.row + i) * n_ + g.row + i]; }

    /// Impulses and motions of the present hypothesis ([DF03] eq. 17): w = E z, and u = u_free + B w does as wanted along
    /// the columns of E that hold (E_h, forces z_h); along those that slip (E_s, forces t) friction follows the motion by
    /// Newton's steps. What holds is eliminated once, so that Newton's steps are as small as what slips.
    void solve_hypothesis(RowSystem& rows) {
        constexpr int most_turns = 20;
        number_columns(rows);
        eliminate_held(rows);
        step_.assign(static_cast<std::size_t>(slip_), 0.0);
        for (int turns = 0; slip_ > 0; ++turns) {
            slip_step(rows);
            double change = 0;
            for (std::size_t m = 0; m < members_.size(); ++m) {
                if (!slips(rows, m)) continue;
                Patch& p = patches[static_cast<std::size_t>(group(rows, m).index)];
                find_wrench(p, columns_[m]);
                if (p.w[2] > 0) {
                    const Vec<char>& before = (bearing_before_ = p.bearing);
                    share_pressure(p);
                    if (p.kind == Shape2::face && before != p.bearing && turns < most_turns / 2) change = 1;
                    double u[6] = {};
                    for (int r = 0; r < 3; ++r) u[slip_row[r]] = slip_motion_[static_cast<std::size_t>(columns_[m].slip + r)];
                    p.turned = turn_slip(p, u);
                    change = std::fmax(change, p.turned);
                }
                basis(p);
            }
            if (change < 1e-11 || turns >= most_turns) break;
        }
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            double* w = w_.data() + g.row;
            std::fill(w, w + g.rows, 0.0);
            for (int j = 0; j < columns_of(g); ++j) {
                const double z = force_of(columns_[m], j);
                for (int r = 0; r < g.rows; ++r) w[r] += column_of(g, j)[r] * z;
            }
        }
        respond_all();
    }

    /// Columns of a member: the first of its `held` ones among all that hold, and the first of its others among all that slip.
    struct Columns { int hold, held, slip; };
    static constexpr int slip_row[3] = {0, 1, 5};  // motions and forces of friction

    void number_columns(RowSystem& rows) {
        columns_.resize(members_.size());
        hold_ = slip_ = 0;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            if (g.kind == GroupKind::patch) basis(patches[static_cast<std::size_t>(g.index)]);
            const int all = columns_of(g), held = g.kind == GroupKind::patch ? patches[static_cast<std::size_t>(g.index)].held : all;
            columns_[m] = {hold_, held, slip_};
            hold_ += held, slip_ += all - held;
        }
    }
    bool slips(RowSystem& rows, std::size_t m) { return columns_of(group(rows, m)) > columns_[m].held; }
    int place_of(const Columns& c, int j) const { return j < c.held ? c.hold + j : hold_ + c.slip + j - c.held; }

    /// E^T B E with the motion still wanted as its last column, about the forces `base_`: what the motion leaves open stays as
    /// it was. Its rows that hold are eliminated (L D L^T): what is left of it is how what slips moves by its own forces.
    void eliminate_held(RowSystem& rows) {
        const int k = hold_ + slip_, ld = k + 1;
        A_.assign(static_cast<std::size_t>(k * ld), 0.0), base_z_.resize(static_cast<std::size_t>(k));
        std::fill(w_.begin(), w_.end(), 0.0);
        few_.clear();
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            double z[8], *w = w_.data() + g.row;
            coordinates(g, base_.data() + g.row, z);
            for (int j = 0; j < columns_of(g); ++j) {
                base_z_[static_cast<std::size_t>(place_of(columns_[m], j))] = z[j];
                few_.push_back(Few(column_of(g, j), g.rows));
                few_.back().add(z[j], w);
            }
        }
        respond_all();
        const Few* few_a = few_.data();
        for (std::size_t a = 0; a < members_.size(); ++a) {
            const Group& ga = group(rows, a);
            const int count_a = columns_of(ga);
            const Few* few_b = few_.data();
            for (std::size_t b = 0; b <= a && count_a > 0; ++b) {
                const Group& gb = group(rows, b);
                const int count_b = columns_of(gb);
                for (int j = 0; j < count_b; ++j) {
                    double moved[most_rows];  // of a by column j of b
                    for (int r = 0; r < ga.rows; ++r) moved[r] = few_b[j].times(B_ + (ga.row + r) * n_ + gb.row);
                    for (int i = a == b ? j : 0; i < count_a; ++i) {
                        const int row = place_of(columns_[a], i), column = place_of(columns_[b], j);
                        A_[static_cast<std::size_t>(std::min(row, column) * ld + std::max(row, column))] = few_a[i].times(moved);
                    }
                }
                few_b += count_b;
            }
            for (int i = 0; i < count_a; ++i) {
                double wanted_motion[most_rows];
                for (int r = 0; r < ga.rows; ++r) wanted_motion[r] = (i < columns_[a].held ? wanted(ga, r) : 0.0) - u_[static_cast<std::size_t>(ga.row + r)];
                A_[static_cast<std::size_t>(place_of(columns_[a], i) * ld + k)] = few_a[i].times(wanted_motion);
            }
            few_a += count_a;
        }
        reduce_symmetric(A_.data(), hold_, k, ld, kept_);
        // forces that hold: those of no friction beyond `base_` in the last column, less what friction takes from them
        back_substitute(A_.data(), hold_, ld, kept_);
        for (int i = hold_; i < k; ++i)
            for (int j = hold_; j < i; ++j) A_[static_cast<std::size_t>(i * ld + j)] = A_[static_cast<std::size_t>(j * ld + i)];
    }
    double held_force(int i) const {
        const double* row = A_.data() + i * (hold_ + slip_ + 1) + hold_;
        double z = base_z_[static_cast<std::size_t>(i)] + row[slip_];
        for (int j = 0; j < slip_; ++j) z -= row[j] * step_[static_cast<std::size_t>(j)];
        return z;
    }
    double force_of(const Columns& c, int j) const {
        if (j < c.held) return held_force(c.hold + j);
        const auto s = static_cast<std::size_t>(c.slip + j - c.held);
        return base_z_[static_cast<std::size_t>(hold_) + s] + step_[s];
    }
    void find_wrench(Patch& p, const Columns& c) {
        std::fill(p.w, p.w + 6, 0.0);
        for (int j = 0; j < p.k; ++j) {
            const double z = force_of(c, j);
            for (int r = 0; r < 6; ++r) p.w[r] += p.E[6 * j + r] * z;
            if (p.grip == Grip::pivot && j == p.held - 2) p.points[static_cast<std::size_t>(p.pivot)].fx = z;  // of the point that sticks
            if (p.grip == Grip::pivot && j == p.held - 1) p.points[static_cast<std::size_t>(p.pivot)].fy = z;
        }
    }
    /// Newton's step of what slips: D u + S z = -s0 for each contact, with u and z_h as they follow from t; then its motion.
    void slip_step(RowSystem& rows) {
        const int n = slip_, ld = hold_ + slip_ + 1;
        const double* P = A_.data() + hold_ * ld + hold_;  // n x n, and (minus) the motion at no step beyond
        newton_.assign(static_cast<std::size_t>(n * n), 0.0), rhs_.resize(static_cast<std::size_t>(n)), slip_motion_.resize(static_cast<std::size_t>(n));
        for (std::size_t m = 0; m < members_.size(); ++m) {
            if (!slips(rows, m)) continue;
            const Patch& p = patches[static_cast<std::size_t>(group(rows, m).index)];
            const Columns& c = columns_[m];
            for (int a = 0; a < 3; ++a) {
                double *row = newton_.data() + (c.slip + a) * n, right = -p.s0[c.held + a];
                auto add = [&](double s, const double* x, double last) {
                    for (int i = 0; i < n; ++i) row[i] += s * x[i];
                    right -= s * last;
                };
                for (int b = 0; b < 3; ++b) add(p.D[6 * (c.held + a) + slip_row[b]], P + (c.slip + b) * ld, -P[(c.slip + b) * ld + n]);
                for (int j = 0; j < c.held; ++j) {
                    const double s = p.S[(c.held + a) * p.k + j], *x = A_.data() + (c.hold + j) * ld + hold_;
                    if (s != 0) add(-s, x, -(base_z_[static_cast<std::size_t>(c.hold + j)] + x[n]));
                }
                row[c.slip + a] += 1;
                right -= base_z_[static_cast<std::size_t>(hold_ + c.slip + a)];
                rhs_[static_cast<std::size_t>(c.slip + a)] = right;
            }
        }
        solve_rows(newton_.data(), rhs_.data(), n, step_.data(), exchanged_);
        for (int i = 0; i < n; ++i) {
            double u = -P[i * ld + n];
            for (int j = 0; j < n; ++j) u += P[i * ld + j] * step_[static_cast<std::size_t>(j)];
            slip_motion_[static_cast<std::size_t>(i)] = u;
        }
    }
    /// z of a wrench w = E z.
    void coordinates(const Group& g, const double* w, double* z) const {
        if (g.kind != GroupKind::patch) {
            std::copy(w, w + columns_of(g), z);
            return;
        }
        const Patch& p = patches[static_cast<std::size_t>(g.index)];
        *z++ = w[2];
        if (p.kind == Shape2::face) {
            *z++ = w[3], *z++ = w[4];
        } else if (p.kind == Shape2::line) {
            const PatchPoint &a = p.points[static_cast<std::size_t>(p.i)], &b = p.points[static_cast<std::size_t>(p.j)];
            const double ex = b.x - a.x, ey = b.y - a.y, s = (ex * (-w[4] - a.x * w[2]) + ey * (w[3] - a.y * w[2])) / (ex * ex + ey * ey);
            z[-1] -= s, *z++ = s;
        }
        if (p.grip == Grip::slip && p.material.mu_d <= 0) return;
        double t[3] = {w[0], w[1], w[5]};
        if (p.grip == Grip::pivot) {
            const PatchPoint& c = p.points[static_cast<std::size_t>(p.pivot)];
            *z++ = c.fx, *z++ = c.fy;
            add_tangential(t, c, -c.fx, -c.fy);
        }
        *z++ = t[0], *z++ = t[1];
        if (p.kind != Shape2::point || p.grip != Grip::stick) *z = t[2];
    }
    /// The entries of a short vector that are not zero: most conditions hold single motions.
    struct Few {
        int count = 0, at[most_rows];
        double value[most_rows];
        Few(const double* x, int n) {
            for (int i = 0; i < n; ++i)
                if (x[i] != 0) at[count] = i, value[count++] = x[i];
        }
        double times(const double* x) const {
            double s = 0;
            for (int i = 0; i < count; ++i) s += value[i] * x[at[i]];
            return s;
        }
        void add(double s, double* x) const {
            for (int i = 0; i < count; ++i) x[at[i]] += value[i] * s;
        }
    };
    int columns_of(const Group& g) const {
        if (g.kind == GroupKind::patch) return patches[static_cast<std::size_t>(g.index)].k;
        return g.kind == GroupKind::loop ? g.rows : stops[static_cast<std::size_t>(g.index)].on;
    }
    static const double* unit(int j) {
        static constexpr double e[most_rows][most_rows] = {{1, 0, 0, 0, 0, 0}, {0, 1, 0, 0, 0, 0}, {0, 0, 1, 0, 0, 0}, {0, 0, 0, 1, 0, 0}, {0, 0, 0, 0, 1, 0}, {0, 0, 0, 0, 0, 1}};
        return e[j];
    }
    const double* column_of(const Group& g, int j) const { return g.kind == GroupKind::patch ? patches[static_cast<std::size_t>(g.index)].E + 6 * j : unit(j); }
    double wanted(const Group& g, int i) const {
        if (g.kind == GroupKind::patch) return patches[static_cast<std::size_t>(g.index)].target[i];
        if (g.kind == GroupKind::stop) return stops[static_cast<std::size_t>(g.index)].target;
        return loop_target[static_cast<std::size_t>(loop_row[static_cast<std::size_t>(g.index)] + i)];
    }
    /// u = u_free + B w
    void respond_all() {
        u_ = u_free_;
        for (int i = 0; i < n_; ++i) {
            const double w = w_[static_cast<std::size_t>(i)], *column = B_ + i * n_;
            if (w == 0) continue;
            for (int r = 0; r < n_; ++r) u_[static_cast<std::size_t>(r)] += w * column[r];
        }
    }

    int n_ = 0;                       // rows of the present island
    Vec<int> members_;                // its groups
    Vec<Island> islands_;
    Vec<double> u_free_, u_, w_;      // its motion without forces, with them, and the forces
    Vec<double> base_;                // forces that hypotheses correct

private:
    double* B_ = nullptr;
    int hold_ = 0, slip_ = 0;         // columns of the hypothesis
    Vec<Columns> columns_;            // of each member
    Vec<Few> few_;
    Vec<int> order_, island_, exchanged_;
    Vec<double> store_, A_, base_z_, newton_, rhs_, step_, slip_motion_;
    Vec<char> kept_, bearing_before_;
};

UKEMI_END
