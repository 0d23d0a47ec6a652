// Forces of all points by turns: each in its cone, with the others as they are (Gauss and Seidel; Jean and Moreau 1992).
// It comes near the solution at a cost that grows with the contacts alone, and so tells which of them bear, stick and slip in a
// heap, where trial and error would have to find that of all of them at once.
//
// With y = D^1/2 L (v - v_free) as in contact_cone.hpp a contact's motion is u_free + Y^T y and its force adds Y w to y: both
// as long as the path of joints to its bodies.
#pragma once
#include "contact_patch.hpp"

UKEMI_BEGIN

class Relaxation {
public:
    void clear() { points_.clear(), equal_.clear(), at_.clear(); }
    void reserve(int nv) { y_.resize(static_cast<std::size_t>(nv)); }

    /// A group with what it does without forces; its points or stops or equal rows follow.
    void add_group(const RowSystem& rows, const Group& g, const double* u_free) {
        At at{&g, static_cast<int>(points_.size()), static_cast<int>(equal_.size()), {}, {}};
        std::copy(u_free, u_free + g.rows, at.u_free);
        rows.block(g, g, at.B, 6);
        at_.push_back(at);
    }
    /// A point (x, y) that may not approach faster than `target`; its slip is u_t + shift. `force`: a guess.
    void add_point(double x, double y, double mu, double target, double shift_x, double shift_y, const Vec3<double>& force) {
        const double* B = at_.back().B;
        Point p{{0, 0, 1, y, -x, 0}, {1, 0, 0, 0, 0, -y}, {0, 1, 0, 0, 0, x}, mu, target, shift_x, shift_y, 0, 0, force};
        p.normal = product(B, p.n, p.n);
        const double xx = product(B, p.x, p.x), xy = product(B, p.x, p.y), yy = product(B, p.y, p.y);
        p.along = 0.5 * (xx + yy) + norm(0.5 * (xx - yy), xy);
        points_.push_back(p);
    }
    void add_stop(double target, double force) {
        points_.push_back({{1, 0, 0, 0, 0, 0}, {}, {}, 0, target, 0, 0, at_.back().B[0], 1, {0, 0, force}});
    }
    void add_equal(int row, double target) { equal_.push_back({row, target, at_.back().B[7 * row]}); }

    /// From the present forces on. Sweeps follow each other as the steps of conjugate gradients do (Silcowitz et al. 2010).
    void solve(const RowSystem& rows, int sweeps) {
        std::fill(y_.begin(), y_.end(), 0.0);
        for (const At& at : at_) push(rows, at, [](const Point& p) { return p.force; }, [](const Equal& e) { return e.force; });
        for (Point& p : points_) p.course = {0, 0, 0};
        for (Equal& e : equal_) e.course = 0;
        double last = INFINITY;
        for (int sweep = 0; sweep < sweeps; ++sweep) {
            double change = 0, largest = 0, power = 0;
            for (Point& p : points_) p.before = p.force;
            for (Equal& e : equal_) e.before = e.force;
            for (At& at : at_) relax(rows, at, &change, &largest);
            change = largest = 0;  // back again: what forward and backward do together is symmetric
            for (std::size_t i = at_.size(); i-- > 0;) relax(rows, at_[i], &change, &largest);
            if (change < enough * largest || sweep + 1 == sweeps) break;
            for (const Point& p : points_) power += p.normal * dot(p.force - p.before, p.force - p.before);
            for (const Equal& e : equal_) power += e.own * (e.force - e.before) * (e.force - e.before);
            const double on = power > last ? 0.0 : power / last;  // a course that leads away is given up
            last = power;
            for (Point& p : points_) {
                const Vec3<double> step = p.force - p.before;
                p.course = p.course * on, p.force += p.course;
                p.ahead = p.course, p.course += step;
            }
            for (Equal& e : equal_) {
                const double step = e.force - e.before;
                e.course *= on, e.force += e.course;
                e.ahead = e.course, e.course += step;
            }
            for (const At& at : at_) push(rows, at, [](const Point& p) { return p.ahead; }, [](const Equal& e) { return e.ahead; });
        }
    }
    Vec3<double> force(std::size_t i) const { return points_[i].force; }
    double equal_force(std::size_t i) const { return equal_[i].force; }

private:
    /// A group: its first point and first equal row, and what its rows feel of each other.
    struct At { const Group* group; int points, equal; double u_free[6], B[36]; };
    /// Rows of its normal and slip out of those of its group; what it feels of its own forces; its force (f_x, f_y, f_n).
    struct Point {
        double n[6], x[6], y[6], mu, target, shift_x, shift_y, normal, along;
        Vec3<double> force, before{0, 0, 0}, course{0, 0, 0}, ahead{0, 0, 0};
    };
    struct Equal { int row; double target, own, force = 0, before = 0, course = 0, ahead = 0; };
        static constexpr double enough = 1e-7;              // change of the forces, as a share of the largest

