// What touches, and when: touch-downs within a step, located or met at its end.
#pragma once
#include "contact_detect.hpp"

UKEMI_BEGIN

class TouchDown : public ContactEngine {
protected:
    TouchDown(const Tree& tree, const ContactScene& scene)
        : tree_(tree), scene_(scene), detector_(scene), nv_(static_cast<std::size_t>(tree.nv)), nq_(static_cast<std::size_t>(tree.nq)), poses_(tree.bodies.size()), poses_start_(tree.bodies.size()), motions_(tree.bodies.size()),
          q_start_(nq_), v_start_(nv_), stop_touched_(2 * scene.stops.size(), 0), curved_touched_(scene.curved.size(), 0), curved_error_(scene.curved.size()), curved_before_(scene.curved.size()), curved_rate_(scene.curved.size()),
          curved_unused_(scene.curved.size()), many_(tree.bodies.size() >= many_bodies && !rebounds(scene)) {}

    bool same_state(const double* q, const double* v) const {
        return q_seen_.size() == nq_ && std::equal(q_seen_.begin(), q_seen_.end(), q) && std::equal(v_seen_.begin(), v_seen_.end(), v);
    }
    void place_bodies(const double* q) { body_poses<double>(tree_, {q, 0}, poses_.data()); }
    void look_at(const double* q, const double* v) {
        place_bodies(q);
        detector_.look(poses_.data(), margin);
        touch(q, v);
    }
    double speed_of(const Found& f, const BodyMotion* B, const Placement<double>* X) const {
        return dot(f.normal, velocity_at(f.a, f, B, X) - (f.b >= 0 ? velocity_at(f.b, f, B, X) : f.velocity));
    }
    static Vec3<double> velocity_at(int body, const Found& f, const BodyMotion* B, const Placement<double>* X) {
        const Vec3<double> at = surface_point(f, f.normal, X);
        const BodyMotion& m = B[body];
        return X[body].R * m.v + cross(X[body].R * m.w, at - X[body].p);
    }
    /// What touches now: what is very near, and what is near and touched before or does not come nearer.
    void touch(const double* q, const double* v) {
        bool near = false;
        for (const Found& f : detector_.found) near |= f.gap <= options.touch;
        moving_at_end_ = near;
        if (near) body_motions(tree_, {q, 0}, {v, 0}, motions_.data());
        for (Found& f : detector_.found) {
            f.touches = f.gap <= options.accept;
            if (!f.touches && f.gap <= options.touch) f.touches = detector_.touched[static_cast<std::size_t>(f.key)] || speed_of(f, motions_.data(), poses_.data()) > -impact_speed;
        }
        std::fill(detector_.touched.begin(), detector_.touched.end(), 0);
        for (const Found& f : detector_.found)
            if (f.touches) detector_.touched[static_cast<std::size_t>(f.key)] = 1;
        for (std::size_t i = 0; i < scene_.stops.size(); ++i) {
            const Stop& s = scene_.stops[i];
            stop_touched_[2 * i] = q[s.iq] - s.lower <= stop_reach, stop_touched_[2 * i + 1] = s.upper - q[s.iq] <= stop_reach;
        }
        if (!limits) return;
        limits->state(q, v, curved_error_.data(), curved_rate_.data());
        for (std::size_t i = 0; i < curved_error_.size(); ++i) curved_touched_[i] = curved_error_[i] >= -stop_reach;
    }
    /// Two solids that touch already may go this deep at another point.
    double deep_pair() const { return larger(2 * accepted_, 10 * options.accept); }
    /// A shorter time at which the first new contact touches, or t if nothing went too deep.
    double first_touch(double t, const double* q) {
        double best = t;
        auto consider = [&](double before, double after, double deep) {
            if (after >= -deep) return;
            if (!(before > 0)) before = deep;
            double share = std::isfinite(before) ? before / (before - after) : 0.5;
            const double time = t * smaller(0.98, larger(0.02, share));
            best = smaller(best, time);
        };
        bool started = false;
        for (const Found& f : detector_.found) {
            if (!detector_.touched[static_cast<std::size_t>(f.key)]) {
                consider(gap_start_[static_cast<std::size_t>(f.key)], f.gap, accepted_);
            } else if (detector_.of_pair(f) && f.gap < -deep_pair()) {  // two solids that touched already, at another point?
                if (!started) body_poses<double>(tree_, {q_start_.data(), 0}, poses_start_.data()), started = true;
                const double before = f.gap + height_over(f, poses_start_.data()) - height_over(f, poses_.data());
                if (before > options.touch) consider(before, f.gap, accepted_);
                else if (const double start = gap_start_[static_cast<std::size_t>(f.key)]; start > -deep_pair() && f.gap < start - deep_pair()) consider(-f.gap, f.gap, accepted_);  // other edges met: halve
            }
        }
        for (std::size_t i = 0; i < scene_.stops.size(); ++i) {
            const Stop& s = scene_.stops[i];
            if (!stop_touched_[2 * i]) consider(q_start_[static_cast<std::size_t>(s.iq)] - s.lower, q[s.iq] - s.lower, stop_reach);
            if (!stop_touched_[2 * i + 1]) consider(s.upper - q_start_[static_cast<std::size_t>(s.iq)], s.upper - q[s.iq], stop_reach);
        }
        if (limits) limits->state(q, v_start_.data(), curved_error_.data(), curved_unused_.data());
        for (std::size_t i = 0; i < curved_error_.size(); ++i)
            if (!curved_touched_[i]) consider(-curved_before_[i], -curved_error_[i], stop_reach);
        return best;
    }

