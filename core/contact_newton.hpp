// Forces of all points together: hypothesis and check, point by point, for heaps of contacts and for what trial and error leaves.
//
// Each point is off, sticks or slips as its force and its motion tell; Newton's step finds the forces of these conditions, which tell
// the next ones (Alart and Curnier 1991). A step that leads away is shortened. Sweeps over the points, each in its cone with the
// others as they are (Jean and Moreau 1992), tell the first conditions. What holds gives way a little (a proximal point), so that redundant
// points share; less with each step that leads on, more where steps get short.
#pragma once
#include "contact_points.hpp"

UKEMI_BEGIN

class PointNewton {
public:
    explicit PointNewton(ContactPoints& contacts) : contacts_(contacts), points_(contacts.points) {}

    /// Other points: conditions found before tell nothing.
    void forget() { found_ = false; }
    /// With the conditions found last, where motions changed a little: true if their forces are valid.
    template <class Valid> bool go_on(int* trials, Valid valid) {
        if (!found_) return false;
        ++*trials;
        keep_start();
        find_forces();
        go(1.0);
        if (fastest_ > fast && valid()) return true;
        return restore_start(), false;
    }
    /// From the present forces on until `valid()`; false if that leads nowhere, and they are as they were. `patient`: sweeps get more and more before
    /// others may try. `trials`: counts hypotheses.
    template <class Valid> bool solve(bool patient, int* trials, Valid valid) {
        begin();
        double sweeps = fewest_sweeps;
        for (int step = 0, short_steps = 0; step < most_steps && (patient || short_steps < few_short_steps); ++step) {
            ++*trials;
            const double length = newton_step();
            if (!(length > 0)) break;
            if (step > 0 && (step > enough_steps || ((moved_ < settled || fastest_ > fast) && worst_ < promising)) && valid()) return found_ = length == 1, true;
            const bool led_on = length > short_step;
            creep_ = std::clamp(led_on ? creep_ * less_creep : creep_ / less_creep, least_creep, most_creep);
            stiff_ = std::clamp(length == 1 ? stiff_ * stiffer : led_on ? stiff_ : stiff_ / stiffer, softest, stiffest);
            if (led_on || ++short_steps % patience != 0) continue;
            even_ = even_ == even ? more_even : even;
            start_again(static_cast<int>(sweeps));
            sweeps = smaller(more_sweeps * sweeps, most_sweeps);
        }
        return restore_start(), false;
    }
    /// As `solve`, until most of the forces stand: enough to tell the motion.
    void solve_roughly(int* trials) {
        begin();
        for (int step = 0; step < enough_steps; ++step) {
            ++*trials;
            const double length = newton_step();
            if (!(length > 0) || (length == 1 && moved_ < mostly)) break;
        }
        if (!std::isfinite(moved_ + worst_)) restore_start();
    }

private:
    using Point = ContactPoints::Point;
    enum class State { off, stick, slip };
    struct Condition {
        State state = State::off;
        double grip = 0;                    // of friction that sticks: how it resists
        double dx = 0, dy = 0, across = 0;  // of slip: the direction of friction, and how it resists across
        double f_start[3] = {}, f_before[3] = {}, f_after[3] = {}, u_before[3] = {}, u_after[3] = {};
    };
    static constexpr int most_steps = 60;
    static constexpr int patience = 4, few_short_steps = 8;  // short steps before the next sweeps; before others may try
    static constexpr double fewest_sweeps = 10, more_sweeps = 1.5, most_sweeps = 80;
    static constexpr int enough_steps = 12;       // after these, forces need not have settled,
    static constexpr double fast = 0.05;          // [m/s]: nor where something slips: what sticks may creep while others move
    static constexpr double promising = 1e-3;     // [m/s]: of forces that lack more it need not be asked whether they are valid
    static constexpr double even = 3, more_even = 10;  // how motion weighs against force; by turns, where steps get short
    static constexpr double softest = 1e2, soft = 1e3, stiffest = 1e5, stiffer = 30;  // of what holds, times its own response: at least, at first, at most
    static constexpr double most_creep = 3e-4, least_creep = 3e-5, less_creep = 0.3;  // [m/s]: what sticks may creep in a step, at first and at last
    static constexpr double settled = 1e-6, mostly = 0.1;  // change of the forces, as a share of the largest
    static constexpr double short_step = 0.3, shortest_step = 1e-3;
    static constexpr int remembered = 3;          // steps that may lead away from where the first of them began

