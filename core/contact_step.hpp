// A time step of everything that moves and touches.
//
// Smooth motion goes by the midpoint: half a step with the velocity at the start, all forces there, half a step with the
// new velocity (Moreau 1988; without contacts this is the leapfrog). A step in which something new touches is divided at
// the touch-down; there velocities jump ([DF03] VI, [CC00] 2.4), and the rest of the step follows.
#pragma once
#include "contact_expect.hpp"
#include "contact_rows.hpp"
#include "free_flight.hpp"
#include "rnea.hpp"

UKEMI_BEGIN

class Stepper final : public ContactRows {
public:
    Stepper(const Tree& tree, const ContactScene& scene)
        : ContactRows(tree, scene), rnea_(tree.bodies.size()), inertia_(tree), bias_(nv_), free_(nv_), scratch_(nv_), v_new_(nv_), v_mean_(nv_), q_mid_(nq_), q_new_(nq_), expectation_(nv_),
          stop_force_(scene.stops.size() + scene.curved.size(), 0.0), flight_(tree), v_carried_(nv_) {}

    void step(double h, double* q, double* v, const double* tau, const double* external, const double* gravity) override {
        report = {};
        trace_.clear();
        g_ = std::sqrt(gravity[0] * gravity[0] + gravity[1] * gravity[1] + gravity[2] * gravity[2]);
        std::fill(stop_force_.begin(), stop_force_.end(), 0.0);
        if (loops) prepare_loops();
        if (!same_state(q, v)) look_at(q, v), expectation_.forget(), squeezed_.clear();  // else the last step has looked already
        for (Squeezed& s : squeezed_) --s.steps;
        squeezed_.erase(std::remove_if(squeezed_.begin(), squeezed_.end(), [](const Squeezed& s) { return s.steps == 0; }), squeezed_.end());
        double left = h;
        bool halving = true;  // until even the shortest part has no valid solution
        for (int part = 0; left > 0; ++part) {
            elapsed_ = h - left;
            crowd_ = crowded();
            const int located = crowd_ ? 0 : options.located;
            accepted_ = crowd_ ? larger(options.accept, crowd_accepts) : options.accept;
            std::copy(q, q + nq_, q_start_.begin());
            curved_before_ = curved_error_;
            if (crowd_) expect_landings(left, q, v);
            impact(q, v, h, crowd_ ? left : 0.0);
            double t = left;
            std::copy(q, q + nq_, q_start_.begin()), std::copy(v, v + nv_, v_start_.begin());
            gap_start_ = detector_.gap, found_start_ = detector_.found;
            tried_ = 0;
            for (int attempt = 0;; ++attempt) {
                if (attempt > 0) detector_.found = found_start_;  // what touches when this part begins
                const bool may_divide = part + 1 < most_parts && attempt < 12, may_halve = may_divide && halving && t > h / most_halves;
                solver_.thorough = !may_halve;
                smooth(t, h, q_start_.data(), v_start_.data(), tau, external, gravity, q, v);
                place_bodies(q);
                detector_.look(poses_.data(), margin);
                double shorter = may_divide ? first_touch(t, q) : t;
                if (shorter < t && part >= located && land(q)) {
                    std::copy(q_start_.begin(), q_start_.end(), q), std::copy(v_start_.begin(), v_start_.end(), v);
                    detector_.found = found_start_;
                    const int impacts = report.impacts;
                    impact(q, v, h, t);
                    std::copy(v, v + nv_, v_start_.begin());
                    if (report.impacts > impacts) tried_ = 0;
                    continue;
                }
                if (attempt < 12 && !solver_.certificate.holds() && leave_squeezed()) {
                    t = smaller(shorter, t);
                    continue;
                }
                if (may_halve && !(solver_.certificate.holds() && passes_agree_)) shorter = smaller(shorter, 0.5 * t);  // another problem
                if (shorter >= t && may_divide && t < left && attempt < 9) shorter = almost_touch(t, h, q);
                if (shorter == t) break;
                t = smaller(shorter, left);
            }
            if (t < left) ++report.splits;
            left = t < left ? left - t : 0.0;
            report.certificate.include(solver_.certificate);
            halving &= solver_.certificate.holds();
            touch(q, v);
            solver_.remember();
            keep_forces(t, h);
            expectation_.learn(t, v_carried_, v_new_.data());
            if (!predictable_) expectation_.forget();
        }
        for (const Found& f : detector_.found)
            if (f.touches) report.penetration = larger(report.penetration, -f.gap);
        q_seen_.assign(q, q + nq_), v_seen_.assign(v, v + nv_);
    }

