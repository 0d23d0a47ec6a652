// The energy of a step at joint stops has a ceiling: what it was before, and the work of the motors since.
//
// A stop takes energy or none, but the step around it has its error of second order, of either sign. What a step has above
// its ceiling is taken back by impulses at its end, each joint's relative velocity in the same proportion: impulses between
// bodies, which leave the momentum of what floats. Only where the joints move too little for it the turning of floating
// bodies is slowed too, and last their flight.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "closed_chain.hpp"

namespace ukemi {

class EnergyCeiling {
public:
    /// closed: loops, springs of connections and ties, or null; scratch: for energies and held_dynamics.
    EnergyCeiling(const Tree& tree, ClosedChain* closed, Scratch& scratch) : tree_(tree), closed_(closed), scratch_(scratch) {
        const auto n = static_cast<std::size_t>(tree.nv);
        held_.resize(n), given_.resize(n), change_.resize(n), torque_.resize(n), trial_.resize(n), rest_.resize(n);
        if (closed && std::any_of(closed->loops().items.begin(), closed->loops().items.end(), [](const Loop& loop) { return loop.elastic; }))
            none_.resize(static_cast<std::size_t>(closed->rows())), wrenches_.resize(6 * closed->loops().items.size());
    }
    /// Kinetic energy, weight and springs.
    double energy(const double* q, const double* v, const double* gravity) {
        double out[2];
        kernels().energies(tree_, q, v, gravity, scratch_.get(kernels().scratch_bytes(tree_)), out);
        kinetic_ = out[0], potential_ = out[1];
        if (!wrenches_.empty()) potential_ += closed_->wrenches(q, v, none_.data(), wrenches_.data());
        return kinetic_ + potential_;
    }
    /// What motors, and springs that act one way and so have no potential, do in a step h with the velocity v, from q.
    double work(const double* q, const double* v, const double* tau, double h) const {
        double power = 0;
        for (int i = 0; i < tree_.nv && tau; ++i) power += tau[i] * v[i];
        for (const Elastic& e : tree_.elastic) {
            const Body& b = tree_.bodies[static_cast<std::size_t>(e.body)];
            if (b.kind != JointKind::universal) continue;  // all others are symmetric
            const double one_way = 0.5 * (e.stiffness[1] - e.stiffness[2]);
            power -= one_way * (v[b.iv] * (q[b.iq + 1] - e.rest[1]) - v[b.iv + 1] * (q[b.iq] - e.rest[0]));
        }
        return h * power;
    }
    /// The energy at the end (q, v) of a step, after as much was taken from v as it had above `ceiling`.
    double keep(double ceiling, const double* gravity, double* q, double* v) {
        const double after = energy(q, v, gravity), excess = after - ceiling;
        if (excess <= rounding * (kinetic_ + std::fabs(potential_))) return after;
        const double kinetic = kinetic_;
        for (int keeps : {6, 3, 0}) {
            slow(q, v, keeps);
            energy(q, trial_.data(), gravity);
            const double most = kinetic - kinetic_;  // of v + s change it is 1 - (1 - s)^2 of this
            if (most < excess && keeps > 0) continue;
            const double share = 1 - std::sqrt(std::fmax(0.0, 1 - excess / most));
            for (std::size_t i = 0; i < change_.size(); ++i) v[i] += share * change_[i];
            break;
        }
        if (closed_) closed_->project(q, v);
        return energy(q, v, gravity);
    }

private:
    static constexpr double rounding = 1e-14;  // of the energy

    /// trial_ = v + change_, in which joints stand still; so many first freedoms (all, those of flight, none) of bodies that float
    /// get no impulse.
    void slow(const double* q, const double* v, int keeps) {
        std::fill(held_.begin(), held_.end(), char{1});
        for (const Body& b : tree_.bodies)
            if (b.parent < 0 && b.kind == JointKind::free) std::fill_n(&held_[static_cast<std::size_t>(b.iv)], keeps, char{0});
        for (const Elastic& e : tree_.elastic) {  // what a spring holds does not float
            const Body& b = tree_.bodies[static_cast<std::size_t>(e.body)];
            std::fill_n(&held_[static_cast<std::size_t>(b.iv)], b.nv, char{1});
        }
        for (std::size_t i = 0; i < given_.size(); ++i) given_[i] = -v[i];
        const double weightless[3] = {0, 0, 0};
        kernels().held_dynamics(tree_, held_.data(), given_.data(), q, rest_.data(), nullptr, nullptr, weightless, scratch_.get(kernels().scratch_bytes(tree_)), true, change_.data(), torque_.data());
        for (std::size_t i = 0; i < trial_.size(); ++i) trial_[i] = v[i] + change_[i];
    }

    const Tree& tree_;
    ClosedChain* closed_;
    double kinetic_ = 0, potential_ = 0;  // of the last energy
    std::vector<char> held_;
    std::vector<double> given_, change_, torque_, trial_, rest_, none_, wrenches_;
    Scratch& scratch_;
};

}  // namespace ukemi
