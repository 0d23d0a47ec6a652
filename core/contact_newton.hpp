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

    static constexpr double fast = 0.05;  // [m/s]: where something slides as fast, what sticks may creep; forces need not have settled
    double viscous = 0;                   // [m/s]: below this slip friction is viscous, and needs no memory; 0: it holds what sticks

    /// How to look for a solution: after so many sweeps, which tell the first conditions, until so many steps were short, from the present forces on or from none.
    /// After every four of these come sweeps, more and more of them, up to `most_sweeps`.
    struct Way {
        int sweeps, short_steps, steps;
        bool from_nothing;
        double most_sweeps;
    };
    static constexpr Way on{1, 8, 60, false, 80}, unknown{3, 8, 60, false, 80}, anew{10, 8, 60, true, 80}, patiently{1, 240, 240, false, 80}, to_the_end{1, 4000, 4000, false, 10};

    /// Other points: conditions found before tell nothing.
    void forget() { found_ = false; }
    /// With the conditions found last, where motions changed a little: true if their forces are valid.
    template <class Valid> bool go_on(int* trials, Valid valid) {
        if (!found_) return false;
        ++*trials;
        keep(&Condition::f_start);
        find_forces();
        if (fastest_ > fast && valid()) return true;
        return restore(&Condition::f_start), false;
    }
    /// Until forces are `valid()` and, of what rests, have settled; where this way leads no further, with the stillest of those that were valid; false if none
    /// were, and they are as they were. `trials`: counts hypotheses.
    template <class Valid> bool solve(const Way& way, int* trials, Valid valid) {
        begin(way);
        double sweeps = fewest_sweeps, stillest = INFINITY;
        for (int step = 0, short_steps = 0; step < way.steps && short_steps < way.short_steps; ++step) {
            ++*trials;
            const double length = newton_step();
            if (!(length > 0)) break;
            const bool settles = (moved_ < settled || lack_.worst < still || fastest_ > fast) && lack_.worst < promising, enough = step > enough_steps;
            if (step > 0 && (settles || (enough && viscous > 0)) && valid()) return found_ = length == 1, true;
            if (enough && lack_.worst < stillest && valid()) stillest = lack_.worst, keep(&Condition::f_stillest);
            const bool led_on = length > short_step;
            creep_ = std::clamp(led_on ? creep_ * less_creep : creep_ / less_creep, least_creep, most_creep);
            stiff_ = std::clamp(length == 1 ? stiff_ * stiffer : led_on ? stiff_ : stiff_ / stiffer, softest, stiffest);
            if (led_on || ++short_steps % patience != 0) continue;
            even_ = even_ == even ? more_even : even;
            start_again(static_cast<int>(sweeps));
            sweeps = smaller(more_sweeps * sweeps, way.most_sweeps);
        }
        if (stillest < INFINITY) return restore(&Condition::f_stillest), valid();
        return restore(&Condition::f_start), false;
    }
    /// As `solve`, until most of the forces stand: enough to tell the motion.
    void solve_roughly(const Way& way, int* trials) {
        begin(way);
        for (int step = 0; step < rough_steps; ++step) {
            ++*trials;
            const double length = newton_step();
            if (!(length > 0) || (length == 1 && moved_ < mostly)) break;
        }
        if (!std::isfinite(moved_ + lack_.worst)) restore(&Condition::f_start);
    }