    double look(const double* q, const double* v) override {
        report = {};
        q_seen_.clear();
        look_at(q, v);
        double deepest = 0;
        for (const Found& f : detector_.found) deepest = larger(deepest, -f.gap);
        gather(poses_.data());
        for (std::size_t i = 0; i < solver_.patch_count; ++i) std::fill(solver_.patches[i].w, solver_.patches[i].w + 6, 0.0), solver_.patches[i].grip = Grip::off;
        h_ = 1;
        return deepest;
    }
    bool by_bodies() const override { return inertia_.by_bodies(); }
    void choose_by_bodies(bool by_bodies) override { inertia_.choose(by_bodies); }
    int contacts() const override { return static_cast<int>(solver_.patch_count); }
    ContactReport contact(int index) const override {
        const Patch& p = solver_.patches[static_cast<std::size_t>(index)];
        ContactReport r{p.link_a, p.link_b, p.condition(), p.frame, {}, p.frame.p, {p.u[0], p.u[1], p.u[5]}, INFINITY, static_cast<int>(p.points.size())};
        for (int i = 0; i < 6; ++i) r.wrench[i] = p.w[i] / h_;
        for (const PatchPoint& c : p.points) r.gap = smaller(r.gap, c.gap);
        if (p.w[2] > 0) {
            const Cop c = cop_of(p.w);
            r.cop = p.frame.p + p.frame.R * Vec3<double>{c.x, c.y, 0};
        }
        return r;
    }
    Vec3<double> point(int contact, int i) const override {
        const Patch& p = solver_.patches[static_cast<std::size_t>(contact)];
        const PatchPoint& c = p.points[static_cast<std::size_t>(i)];
        return p.frame.p + p.frame.R * Vec3<double>{c.x, c.y, 0};
    }
    int traced() const override { return static_cast<int>(trace_.size()); }
    TraceEntry trace(int i) const override { return trace_[static_cast<std::size_t>(i)]; }
    double stop_force(int stop) const override { return stop_force_[static_cast<std::size_t>(stop)]; }
    double loop_force(int row) const override { return solver_.loop_w.empty() ? 0.0 : solver_.loop_w[static_cast<std::size_t>(row)] / h_; }

private:
    static constexpr double push_out = 0.1;     // share of a penetration that a step takes back,
    static constexpr double push_out_time = 1e-3;  // or that this time does, when steps are shorter [s];
    static constexpr double most_lift = 0.1;    // no faster [m/s]: what is found deep inside is not thrown out
    static constexpr double hardly_inside = 1e-8;  // [m]: to push this out asks for less than what counts as an approach
    static constexpr int stays_squeezed = 10;   // steps in which what could not be pushed out is left where it is
    static constexpr double negligible = 1e-7;  // change of velocity products [1/s^2] that a second pass would correct: 1e-8 of g
    static constexpr int most_passes = 7;       // more than two where the second finds contacts that do something else
    static constexpr int most_bends = 8;        // corrections of a step that ends beyond a limit on several freedoms
    static constexpr double most_halves = 32;   // a step whose contacts have no valid solution, or none that its own velocity products lead to, is halved, down to this share

