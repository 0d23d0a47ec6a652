// Forces of all points together: hypothesis and check, point by point, for heaps of contacts and for what trial and error leaves.
//
// Each point is off, sticks or slips as its force and its motion tell; Newton's step finds the forces of these conditions, which tell
// the next ones (Alart and Curnier 1991). A step that leads away is shortened. Sweeps over the points, each in its cone with the
// others as they are (Jean and Moreau 1992), tell the first conditions.
//
// With y = D^1/2 L (v - v_free) as in contact_cone.hpp a point's motion is u_free + Y^T y and its force f adds Y f to y. A condition
// is f = a - G u; all of them give (1 + sum Y G Y^T) y = sum Y (a - G u_free), which is sparse: figures feel each other where they
// touch. What holds gives way a little, less with each step (a proximal point), so that redundant points share.
#pragma once
#include "block_lu.hpp"
#include "contact_patch.hpp"

UKEMI_BEGIN

class PointNewton {
public:
    void clear() { points_.clear(), equal_.clear(); }
    void reserve(int nv) { where_.resize(static_cast<std::size_t>(nv), -1); }

    /// A point (x, y) of a contact, whose group moves with u_free without forces. It may not approach faster than `target`; its slip is
    /// u_t + shift. `force`: a guess.
    void add_point(const Group& g, const double* u_free, double x, double y, double mu, double target, double shift_x, double shift_y, const Vec3<double>& force) {
        add({&g, mu > 0 ? 3 : 1, {{0, 0, 1, y, -x, 0}, {1, 0, 0, 0, 0, -y}, {0, 1, 0, 0, 0, x}}, {-target, shift_x, shift_y}, mu, {force.z, force.x, force.y}}, u_free);
    }
    void add_stop(const Group& g, const double* u_free, double target, double force) { add({&g, 1, {{1}}, {-target}, 0, {force}}, u_free); }
    void add_equal(const Group& g, const double* u_free, int row, double target) {
        equal_.push_back(points_.size());
        Point p{&g, 1, {}, {-target}, 0, {}};
        p.T[0][row] = 1, p.equal = true;
        add(p, u_free);
    }

    /// From the present forces on until `valid()`; false if that leads nowhere. `near`: they are good already. `trials`: counts hypotheses.
    template <class Valid> bool solve(const RowSystem& rows, bool near, int* trials, Valid valid) {
        arrange(rows);
        even_ = even, creep_ = near ? least_creep : most_creep;
        double sweeps = fewest_sweeps;
        start_again(near ? 0 : fewest_sweeps);
        for (int step = 0, short_steps = 0; step < most_steps; ++step) {
            for (Point& p : points_) suppose(p);
            ++*trials;
            if (!newton_step()) return false;
            const bool led_on = search() > short_step;
            if (step > 0 && (moved_ < settled || step > enough_steps) && valid()) return true;
            creep_ = std::clamp(led_on ? creep_ * less_creep : creep_ / less_creep, least_creep, most_creep);
            if (led_on || ++short_steps < patience) continue;
            short_steps = 0;
            even_ = even_ == even ? more_even : even;
            start_again(static_cast<int>(sweeps));
            sweeps = smaller(more_sweeps * sweeps, most_sweeps);
        }
        return false;
    }
    /// Force (f_x, f_y, f_n) of the i-th point or stop, in its cone; force of the i-th equal row.
    Vec3<double> force(std::size_t i) const {
        const Point& p = points_[i];
        double f[3] = {larger(0.0, p.f[0]), p.f[1], p.f[2]};
        cut(p, norm(f[1], f[2]), f);
        return {f[1], f[2], f[0]};
    }
    double equal_force(std::size_t i) const { return points_[equal_[i]].f[0]; }

private:
    enum class State { off, stick, slip };
    /// A point with its motions (n, x, y) out of those of its group, or the first alone; they count from what they are to be.
    struct Point {
        const Group* group;
        int rows;
        double T[3][most_rows], u_free[3], mu, f[3];
        bool equal = false;
        double normal = 0, along = 0;  // what it feels of its own force, along the slip at most
        int blocks = 0, blocks_end = 0, store = 0;
        State state = State::off;
        double grip = 0;                    // of friction that sticks: how it resists
        double dx = 0, dy = 0, across = 0;  // of slip: the direction of friction, and how it resists across
        double u[3] = {}, u_before[3] = {}, u_after[3] = {}, f_before[3] = {}, f_after[3] = {};
    };
    static constexpr int block = BlockLu::size;
    static constexpr int fewest_sweeps = 10, most_steps = 60;
    static constexpr int enough_steps = 12;       // after these, forces need not have settled
    static constexpr int patience = 2;            // short steps before the next sweeps,
    static constexpr double more_sweeps = 1.5, most_sweeps = 80;  // each time more of them
    static constexpr double even = 3, more_even = 10;  // how motion weighs against force; by turns, where steps get short
    static constexpr double stiff = 1e5;          // of what holds, times its own response
    static constexpr double most_creep = 1e-4, least_creep = 1e-7, less_creep = 0.3;  // [m/s]: what sticks may creep in a step, at first and at last
    static constexpr double settled = 1e-6;       // change of the forces, as a share of the largest
    static constexpr double short_step = 0.1, shortest_step = 1e-3;

