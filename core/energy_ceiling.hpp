// The energy of a step at joint stops has a ceiling: what it was before, and the work of the motors since.
//
// A stop takes energy or none, but the step around it has its error of second order, of either sign. What a step has above
// its ceiling is taken back by impulses at its end, from the velocities of all joints in the same proportion: impulses between
// bodies, which leave the momentum of what floats, as a stop does. Where the joints have less than that, it was the step's
// error in the turning of the whole that raised the energy, and the whole turns slower. Flight is never slowed.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "closed_chain.hpp"

namespace ukemi {

class EnergyCeiling {
public:
    /// closed: loops, springs of connections and ties, or null; scratch: for energies.
    EnergyCeiling(const Tree& tree, ClosedChain* closed, Scratch& scratch) : tree_(tree), closed_(closed), scratch_(scratch) {
        const auto n = static_cast<std::size_t>(tree.nv);
        locked_.resize(n), rest_.resize(n), velocities_.resize(7 * n), momenta_.resize(7 * n);
        for (std::size_t i = 0; i < tree.bodies.size(); ++i) {
            const Body& b = tree.bodies[i];
            auto on_it = [&](const Elastic& e) { return e.body == static_cast<int>(i); };  // what a spring holds does not float
            if (b.parent < 0 && b.kind == JointKind::free && std::none_of(tree.elastic.begin(), tree.elastic.end(), on_it)) floating_.push_back(b.iv);
        }
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
    /// The energy at the end (q, v) of a step, after what it had above `ceiling` was taken from v.
    double keep(double ceiling, const double* gravity, double* q, double* v) {
        const double after = energy(q, v, gravity);
        double excess = after - ceiling, kinetic = kinetic_;
        if (excess <= rounding * (kinetic_ + std::fabs(potential_))) return after;
        find_momenta(q, v);
        for (int kept : {6, 3}) {
            lock(kept);
            energy(q, locked_.data(), gravity);
            const double most = kinetic - kinetic_, left = excess < most ? std::sqrt(1 - excess / most) : 0.0;
            for (std::size_t i = 0; i < locked_.size(); ++i) v[i] = locked_[i] + left * (v[i] - locked_[i]);
            if (left > 0) break;
            excess -= most, kinetic = kinetic_;
        }
        if (closed_) closed_->project(q, v);
        return energy(q, v, gravity);
    }

private:
    static constexpr double rounding = 1e-14;  // of the energy

    /// Momenta of v, and of the unit velocities of all that floats.
    void find_momenta(const double* q, const double* v) {
        const std::size_t n = locked_.size();
        std::fill(velocities_.begin(), velocities_.end(), 0.0);
        std::copy(v, v + n, velocities_.begin());
        for (int root : floating_)
            for (std::size_t k = 0; k < 6; ++k) velocities_[(1 + k) * n + static_cast<std::size_t>(root) + k] = 1;
        Batch b;  // inverse dynamics at rest and without weight
        b.tree = &tree_, b.q.data = q, b.v.data = rest_.data(), b.x = {velocities_.data(), tree_.nv}, b.out = momenta_.data(), b.out_stride = tree_.nv;
        run_here(kernels().inverse_dynamics, b, 0, 7);
    }
    /// locked_: the velocities of the same momentum when no joint moves (kept = 6); when nothing turns either (3).
    void lock(int kept) {
        const std::size_t n = locked_.size();
        std::fill(locked_.begin(), locked_.end(), 0.0);
        for (int root : floating_) {
            const auto first = static_cast<std::size_t>(root);
            double A[6][7];  // inertia of the whole, and its momentum
            for (std::size_t i = 0; i < 6; ++i)
                for (std::size_t j = 0; j < 7; ++j) A[i][j] = momenta_[(1 + j) % 7 * n + first + i];
            for (int k = 0; k < kept; ++k)
                for (int i = 0; i < kept; ++i)
                    for (int j = 6; j >= k && i != k; --j) A[i][j] -= A[i][k] / A[k][k] * A[k][j];
            for (int k = 0; k < kept; ++k) locked_[first + static_cast<std::size_t>(k)] = A[k][6] / A[k][k];
        }
    }

    const Tree& tree_;
    ClosedChain* closed_;
    double kinetic_ = 0, potential_ = 0;  // of the last energy
    std::vector<int> floating_;           // first freedoms of trees that float
    std::vector<double> locked_, rest_, none_, wrenches_, velocities_, momenta_;
    Scratch& scratch_;
};

}  // namespace ukemi