    /// Of this state, unless `touch` has found them.
    void find_motions(const double* q, const double* v) {
        if (moving_at_end_) return;
        body_motions(tree_, {q, 0}, {v, 0}, motions_.data());
        for (std::size_t i = 0; i < poses_.size(); ++i) poses_[i] = motions_[i].X;
        moving_at_end_ = true;
    }
    /// Does anything in it?
    static bool rebounds(const ContactScene& scene) {
        auto any = [](const auto& all, auto restitution) { return std::any_of(all.begin(), all.end(), [&](const auto& x) { return restitution(x) > 0; }); };
        auto of_material = [](const auto& x) { return x.material.restitution; };
        auto own = [](const auto& x) { return x.restitution; };
        return any(scene.pairs, of_material) || any(scene.planes, of_material) || any(scene.fields, of_material) || any(scene.stops, own) || any(scene.curved, own) ||
               any(scene.solids, [](const Solid& s) { return s.own_ground ? s.on_ground.restitution : 0.0; });
    }
    /// So much touches, or may touch without a rebound, that to locate touch-downs one by one would never end; unless that is asked for.
    bool crowded() const {
        if (options.located >= most_parts) return false;
        return many_ || std::count_if(detector_.found.begin(), detector_.found.end(), [](const Found& f) { return f.touches; }) >= crowd;
    }
    /// Marks what has to slow down within t, see Stepper::landing_speed, or might have to.
    void expect_landings(double t, const double* q, const double* v) {
        find_motions(q, v);
        const auto soon = [&](double gap, double speed, double change) { return gap + t * (1.5 * speed - change) < 0; };
        for (Found& f : detector_.found)
            if (!f.touches && !(f.material.restitution > 0) && soon(f.gap, speed_of(f, motions_.data(), poses_.data()), change_of_speed)) f.touches = true, detector_.touched[static_cast<std::size_t>(f.key)] = 1;
        for (std::size_t i = 0; i < stop_touched_.size(); ++i) {
            const Stop& s = scene_.stops[i / 2];
            if (!stop_touched_[i] && !(s.restitution > 0)) stop_touched_[i] = i % 2 ? soon(s.upper - q[s.iq], -v[s.iv], change_at_stops) : soon(q[s.iq] - s.lower, v[s.iv], change_at_stops);
        }
    }
    /// What touches before the step ends at q, without a touch-down of its own: an impact at the start slows it down so that it
    /// arrives when the step ends, where it is met at the next one's start; in a crowd the step itself does. True if all that touches may do so.
    bool land(const double* q) {
        auto comes = [&](const Found& f) { return !detector_.touched[static_cast<std::size_t>(f.key)] && f.gap < -accepted_; };
        for (const Found& f : detector_.found) {
            if (!comes(f)) continue;
            bool near = false;
            for (const Found& before : found_start_) near |= before.key == f.key;
            if (!near || f.material.restitution > 0) return false;
        }
        for (std::size_t i = 0; i < curved_error_.size(); ++i)
            if (!curved_touched_[i] && curved_error_[i] > stop_reach) return false;
        auto stops = [&](std::size_t i) {
            const Stop& s = scene_.stops[i / 2];
            return !stop_touched_[i] && (i % 2 ? s.upper - q[s.iq] : q[s.iq] - s.lower) < -stop_reach;
        };
        for (std::size_t i = 0; i < stop_touched_.size(); ++i)
            if (stops(i) && scene_.stops[i / 2].restitution > 0) return false;
        bool any = false;
        for (std::size_t i = 0; i < stop_touched_.size(); ++i)
            if (stops(i)) stop_touched_[i] = any = true;
        for (const Found& f : detector_.found) {
            if (!comes(f)) continue;
            for (Found& before : found_start_) before.touches |= before.key == f.key;
            any = true;
        }
        for (const Found& f : found_start_)
            if (f.touches) detector_.touched[static_cast<std::size_t>(f.key)] = 1;
        return any;
    }