    /// Two links, one inside the other and held there: pushing them apart was asked for in an island without a valid solution. For so
    /// many steps it is not tried again.
    struct Squeezed { int link_a, link_b, steps; };
    bool is_squeezed(const Patch& p) const {
        return std::any_of(squeezed_.begin(), squeezed_.end(), [&](const Squeezed& s) { return s.link_a == p.link_a && s.link_b == p.link_b; });
    }
    /// Leaves where it is what was to be pushed out in islands whose solution is not valid; true if there is anything new.
    bool leave_squeezed() {
        const std::size_t before = squeezed_.size();
        for (std::size_t i = 0; i < solver_.patch_count; ++i) {
            const Patch& p = solver_.patches[i];
            const bool inside = std::any_of(p.points.begin(), p.points.end(), [](const PatchPoint& c) { return c.gap < -hardly_inside; });
            if (!p.island_holds && inside && !is_squeezed(p)) squeezed_.push_back({p.link_a, p.link_b, stays_squeezed});
        }
        return squeezed_.size() > before;
    }
    /// Limits on several freedoms bend over a step: where one that pushes ends beyond, it must push more. True if any does.
    bool straighten(double t) {
        bool again = false, known = false;
        for (StopState& s : solver_.stops) {
            const auto i = static_cast<std::size_t>(s.stop), plain = scene_.stops.size();
            if (i < plain || !(s.w > 0) || curved_before_[i - plain] > 10 * stop_reach) continue;
            if (!known) limits->state(q_new_.data(), v_new_.data(), curved_error_.data(), curved_unused_.data()), known = true;
            if (curved_error_[i - plain] > 0.1 * stop_reach) s.target += 2 * curved_error_[i - plain] / t, again = true;
        }
        return again;
    }
    /// Friction that sticks does no work, and a normal force hardly more than takes a penetration back. Where points that jam roll on,
    /// forces are large enough to tell the error of their targets: they rest in the mean of the step instead. True if any is changed.
    bool rest() {
        bool any = false;
        for (std::size_t i = 0; i < solver_.patch_count; ++i) {
            Patch& p = solver_.patches[i];
            if (crowd_ && !(p.island_work > 0)) continue;  // what lands brakes, and others take up what it gives
            double along = 0, up = -p.w[2] * p.lift;
            for (int r = 0; r < 6; ++r) (r < 2 || r == 5 ? along : up) += 0.5 * p.w[r] * (p.u0[r] + p.u[r]);
            if (!((p.grip == Grip::stick && along > most_work_along) || up > most_work_up)) continue;
            for (int r = 0; r < 6; ++r)
                if (r < 2 || r == 5 ? p.grip == Grip::stick && along > most_work_along : up > most_work_up) p.target[r] = -p.u0[r];
            for (PatchPoint& c : p.points) c.target = normal_velocity(p.target, c);
            any = true;
        }
        return any;
    }
    static constexpr double most_work_along = 1e-3, most_work_up = 1e-2;  // [J]
    /// How far a joint is from its stop.
    double stop_gap(const StopState& s, const double* q) const {
        const auto i = static_cast<std::size_t>(s.stop), plain = scene_.stops.size();
        if (i >= plain) return -curved_before_[i - plain];
        return s.sign > 0 ? q[scene_.stops[i].iq] - scene_.stops[i].lower : scene_.stops[i].upper - q[scene_.stops[i].iq];
    }
    double restitution_of(const StopState& s) const {
        const auto i = static_cast<std::size_t>(s.stop), plain = scene_.stops.size();
        return i < plain ? scene_.stops[i].restitution : scene_.curved[i - plain].restitution;
    }
    void smooth(double t, double h, const double* q, const double* v_start, const double* tau, const double* external, const double* gravity, double* q_new, double* v_new) {
        const Vec3<double> g = read3(gravity);
        const bool known = crowd_ && tried_ > 0;  // forces and motion, from another attempt
        if (known) solver_.remember();
        moving_at_end_ = false;
        flight_.move(tree_, q, v_start, 0.5 * t, q_mid_.data());
        std::copy(v_start, v_start + nv_, v_carried_.begin());
        flight_.carry(0.5 * t, v_carried_.data());
        const double* v = v_carried_.data();
        inertia_.at(q_mid_.data(), t);
        body_motions(tree_, {q_mid_.data(), 0}, {v, 0}, motions_.data(), {flight_.straight(v), 0});
        for (std::size_t i = 0; i < poses_.size(); ++i) poses_[i] = motions_[i].X;
        gather_again(poses_.data(), t, h, q, v);
        if (known) expectation_.forget();
        else expectation_.mean(t, v, v_mean_);
        for (std::size_t i = 0; i < nv_ && known; ++i) v_mean_[i] = v[i] + t / tried_ * (v_mean_[i] - v[i]);
        const bool moves = std::any_of(v, v + nv_, [](double x) { return std::fabs(x) > impact_speed; });
        bool heap = known;
        for (int pass = known, first = pass; pass < most_passes; ++pass) {
            // forces at the middle with the velocity products of the mean velocity: at first as the last step lets expect it
            const double* v_at = v_mean_.data();
            rnea<double>(tree_, {q_mid_.data(), 0}, {v_at, 0}, {flight_.straight(v_at), 0}, {external, 0}, g, rnea_.data(), {bias_.data(), 0});
            for (std::size_t i = 0; i < nv_; ++i) free_[i] = t * ((tau ? tau[i] : 0.0) - bias_[i]);
            implicit_part(t, v, v_at);
            inertia_.solve(free_.data());
            for (std::size_t i = 0; i < nv_; ++i) v_new_[i] = v[i] + free_[i];
            solver_.impact = false, solver_.duration = t, solver_.rough = crowd_ && moves && pass == 0 && !expectation_.any();
            solver_.solve(tree_, rows_, inertia_, pass > first, v_new_.data(), scratch_.data(), report, options.trace ? &trace_ : nullptr);
            if (!solver_.roughly && !solver_.thorough && !solver_.certificate.holds()) break;  // another attempt follows
            double speed = 0, change = 0, other = 0;
            for (std::size_t i = 0; i < nv_; ++i) {
                const double mean = 0.5 * (v[i] + v_new_[i]);
                speed = larger(speed, std::fabs(mean)), change = larger(change, std::fabs(v_new_[i] - v[i])), other = larger(other, std::fabs(mean - v_at[i]));
                v_mean_[i] = mean;
            }
            if (solver_.roughly) {
                heap = true;
                continue;
            }
            passes_agree_ = speed * change < negligible || other < expectation_.same_enough(pass) * change;  // velocity products hardly change
            predictable_ = !heap || speed * change < negligible;
            if (passes_agree_ && (pass >= most_passes - 3 || !rest())) break;
            if (expectation_.any() && other > 0.5 * change) expectation_.forget(), std::copy(v, v + nv_, v_mean_.begin());  // nothing could be expected
        }
        tried_ = solver_.certificate.holds() ? t : 0.0;
        flight_.move(tree_, q_mid_.data(), v_new_.data(), 0.5 * t, q_new_.data());
        for (int again = 0; again < most_bends && straighten(t); ++again) {
            for (std::size_t i = 0; i < nv_; ++i) v_new_[i] = v[i] + free_[i];
            solver_.solve(tree_, rows_, inertia_, true, v_new_.data(), scratch_.data(), report, options.trace ? &trace_ : nullptr);
            flight_.move(tree_, q_mid_.data(), v_new_.data(), 0.5 * t, q_new_.data());
        }
        std::copy(q_new_.begin(), q_new_.end(), q_new), std::copy(v_new_.begin(), v_new_.end(), v_new);
        flight_.carry(0.5 * t, v_new);
        if (loops) loops->project(q_new, v_new);
    }
    /// (M + t D + t^2/4 K)(v_new - v) = t (tau - b), where b has the dampers at v: springs at the mean of the step's two ends, which
    /// keeps their energy, dampers at its end.
    void implicit_part(double t, const double* v, const double* v_at) {
        for (const Elastic& e : tree_.elastic) {
            const Body& b = tree_.bodies[static_cast<std::size_t>(e.body)];
            for (int r = 0; r < b.nv; ++r)
                for (int c = 0; c < b.nv; ++c)
                    free_[static_cast<std::size_t>(b.iv + r)] += t * e.damping[r * b.nv + c] * (v_at[b.iv + c] - v[b.iv + c]);
        }
    }
    void gather_again(const Placement<double>* X, double t, double h, const double* q, const double* v) {
        detector_.follow(X);
        gather(X);
        make_rows(q_mid_.data(), v, motions_.data(), X);
        for (std::size_t i = 0; i < solver_.patch_count; ++i) {
            Patch& p = solver_.patches[i];
            // the motion at the end of the step that keeps the contact: velocity products of the second half, and what
            // takes a penetration back ([CC00] eq. 20b)
            for (int r = 0; r < 6; ++r) p.target[r] = -0.5 * t * p.bias[r];
            if (p.points.size() == 1 && std::isfinite(p.middle) && t > 0.1 * h && !lands(p.points[0].gap)) follow_point(p, t);
            p.lift = 0;
            const bool squeezed = is_squeezed(p);
            add_wanted(p, [&](const PatchPoint& c) {
                if (lands(c.gap)) return landing_speed(normal_velocity(p.u0, c), c.gap, t) - normal_velocity(p.target, c);
                const double lift = c.gap < 0 && squeezed ? 0.0 : smaller(most_lift, -push_out * c.gap / larger(h, push_out_time));
                p.lift += lift;
                return lift;
            });
            p.lift = larger(0.0, p.lift);
            double approach = 0;
            for (const PatchPoint& c : p.points) approach = larger(approach, -normal_velocity(p.u0, c));
            p.stops_below = 5 * p.material.mu_s * (larger(g_, 1.0) * t + approach);
        }
        for (StopState& s : solver_.stops) {
            const auto i = static_cast<std::size_t>(s.stop), plain = scene_.stops.size();
            const double gap = stop_gap(s, q), rest = i < plain ? 0.0 : 0.5 * t * curved_product_[i - plain];  // rest: the velocity in the middle of the step that is none at its end
            // ends exactly at the stop, or, when it is slow or in a crowd, so that the next step ends there at rest; a joint that is far outside may come
            // back but is not thrown
            double least = -s.u0 - 2 * gap / t;
            if (crowd_ || std::fabs(s.u0) < impact_speed) least = larger(least, -gap / t - 0.5 * s.u0);
            s.target = gap < -10 * stop_reach ? rest : smaller(least, rest + larger(0.0, -2 * gap / t));
        }
        for (std::size_t r = 0; r < solver_.loop_target.size() && loops; ++r) solver_.loop_target[r] = -0.5 * t * (loop_rate_[r] + flight_.rate(loop_H_.data() + r * nv_, v));
    }

