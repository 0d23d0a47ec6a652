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
    /// A point with its motions (n, x, y), or the first alone; they count from what they are to be.
    struct Point {
        const Group* group = nullptr;
        int rows = 1;
        double u_free[3] = {}, mu = 0, f[3] = {};
        bool equal = false;            // held both ways: a row of a loop
        double u[3] = {};
        double normal = 0, along = 0;  // what it feels of its own force, along the slip at most;
        double stops = 0, stops_along = 0;  // the force that stops a motion of one
        int path = 0, store = 0;
        bool alone = false;            // nothing moves it
    };
    Vec<Point> points;
    Vec<double> y;

    void clear() { points.clear(), before_.clear(), equal_.clear(), motions_.clear(); }
    void reserve(int nv) { block_of_.resize(static_cast<std::size_t>(nv)), lane_of_.resize(static_cast<std::size_t>(nv)); }

    /// A point (x, y) of a contact, whose group moves with u_free without forces. It may not approach faster than `target`; its slip is
    /// u_t + shift. `force`: a guess.
    void add_point(const Group& g, const double* u_free, double x, double y, double mu, double target, double shift_x, double shift_y, const Vec3<double>& force) {
        const Motions m{-1, x, y};
        const Vec3<double> u = m.of(u_free);
        const bool slips = mu > no_friction;
        Point& p = add(g, m, slips ? 3 : 1, u.x - target, force.z);
        p.mu = mu, p.f[1] = force.x, p.f[2] = force.y;
        p.u_free[1] = slips ? u.y + shift_x : shift_x, p.u_free[2] = slips ? u.z + shift_y : shift_y;
    }
    void add_stop(const Group& g, const double* u_free, double target, double force) { add(g, {0, 0, 0}, 1, u_free[0] - target, force); }
    void add_equal(const Group& g, const double* u_free, int row, double target) {
        equal_.push_back(points.size());
        add(g, {row, 0, 0}, 1, u_free[row] - target, 0).equal = true;
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

    /// The points that are added next are those added last, with other motions; `same_forces`: and the forces that these had.
    void pose_again(bool same_forces) { before_.swap(points), points.clear(), equal_.clear(), motions_.clear(), same_forces_ = same_forces; }
    /// Blocks of freedoms, the matrix over them, and Y of each point in these blocks.
    void arrange(const RowSystem& rows) {
        if (!before_.empty()) {
            for (std::size_t i = 0; i < points.size(); ++i) {
                Point &p = points[i], &before = before_[i];
                p.path = before.path, p.store = before.store, p.normal = before.normal, p.along = before.along, p.stops = before.stops, p.stops_along = before.stops_along, p.alone = before.alone;
                if (same_forces_) std::copy(before.f, before.f + 3, p.f);
                leave_alone(p);
            }
            return before_.clear();
        }
        if (!same_freedoms(rows) && !fit(rows)) {
            make_blocks(rows);
            for_groups([&](const Group& g) { return find_parts(rows, g), lu_.couple(blocks_.data(), static_cast<int>(blocks_.size())), true; });
            lu_.arrange();
            for (Path& path : paths_) follow(path);
            arranged_ = points.size();
        }
        int path = -1;
        for (Point& p : points) p.path = path += begins_group(p);
        y.assign(static_cast<std::size_t>(lu_.length()), 0.0);
        std::size_t end = 0;
        for (Point& p : points) {
            p.store = static_cast<int>(end);
            end += static_cast<std::size_t>((paths_[static_cast<std::size_t>(p.path) + 1].fours - paths_[static_cast<std::size_t>(p.path)].fours) * p.rows * lanes);
        }
        Y_.assign(end, 0.0);
        for (std::size_t i = 0; i < points.size(); ++i) find_responses(rows, points[i], motions_[i]);
    }

    /// y += Y w
    void push(const Point& p, const double* w) { p.rows == 3 ? push_rows<3>(p, w) : push_rows<1>(p, w); }
    /// y = sum Y f
    void find_y() {
        std::fill(y.begin(), y.end(), 0.0);
        for (const Point& p : points) push(p, p.f);
    }
    /// Y^T y
    void answer(const Point& p, double* out) const { p.rows == 3 ? answer_rows<3>(p, out) : answer_rows<1>(p, out); }
    /// u = u_free + Y^T y
    void find_motion(Point& p) const { p.rows == 3 ? find_motion_rows<3>(p) : find_motion_rows<1>(p); }
    void find_motions() {
        for (Point& p : points) find_motion(p);
    }

    /// The matrix 1 + sum Y G Y^T: as without forces, G of a point added, factored, and the solution for y.
    void set_unit() { lu_.set_unit(); }
    void stiffen(const Point& p, const double (&G)[3][3]) { p.rows == 3 ? stiffen_rows<3>(p, G) : stiffen_rows<1>(p, G); }
    /// G of a point whose normal force resists by `normal`, and what slips along (dx, dy) as its friction does: mu times as much along, and by `across`; a
    /// product of two rows, (1, mu d) normal (1, 0) + (0, t) across (0, t) with t across d.
    void stiffen_slip(const Point& p, double normal, double dx, double dy, double across) {
        double *left = make_room(p, 2, left_), *right = make_room(p, 2, right_);
        const double mx = p.mu * dx, my = p.mu * dy;
        for_rows<3>(p, [&](const Four* y) {
            const Four t = y[2] * dx - y[1] * dy;
            store(y[0] + y[1] * mx + y[2] * my, left), store(t, left + lanes), left += 2 * lanes;
            store(y[0] * normal, right), store(t * across, right + lanes), right += 2 * lanes;
        });
        add_products<2, 1>(p, left_.data(), right_.data());
    }
    /// G of a point that sticks: `normal` and `along`.
    void stiffen_stick(const Point& p, double normal, double along) { stiffen(p, {{normal, 0, 0}, {0, along, 0}, {0, 0, along}}); }
    bool factor() { return lu_.factor(); }
    void solve() { lu_.solve(y.data()); }

private:
    static constexpr int lanes = BlockLu::lanes;
    static constexpr double no_friction = 1e-9;
    static constexpr double keeps = 0.8;  // an arrangement serves while there are so many of its points
    /// Motions (n, x, y) out of those of a group: of a point (x, y) of a contact, or one row.
    struct Motions {
        int row;
        double x, y;
        UKEMI_INLINE Vec3<double> of(const double* u) const { return row < 0 ? Vec3<double>{u[2] + y * u[3] - x * u[4], u[0] - y * u[5], u[1] + x * u[5]} : Vec3<double>{u[row], 0, 0}; }
    };
    /// Freedoms begin .. end of a group that stand in one block.
    struct Part { int block, begin, end; };
    /// Where the freedoms of a group stand: its parts, in the order of elimination, their Fours, and each part's blocks with those after it.
    struct Path { int parts, parts_end, fours, targets; };

    static void leave_alone(Point& p) {
        if (p.alone) p.u_free[0] = 1, p.equal = false;
    }
    Point& add(const Group& g, const Motions& m, int rows, double u_free, double force) {
        motions_.push_back(m);
        Point& p = points.emplace_back();
        p.group = &g, p.rows = rows, p.u_free[0] = u_free, p.f[0] = force;
        return p;
    }
    template <class F> UKEMI_INLINE void for_fours(const Point& p, F f) const {
        const int begin = paths_[static_cast<std::size_t>(p.path)].fours, end = paths_[static_cast<std::size_t>(p.path) + 1].fours;
        for (int i = begin; i < end; ++i) f(fours_[static_cast<std::size_t>(i)]);
    }

    template <int rows> UKEMI_INLINE void push_rows(const Point& p, const double* w) {
        const double* Y = Y_.data() + p.store;
        for_fours(p, [&](int at) {
            Four sum, row;
            load(sum, y.data() + at);
            for (int r = 0; r < rows; ++r, Y += lanes) load(row, Y), sum += row * w[r];
            store(sum, y.data() + at);
        });
    }
    template <int rows> UKEMI_INLINE void answer_rows(const Point& p, double* out) const {
        const double* Y = Y_.data() + p.store;
        Four s[rows] = {}, from, row;
        for_fours(p, [&](int at) {
            load(from, y.data() + at);
            for (int r = 0; r < rows; ++r, Y += lanes) load(row, Y), s[r] += row * from;
        });
        for (int r = 0; r < rows; ++r) out[r] = sum(s[r]);
    }
    template <int rows> UKEMI_INLINE void find_motion_rows(Point& p) const {
        double moved[rows];
        answer_rows<rows>(p, moved);
        for (int r = 0; r < rows; ++r) p.u[r] = p.u_free[r] + moved[r];
    }

    bool begins_group(const Point& p) const { return &p == points.data() || p.group != (&p)[-1].group; }
    /// Do the groups of the points move the same freedoms as those arranged last?
    bool same_freedoms(const RowSystem& rows) {
        freedoms_before_.swap(freedoms_);
        freedoms_.clear();
        for (const Point& p : points) {
            if (!begins_group(p)) continue;
            freedoms_.push_back(p.group->dofs - p.group->dofs_end);
            freedoms_.insert(freedoms_.end(), rows.dofs.begin() + p.group->dofs, rows.dofs.begin() + p.group->dofs_end);
        }
        return freedoms_ == freedoms_before_;
    }
    /// Joints that follow each other without a branch share a block while it is one Four; what nothing touches has none.
    void make_blocks(const RowSystem& rows) {
        const int nv = static_cast<int>(block_of_.size());
        std::fill(block_of_.begin(), block_of_.end(), -1);
        for (const Point& p : points)
            for (int d = p.group->dofs; d < p.group->dofs_end; ++d) block_of_[static_cast<std::size_t>(rows.dofs[static_cast<std::size_t>(d)])] = 0;
        branches_.assign(block_of_.size(), 0);
        for (int i = 0; i < nv; ++i)
            if (block_of_[static_cast<std::size_t>(i)] >= 0 && rows.parent(i) >= 0) ++branches_[static_cast<std::size_t>(rows.parent(i))];
        sizes_.clear();
        for (int i = nv - 1, last = -1, left = 0; i >= 0; --i) {
            if (block_of_[static_cast<std::size_t>(i)] < 0) continue;
            if (left == 0) {
                left = rows.joint_freedoms(i);
                if (last < 0 || rows.parent(last) != i || branches_[static_cast<std::size_t>(i)] > 1 || sizes_.back() + left > lanes) sizes_.push_back(0);
            }
            block_of_[static_cast<std::size_t>(i)] = static_cast<int>(sizes_.size()) - 1, lane_of_[static_cast<std::size_t>(i)] = sizes_.back()++;
            last = i, --left;
        }
        lu_.clear(sizes_);
        clear_paths();
    }
    /// The parts of a group, before they are in order; false if one has no block.
    bool find_parts(const RowSystem& rows, const Group& g) {
        blocks_.clear();
        for (int d = g.dofs; d < g.dofs_end; ++d) {
            const int block = block_of_[static_cast<std::size_t>(rows.dofs[static_cast<std::size_t>(d)])];
            if (block < 0) return false;
            if (blocks_.empty() || blocks_.back() != block) blocks_.push_back(block), parts_.push_back({block, d - g.dofs, d - g.dofs});
            ++parts_.back().end;
        }
        paths_.back() = {static_cast<int>(parts_.size() - blocks_.size()), static_cast<int>(parts_.size()), 0, 0};
        paths_.push_back({});
        return true;
    }
    /// Takes the blocks arranged last for these groups too, if all that feel each other now did so then, and not many more.
    bool fit(const RowSystem& rows) {
        if (arranged_ == 0 || static_cast<double>(points.size()) < keeps * static_cast<double>(arranged_)) return false;
        clear_paths();
        if (!for_groups([&](const Group& g) { return find_parts(rows, g) && lu_.couples(blocks_.data(), static_cast<int>(blocks_.size())); })) return false;
        for (Path& path : paths_) follow(path);
        return true;
    }
    void clear_paths() { paths_.assign(1, {}), parts_.clear(), fours_.clear(), targets_.clear(); }
    /// Of every group, until f is false; true if it never is.
    template <class F> bool for_groups(F f) const {
        return std::all_of(points.begin(), points.end(), [&](const Point& p) { return !begins_group(p) || f(*p.group); });
    }
    void follow(Path& path) {
        path.fours = static_cast<int>(fours_.size()), path.targets = static_cast<int>(targets_.size());
        for (int i = path.parts; i < path.parts_end; ++i) parts_[static_cast<std::size_t>(i)].block = lu_.place(parts_[static_cast<std::size_t>(i)].block);
        std::sort(parts_.begin() + path.parts, parts_.begin() + path.parts_end, [](const Part& a, const Part& b) { return a.block < b.block; });
        for (int i = path.parts; i < path.parts_end; ++i) {
            const int a = parts_[static_cast<std::size_t>(i)].block;
            for (int f = 0; f < lu_.width(a); ++f) fours_.push_back(lu_.first(a) + lanes * f);
            for (int j = i; j < path.parts_end; ++j) targets_.push_back(lu_.target(a, parts_[static_cast<std::size_t>(j)].block));
        }
    }
    /// Y of a point, Four by Four, and what it feels of its own force.
    void find_responses(const RowSystem& rows, Point& p, const Motions& m) {
        const Group& g = *p.group;
        const Path& path = paths_[static_cast<std::size_t>(p.path)];
        double nn = 0, xx = 0, xy = 0, yy = 0, *begin = Y_.data() + p.store;
        for (int i = path.parts; i < path.parts_end; begin += lu_.width(parts_[static_cast<std::size_t>(i++)].block) * p.rows * lanes) {
            const Part& part = parts_[static_cast<std::size_t>(i)];
            for (int d = part.begin; d < part.end; ++d) {
                const int lane = lane_of_[static_cast<std::size_t>(rows.dofs[static_cast<std::size_t>(g.dofs + d)])];
                const double* column = rows.Y.data() + g.store + d * g.rows;
                double* Y = begin + lane / lanes * p.rows * lanes + lane % lanes;
                const Vec3<double> y = m.of(column);
                Y[0] = y.x, nn += y.x * y.x;
                if (p.rows == 1) continue;
                Y[lanes] = y.y, Y[2 * lanes] = y.z;
                xx += y.y * y.y, xy += y.y * y.z, yy += y.z * y.z;
            }
        }
        p.normal = nn, p.along = 0.5 * (xx + yy) + norm(0.5 * (xx - yy), xy);
        p.alone = !(p.normal > 0);
        if (p.alone) p.normal = 1;
        leave_alone(p);
        if (!(p.along > 0)) p.along = p.normal;
        p.stops = 1 / p.normal, p.stops_along = 1 / p.along;
    }

    /// Y of a point, a Four of its path after the other.
    template <int rows, class F> UKEMI_INLINE void for_rows(const Point& p, F f) const {
        const double* Y = Y_.data() + p.store;
        for_fours(p, [&](int) {
            Four y[rows];
            for (int r = 0; r < rows; ++r, Y += lanes) load(y[r], Y);
            f(y);
        });
    }
    template <int rows> void stiffen_rows(const Point& p, const double (&G)[3][3]) {
        double* to = make_room(p, rows, right_);
        for_rows<rows>(p, [&](const Four* y) {
            for (int r = 0; r < rows; ++r) {
                Four by_row = y[0] * G[r][0];
                for (int c = 1; c < rows; ++c) by_row += y[c] * G[r][c];
                store(by_row, to), to += lanes;
            }
        });
        const bool symmetric = rows == 1 || (G[0][1] == G[1][0] && G[0][2] == G[2][0] && G[1][2] == G[2][1]);
        symmetric ? add_products<rows, rows>(p, Y_.data() + p.store, right_.data()) : add_products<rows, 0>(p, Y_.data() + p.store, right_.data());
    }
    /// For `rank` rows of each Four of a point's path.
    double* make_room(const Point& p, int rank, Vec<double>& rows) const {
        rows.resize(static_cast<std::size_t>((paths_[static_cast<std::size_t>(p.path) + 1].fours - paths_[static_cast<std::size_t>(p.path)].fours) * rank * lanes));
        return rows.data();
    }
    /// U_ab += sum of left_a right_b and L^T_ab += sum of right_a left_b, of the parts a and those b that are eliminated with or after them; left and right
    /// have `rank` rows for each Four of the path, the last of which, so many as are `shared`, give both sums the same.
    template <int rank, int shared> void add_products(const Point& p, const double* left, const double* right) {
        constexpr int own = rank - shared;
        const Path& path = paths_[static_cast<std::size_t>(p.path)];
        const BlockLu::Target* target = targets_.data() + path.targets;
        const Part *parts = parts_.data() + path.parts, *end = parts_.data() + path.parts_end;
        int at = 0;  // Fours before a
        for (const Part* a = parts; a != end; ++a) {
            const int size = lu_.size(a->block);
            int f = at;
            for (const Part* b = a; b != end; ++b, ++target)
                for (int wide = lu_.width(b->block), k = 0; k < wide; ++k, ++f) {
                    Four of_left[rank], of_right[rank];
                    for (int r = 0; r < rank; ++r) load(of_right[r], right + (f * rank + r) * lanes);
                    for (int r = 0; r < own; ++r) load(of_left[r], left + (f * rank + r) * lanes);
                    BlockLu::Row* to = lu_.values() + target->start + k;
                    for (int i = 0; i < size; ++i, to += target->stride) {
                        const int from = (at + i / lanes) * rank * lanes + i % lanes;
                        Four both{}, upper, lower;
                        for (int r = own; r < rank; ++r) both += of_right[r] * left[from + r * lanes];
                        load(upper, to->x), upper += both;
                        for (int r = 0; r < own; ++r) upper += of_right[r] * left[from + r * lanes];
                        store(upper, to->x);
                        if (a == b) continue;
                        load(lower, to[target->below].x), lower += both;
                        for (int r = 0; r < own; ++r) lower += of_left[r] * right[from + r * lanes];
                        store(lower, to[target->below].x);
                    }
                }
            at += lu_.width(a->block);
        }
    }

    Vec<Point> before_;  // while they are posed again
    bool same_forces_ = false;
    Vec<std::size_t> equal_;
    std::size_t arranged_ = 0;  // points for which blocks were made and put in order
    Vec<Motions> motions_;
    Vec<int> block_of_, lane_of_, branches_, sizes_;  // of each freedom: its block (-1: none), its place there, how many follow it; sizes of the blocks
    Vec<int> freedoms_, freedoms_before_;             // of each group, after how many they are (negative); of those before
    Vec<int> blocks_;                                 // of a group
    Vec<Path> paths_;                                 // of each group; the last tells where all end
    Vec<Part> parts_;
    Vec<int> fours_;
    Vec<BlockLu::Target> targets_;
    Vec<double> Y_;
    Vec<double> left_, right_;                        // factors of what a point adds to the matrix
    BlockLu lu_;
};

UKEMI_END