    /// A little later than t, where something is about to touch: what is left would be a part too short for its forces to
    /// tell from the error of the velocities; else t.
    double almost_touch(double t, double h, const double* q) {
        double best = t + shortest_part * h;
        auto consider = [&](double before, double after, double near) {
            if (after > near && before > after && std::isfinite(before)) best = smaller(best, t + t * after / (before - after));
        };
        for (const Found& f : detector_.found)
            if (!detector_.touched[static_cast<std::size_t>(f.key)]) consider(gap_start_[static_cast<std::size_t>(f.key)], f.gap, options.accept);
        for (std::size_t i = 0; i < scene_.stops.size(); ++i) {
            const Stop& s = scene_.stops[i];
            if (!stop_touched_[2 * i]) consider(q_start_[static_cast<std::size_t>(s.iq)] - s.lower, q[s.iq] - s.lower, stop_reach);
            if (!stop_touched_[2 * i + 1]) consider(s.upper - q_start_[static_cast<std::size_t>(s.iq)], s.upper - q[s.iq], stop_reach);
        }
        return best < t + shortest_part * h ? best : t;
    }

    static constexpr double margin = 0.01;      // nearer points are looked at closely [m]
    static constexpr double impact_speed = 1e-3;  // slower approach is met without an impact [m/s]: half a um in a step of 1 ms
    static constexpr int most_parts = 64;       // of a step
    static constexpr int crowd = 20;            // points that touch; more of them
    static constexpr std::size_t many_bodies = 64;
    static constexpr double change_of_speed = 0.2, change_at_stops = 10;  // [m/s], [rad/s or m/s]: what a step of a crowd may bring
    static constexpr double crowd_accepts = 1e-4;  // may go this deep before they touch down, or are stopped by an impact [m]
    static constexpr double shortest_part = 1e-2;  // of a step, where it is divided at a touch-down
    static constexpr double stop_reach = 1e-7;  // a joint this near its stop touches it [rad, m]

    const Tree& tree_;
    const ContactScene& scene_;
    Detector detector_;
    std::size_t nv_, nq_;
    Vec<Placement<double>> poses_, poses_start_;
    Vec<BodyMotion> motions_;
    Vec<double> q_start_, v_start_, gap_start_, q_seen_, v_seen_;
    Vec<Found> found_start_;
    Vec<char> stop_touched_, curved_touched_;
    Vec<double> curved_error_, curved_before_, curved_rate_, curved_unused_;  // of limits on several freedoms
    bool moving_at_end_ = false;
    bool many_;            // bodies, none of which rebounds
    double accepted_ = 0;  // depth at which something new has touched
};

UKEMI_END