    void add(Point p, const double* u_free) {
        for (int r = 0; r < p.rows; ++r)
            for (int i = 0; i < p.group->rows; ++i) p.u_free[r] += p.T[r][i] * u_free[i];
        points_.push_back(p);
    }

    /// Freedoms from the last to the first, in blocks that no two trees share; Y of each point in these blocks.
    void arrange(const RowSystem& rows) {
        auto for_freedoms = [&](const Point& p, auto f) {
            for (int d = p.group->dofs_end - 1; d >= p.group->dofs; --d) f(where_[static_cast<std::size_t>(rows.dofs[static_cast<std::size_t>(d)])], d - p.group->dofs);
        };
        for (const Point& p : points_) for_freedoms(p, [](int& place, int) { place = 0; });
        int next = 0;
        for (std::size_t i = where_.size(); i-- > 0;) {
            if (where_[i] >= 0) where_[i] = next++;
            if (rows.begins_tree(static_cast<int>(i))) next = (next + block - 1) / block * block;
        }
        lu_.clear(next / block);
        y_.resize(static_cast<std::size_t>(next));
        block_.clear(), Y_.clear();
        for (Point& p : points_) {
            const Group& g = *p.group;
            p.blocks = static_cast<int>(block_.size()), p.store = static_cast<int>(Y_.size());
            const auto size = static_cast<std::size_t>(p.rows * block);
            double nn = 0, xx = 0, xy = 0, yy = 0;
            for_freedoms(p, [&](int place, int d) {
                const int b = place / block;
                if (p.blocks == static_cast<int>(block_.size()) || block_.back() != b) block_.push_back(b), Y_.resize(Y_.size() + size, 0.0);
                const double* column = rows.Y.data() + g.store + d * g.rows;
                double *Y = Y_.data() + Y_.size() - size + place % block, y[3] = {};
                for (int r = 0; r < p.rows; ++r) {
                    for (int i = 0; i < g.rows; ++i) y[r] += p.T[r][i] * column[i];
                    Y[r * block] = y[r];
                }
                nn += y[0] * y[0], xx += y[1] * y[1], xy += y[1] * y[2], yy += y[2] * y[2];
            });
            p.blocks_end = static_cast<int>(block_.size());
            lu_.couple(block_.data() + p.blocks, p.blocks_end - p.blocks);
            p.normal = nn, p.along = 0.5 * (xx + yy) + norm(0.5 * (xx - yy), xy);
            if (!(p.normal > 0)) p.normal = 1, p.u_free[0] = 1, p.equal = false;  // nothing moves it: it is left alone
            if (!(p.along > 0)) p.along = p.normal;
        }
        lu_.arrange();
        for (const Point& p : points_) for_freedoms(p, [](int& place, int) { place = -1; });
    }
    /// y += Y w
    void push(const Point& p, const double* w) {
        const double* Y = Y_.data() + p.store;
        for (int b = p.blocks; b < p.blocks_end; ++b) {
            double* to = y_.data() + block_[static_cast<std::size_t>(b)] * block;
            Four sum, row;
            load(sum, to);
            for (int r = 0; r < p.rows; ++r, Y += block) load(row, Y), sum += row * w[r];
            store(sum, to);
        }
    }
    /// y = sum Y f
    void find_y() {
        std::fill(y_.begin(), y_.end(), 0.0);
        for (const Point& p : points_) push(p, p.f);
    }
    /// u = u_free + Y^T y
    void find_motion(Point& p) {
        const double* Y = Y_.data() + p.store;
        Four s[3] = {}, from, row;
        for (int b = p.blocks; b < p.blocks_end; ++b) {
            load(from, y_.data() + block_[static_cast<std::size_t>(b)] * block);
            for (int r = 0; r < p.rows; ++r, Y += block) load(row, Y), s[r] += row * from;
        }
        for (int r = 0; r < p.rows; ++r) p.u[r] = p.u_free[r] + sum(s[r]);
    }
    void find_motions() {
        for (Point& p : points_) find_motion(p);
    }

