// Contacts of an island as single points, with what their forces and motions have to do with each other.
//
// With y = D^1/2 L (v - v_free) a point's motion is u = u_free + Y^T y and its force f adds Y f to y. Where forces answer to motions
// as f = a - G u, all points together give (1 + sum Y G Y^T) y = sum Y (a - G u_free), which is sparse: figures feel each other
// where they touch; and it is no larger where more points touch, or where some are redundant.
#pragma once
#include "block_lu.hpp"
#include "contact_patch.hpp"

UKEMI_BEGIN

class ContactPoints {
public:
    /// A point with its motions (n, x, y) out of those of its group, or the first alone; they count from what they are to be.
    struct Point {
        const Group* group;
        int rows;
        double T[3][most_rows], u_free[3], mu, f[3];
        bool equal = false;            // held both ways: a row of a loop
        double u[3] = {};
        double normal = 0, along = 0;  // what it feels of its own force, along the slip at most
        int blocks = 0, blocks_end = 0, store = 0;
        bool alone = false;            // nothing moves it
    };
    Vec<Point> points;
    Vec<double> y;

    void clear() { points.clear(), before_.clear(), equal_.clear(); }
    void reserve(int nv) { where_.resize(static_cast<std::size_t>(nv), -1); }

    /// A point (x, y) of a contact, whose group moves with u_free without forces. It may not approach faster than `target`; its slip is
    /// u_t + shift. `force`: a guess.
    void add_point(const Group& g, const double* u_free, double x, double y, double mu, double target, double shift_x, double shift_y, const Vec3<double>& force) {
        add({&g, mu > no_friction ? 3 : 1, {{0, 0, 1, y, -x, 0}, {1, 0, 0, 0, 0, -y}, {0, 1, 0, 0, 0, x}}, {-target, shift_x, shift_y}, mu, {force.z, force.x, force.y}}, u_free);
    }
    void add_stop(const Group& g, const double* u_free, double target, double force) { add({&g, 1, {{1}}, {-target}, 0, {force}}, u_free); }
    void add_equal(const Group& g, const double* u_free, int row, double target) {
        equal_.push_back(points.size());
        Point p{&g, 1, {}, {-target}, 0, {}};
        p.T[0][row] = 1, p.equal = true;
        add(p, u_free);
    }

    /// Force (f_x, f_y, f_n) of the i-th point or stop, in its cone; force of the i-th equal row.
    Vec3<double> force(std::size_t i) const {
        const Point& p = points[i];
        double f[3] = {larger(0.0, p.f[0]), p.f[1], p.f[2]};
        cut(p, norm(f[1], f[2]), f);
        return {f[1], f[2], f[0]};
    }
    double equal_force(std::size_t i) const { return points[equal_[i]].f[0]; }
    /// Friction of this length, into its cone.
    static void cut(const Point& p, double length, double (&f)[3]) {
        const double most = p.mu * f[0];
        if (length > most) f[1] *= most / length, f[2] *= most / length;
    }

    /// The points that are added next are those added last, with other motions.
    void pose_again() { before_.swap(points), points.clear(), equal_.clear(); }
    /// Freedoms from the last to the first, in blocks that no two trees share; Y of each point in these blocks.
    void arrange(const RowSystem& rows) {
        if (!before_.empty()) {
            for (std::size_t i = 0; i < points.size(); ++i) {
                Point &p = points[i], &before = before_[i];
                p.blocks = before.blocks, p.blocks_end = before.blocks_end, p.store = before.store, p.normal = before.normal, p.along = before.along, p.alone = before.alone;
                leave_alone(p);
            }
            return before_.clear();
        }
        auto for_freedoms = [&](const Point& p, auto f) {
            for (int d = p.group->dofs_end - 1; d >= p.group->dofs; --d) f(where_[static_cast<std::size_t>(rows.dofs[static_cast<std::size_t>(d)])], d - p.group->dofs);
        };
        for (const Point& p : points) for_freedoms(p, [](int& place, int) { place = 0; });
        int next = 0;
        for (std::size_t i = where_.size(); i-- > 0;) {
            if (where_[i] >= 0) where_[i] = next++;
            if (rows.begins_tree(static_cast<int>(i))) next = (next + block - 1) / block * block;
        }
        lu_.clear(next / block);
        y.assign(static_cast<std::size_t>(next), 0.0);
        block_.clear(), Y_.clear();
        for (Point& p : points) {
            const Group& g = *p.group;
            p.blocks = static_cast<int>(block_.size()), p.store = static_cast<int>(Y_.size());
            const auto size = static_cast<std::size_t>(p.rows * block);
            double nn = 0, xx = 0, xy = 0, yy = 0;
            for_freedoms(p, [&](int place, int d) {
                const int b = place / block;
                if (p.blocks == static_cast<int>(block_.size()) || block_.back() != b) block_.push_back(b), Y_.resize(Y_.size() + size, 0.0);
                const double* column = rows.Y.data() + g.store + d * g.rows;
                double *Y = Y_.data() + Y_.size() - size + place % block, r_y[3] = {};
                for (int r = 0; r < p.rows; ++r) {
                    for (int i = 0; i < g.rows; ++i) r_y[r] += p.T[r][i] * column[i];
                    Y[r * block] = r_y[r];
                }
                nn += r_y[0] * r_y[0], xx += r_y[1] * r_y[1], xy += r_y[1] * r_y[2], yy += r_y[2] * r_y[2];
            });
            p.blocks_end = static_cast<int>(block_.size());
            lu_.couple(block_.data() + p.blocks, p.blocks_end - p.blocks);
            p.normal = nn, p.along = 0.5 * (xx + yy) + norm(0.5 * (xx - yy), xy);
            p.alone = !(p.normal > 0);
            if (p.alone) p.normal = 1;
            leave_alone(p);
            if (!(p.along > 0)) p.along = p.normal;
        }
        lu_.arrange();
        for (const Point& p : points) for_freedoms(p, [](int& place, int) { place = -1; });
    }