    /// The velocity after a step t with which what is `gap` away and comes with speed u arrives at its end; in a crowd it is at rest when it
    /// arrives, now or with the next step, and what parts already may at most come back as fast.
    double landing_speed(double u, double gap, double t) const { return crowd_ ? smaller(-larger(0.0, u), -gap / t - 0.5 * u) : -2 * gap / t - u; }
    /// The velocity from which it can: see `landing_speed`.
    double approach_speed(double gap, double t) const { return (crowd_ ? -2 : -1) * gap / t; }
    /// Adds to the motion that a patch is to have what its points are to have along the normal, as far as that is linear over them.
    template <class Wanted> static void add_wanted(Patch& p, Wanted wanted) {
        Vec3<double> total{0, 0, 0};
        Sym3<double> G{0, 0, 0, 0, 0, 0};
        for (const PatchPoint& c : p.points) {
            const double x = -c.x, y = c.y;
            total += Vec3<double>{1, y, x} * wanted(c);
            G += Sym3<double>{1, y, x, y * y, y * x, x * x};
        }
        if (p.shape == Shape2::face) {
            const Vec3<double> m = inverse(G) * total;
            p.target[2] += m.x, p.target[3] += m.y, p.target[4] += m.z;
        } else {  // the origin is in their middle
            const double n = static_cast<double>(p.points.size()), along = G.yy + G.zz;
            p.target[2] += total.x / n;
            if (p.shape == Shape2::line) p.target[3] += total.y / along, p.target[4] += total.z / along;
        }
        for (PatchPoint& c : p.points) c.target = normal_velocity(p.target, c);
    }

