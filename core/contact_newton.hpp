// Forces of all points together: hypothesis and check, point by point, for heaps of contacts and for what trial and error leaves.
//
// Each point is off, sticks or slips as its force and its motion tell; Newton's step finds the forces of these conditions, which tell
// the next ones (Alart and Curnier 1991). A step that leads away is shortened. Sweeps over the points, each in its cone with the
// others as they are (Jean and Moreau 1992), tell the first conditions.
//
// With y = D^1/2 L (v - v_free) as in contact_cone.hpp a contact's motion is u_free + Y^T y and its force f adds Y f to y. A condition
// is f = a - G u; all of them give (1 + sum Y G Y^T) y = sum Y (a - G u_free), which is sparse: figures feel each other where they
// touch. What holds gives way a little, less with each step (a proximal point), so that redundant points share.
#pragma once
#include "block_lu.hpp"
#include "contact_patch.hpp"
#include "four.hpp"

UKEMI_BEGIN

class PointNewton {
public:
    void clear() { points_.clear(), equal_.clear(), at_.clear(); }
    void reserve(int nv) { where_.resize(static_cast<std::size_t>(nv), -1); }

    /// A group with what it does without forces; its points, its stop or its equal rows follow. `only`: the one point of a contact, of which
    /// its three motions are enough.
    void add_group(const RowSystem& rows, const Group& g, const double* u_free, const PatchPoint* only) {
        At at{&g, g.rows, static_cast<int>(points_.size()), 0, 0, 0, {}, {}, {}, {}, {}, {}};
        for (int r = 0; r < g.rows; ++r) at.T[r * most_rows + r] = 1;
        if (only) {
            at.rows = 3;
            const Rows own(only->x, only->y);
            std::copy(own.x, own.x + 6, at.T), std::copy(own.y, own.y + 6, at.T + 6), std::copy(own.n, own.n + 6, at.T + 12);
        }
        double B[36], TB[36] = {};
        rows.block(g, g, B, g.rows);
        for (int r = 0; r < at.rows; ++r)
            for (int i = 0; i < g.rows; ++i) {
                at.u_free[r] += at.T[r * most_rows + i] * u_free[i];
                for (int c = 0; c < g.rows; ++c) TB[r * most_rows + c] += at.T[r * most_rows + i] * B[i * g.rows + c];
            }
        for (int r = 0; r < at.rows; ++r)
            for (int c = 0; c < at.rows; ++c) at.B[r * most_rows + c] = dot6(TB + r * most_rows, at.T + c * most_rows);
        at_.push_back(at);
    }
    /// A point (x, y) that may not approach faster than `target`; its slip is u_t + shift. `force`: a guess.
    void add_point(double x, double y, double mu, double target, double shift_x, double shift_y, const Vec3<double>& force) {
        Point p{Rows(x, y), mu, target, shift_x, shift_y, 0, 0, force};
        if (at_.back().rows == 3) p.rows = Rows();
        const double* B = at_.back().B;
        p.normal = product(B, p.rows.n, p.rows.n);
        const double xx = product(B, p.rows.x, p.rows.x), xy = product(B, p.rows.x, p.rows.y), yy = product(B, p.rows.y, p.rows.y);
        p.along = 0.5 * (xx + yy) + norm(0.5 * (xx - yy), xy);
        p.slips = mu > 0 && p.along > 0;
        add(p);
    }
    void add_stop(double target, double force) { add({Rows(0), 0, target, 0, 0, at_.back().B[0], 0, {0, 0, force}}); }
    void add_equal(int row, double target) {
        equal_.push_back(points_.size());
        Point p{Rows(row), 0, target, 0, 0, at_.back().B[7 * row], 0, {0, 0, 0}};
        p.equal = true;
        add(p);
    }