    /// The force that a point wishes: its motion changes it by `even` of what would stop it. The length of its friction.
    static double wish(const Point& p, double even, double (&f)[3]) {
        f[0] = p.f[0] - even / p.normal * p.u[0], f[1] = f[2] = 0;
        if (!p.equal) f[0] = larger(0.0, f[0]);
        if (p.rows == 1) return 0;
        f[1] = p.f[1] - even / p.along * p.u[1], f[2] = p.f[2] - even / p.along * p.u[2];
        return norm(f[1], f[2]);
    }
    /// In its cone.
    static void cut(const Point& p, double length, double (&f)[3]) {
        const double most = p.mu * f[0];
        if (length > most) f[1] *= most / length, f[2] *= most / length;
    }
    /// Every point takes the force it wishes, forward and back.
    void sweep() {
        for (Point& p : points_) relax(p);
        for (std::size_t i = points_.size(); i-- > 0;) relax(points_[i]);
    }
    void relax(Point& p) {
        find_motion(p);
        double f[3], change[3];
        cut(p, wish(p, 1.0, f), f);
        for (int r = 0; r < 3; ++r) change[r] = f[r] - p.f[r], p.f[r] = f[r];
        push(p, change);
    }

    /// What force and motion tell of a point.
    void suppose(Point& p) const {
        double f[3];
        const double length = wish(p, even_, f), most = p.mu * f[0];
        p.state = p.equal ? State::stick : !(f[0] > 0) ? State::off : p.rows == 3 && length > most ? State::slip : State::stick;
        p.grip = smaller(stiff / p.along, most / creep_);
        if (p.state == State::slip) {
            p.dx = f[1] / length, p.dy = f[2] / length;
            p.across = even_ * smaller(p.grip, most / (length - most) / p.along);
        }
    }
    /// The condition of a point: f = a - G u.
    struct Law {
        double a[3] = {}, G[3][3] = {};
        explicit Law(const Point& p) {
            if (p.state == State::off) return;
            const double n = stiff / p.normal;
            G[0][0] = n, a[0] = p.f[0];
            if (p.rows == 1) return;
            if (p.state == State::stick) {
                G[1][1] = G[2][2] = p.grip, a[1] = p.f[1], a[2] = p.f[2];
                return;
            }
            G[1][0] = p.mu * p.dx * n, G[2][0] = p.mu * p.dy * n, a[1] = p.mu * p.dx * a[0], a[2] = p.mu * p.dy * a[0];
            G[1][1] = p.across * p.dy * p.dy, G[1][2] = G[2][1] = -p.across * p.dx * p.dy, G[2][2] = p.across * p.dx * p.dx;
        }
        void force(const double* u, double* f) const {
            for (int i = 0; i < 3; ++i) f[i] = a[i] - G[i][0] * u[0] - G[i][1] * u[1] - G[i][2] * u[2];
        }
    };
    /// Forces and motions of the conditions, beside those before them.
    bool newton_step() {
        lu_.set_unit();
        std::fill(y_.begin(), y_.end(), 0.0);
        for (Point& p : points_) {
            std::copy(p.u, p.u + 3, p.u_before), std::copy(p.f, p.f + 3, p.f_before);
            if (p.state == State::off) continue;
            const Law law(p);
            double w[3];
            law.force(p.u_free, w);
            push(p, w);
            if (p.rows == 3) stiffen<3>(p, law);
            else stiffen<1>(p, law);
        }
        if (!lu_.factor()) return false;
        lu_.solve(y_.data());
        find_motions();
        double largest = 1e-300;
        moved_ = 0;
        for (Point& p : points_) {
            std::copy(p.u, p.u + 3, p.u_after);
            Law(p).force(p.u, p.f_after);
            largest = larger(largest, std::fabs(p.f_after[0]));
            for (int r = 0; r < 3; ++r) moved_ = larger(moved_, std::fabs(p.f_after[r] - p.f_before[r]));
        }
        moved_ /= largest;
        return true;
    }
    /// Y G Y^T of a point, into the matrix.
    template <int rows> void stiffen(const Point& p, const Law& law) {
        const int count = p.blocks_end - p.blocks;
        const double* Y = Y_.data() + p.store;
        GY_.resize(static_cast<std::size_t>(count * rows * block));
        for (int b = 0; b < count; ++b) {
            Four y[rows];
            for (int c = 0; c < rows; ++c) load(y[c], Y + (b * rows + c) * block);
            for (int r = 0; r < rows; ++r) {
                Four sum = y[0] * law.G[r][0];
                for (int c = 1; c < rows; ++c) sum += y[c] * law.G[r][c];
                store(sum, GY_.data() + (b * rows + r) * block);
            }
        }
        const int* blocks = block_.data() + p.blocks;
        for (int j = 0; j < count; ++j) {
            Four gy[rows], sum;
            for (int r = 0; r < rows; ++r) load(gy[r], GY_.data() + (j * rows + r) * block);
            for (int i = 0; i < count; ++i) {
                double* K = lu_.block(blocks[i], blocks[j]);
                const double* y = Y + i * rows * block;
                for (int d = 0; d < block; ++d) {
                    load(sum, K + d * block);
                    for (int r = 0; r < rows; ++r) sum += gy[r] * y[r * block + d];
                    store(sum, K + d * block);
                }
            }
        }
    }
    /// Forces told by sweeps over the points.
    void start_again(int sweeps) {
        find_y();
        for (int i = 0; i < sweeps; ++i) sweep();
        find_motions();
        last_lack_ = 0;
    }
    /// Goes as far along the step as leads nearer to a solution than this or the last one began; how far.
    double search() {
        go(0.0);
        const double now_lacks = lack(), start = larger(now_lacks, last_lack_);
        last_lack_ = now_lacks;
        double best = INFINITY, length = 1, best_length = 1;
        for (; length > shortest_step; length *= 0.5) {
            go(length);
            const double now = lack();
            if (now < best) best = now, best_length = length;
            if (now < (1 - 0.1 * length) * start) break;
        }
        if (length != best_length) go(best_length);
        return best_length;
    }
    void go(double length) {
        for (Point& p : points_)
            for (int r = 0; r < 3; ++r) p.u[r] = p.u_before[r] + length * (p.u_after[r] - p.u_before[r]), p.f[r] = p.f_before[r] + length * (p.f_after[r] - p.f_before[r]);
    }
    /// How far the forces are from what they wish, squared.
    double lack() const {
        double total = 0, f[3];
        for (const Point& p : points_) {
            cut(p, wish(p, even_, f), f);
            for (int r = 0; r < 3; ++r) f[r] -= p.f[r];
            total += p.normal * f[0] * f[0] + p.along * (f[1] * f[1] + f[2] * f[2]);
        }
        return total;
    }

    Vec<Point> points_;
    Vec<std::size_t> equal_;
    Vec<int> where_, block_;           // where each freedom stands, -1: nowhere; blocks of each point
    Vec<double> Y_, GY_, y_;           // Y of each point: rows of its first block, of its next, ...
    BlockLu lu_;
    double even_ = even, creep_ = most_creep, last_lack_ = 0, moved_ = 0;  // the present weight and creep; where the last step began, and how much it changed
};

UKEMI_END