    /// A single point moves over both surfaces. From the middle on, gap = middle + s u + 4 c (s / t)^2, of which the start gives c; it is
    /// at rest at the end. Where it will be then, the surfaces slide as much less as they slid more from the start to here.
    static void follow_point(Patch& p, double t) {
        const double c = p.points[0].gap - p.middle + 0.5 * t * p.u0[2];
        if (8 * std::fabs(c) > most_bend * t * t) return;  // it has jumped
        const Vec3<double> d = tmul(p.frame.R, p.moved);
        p.target[0] -= p.u0[4] * d.z - p.u0[5] * d.y, p.target[1] -= p.u0[5] * d.x - p.u0[3] * d.z;
        p.target[2] = -4 / t * c;
    }
    static constexpr double most_bend = 500;  // [m/s^2]

    /// Velocity jump where things meet ([DF03] eq. 31-33): restitution along the normal, no motion along the rest, checked
    /// like contact forces. Newton's law may gain energy when friction grips (Kane and Levinson); restitution is then
    /// reduced until it does not.
    /// `landing`: within this time what is marked but does not touch yet arrives; in a crowd only what is too fast for `landing_speed` is slowed down here.
    void impact(double* q, double* v, double h, double landing = 0) {
        bool needed = landing > 0 && !crowd_;
        bool near = false;
        for (const Found& f : detector_.found) near |= f.touches;
        auto hits = [&](double u, double gap, double deep, double restitution) {  // in a crowd what does not rebound may stop within the step
            return u < -impact_speed && (!crowd_ || restitution > 0 || -0.5 * landing * u - gap > deep);
        };
        for (std::size_t i = 0; i < stop_touched_.size(); ++i) {
            const Stop& s = scene_.stops[i / 2];
            if (stop_touched_[i]) needed |= i % 2 ? hits(-v[s.iv], s.upper - q[s.iq], stop_reach, s.restitution) : hits(v[s.iv], q[s.iq] - s.lower, stop_reach, s.restitution);
        }
        for (std::size_t i = 0; i < curved_touched_.size(); ++i) needed |= curved_touched_[i] && curved_rate_[i] > impact_speed;
        if (!near && !needed) return;
        find_motions(q, v);
        for (const Found& f : detector_.found)
            if (f.touches) needed |= hits(speed_of(f, motions_.data(), poses_.data()), f.gap, accepted_, f.material.restitution);
        if (!needed) return;
        if (report.impacts < 16) report.impact_time[report.impacts] = elapsed_;
        ++report.impacts;
        expectation_.forget();
        gather(poses_.data());
        inertia_.at(q, 0);
        make_rows(q, v, motions_.data(), poses_.data());
        landing_ = landing;
        if (loops) std::fill(solver_.loop_target.begin(), solver_.loop_target.end(), 0.0);
        double keep = 1, gain = 0;
        bool bounces = jump(v, h, keep, &gain);
        if (bounces && gain > no_gain) {
            double low = 0, high = 1;
            for (int halving = 0; halving < 40; ++halving) {
                keep = 0.5 * (low + high);
                jump(v, h, keep, &gain);
                (gain > no_gain ? high : low) = keep;
            }
            jump(v, h, keep = low, &gain);
        }
        if (!bounces && !solver_.certificate.holds()) gain = jump_in_parts(q, v, h);
        report.certificate.include(solver_.certificate);
        report.energy_lost -= gain;
        report.restitution_kept = smaller(report.restitution_kept, keep);
        std::copy(v_new_.begin(), v_new_.end(), v);
        if (loops) loops->project(q, v);
    }
    static constexpr double no_gain = 1e-12;  // [J]: rounding
    /// One solution of the impact with a share of the restitution, into v_new_; true if something rebounds.
    /// `left`: share of the approach that it leaves, of one that nothing rebounds from. `last`: nothing else will be tried.
    bool jump(const double* v, double h, double keep, double* gain, double left = 0, bool last = false) {
        bool bounces = false;
        for (std::size_t i = 0; i < solver_.patch_count; ++i) {
            Patch& p = solver_.patches[i];
            std::fill(p.target, p.target + 6, 0.0);
            double fastest = 0;
            for (const PatchPoint& c : p.points) fastest = larger(fastest, -normal_velocity(p.u0, c));
            const double e = fastest > rebound_speed(h) ? keep * p.material.restitution : 0.0;
            bounces |= e > 0;
            for (int r = 2; r < 5; ++r) p.target[r] = (left - e) * p.u0[r];
            add_wanted(p, [&](const PatchPoint& c) { return lands(c.gap) ? approach_speed(c.gap, landing_) - normal_velocity(p.target, c) : 0.0; });
        }
        for (StopState& s : solver_.stops) {
            const double e = -s.u0 > rebound_speed(h) ? keep * restitution_of(s) : 0.0;
            s.target = (left - e) * s.u0;
            if (const double gap = stop_gap(s, q_start_.data()); landing_ > 0 && gap > stop_reach) s.target = approach_speed(gap, landing_);
            bounces |= e > 0;
        }
        std::copy(v, v + nv_, v_new_.begin());
        solver_.impact = true, solver_.rough = false, solver_.thorough = bounces || last;
        solver_.solve(tree_, rows_, inertia_, false, v_new_.data(), scratch_.data(), report, options.trace ? &trace_ : nullptr);
        *gain = energy_gain();
        return bounces;
    }
    /// An impact for which no valid solution was found, in two: a part of it is another problem. Returns the work.
    double jump_in_parts(const double* q, const double* v, double h) {
        double first, second;
        for (const double left : {0.5, 0.9, 0.1, 0.7, 0.3, 0.0}) {
            make_rows(q, v, motions_.data(), poses_.data());
            jump(v, h, 1, &first, left, left == 0);
            if (left == 0) break;  // as it was
            const Certificate part = solver_.certificate;
            std::copy(v_new_.begin(), v_new_.end(), v_mean_.begin());
            make_rows(q, v_mean_.data(), motions_.data(), poses_.data());
            jump(v_mean_.data(), h, 1, &second);
            if (!part.holds() || !solver_.certificate.holds()) continue;
            report.certificate.include(part);
            return first + second;
        }
        return first;
    }
    /// A rebound that would last less than about two steps ends in contact: the bounces of a ball accumulate.
    double rebound_speed(double h) const { return larger(impact_speed, g_ * h); }
    /// Work of the impulses.
    double energy_gain() const {
        double gain = 0;
        for (std::size_t i = 0; i < solver_.patch_count; ++i) gain += solver_.patches[i].work();
        for (const StopState& s : solver_.stops) gain += s.work();
        return gain;
    }
    void keep_forces(double t, double h) {
        h_ = t;
        for (const StopState& s : solver_.stops) stop_force_[static_cast<std::size_t>(s.stop)] += s.sign * s.w / h;
    }

    Vec<RneaBody<double>> rnea_;
    InertiaResponse inertia_;
    Vec<double> bias_, free_, scratch_, v_new_, v_mean_, q_mid_, q_new_;
    Expectation expectation_;
    Vec<double> stop_force_;
    FreeFlight flight_;
    Vec<double> v_carried_;    // the velocity at the start of the step, in the axes of its middle
    Vec<TraceEntry> trace_;
    bool passes_agree_ = true, crowd_ = false;
    Vec<Squeezed> squeezed_;
    bool predictable_ = true;  // not a heap that moves: its forces are no continuation of the last ones
    double g_ = 9.81, h_ = 1, elapsed_ = 0, landing_ = 0;
    double tried_ = 0;         // the time for which v_mean_ and valid forces were found from the same start, 0: not yet
};

UKEMI_END