    /// y += Y w
    void push(const Point& p, const double* w) {
        const double* Y = Y_.data() + p.store;
        for (int b = p.blocks; b < p.blocks_end; ++b) {
            double* to = y.data() + block_[static_cast<std::size_t>(b)] * block;
            Four sum, row;
            load(sum, to);
            for (int r = 0; r < p.rows; ++r, Y += block) load(row, Y), sum += row * w[r];
            store(sum, to);
        }
    }
    /// y = sum Y f
    void find_y() {
        std::fill(y.begin(), y.end(), 0.0);
        for (const Point& p : points) push(p, p.f);
    }
    /// Y^T y
    void answer(const Point& p, double* out) const {
        const double* Y = Y_.data() + p.store;
        Four s[3] = {}, from, row;
        for (int b = p.blocks; b < p.blocks_end; ++b) {
            load(from, y.data() + block_[static_cast<std::size_t>(b)] * block);
            for (int r = 0; r < p.rows; ++r, Y += block) load(row, Y), s[r] += row * from;
        }
        for (int r = 0; r < p.rows; ++r) out[r] = sum(s[r]);
    }
    /// u = u_free + Y^T y
    void find_motion(Point& p) const {
        answer(p, p.u);
        for (int r = 0; r < p.rows; ++r) p.u[r] += p.u_free[r];
    }
    void find_motions() {
        for (Point& p : points) find_motion(p);
    }

    /// The matrix 1 + sum Y G Y^T: as without forces, G of a point added, factored, and the solution for y.
    void set_unit() { lu_.set_unit(); }
    void stiffen(const Point& p, const double (&G)[3][3]) { p.rows == 3 ? stiffen_rows<3>(p, G) : stiffen_rows<1>(p, G); }
    bool factor() { return lu_.factor(); }
    void solve() { lu_.solve(y.data()); }

private:
    static constexpr int block = BlockLu::size;
    static constexpr double no_friction = 1e-9;

    static void leave_alone(Point& p) {
        if (p.alone) p.u_free[0] = 1, p.equal = false;
    }
    void add(Point p, const double* u_free) {
        for (int r = 0; r < p.rows; ++r)
            for (int i = 0; i < p.group->rows; ++i) p.u_free[r] += p.T[r][i] * u_free[i];
        points.push_back(p);
    }
    template <int rows> void stiffen_rows(const Point& p, const double (&G)[3][3]) {
        const int count = p.blocks_end - p.blocks;
        const double* Y = Y_.data() + p.store;
        GY_.resize(static_cast<std::size_t>(count * rows * block));
        for (int b = 0; b < count; ++b) {
            Four r_y[rows];
            for (int c = 0; c < rows; ++c) load(r_y[c], Y + (b * rows + c) * block);
            for (int r = 0; r < rows; ++r) {
                Four sum = r_y[0] * G[r][0];
                for (int c = 1; c < rows; ++c) sum += r_y[c] * G[r][c];
                store(sum, GY_.data() + (b * rows + r) * block);
            }
        }
        const int* blocks = block_.data() + p.blocks;
        for (int j = 0; j < count; ++j) {
            Four gy[rows], sum;
            for (int r = 0; r < rows; ++r) load(gy[r], GY_.data() + (j * rows + r) * block);
            for (int i = 0; i < count; ++i) {
                double* K = lu_.block(blocks[i], blocks[j]);
                const double* from = Y + i * rows * block;
                for (int d = 0; d < block; ++d) {
                    load(sum, K + d * block);
                    for (int r = 0; r < rows; ++r) sum += gy[r] * from[r * block + d];
                    store(sum, K + d * block);
                }
            }
        }
    }

    Vec<Point> before_;  // while they are posed again
    Vec<std::size_t> equal_;
    Vec<int> where_, block_;  // where each freedom stands, -1: nowhere; blocks of each point
    Vec<double> Y_, GY_;      // Y of each point: rows of its first block, of its next, ...
    BlockLu lu_;
};

UKEMI_END
