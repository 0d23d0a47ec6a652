// Islands: contacts, joint stops and loops that feel each other, with their common response B, and the forces and motions
// that a hypothesis about each of them gives ([DF03] V-B, V-F).
#pragma once
#include <cstdint>

#include "contact_patch.hpp"
#include "dense.hpp"

UKEMI_BEGIN

struct StopState {
    int stop;
    double sign, target, u0;
    bool on;
    double w, u;
    double work() const { return 0.5 * w * (u0 + u); }
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
    /// Members order_[begin .. end), their rows, and where their B stands; -1: not made yet, which heaps do without.
    struct Island { int begin, end, rows, store; };
    static constexpr int large = 16;  // members of a heap
    Group& group(RowSystem& rows, std::size_t member) { return rows.groups[static_cast<std::size_t>(members_[member])]; }

    /// Contacts that feel each other stand together; each island that is no heap gets its B.
    void make_islands(RowSystem& rows) {
        const std::size_t n = rows.groups.size();
        order_.resize(n), island_.resize(n);
        for (std::size_t i = 0; i < n; ++i) order_[i] = static_cast<int>(i), island_[i] = rows.island(rows.groups[i]);
        std::sort(order_.begin(), order_.end(), [&](int a, int b) { return std::pair(island_[static_cast<std::size_t>(a)], a) < std::pair(island_[static_cast<std::size_t>(b)], b); });
        islands_.clear();
        for (std::size_t begin = 0, end; begin < n; begin = end) {
            Island island{static_cast<int>(begin), 0, 0, -1};
            for (end = begin; end < n && island_[static_cast<std::size_t>(order_[end])] == island_[static_cast<std::size_t>(order_[begin])]; ++end) {
                Group& g = rows.groups[static_cast<std::size_t>(order_[end])];
                g.row = island.rows, island.rows += g.rows;
            }
            island.end = static_cast<int>(end);
            islands_.push_back(island);
        }
        store_.clear();
        if (answers_.size() < islands_.size()) answers_.resize(islands_.size());
        for (Answer& answer : answers_) answer.hypothesis.clear();  // none yet
        for (Island& island : islands_)
            if (island.end - island.begin < large) make_response(rows, island);
    }
    /// B of an island.
    void make_response(RowSystem& rows, Island& island) {
        const int ld = island.rows;
        island.store = static_cast<int>(store_.size());
        store_.resize(store_.size() + static_cast<std::size_t>(ld * ld));
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

    /// Makes an island the present one; v: velocity without its forces.
    void enter(RowSystem& rows, std::size_t which, const double* v) {
        const Island& island = islands_[present_ = which];
        members_.assign(order_.begin() + island.begin, order_.begin() + island.end);
        n_ = island.rows, B_ = island.store < 0 ? nullptr : store_.data() + island.store;
        const auto n = static_cast<std::size_t>(n_);
        u_free_.resize(n), w_.assign(n, 0.0), u_.resize(n), wanted_.resize(n);
        for (std::size_t i = 0; i < members_.size(); ++i) {
            const Group& a = group(rows, i);
            rows.velocity(a, v, u_free_.data() + a.row);
            for (int r = 0; r < a.rows; ++r) wanted_[static_cast<std::size_t>(a.row + r)] = wanted(a, r);
            if (a.kind != GroupKind::patch) continue;
            const Vec3<double>& s = patches[static_cast<std::size_t>(a.index)].surface;
            u_free_[static_cast<std::size_t>(a.row)] -= s.x, u_free_[static_cast<std::size_t>(a.row + 1)] -= s.y, u_free_[static_cast<std::size_t>(a.row + 2)] -= s.z;
        }
    }
    /// What the i-th row of a group feels of its own force.
    double own_response(const RowSystem& rows, const Group& g, int i) const { return B_ ? B_[(g.row + i) * n_ + g.row + i] : rows.own_response(g, i); }

    /// Impulses and motions of the present hypothesis ([DF03] eq. 17): w = E z, and u = u_free + B w does as wanted along
    /// the columns of E that hold; along those that slip friction follows the motion by Newton's steps. What holds is eliminated
    /// once, so that these are as small as what slips, and stays eliminated while the hypothesis is the same.
    void solve_hypothesis(RowSystem& rows) {
        if (!B_) make_response(rows, islands_[present_]), B_ = store_.data() + islands_[present_].store;
        choose_columns(rows);
        const Answer& answer = answers_[present_];
        hold(answer);
        if (answer.slip == 0) return;
        follow_slip(rows, answer);
        for (int i = 0; i < answer.hold; ++i) z_[static_cast<std::size_t>(i)] -= dot_product(answer.held_by_slip(i), step_.data(), answer.slip);
        for (int i = 0; i < answer.slip; ++i) z_[static_cast<std::size_t>(answer.hold + i)] += step_[static_cast<std::size_t>(i)];
        apply(answer);
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
    /// The same through the rows, without B.
    void respond_by_rows(const RowSystem& rows) {
        by_rows_.assign(static_cast<std::size_t>(rows.freedoms()), 0.0);
        for (const int m : members_) rows.add_response(rows.groups[static_cast<std::size_t>(m)], w_.data() + rows.groups[static_cast<std::size_t>(m)].row, by_rows_.data());
        for (const int m : members_) {
            const Group& g = rows.groups[static_cast<std::size_t>(m)];
            rows.motion(g, by_rows_.data(), u_.data() + g.row);
            for (int r = 0; r < g.rows; ++r) u_[static_cast<std::size_t>(g.row + r)] += u_free_[static_cast<std::size_t>(g.row + r)];
        }
    }
    double wanted(const Group& g, int i) const {
        if (g.kind == GroupKind::patch) return patches[static_cast<std::size_t>(g.index)].target[i];
        if (g.kind == GroupKind::stop) return stops[static_cast<std::size_t>(g.index)].target;
        return loop_target[static_cast<std::size_t>(loop_row[static_cast<std::size_t>(g.index)] + i)];
    }

    std::size_t present_ = 0;         // of islands_
    int n_ = 0;                       // rows of the present island
    Vec<int> members_;                // its groups
    Vec<Island> islands_;
    Vec<double> u_free_, u_, w_;      // its motion without forces, with them, and the forces
    Vec<double> base_;                // forces that hypotheses correct

private:
    /// A column of E by its entries that are not zero: most conditions hold single motions.
    struct Column {
        int count = 0, at[most_rows] = {};  // rows of the island
        double value[most_rows];
        Column(const double* x, int n, int row) {
            for (int i = 0; i < n; ++i)
                if (x[i] != 0) at[count] = row + i, value[count++] = x[i];
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
    /// Columns of a member: the first of its `held` ones among all that hold, and the first of its others among all that slip.
    struct Share { int hold, held, slip; };
    /// How an island answers a hypothesis: E^T B E, with the columns that hold eliminated.
    struct Answer {
        Vec<std::uint64_t> hypothesis;  // what it answers: a number of each member
        Vec<Column> columns;            // those that hold, then those that slip
        Vec<Share> shares;              // of each member
        Vec<std::size_t> slipping;      // members
        int hold = 0, slip = 0;         // columns
        Vec<double> A;
        Vec<int> order, place;          // in which those that hold are eliminated; where each of them stands
        const double* held_by_slip(int i) const { return A.data() + place[static_cast<std::size_t>(i)] * (hold + slip) + hold; }  // forces that hold, less by each that slips
        const double* slip_by_slip(int i) const { return A.data() + (hold + i) * (hold + slip) + hold; }  // motions of what slips, by its own forces
    };
    static constexpr int slip_row[3] = {0, 1, 5};  // motions and forces of friction

    int columns_of(const Group& g) const {
        if (g.kind == GroupKind::patch) return patches[static_cast<std::size_t>(g.index)].k;
        return g.kind == GroupKind::loop ? g.rows : stops[static_cast<std::size_t>(g.index)].on;
    }
    static const double* unit(int j) {
        static constexpr double e[most_rows][most_rows] = {{1, 0, 0, 0, 0, 0}, {0, 1, 0, 0, 0, 0}, {0, 0, 1, 0, 0, 0}, {0, 0, 0, 1, 0, 0}, {0, 0, 0, 0, 1, 0}, {0, 0, 0, 0, 0, 1}};
        return e[j];
    }
    const double* column_of(const Group& g, int j) const { return g.kind == GroupKind::patch ? patches[static_cast<std::size_t>(g.index)].E + 6 * j : unit(j); }

    std::uint64_t hypothesis_of(const Group& g) const {
        if (g.kind != GroupKind::patch) return g.kind == GroupKind::loop || stops[static_cast<std::size_t>(g.index)].on;
        const Patch& p = patches[static_cast<std::size_t>(g.index)];
        std::uint64_t number = static_cast<std::uint64_t>(p.grip);
        for (const int part : {static_cast<int>(p.kind), p.i, p.j, p.pivot}) number = number << 15 | static_cast<std::uint64_t>(part & 0x7fff);
        return number;
    }
    /// The island's answer to the present hypothesis, if it is another than before, and z of the forces `base_`.
    void choose_columns(RowSystem& rows) {
        Answer& answer = answers_[present_];
        hypothesis_.clear();
        for (std::size_t m = 0; m < members_.size(); ++m) hypothesis_.push_back(hypothesis_of(group(rows, m)));
        if (answer.hypothesis == hypothesis_) {
            for (const std::size_t m : answer.slipping) basis(patches[static_cast<std::size_t>(group(rows, m).index)]);
        } else {
            answer.hypothesis = hypothesis_;
            find_answer(rows, answer);
        }
        z_.resize(answer.columns.size());
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            const Share& share = answer.shares[m];
            const int all = columns_of(g);
            if (all == 0) continue;
            double z[8];
            coordinates(g, base_.data() + g.row, z);
            std::copy(z, z + share.held, z_.data() + share.hold), std::copy(z + share.held, z + all, z_.data() + answer.hold + share.slip);
        }
    }
    void find_answer(RowSystem& rows, Answer& answer) {
        answer.shares.resize(members_.size()), answer.columns.clear(), answer.slipping.clear();
        auto add = [&](const Group& g, int begin, int end) {
            for (int j = begin; j < end; ++j) answer.columns.emplace_back(column_of(g, j), g.rows, g.row);
        };
        // stops and loops first: where rows depend on each other the last are left out, and contacts are checked for that
        for (const bool patch : {false, true})
            for (std::size_t m = 0; m < members_.size(); ++m) {
                const Group& g = group(rows, m);
                if ((g.kind == GroupKind::patch) != patch) continue;
                if (patch) basis(patches[static_cast<std::size_t>(g.index)]);
                const int all = columns_of(g), held = patch ? patches[static_cast<std::size_t>(g.index)].held : all;
                answer.shares[m] = {static_cast<int>(answer.columns.size()), held, 0};
                add(g, 0, held);
                if (all > held) answer.slipping.push_back(m);
            }
        answer.hold = static_cast<int>(answer.columns.size());
        for (const std::size_t m : answer.slipping) {
            answer.shares[m].slip = static_cast<int>(answer.columns.size()) - answer.hold;
            add(group(rows, m), answer.shares[m].held, columns_of(group(rows, m)));
        }
        const int k = static_cast<int>(answer.columns.size());
        answer.slip = k - answer.hold;
        answer.A.resize(static_cast<std::size_t>(k * k)), moved_.resize(static_cast<std::size_t>(n_));
        for (int i = 0; i < k; ++i) {
            const Column& column = answer.columns[static_cast<std::size_t>(i)];
            const double* moved = B_ + column.at[0] * n_;  // by a unit of this force
            if (column.count != 1 || column.value[0] != 1) {
                std::fill(moved_.begin(), moved_.end(), 0.0);
                for (int e = 0; e < column.count; ++e)
                    for (int r = 0; r < n_; ++r) moved_[static_cast<std::size_t>(r)] += column.value[e] * B_[column.at[e] * n_ + r];
                moved = moved_.data();
            }
            for (int j = i; j < k; ++j) answer.A[static_cast<std::size_t>(i * k + j)] = answer.columns[static_cast<std::size_t>(j)].times(moved);
        }
        reduce_symmetric(answer.A.data(), answer.hold, k, answer.order);
        answer.place.resize(answer.order.size());
        for (std::size_t i = 0; i < answer.order.size(); ++i) answer.place[static_cast<std::size_t>(answer.order[i])] = static_cast<int>(i);
        for (int i = answer.hold; i < k; ++i)
            for (int j = answer.hold; j < i; ++j) answer.A[static_cast<std::size_t>(i * k + j)] = answer.A[static_cast<std::size_t>(j * k + i)];
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
    /// w = E z, and what it does
    void apply(const Answer& answer) {
        std::fill(w_.begin(), w_.end(), 0.0);
        for (std::size_t i = 0; i < z_.size(); ++i) answer.columns[i].add(z_[i], w_.data());
        respond_all();
    }
    /// Forces that hold, with friction that slips as in `base_`; as a correction, so that what the motion leaves open stays as it was.
    void hold(const Answer& answer) {
        apply(answer);
        rhs_.resize(static_cast<std::size_t>(answer.hold));
        for (std::size_t r = 0; r < rhs_.size(); ++r) {
            const Column& c = answer.columns[static_cast<std::size_t>(answer.order[r])];
            double s = 0;
            for (int i = 0; i < c.count; ++i) s += c.value[i] * (wanted_[static_cast<std::size_t>(c.at[i])] - u_[static_cast<std::size_t>(c.at[i])]);
            rhs_[r] = s;
        }
        solve_reduced(answer.A.data(), answer.hold, answer.hold + answer.slip, rhs_.data());
        for (std::size_t r = 0; r < rhs_.size(); ++r) z_[static_cast<std::size_t>(answer.order[r])] += rhs_[r];
        apply(answer);
    }
    /// Newton's steps for the directions of slip; step_: what friction changes by. They settle within a few steps, or turn to
    /// and fro for ever: of those that settle in the heap of bench/cases/contact.py, 98 of 100 do within eight.
    void follow_slip(RowSystem& rows, const Answer& answer) {
        constexpr int most_turns = 20, few_turns = 8;
        constexpr double settling = 0.1;
        step_.assign(static_cast<std::size_t>(answer.slip), 0.0);
        for (int turns = 0;; ++turns) {
            slip_step(rows, answer);
            double change = 0;
            for (const std::size_t m : answer.slipping) {
                const Group& g = group(rows, m);
                Patch& p = patches[static_cast<std::size_t>(g.index)];
                find_wrench(p, answer, answer.shares[m]);
                if (p.w[2] > 0) {
                    bearing_before_ = p.bearing;
                    share_pressure(p);
                    if (p.kind == Shape2::face && bearing_before_ != p.bearing && turns < few_turns) change = 1;
                    double u[6] = {};
                    for (int r = 0; r < 3; ++r) u[slip_row[r]] = u_[static_cast<std::size_t>(g.row + slip_row[r])] + dot_product(answer.slip_by_slip(answer.shares[m].slip + r), step_.data(), answer.slip);
                    p.turned = turn_slip(p, u);
                    change = larger(change, p.turned);
                }
            }
            if (change < 1e-11 || turns >= most_turns || (turns >= few_turns && change > settling)) break;
            for (const std::size_t m : answer.slipping) basis(patches[static_cast<std::size_t>(group(rows, m).index)]);
        }
    }
    /// Newton's step of what slips: D u + S z = -s0 for each contact, with u and z as they follow from the step.
    void slip_step(RowSystem& rows, const Answer& answer) {
        const int n = answer.slip;
        newton_.assign(static_cast<std::size_t>(n * n), 0.0), rhs_.resize(static_cast<std::size_t>(n));
        for (const std::size_t m : answer.slipping) {
            const Group& g = group(rows, m);
            const Patch& p = patches[static_cast<std::size_t>(g.index)];
            const Share& c = answer.shares[m];
            for (int a = 0; a < 3; ++a) {
                double *row = newton_.data() + (c.slip + a) * n, right = -p.s0[c.held + a];
                auto add = [&](double s, const double* by_step, double now) {
                    for (int i = 0; i < n; ++i) row[i] += s * by_step[i];
                    right -= now;
                };
                for (int b = 0; b < 3; ++b) {
                    const double d = p.D[6 * (c.held + a) + slip_row[b]];
                    add(d, answer.slip_by_slip(c.slip + b), d * u_[static_cast<std::size_t>(g.row + slip_row[b])]);
                }
                for (int j = 0; j < c.held; ++j) {
                    const double s = p.S[(c.held + a) * p.k + j];
                    if (s != 0) add(-s, answer.held_by_slip(c.hold + j), s * z_[static_cast<std::size_t>(c.hold + j)]);
                }
                row[c.slip + a] += 1;
                rhs_[static_cast<std::size_t>(c.slip + a)] = right - z_[static_cast<std::size_t>(answer.hold + c.slip + a)];
            }
        }
        solve_rows(newton_.data(), rhs_.data(), n, step_.data(), exchanged_);
    }
    /// The wrench of a contact that slips, after the step.
    void find_wrench(Patch& p, const Answer& answer, const Share& c) {
        std::fill(p.w, p.w + 6, 0.0);
        for (int j = 0; j < p.k; ++j) {
            const bool held = j < c.held;
            const int place = held ? c.hold + j : answer.hold + c.slip + j - c.held;
            const double change = held ? -dot_product(answer.held_by_slip(place), step_.data(), answer.slip) : step_[static_cast<std::size_t>(place - answer.hold)];
            const double z = z_[static_cast<std::size_t>(place)] + change;
            for (int r = 0; r < 6; ++r) p.w[r] += p.E[6 * j + r] * z;
            if (p.grip == Grip::pivot && j == p.held - 2) p.points[static_cast<std::size_t>(p.pivot)].fx = z;  // of the point that sticks
            if (p.grip == Grip::pivot && j == p.held - 1) p.points[static_cast<std::size_t>(p.pivot)].fy = z;
        }
    }

    double* B_ = nullptr;
    Vec<Answer> answers_;             // of each island
    Vec<std::uint64_t> hypothesis_;
    Vec<int> order_, island_, exchanged_;
    Vec<double> store_, wanted_, moved_, z_, newton_, rhs_, step_, by_rows_;
    Vec<char> bearing_before_;
};

UKEMI_END
