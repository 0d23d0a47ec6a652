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

    /// Impulses and motions of the present hypothesis: D B E z = D (target - u_free) ([DF03] eq. 17); friction that slips
    /// follows by Newton's steps.
    void solve_hypothesis(RowSystem& rows) {
        constexpr int most_turns = 20;
        for (int turns = 0;; ++turns) {
            assemble(rows);
            for (int i = 0; i < k_; ++i)  // forces are found as a correction: what the motion leaves open stays as it was
                for (int j = 0; j < k_; ++j) rhs_[static_cast<std::size_t>(i)] -= A_[static_cast<std::size_t>(i * k_ + j)] * z0_[static_cast<std::size_t>(j)];
            solve_rows(A_.data(), rhs_.data(), k_, z_.data(), columns_);
            for (int i = 0; i < k_; ++i) z_[static_cast<std::size_t>(i)] += z0_[static_cast<std::size_t>(i)];
            apply(rows);
            double change = 0;
            for (std::size_t m = 0; m < members_.size(); ++m) {
                const Group& g = group(rows, m);
                if (g.kind != GroupKind::patch) continue;
                Patch& p = patches[static_cast<std::size_t>(g.index)];
                if ((p.grip != Grip::slip && p.grip != Grip::pivot) || p.material.mu_d <= 0) continue;
                std::copy(w_.begin() + g.row, w_.begin() + g.row + 6, p.w);
                if (!(p.w[2] > 0)) continue;
                const Vec<char>& before = (bearing_before_ = p.bearing);
                share_pressure(p);
                if (p.kind == Shape2::face && before != p.bearing && turns < most_turns / 2) change = 1;
                const double turned = turn_slip(p, u_.data() + g.row);
                change = std::fmax(change, turned);
                p.turned = turned;
            }
            if (change < 1e-11 || turns >= most_turns) break;
        }
    }
    void assemble(RowSystem& rows) {
        k_ = 0;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            if (g.kind == GroupKind::patch) {
                Patch& p = patches[static_cast<std::size_t>(g.index)];
                basis(p);
                k_ += p.k;
            } else {
                k_ += g.kind == GroupKind::loop ? g.rows : stops[static_cast<std::size_t>(g.index)].on;
            }
        }
        const auto k = static_cast<std::size_t>(k_);
        A_.resize(k * k), rhs_.resize(k), z_.resize(k), BE_.resize(static_cast<std::size_t>(n_) * k);
        z0_.resize(k);
        int c = 0;
        for (std::size_t m = 0; m < members_.size(); ++m) {  // BE, column by column
            const Group& g = group(rows, m);
            const int count = columns_of(g);
            if (count > 0) coordinates(g, base_.data() + g.row, z0_.data() + c);
            for (int j = 0; j < count; ++j, ++c) {
                const Few e(column_of(g, j), g.rows);
                for (int r = 0; r < n_; ++r) BE_[static_cast<std::size_t>(r * k_ + c)] = e.times(B_ + r * n_ + g.row, 1);
            }
        }
        int row = 0;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            const int count = columns_of(g);
            for (int j = 0; j < count; ++j, ++row) {
                const double* d = motion_of(g, j);
                double r = 0;
                if (slipping(g, j)) {
                    const Patch& p = patches[static_cast<std::size_t>(g.index)];
                    r = -p.s0[j];
                    for (int i = 0; i < 6; ++i) r -= d[i] * u_free_[static_cast<std::size_t>(g.row + i)];
                } else {
                    for (int i = 0; i < g.rows; ++i) r += d[i] * (wanted(g, i) - u_free_[static_cast<std::size_t>(g.row + i)]);
                }
                rhs_[static_cast<std::size_t>(row)] = r;
                const Few few(d, g.rows);
                for (int col = 0; col < k_; ++col) A_[static_cast<std::size_t>(row * k_ + col)] = few.times(BE_.data() + g.row * k_ + col, k_);
                if (slipping(g, j))
                    for (int i = 0; i < count; ++i) A_[static_cast<std::size_t>(row * k_ + row - j + i)] += patches[static_cast<std::size_t>(g.index)].S[j * count + i];
            }
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
        double times(const double* x, int stride) const {
            double s = 0;
            for (int i = 0; i < count; ++i) s += value[i] * x[at[i] * stride];
            return s;
        }
    };
    bool slipping(const Group& g, int j) const { return g.kind == GroupKind::patch && j >= patches[static_cast<std::size_t>(g.index)].held; }
    int columns_of(const Group& g) const {
        if (g.kind == GroupKind::patch) return patches[static_cast<std::size_t>(g.index)].k;
        return g.kind == GroupKind::loop ? g.rows : stops[static_cast<std::size_t>(g.index)].on;
    }
    static const double* unit(int j) {
        static constexpr double e[most_rows][most_rows] = {{1, 0, 0, 0, 0, 0}, {0, 1, 0, 0, 0, 0}, {0, 0, 1, 0, 0, 0}, {0, 0, 0, 1, 0, 0}, {0, 0, 0, 0, 1, 0}, {0, 0, 0, 0, 0, 1}};
        return e[j];
    }
    const double* column_of(const Group& g, int j) const { return g.kind == GroupKind::patch ? patches[static_cast<std::size_t>(g.index)].E + 6 * j : unit(j); }
    const double* motion_of(const Group& g, int j) const { return g.kind == GroupKind::patch ? patches[static_cast<std::size_t>(g.index)].D + 6 * j : unit(j); }
    double wanted(const Group& g, int i) const {
        if (g.kind == GroupKind::patch) return patches[static_cast<std::size_t>(g.index)].target[i];
        if (g.kind == GroupKind::stop) return stops[static_cast<std::size_t>(g.index)].target;
        return loop_target[static_cast<std::size_t>(loop_row[static_cast<std::size_t>(g.index)] + i)];
    }
    /// w = E z, u = u_free + B w
    void apply(RowSystem& rows) {
        int c = 0;
        std::fill(w_.begin(), w_.end(), 0.0);
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            const int count = columns_of(g);
            for (int j = 0; j < count; ++j, ++c)
                for (int r = 0; r < g.rows; ++r) w_[static_cast<std::size_t>(g.row + r)] += column_of(g, j)[r] * z_[static_cast<std::size_t>(c)];
            if (g.kind == GroupKind::patch) {  // the friction of a point that sticks while others slip
                Patch& p = patches[static_cast<std::size_t>(g.index)];
                if (p.grip == Grip::pivot) p.points[static_cast<std::size_t>(p.pivot)].fx = z_[static_cast<std::size_t>(c - 5)], p.points[static_cast<std::size_t>(p.pivot)].fy = z_[static_cast<std::size_t>(c - 4)];
            }
        }
        respond_all();
    }
    void respond_all() {
        for (int r = 0; r < n_; ++r) {
            double s = u_free_[static_cast<std::size_t>(r)];
            for (int i = 0; i < n_; ++i) s += B_[r * n_ + i] * w_[static_cast<std::size_t>(i)];
            u_[static_cast<std::size_t>(r)] = s;
        }
    }

    int n_ = 0;                       // rows of the present island
    Vec<int> members_;                // its groups
    Vec<Island> islands_;
    Vec<double> u_free_, u_, w_;      // its motion without forces, with them, and the forces
    Vec<double> base_;                // forces that hypotheses correct

private:
    int k_ = 0;
    double* B_ = nullptr;
    Vec<int> order_, island_, columns_;
    Vec<double> store_, A_, BE_, rhs_, z_, z0_;
    Vec<char> bearing_before_;
};

UKEMI_END