    void begin() {
        found_ = false;
        of_.assign(points_.size(), {});
        keep_start();
        even_ = even, creep_ = most_creep, stiff_ = soft;
        start_again(1);
    }
    void keep_start() {
        for (std::size_t i = 0; i < points_.size(); ++i) std::copy(points_[i].f, points_[i].f + 3, of_[i].f_start);
    }
    void restore_start() {
        for (std::size_t i = 0; i < points_.size(); ++i) std::copy(of_[i].f_start, of_[i].f_start + 3, points_[i].f);
    }
    /// The force that a point wishes: its motion changes it by `even` of what would stop it. The length of its friction.
    static double wish(const Point& p, double even, double (&f)[3]) {
        f[0] = p.f[0] - even / p.normal * p.u[0], f[1] = f[2] = 0;
        if (!p.equal) f[0] = larger(0.0, f[0]);
        if (p.rows == 1) return 0;
        f[1] = p.f[1] - even / p.along * p.u[1], f[2] = p.f[2] - even / p.along * p.u[2];
        return norm(f[1], f[2]);
    }
    /// Every point takes the force it wishes, forward and back.
    void sweep() {
        for (Point& p : points_) relax(p);
        for (std::size_t i = points_.size(); i-- > 0;) relax(points_[i]);
    }
    void relax(Point& p) {
        contacts_.find_motion(p);
        double f[3], change[3];
        ContactPoints::cut(p, wish(p, 1.0, f), f);
        for (int r = 0; r < 3; ++r) change[r] = f[r] - p.f[r], p.f[r] = f[r];
        contacts_.push(p, change);
    }