    /// From the present forces on until `valid()`; false if that leads nowhere. `near`: they are good already. `trials`: counts hypotheses.
    template <class Valid> bool solve(const RowSystem& rows, bool near, int* trials, Valid valid) {
        arrange(rows);
        for (int round = 0, most_sweeps = near ? 0 : sweeps; round < rounds; ++round, most_sweeps = std::max(sweeps, 4 * most_sweeps)) {
            find_y();
            for (int i = 0; i < most_sweeps; ++i) sweep();
            find_motions();
            even_ = even;
            for (int step = 0; step < steps; ++step) {
                bool changed = false;
                for (At& at : at_) for_points(at, [&](Point& p) { changed |= suppose(p, at.u); });
                ++*trials;
                if (!newton_step()) return false;
                const double length = search();
                if (step > 0 && (!changed || moved_ < settled) && valid()) return true;
                if (length < short_step) even_ = even_ == even ? more_even : even;
            }
        }
        return false;
    }
    /// Force (f_x, f_y, f_n) of the i-th point or stop; force of the i-th equal row.
    Vec3<double> force(std::size_t i) const { return points_[i].force; }
    double equal_force(std::size_t i) const { return points_[equal_[i]].force.z; }

private:
    enum class State { off, stick, slip };
    /// Slip and normal of a point, out of the motions of its group.
    struct Rows {
        double x[6] = {1, 0, 0, 0, 0, 0}, y[6] = {0, 1, 0, 0, 0, 0}, n[6] = {0, 0, 1, 0, 0, 0};
        Rows() = default;
        explicit Rows(int row) : x{}, y{}, n{} { n[row] = 1; }
        Rows(double px, double py) : x{1, 0, 0, 0, 0, -py}, y{0, 1, 0, 0, 0, px}, n{0, 0, 1, py, -px, 0} {}
    };
    struct Point {
        Rows rows;
        double mu, target, shift_x, shift_y;
        double normal, along;          // what it feels of its own forces
        Vec3<double> force;            // (f_x, f_y, f_n)
        bool equal = false, slips = false;
        State state = State::off;
        double dx = 0, dy = 0, across = 0;  // of slip: the direction of friction, and how it resists across
        Vec3<double> before{0, 0, 0}, after{0, 0, 0};
    };
    /// A group: its rows T out of those of the contact, its first point, its blocks and where their Y stands.
    struct At {
        const Group* group;
        int rows, points, blocks, blocks_end, store;
        double T[36], u_free[6], u[6], before[6], after[6], B[36];
    };
    static constexpr int block = BlockLu::size;
    static constexpr int sweeps = 10, steps = 15;    // of a round; the next ones sweep four times as often, from where the last one
    static constexpr int rounds = 4;            // ended
    static constexpr double stiff = 1e5;        // of what holds, times its own response
    static constexpr double even = 3, more_even = 10;  // how motion weighs against force; by turns, where steps get short
    static constexpr double settled = 1e-6;     // change of the forces, as a share of the largest
    static constexpr double short_step = 0.1, shortest_step = 1e-3;