private:
    using Point = ContactPoints::Point;
    enum class State { off, stick, slip };
    /// What a point wishes, and what is supposed of it: f_n = a - n u_n and f_t = b + m f_n - G u_t.
    struct Condition {
        State state = State::off;
        double wished[3] = {}, length = 0;  // the force it wishes, before its friction, of this length, is cut
        double a = 0, n = 0, b[2] = {}, m[2] = {}, G[3] = {};
        double f_start[3] = {}, f_stillest[3] = {}, f_before[3] = {}, f_after[3] = {}, u_before[3] = {}, u_after[3] = {};
        void force(const double* u, double* f) const {
            f[0] = a - n * u[0];
            f[1] = b[0] + m[0] * f[0] - G[0] * u[1] - G[1] * u[2];
            f[2] = b[1] + m[1] * f[0] - G[1] * u[1] - G[2] * u[2];
        }
    };
    static constexpr int patience = 4;            // short steps before the next sweeps
    static constexpr double fewest_sweeps = 10, more_sweeps = 1.5;
    static constexpr int enough_steps = 8;        // after these, forces of what moves need not have settled
    static constexpr int rough_steps = 7;
    static constexpr double still = 3e-7;         // [m/s]: of what rests, forces that lack no more may differ by what the motion leaves open
    static constexpr double promising = 3e-5;     // [m/s]: of forces that lack more it need not be asked whether they are valid
    static constexpr double even = 3, more_even = 10;  // how motion weighs against force; by turns, where steps get short
    static constexpr double softest = 1e2, soft = 1e3, stiffest = 1e5, stiffer = 30;  // of what holds, times its own response: at least, at first, at most
    static constexpr double most_creep = 3e-4, least_creep = 3e-5, less_creep = 0.3;  // [m/s]: what sticks may creep in a step, at first and at last
    static constexpr double settled = 1e-6, mostly = 0.3;  // change of the forces, as a share of the largest
    static constexpr double short_step = 0.3, shortest_step = 1e-3;
    static constexpr int remembered = 3;          // steps that may lead away from where the first of them began

    void begin(const Way& way) {
        found_ = false;
        of_.resize(points_.size());
        keep(&Condition::f_start);
        for (std::size_t i = 0; i < points_.size() && way.from_nothing; ++i) std::fill(points_[i].f, points_[i].f + 3, 0.0);
        even_ = even, creep_ = most_creep, stiff_ = soft;
        start_again(way.sweeps);
    }
    void keep(double (Condition::*forces)[3]) {
        for (std::size_t i = 0; i < points_.size(); ++i) std::copy(points_[i].f, points_[i].f + 3, of_[i].*forces);
    }
    void restore(double (Condition::*forces)[3]) {
        for (std::size_t i = 0; i < points_.size(); ++i) std::copy(of_[i].*forces, of_[i].*forces + 3, points_[i].f);
    }
    /// The force that a point wishes: its motion, beyond what is viscous, changes it by `even` of what would stop it. The length of its friction.
    static double wish(const Point& p, double even, double viscous, double* f) {
        f[0] = p.f[0] - even * p.stops * p.u[0], f[1] = f[2] = 0;
        if (!p.equal) f[0] = larger(0.0, f[0]);
        if (p.rows == 1) return 0;
        const double most = p.mu * f[0], change = change_of_friction(p, even, viscous, most), keep = viscous > 0 && most > 0 ? 1 - viscous * change / most : 1.0;
        f[1] = keep * p.f[1] - change * p.u[1], f[2] = keep * p.f[2] - change * p.u[2];
        return norm(f[1], f[2]);
    }
    /// How a motion of one changes the friction that a point wishes; of what bears little no more than viscous friction does.
    static double change_of_friction(const Point& p, double even, double viscous, double most) {
        return viscous > 0 ? smaller(even * p.stops_along, most / viscous) : even * p.stops_along;
    }
    /// Every point takes the force it wishes, forward and back.
    void sweep() {
        for (Point& p : points_) relax(p);
        for (std::size_t i = points_.size(); i-- > 0;) relax(points_[i]);
    }
    void relax(Point& p) {
        contacts_.find_motion(p);
        double f[3], change[3];
        const double length = wish(p, 1.0, 0.0, f);
        ContactPoints::cut(p, length, f);
        for (int r = 0; r < 3; ++r) change[r] = f[r] - p.f[r], p.f[r] = f[r];
        if (change[0] != 0 || change[1] != 0 || change[2] != 0) contacts_.push(p, change);
    }

    /// How far forces are from what they wish: squared, of all; and how fast the one that a point lacks most would move it [m/s].
    struct Lack {
        double total = 0, worst = 0;
        void add(const Point& p, const double* wished) {
            const double n = wished[0] - p.f[0], x = wished[1] - p.f[1], y = wished[2] - p.f[2];
            total += p.normal * n * n + p.along * (x * x + y * y);
            worst = larger(worst, larger(p.normal * std::fabs(n), p.along * larger(std::fabs(x), std::fabs(y))));
        }
    };
    /// What a point wishes now; adds what it lacks.
    UKEMI_INLINE void find_wish(const Point& p, Condition& c, Lack& lack) const {
        c.length = wish(p, even_, viscous, c.wished);
        double f[3] = {c.wished[0], c.wished[1], c.wished[2]};
        ContactPoints::cut(p, c.length, f);
        lack.add(p, f);
    }
    /// What the wish of a point tells of it; its matrix stiffens so.
    UKEMI_INLINE void suppose(const Point& p, Condition& c) {
        const double *f = c.wished, most = p.mu * f[0];
        std::copy(p.u, p.u + 3, c.u_before), std::copy(p.f, p.f + 3, c.f_before);
        c.state = p.equal ? State::stick : !(f[0] > 0) ? State::off : p.rows == 3 && c.length > most ? State::slip : State::stick;
        c.b[0] = c.b[1] = c.m[0] = c.m[1] = c.G[0] = c.G[1] = c.G[2] = 0;
        c.a = c.state == State::off ? 0 : p.f[0], c.n = c.state == State::off ? 0 : stiff_ * p.stops;
        if (c.state == State::off) return;
        const double grip = viscous > 0 ? most / viscous : smaller(stiff_ * p.stops_along, most / creep_);  // how friction that sticks resists
        if (c.state == State::stick) {
            contacts_.stiffen_stick(p, c.n, grip);
            if (p.rows == 3) c.G[0] = c.G[2] = grip;
            if (p.rows == 3 && !(viscous > 0)) c.b[0] = p.f[1], c.b[1] = p.f[2];
            return;
        }
        const double change = change_of_friction(p, even_, viscous, most), dx = f[1] / c.length, dy = f[2] / c.length;  // its direction, and how it resists across
        const double across = viscous > 0 ? change * most / (c.length - most + change * viscous) : smaller(even_ * grip, change * most / (c.length - most));
        c.m[0] = p.mu * dx, c.m[1] = p.mu * dy;
        c.G[0] = across * dy * dy, c.G[1] = -across * dx * dy, c.G[2] = across * dx * dx;
        contacts_.stiffen_slip(p, c.n, dx, dy, across);
    }
    /// Forces and motions of the conditions that the present ones tell, as far towards them as leads nearer to a solution: how far, 0 if they cannot be found.
    double newton_step() {
        contacts_.set_unit();
        for (std::size_t i = 0; i < points_.size(); ++i) suppose(points_[i], of_[i]);
        if (!contacts_.factor()) return 0;
        std::copy_backward(lacked_, lacked_ + remembered - 1, lacked_ + remembered);
        lacked_[0] = lack_.total;
        return search(find_forces());
    }
    /// Of the conditions and the matrix that is factored.
    Lack find_forces() {
        std::fill(contacts_.y.begin(), contacts_.y.end(), 0.0);
        for (std::size_t i = 0; i < points_.size(); ++i) {
            if (of_[i].state == State::off) continue;
            double w[3];
            of_[i].force(points_[i].u_free, w);
            contacts_.push(points_[i], w);
        }
        contacts_.solve();
        double largest = 1e-300, moved = 0, fastest = 0;
        Lack lack;
        for (std::size_t i = 0; i < points_.size(); ++i) {
            Point& p = points_[i];
            Condition& c = of_[i];
            contacts_.find_motion(p);
            c.force(p.u, p.f);
            largest = larger(largest, std::fabs(p.f[0]));
            if (p.rows == 3) fastest = larger(fastest, p.u[1] * p.u[1] + p.u[2] * p.u[2]);
            for (int r = 0; r < 3; ++r) moved = larger(moved, std::fabs(p.f[r] - c.f_before[r]));
            find_wish(p, c, lack);
        }
        moved_ = moved / largest, fastest_ = std::sqrt(fastest);
        return lack;
    }
    /// Forces told by sweeps over the points.
    void start_again(int sweeps) {
        contacts_.find_y();
        for (int i = 0; i < sweeps; ++i) sweep();
        contacts_.find_motions();
        lack_ = find_wishes();
        std::fill(lacked_, lacked_ + remembered, 0.0);
    }
    /// Goes as far along the step, at whose end so much is lacking, as leads nearer to a solution than one of the last steps began; how far.
    double search(const Lack& at_end) {
        const double start = *std::max_element(lacked_, lacked_ + remembered);
        double length = 1, best_length = 1;
        lack_ = at_end;
        if (lack_.total < (1 - 0.1 * length) * start) return 1;
        Lack best = lack_;
        if (!(best.total < INFINITY)) best.total = INFINITY;  // or not a number
        for (std::size_t i = 0; i < points_.size(); ++i) std::copy(points_[i].u, points_[i].u + 3, of_[i].u_after), std::copy(points_[i].f, points_[i].f + 3, of_[i].f_after);
        while (!(lack_.total < (1 - 0.1 * length) * start) && 0.5 * length > shortest_step) {
            go(length *= 0.5);
            if (lack_.total < best.total) best = lack_, best_length = length;
        }
        if (length != best_length) go(best_length);
        return best_length;
    }
    void go(double length) {
        for (std::size_t i = 0; i < points_.size(); ++i) {
            Point& p = points_[i];
            const Condition& c = of_[i];
            for (int r = 0; r < 3; ++r) p.u[r] = c.u_before[r] + length * (c.u_after[r] - c.u_before[r]), p.f[r] = c.f_before[r] + length * (c.f_after[r] - c.f_before[r]);
        }
        lack_ = find_wishes();
    }
    Lack find_wishes() {
        Lack all;
        for (std::size_t i = 0; i < points_.size(); ++i) find_wish(points_[i], of_[i], all);
        return all;
    }

    ContactPoints& contacts_;
    Vec<Point>& points_;
    Vec<Condition> of_;   // each point
    bool found_ = false;  // these conditions, whose matrix is still factored
    double even_ = even, creep_ = most_creep, stiff_ = soft;  // as they are now
    double lacked_[remembered] = {};                          // where the last steps began
    double moved_ = 0, fastest_ = 0;                          // how much the last one changed, and the fastest slip after it
    Lack lack_;                                               // now
};

UKEMI_END