    /// What force and motion tell of a point.
    void suppose(const Point& p, Condition& c) const {
        double f[3];
        const double length = wish(p, even_, f), most = p.mu * f[0];
        c.state = p.equal ? State::stick : !(f[0] > 0) ? State::off : p.rows == 3 && length > most ? State::slip : State::stick;
        c.grip = smaller(stiff_ / p.along, most / creep_);
        if (c.state == State::slip) {
            c.dx = f[1] / length, c.dy = f[2] / length;
            c.across = even_ * smaller(c.grip, most / (length - most) / p.along);
        }
    }
    /// The condition of a point: f = a - G u.
    struct Law {
        double a[3] = {}, G[3][3] = {};
        Law(const Point& p, const Condition& c, double stiff) {
            if (c.state == State::off) return;
            const double n = stiff / p.normal;
            G[0][0] = n, a[0] = c.f_before[0];
            if (p.rows == 1) return;
            if (c.state == State::stick) {
                G[1][1] = G[2][2] = c.grip, a[1] = c.f_before[1], a[2] = c.f_before[2];
                return;
            }
            G[1][0] = p.mu * c.dx * n, G[2][0] = p.mu * c.dy * n, a[1] = p.mu * c.dx * a[0], a[2] = p.mu * c.dy * a[0];
            G[1][1] = c.across * c.dy * c.dy, G[1][2] = G[2][1] = -c.across * c.dx * c.dy, G[2][2] = c.across * c.dx * c.dx;
        }
        void force(const double* u, double* f) const {
            for (int i = 0; i < 3; ++i) f[i] = a[i] - G[i][0] * u[0] - G[i][1] * u[1] - G[i][2] * u[2];
        }
    };
    /// Forces and motions of the conditions that the present ones tell, as far towards them as leads nearer to a solution: how far, 0 if they cannot be found.
    double newton_step() {
        contacts_.set_unit();
        for (std::size_t i = 0; i < points_.size(); ++i) {
            const Point& p = points_[i];
            Condition& c = of_[i];
            suppose(p, c);
            std::copy(p.u, p.u + 3, c.u_before), std::copy(p.f, p.f + 3, c.f_before);
            if (c.state != State::off) contacts_.stiffen(p, Law(p, c, stiff_).G);
        }
        if (!contacts_.factor()) return 0;
        find_forces();
        return search();
    }
    /// Of the conditions and the matrix that is factored.
    void find_forces() {
        std::fill(contacts_.y.begin(), contacts_.y.end(), 0.0);
        for (std::size_t i = 0; i < points_.size(); ++i) {
            if (of_[i].state == State::off) continue;
            double w[3];
            Law(points_[i], of_[i], stiff_).force(points_[i].u_free, w);
            contacts_.push(points_[i], w);
        }
        contacts_.solve();
        contacts_.find_motions();
        double largest = 1e-300;
        moved_ = fastest_ = 0;
        for (std::size_t i = 0; i < points_.size(); ++i) {
            const Point& p = points_[i];
            Condition& c = of_[i];
            std::copy(p.u, p.u + 3, c.u_after);
            Law(p, c, stiff_).force(p.u, c.f_after);
            largest = larger(largest, std::fabs(c.f_after[0]));
            if (p.rows == 3) fastest_ = larger(fastest_, norm(p.u[1], p.u[2]));
            for (int r = 0; r < 3; ++r) moved_ = larger(moved_, std::fabs(c.f_after[r] - c.f_before[r]));
        }
        moved_ /= largest;
    }
    /// Forces told by sweeps over the points.
    void start_again(int sweeps) {
        contacts_.find_y();
        for (int i = 0; i < sweeps; ++i) sweep();
        contacts_.find_motions();
        std::fill(lacked_, lacked_ + remembered, 0.0);
    }
    /// Goes as far along the step as leads nearer to a solution than one of the last steps began; how far.
    double search() {
        go(0.0);
        std::copy_backward(lacked_, lacked_ + remembered - 1, lacked_ + remembered);
        lacked_[0] = lack();
        const double start = *std::max_element(lacked_, lacked_ + remembered);
        double best = INFINITY, length = 1, best_length = 1;
        for (; length > shortest_step; length *= 0.5) {
            go(length);
            const double now = lack();
            if (now < best) best = now, best_length = length;
            if (now < (1 - 0.1 * length) * start) break;
        }
        if (length != best_length) go(best_length), lack();
        return best_length;
    }
    void go(double length) {
        for (std::size_t i = 0; i < points_.size(); ++i) {
            Point& p = points_[i];
            const Condition& c = of_[i];
            for (int r = 0; r < 3; ++r) p.u[r] = c.u_before[r] + length * (c.u_after[r] - c.u_before[r]), p.f[r] = c.f_before[r] + length * (c.f_after[r] - c.f_before[r]);
        }
    }
    /// How far the forces are from what they wish, squared; and `worst_`.
    double lack() {
        double total = 0, f[3];
        worst_ = 0;
        for (const Point& p : points_) {
            ContactPoints::cut(p, wish(p, even_, f), f);
            for (int r = 0; r < 3; ++r) f[r] -= p.f[r];
            total += p.normal * f[0] * f[0] + p.along * (f[1] * f[1] + f[2] * f[2]);
            worst_ = larger(worst_, larger(p.normal * std::fabs(f[0]), p.along * larger(std::fabs(f[1]), std::fabs(f[2]))));
        }
        return total;
    }

    ContactPoints& contacts_;
    Vec<Point>& points_;
    Vec<Condition> of_;   // each point
    bool found_ = false;  // these conditions, whose matrix is still factored
    double even_ = even, creep_ = most_creep, stiff_ = soft;  // as they are now
    double lacked_[remembered] = {};                          // where the last steps began
    double moved_ = 0, fastest_ = 0;                          // how much the last one changed, and the fastest slip after it
    double worst_ = 0;                                        // how fast the force that a point lacks most would move it [m/s]
};

UKEMI_END