    static double dot6(const double* a, const double* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]; }
    static double product(const double* B, const double* a, const double* b) {
        double s = 0;
        for (int i = 0; i < 6; ++i) s += a[i] * dot6(B + 6 * i, b);
        return s;
    }
    template <class F> void for_points(const At& at, F f) {
        const int end = &at == &at_.back() ? static_cast<int>(points_.size()) : (&at + 1)->points;
        for (int i = at.points; i < end; ++i) f(points_[static_cast<std::size_t>(i)]);
    }

    void add(const Point& p) {
        points_.push_back(p.normal > 0 ? p : Point{Rows(0), 0, -INFINITY, 0, 0, 1, 0, {0, 0, 0}});  // else nothing moves it, and it bears nothing
    }
    /// Freedoms from the last to the first, in blocks that no two trees share; Y of each group in these blocks.
    void arrange(const RowSystem& rows) {
        for (const At& at : at_)
            for (int d = at.group->dofs; d < at.group->dofs_end; ++d) where_[static_cast<std::size_t>(rows.dofs[static_cast<std::size_t>(d)])] = 0;
        int next = 0;
        auto whole_blocks = [&] { return (next + block - 1) / block * block; };
        for (std::size_t i = where_.size(); i-- > 0;) {
            if (where_[i] >= 0) where_[i] = next++;
            if (rows.begins_tree(static_cast<int>(i))) next = whole_blocks();
        }
        lu_.clear(next / block);
        y_.resize(static_cast<std::size_t>(next));
        block_.clear(), Y_.clear();
        for (At& at : at_) {
            const Group& g = *at.group;
            at.blocks = static_cast<int>(block_.size()), at.store = static_cast<int>(Y_.size());
            const auto size = static_cast<std::size_t>(at.rows * block);
            for (int d = g.dofs_end - 1; d >= g.dofs; --d) {
                const int place = where_[static_cast<std::size_t>(rows.dofs[static_cast<std::size_t>(d)])], b = place / block;
                if (at.blocks == static_cast<int>(block_.size()) || block_.back() != b) block_.push_back(b), Y_.resize(Y_.size() + size, 0.0);
                double* Y = Y_.data() + Y_.size() - size + place % block;
                const double* column = rows.Y.data() + g.store + (d - g.dofs) * g.rows;
                for (int r = 0; r < at.rows; ++r)
                    for (int i = 0; i < g.rows; ++i) Y[r * block] += at.T[r * most_rows + i] * column[i];
            }
            at.blocks_end = static_cast<int>(block_.size());
            lu_.couple(block_.data() + at.blocks, at.blocks_end - at.blocks);
        }
        lu_.arrange();
        for (const At& at : at_)
            for (int d = at.group->dofs; d < at.group->dofs_end; ++d) where_[static_cast<std::size_t>(rows.dofs[static_cast<std::size_t>(d)])] = -1;
    }
    static void add(const Point& p, const Vec3<double>& f, double* w) {
        for (int i = 0; i < 6; ++i) w[i] += p.rows.n[i] * f.z + p.rows.x[i] * f.x + p.rows.y[i] * f.y;
    }
    /// y += Y w
    void push(const At& at, const double* w) {
        const double* Y = Y_.data() + at.store;
        for (int b = at.blocks; b < at.blocks_end; ++b) {
            double* to = y_.data() + block_[static_cast<std::size_t>(b)] * block;
            Four sum, row;
            load(sum, to);
            for (int r = 0; r < at.rows; ++r, Y += block) load(row, Y), sum += row * w[r];
            store(sum, to);
        }
    }
    /// y = sum Y f
    void find_y() {
        std::fill(y_.begin(), y_.end(), 0.0);
        for (const At& at : at_) {
            double w[6] = {};
            for_points(at, [&](const Point& p) { add(p, p.force, w); });
            push(at, w);
        }
    }
    /// u = u_free + Y^T y
    void find_motion(At& at) {
        const double* Y = Y_.data() + at.store;
        Four s[most_rows] = {}, from, row;
        for (int b = at.blocks; b < at.blocks_end; ++b) {
            load(from, y_.data() + block_[static_cast<std::size_t>(b)] * block);
            for (int r = 0; r < at.rows; ++r, Y += block) load(row, Y), s[r] += row * from;
        }
        for (int r = 0; r < at.rows; ++r) at.u[r] = at.u_free[r] + sum(s[r]);
    }
    void find_motions() {
        for (At& at : at_) find_motion(at);
    }

    /// Force and motion in one: what the force would be, in the cone, if the motion changed it by `even` of what would stop it.
    struct Wish { double x, y, n, length; };  // before it is cut to the cone; length of (x, y)
    Wish wish(const Point& p, const double* u, double even) const {
        const double n = p.force.z - even / p.normal * (dot6(p.rows.n, u) - p.target);
        Wish s{0, 0, p.equal ? n : larger(0.0, n), 0};
        if (!p.slips) return s;
        s.x = p.force.x - even / p.along * (dot6(p.rows.x, u) + p.shift_x), s.y = p.force.y - even / p.along * (dot6(p.rows.y, u) + p.shift_y);
        s.length = norm(s.x, s.y);
        return s;
    }
    static Vec3<double> in_cone(const Point& p, const Wish& s) {
        const double most = p.mu * s.n, cut = s.length > most ? most / s.length : 1.0;
        return {cut * s.x, cut * s.y, s.n};
    }
    /// Every point takes the force it wishes, forward and back.
    void sweep() {
        for (At& at : at_) relax(at);
        for (std::size_t i = at_.size(); i-- > 0;) relax(at_[i]);
    }
    void relax(At& at) {
        find_motion(at);
        double w[6] = {};
        for_points(at, [&](Point& p) {
            const Vec3<double> force = in_cone(p, wish(p, at.u, 1.0));
            double change[6] = {};
            add(p, force - p.force, change);
            p.force = force;
            for (int r = 0; r < at.rows; ++r) {
                w[r] += change[r];
                for (int c = 0; c < at.rows; ++c) at.u[c] += at.B[most_rows * r + c] * change[r];
            }
        });
        push(at, w);
    }

    /// What force and motion tell of a point; true if it is another than before.
    bool suppose(Point& p, const double* u) {
        const State before = p.state;
        const Wish s = wish(p, u, even_);
        p.state = p.equal ? State::stick : !(s.n > 0) ? State::off : p.slips && s.length > p.mu * s.n ? State::slip : State::stick;
        if (p.state == State::slip) {
            p.dx = s.x / s.length, p.dy = s.y / s.length;
            const double most = p.mu * s.n;
            p.across = even_ / p.along * smaller(stiff, most / (s.length - most));
        }
        return before != p.state;
    }
    /// The condition of a point: f = a - G u in its motions (x, y, n).
    struct Law { double a[3] = {}, G[9] = {}; };
    static Law law(const Point& p) {
        Law l;
        if (p.state == State::off) return l;
        const double n = stiff / p.normal;
        l.G[8] = n, l.a[2] = p.force.z + n * p.target;
        if (!p.slips) return l;
        double xx = stiff / p.along, xy = 0, yy = xx;
        l.a[0] = p.force.x, l.a[1] = p.force.y;
        if (p.state == State::slip) {
            xx = p.across * p.dy * p.dy, xy = -p.across * p.dx * p.dy, yy = p.across * p.dx * p.dx;
            l.G[2] = p.mu * p.dx * n, l.G[5] = p.mu * p.dy * n;
            l.a[0] = p.mu * p.dx * l.a[2], l.a[1] = p.mu * p.dy * l.a[2];
        }
        l.G[0] = xx, l.G[1] = l.G[3] = xy, l.G[4] = yy;
        l.a[0] -= xx * p.shift_x + xy * p.shift_y, l.a[1] -= xy * p.shift_x + yy * p.shift_y;
        return l;
    }
    static Vec3<double> force_by(const Law& l, const Point& p, const double* u) {
        const double x = dot6(p.rows.x, u), y = dot6(p.rows.y, u), n = dot6(p.rows.n, u);
        auto row = [&](int i) { return l.a[i] - l.G[3 * i] * x - l.G[3 * i + 1] * y - l.G[3 * i + 2] * n; };
        return {row(0), row(1), row(2)};
    }
    /// Forces and motions of the conditions, after those before them.
    bool newton_step() {
        for (At& at : at_) std::copy(at.u, at.u + 6, at.before);
        lu_.set_unit();
        std::fill(y_.begin(), y_.end(), 0.0);
        for (const At& at : at_) {
            double K[36] = {}, w[6] = {};
            bool any = false;
            for_points(at, [&](const Point& p) {
                if (p.state == State::off) return;
                any = true;
                const Law l = law(p);
                add(p, force_by(l, p, at.u_free), w);
                const double* T[3] = {p.rows.x, p.rows.y, p.rows.n};
                for (int i = 0; i < 3; ++i)
                    for (int j = 0; j < 3; ++j) {
                        if (l.G[3 * i + j] == 0) continue;
                        for (int r = 0; r < at.rows; ++r)
                            for (int c = 0; c < at.rows; ++c) K[most_rows * r + c] += T[i][r] * l.G[3 * i + j] * T[j][c];
                    }
            });
            if (!any) continue;
            push(at, w);
            stiffen(at, K);
        }
        if (!lu_.factor()) return false;
        lu_.solve(y_.data());
        find_motions();
        double largest = 1e-300;
        moved_ = 0;
        for (At& at : at_) {
            std::copy(at.u, at.u + 6, at.after);
            for_points(at, [&](Point& p) {
                p.before = p.force, p.after = force_by(law(p), p, at.u);
                largest = larger(largest, std::fabs(p.after.z));
                moved_ = larger(moved_, larger(std::fabs(p.after.z - p.before.z), norm(p.after.x - p.before.x, p.after.y - p.before.y)));
            });
        }
        moved_ /= largest;
        return true;
    }
    /// Y K Y^T of a group, into the matrix.
    void stiffen(const At& at, const double* K) {
        const int count = at.blocks_end - at.blocks;
        const double* Y = Y_.data() + at.store;
        KY_.resize(static_cast<std::size_t>(count * at.rows * block));
        for (int b = 0; b < count; ++b)
            for (int r = 0; r < at.rows; ++r) {
                Four t{}, row;
                for (int c = 0; c < at.rows; ++c) load(row, Y + (b * at.rows + c) * block), t += row * K[most_rows * r + c];
                store(t, KY_.data() + (b * at.rows + r) * block);
            }
        auto rows = [&](auto m) {
            for (int i = 0; i < count; ++i)
                for (int j = 0; j < count; ++j) {
                    double* C = lu_.block(block_[static_cast<std::size_t>(at.blocks + i)], block_[static_cast<std::size_t>(at.blocks + j)]);
                    const double *y = Y + i * m * block, *t = KY_.data() + j * m * block;
                    Four row[most_rows], c;
                    for (int r = 0; r < m; ++r) load(row[r], t + r * block);
                    for (int d = 0; d < block; ++d) {
                        load(c, C + d * block);
                        for (int r = 0; r < m; ++r) c += row[r] * y[r * block + d];
                        store(c, C + d * block);
                    }
                }
        };
        if (at.rows == 3) rows(std::integral_constant<int, 3>{});
        else RowSystem::with_rows(at.rows, rows);
    }
    /// Goes as far along the step as leads nearer to a solution; how far.
    double search() {
        go(0.0);
        const double start = lack();
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
        for (At& at : at_)
            for (int r = 0; r < at.rows; ++r) at.u[r] = at.before[r] + length * (at.after[r] - at.before[r]);
        for (Point& p : points_) p.force = p.before + (p.after - p.before) * length;
    }
    /// How far the forces are from what they wish, squared.
    double lack() {
        double sum = 0;
        for (const At& at : at_)
            for_points(at, [&](const Point& p) {
                const Vec3<double> d = p.force - in_cone(p, wish(p, at.u, even_));
                sum += p.normal * d.z * d.z + p.along * (d.x * d.x + d.y * d.y);
            });
        return sum;
    }

    Vec<At> at_;
    Vec<Point> points_;
    Vec<std::size_t> equal_;
    Vec<int> where_, block_;           // where each freedom stands, -1: nowhere; blocks of each group
    Vec<double> Y_, KY_, y_;           // of each group in its blocks
    BlockLu lu_;
    double even_ = even, moved_ = 0;   // the present of these; how much the last step changed
};

UKEMI_END
