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
    int first_sweeps = 1;                 // tell the first conditions
    double viscous = 0;                   // [m/s]: below this slip friction is viscous, and needs no memory; 0: it holds what sticks

    /// Other points: conditions found before tell nothing.
    void forget() { found_ = false; }
    /// With the conditions found last, where motions changed a little: true if their forces are valid.
    template <class Valid> bool go_on(int* trials, Valid valid) {
        if (!found_) return false;
        ++*trials;
        keep_start();
        find_forces();
        if (fastest_ > fast && valid()) return true;
        return restore_start(), false;
    }
    /// From the present forces on until `valid()`; false if that leads nowhere, and they are as they were. `patient`: sweeps get more and more before
    /// others may try. `trials`: counts hypotheses.
    template <class Valid> bool solve(bool patient, int* trials, Valid valid) {
        begin();
        double sweeps = fewest_sweeps;
        for (int step = 0, short_steps = 0; step < (patient ? most_patience : most_steps) && (patient || short_steps < few_short_steps); ++step) {
            ++*trials;
            const double length = newton_step();
            if (!(length > 0)) break;
            if (step > 0 && (step > enough_steps || ((moved_ < settled || worst_ < still || fastest_ > fast) && worst_ < promising)) && valid()) return found_ = length == 1, true;
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
    /// What is supposed of a point: its force is a - G u.
    struct Condition {
        State state = State::off;
        double a[3] = {}, G[3][3] = {};
        double f_start[3] = {}, f_before[3] = {}, f_after[3] = {}, u_before[3] = {}, u_after[3] = {};
        void force(const double* u, double* f) const {
            for (int i = 0; i < 3; ++i) f[i] = a[i] - G[i][0] * u[0] - G[i][1] * u[1] - G[i][2] * u[2];
        }
    };
    static constexpr int most_steps = 60, most_patience = 240;
    static constexpr int patience = 4, few_short_steps = 8;  // short steps before the next sweeps; before others may try
    static constexpr double fewest_sweeps = 10, more_sweeps = 1.5, most_sweeps = 80;
    static constexpr int enough_steps = 12;       // after these, forces need not have settled
    static constexpr double still = 3e-7;         // [m/s]: of what rests, forces that lack no more may differ by what the motion leaves open
    static constexpr double promising = 3e-5;     // [m/s]: of forces that lack more it need not be asked whether they are valid
    static constexpr double even = 3, more_even = 10;  // how motion weighs against force; by turns, where steps get short
    static constexpr double softest = 1e2, soft = 1e3, stiffest = 1e5, stiffer = 30;  // of what holds, times its own response: at least, at first, at most
    static constexpr double most_creep = 3e-4, least_creep = 3e-5, less_creep = 0.3;  // [m/s]: what sticks may creep in a step, at first and at last
    static constexpr double settled = 1e-6, mostly = 0.3;  // change of the forces, as a share of the largest
    static constexpr double short_step = 0.3, shortest_step = 1e-3;
    static constexpr int remembered = 3;          // steps that may lead away from where the first of them began

    void begin() {
        found_ = false;
        of_.resize(points_.size());
        keep_start();
        even_ = even, creep_ = most_creep, stiff_ = soft;
        start_again(first_sweeps);
    }
    void keep_start() {
        for (std::size_t i = 0; i < points_.size(); ++i) std::copy(points_[i].f, points_[i].f + 3, of_[i].f_start);
    }
    void restore_start() {
        for (std::size_t i = 0; i < points_.size(); ++i) std::copy(of_[i].f_start, of_[i].f_start + 3, points_[i].f);
    }
    /// The force that a point wishes: its motion, beyond what is viscous, changes it by `even` of what would stop it. The length of its friction.
    static double wish(const Point& p, double even, double viscous, double (&f)[3]) {
        f[0] = p.f[0] - even / p.normal * p.u[0], f[1] = f[2] = 0;
        if (!p.equal) f[0] = larger(0.0, f[0]);
        if (p.rows == 1) return 0;
        const double most = p.mu * f[0], change = change_of_friction(p, even, viscous, most), keep = viscous > 0 && most > 0 ? 1 - viscous * change / most : 1.0;
        f[1] = keep * p.f[1] - change * p.u[1], f[2] = keep * p.f[2] - change * p.u[2];
        return norm(f[1], f[2]);
    }
    /// How a motion of one changes the friction that a point wishes; of what bears little no more than viscous friction does.
    static double change_of_friction(const Point& p, double even, double viscous, double most) {
        return viscous > 0 ? smaller(even / p.along, most / viscous) : even / p.along;
    }
    /// Every point takes the force it wishes, forward and back.
    void sweep() {
        for (Point& p : points_) relax(p);
        for (std::size_t i = points_.size(); i-- > 0;) relax(points_[i]);
    }
    void relax(Point& p) {
        contacts_.find_motion(p);
        double f[3], change[3];
        ContactPoints::cut(p, wish(p, 1.0, 0.0, f), f);
        for (int r = 0; r < 3; ++r) change[r] = f[r] - p.f[r], p.f[r] = f[r];
        contacts_.push(p, change);
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
    /// What force and motion tell of a point; adds what it lacks.
    UKEMI_INLINE void suppose(const Point& p, Condition& c, Lack& lack) const {
        double f[3];
        const double length = wish(p, even_, viscous, f), most = p.mu * f[0];
        c.state = p.equal ? State::stick : !(f[0] > 0) ? State::off : p.rows == 3 && length > most ? State::slip : State::stick;
        std::copy(p.u, p.u + 3, c.u_before), std::copy(p.f, p.f + 3, c.f_before);
        set_law(p, c, f, length, most);
        ContactPoints::cut(p, length, f);
        lack.add(p, f);
    }
    UKEMI_INLINE void set_law(const Point& p, Condition& c, const double* f, double length, double most) const {
        std::fill(c.a, c.a + 3, 0.0), std::fill(c.G[0], c.G[0] + 9, 0.0);
        if (c.state == State::off) return;
        const double n = stiff_ / p.normal, change = change_of_friction(p, even_, viscous, most);
        const double grip = viscous > 0 ? most / viscous : smaller(stiff_ / p.along, most / creep_);  // how friction that sticks resists
        c.G[0][0] = n, c.a[0] = p.f[0];
        if (p.rows == 1) return;
        if (c.state == State::stick) {
            c.G[1][1] = c.G[2][2] = grip;
            if (!(viscous > 0)) c.a[1] = p.f[1], c.a[2] = p.f[2];
            return;
        }
        const double dx = f[1] / length, dy = f[2] / length;  // its direction, and how it resists across
        const double across = viscous > 0 ? change * most / (length - most + change * viscous) : smaller(even_ * grip, change * most / (length - most));
        c.G[1][0] = p.mu * dx * n, c.G[2][0] = p.mu * dy * n, c.a[1] = p.mu * dx * p.f[0], c.a[2] = p.mu * dy * p.f[0];
        c.G[1][1] = across * dy * dy, c.G[1][2] = c.G[2][1] = -across * dx * dy, c.G[2][2] = across * dx * dx;
    }
    /// Forces and motions of the conditions that the present ones tell, as far towards them as leads nearer to a solution: how far, 0 if they cannot be found.
    double newton_step() {
        contacts_.set_unit();
        Lack before;
        for (std::size_t i = 0; i < points_.size(); ++i) {
            suppose(points_[i], of_[i], before);
            if (of_[i].state != State::off) contacts_.stiffen(points_[i], of_[i].G);
        }
        if (!contacts_.factor()) return 0;
        std::copy_backward(lacked_, lacked_ + remembered - 1, lacked_ + remembered);
        lacked_[0] = before.total;
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
        double largest = 1e-300, moved = 0, fastest = 0, wished[3];
        Lack lack;
        for (std::size_t i = 0; i < points_.size(); ++i) {
            Point& p = points_[i];
            const Condition& c = of_[i];
            contacts_.find_motion(p);
            c.force(p.u, p.f);
            largest = larger(largest, std::fabs(p.f[0]));
            if (p.rows == 3) fastest = larger(fastest, p.u[1] * p.u[1] + p.u[2] * p.u[2]);
            for (int r = 0; r < 3; ++r) moved = larger(moved, std::fabs(p.f[r] - c.f_before[r]));
            ContactPoints::cut(p, wish(p, even_, viscous, wished), wished);
            lack.add(p, wished);
        }
        moved_ = moved / largest, fastest_ = std::sqrt(fastest);
        return lack;
    }
    /// Forces told by sweeps over the points.
    void start_again(int sweeps) {
        contacts_.find_y();
        for (int i = 0; i < sweeps; ++i) sweep();
        contacts_.find_motions();
        std::fill(lacked_, lacked_ + remembered, 0.0);
    }
    /// Goes as far along the step, at whose end so much is lacking, as leads nearer to a solution than one of the last steps began; how far.
    double search(Lack now) {
        const double start = *std::max_element(lacked_, lacked_ + remembered);
        double length = 1, best_length = 1;
        Lack best = now;
        if (now.total < (1 - 0.1 * length) * start) return worst_ = now.worst, 1;
        if (!(now.total < INFINITY)) best.total = INFINITY;  // or not a number
        for (std::size_t i = 0; i < points_.size(); ++i) std::copy(points_[i].u, points_[i].u + 3, of_[i].u_after), std::copy(points_[i].f, points_[i].f + 3, of_[i].f_after);
        while (!(now.total < (1 - 0.1 * length) * start) && 0.5 * length > shortest_step) {
            go(length *= 0.5);
            now = lack();
            if (now.total < best.total) best = now, best_length = length;
        }
        if (length != best_length) go(best_length);
        worst_ = best.worst;
        return best_length;
    }
    void go(double length) {
        for (std::size_t i = 0; i < points_.size(); ++i) {
            Point& p = points_[i];
            const Condition& c = of_[i];
            for (int r = 0; r < 3; ++r) p.u[r] = c.u_before[r] + length * (c.u_after[r] - c.u_before[r]), p.f[r] = c.f_before[r] + length * (c.f_after[r] - c.f_before[r]);
        }
    }
    Lack lack() const {
        Lack all;
        double f[3];
        for (const Point& p : points_) ContactPoints::cut(p, wish(p, even_, viscous, f), f), all.add(p, f);
        return all;
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