    static double dot6(const double* a, const double* b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5]; }
    static double product(const double* B, const double* a, const double* b) {
        double s = 0;
        for (int i = 0; i < 6; ++i) s += a[i] * dot6(B + 6 * i, b);
        return s;
    }
    static void add(const Point& p, const Vec3<double>& f, double* w) {
        for (int i = 0; i < 6; ++i) w[i] += p.n[i] * f.z + p.x[i] * f.x + p.y[i] * f.y;
    }
    int end_of(const At& at, int At::*first, std::size_t all) const { return &at == &at_.back() ? static_cast<int>(all) : (&at + 1)->*first; }
    template <class F> void for_points(const At& at, F f) {
        for (int i = at.points, end = end_of(at, &At::points, points_.size()); i < end; ++i) f(points_[static_cast<std::size_t>(i)]);
    }
    /// y += Y w of what every point and equal row of a group gives.
    template <class OfPoint, class OfEqual> void push(const RowSystem& rows, const At& at, OfPoint of_point, OfEqual of_equal) {
        double w[6] = {};
        for_points(at, [&](const Point& p) { add(p, of_point(p), w); });
        for (int i = at.equal, end = end_of(at, &At::equal, equal_.size()); i < end; ++i) w[equal_[static_cast<std::size_t>(i)].row] += of_equal(equal_[static_cast<std::size_t>(i)]);
        rows.add_response(*at.group, w, y_.data());
    }
    void relax(const RowSystem& rows, At& at, double* change, double* largest) {
        const Group& g = *at.group;
        double u[6] = {}, w[6] = {};
        rows.motion(g, y_.data(), u);
        for (int r = 0; r < g.rows; ++r) u[r] += at.u_free[r];
        auto answer = [&](const double* dw) {
            for (int r = 0; r < 6; ++r) {
                w[r] += dw[r];
                for (int c = 0; c < 6; ++c) u[c] += at.B[6 * r + c] * dw[r];
            }
        };
        for_points(at, [&](Point& p) {
            Vec3<double> f = p.force;
            f.z = p.normal > 0 ? larger(0.0, f.z - (dot6(p.n, u) - p.target) / p.normal) : 0.0;
            if (p.mu > 0 && p.along > 0) f.x -= (dot6(p.x, u) + p.shift_x) / p.along, f.y -= (dot6(p.y, u) + p.shift_y) / p.along;
            const double most = p.mu * f.z, now = norm(f.x, f.y);
            if (now > most) f.x *= most / now, f.y *= most / now;
            const Vec3<double> d = f - p.force;
            double dw[6] = {};
            add(p, d, dw), answer(dw);
            p.force = f;
            *change = larger(*change, larger(std::fabs(d.z), norm(d.x, d.y))), *largest = larger(*largest, f.z);
        });
        for (int i = at.equal, end = end_of(at, &At::equal, equal_.size()); i < end; ++i) {
            Equal& e = equal_[static_cast<std::size_t>(i)];
            if (!(e.own > 0)) continue;
            double dw[6] = {};
            dw[e.row] = (e.target - u[e.row]) / e.own;
            e.force += dw[e.row], answer(dw);
        }
        rows.add_response(g, w, y_.data());
    }

    Vec<At> at_;
    Vec<Point> points_;
    Vec<Equal> equal_;
    Vec<double> y_;
};

UKEMI_END
