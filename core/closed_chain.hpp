// A tree with loops and the memory its algorithms work in: what the bindings and the integrators hold.
#pragma once
#include <cmath>
#include <vector>

#include "kernels.hpp"
#include "loops.hpp"
#include "workers.hpp"

namespace ukemi {

/// What a velocity jump leaves besides velocities and impulses.
struct Jump {
    double gap;          ///< largest position error of the rows
    double energy_lost;  ///< [J]
    int independent_rows;
};

/// Adds some ties of other loops, with their terms and measures.
inline void append_ties(Loops& loops, const Loops& others, const std::vector<int>& ties) {
    const int measures = static_cast<int>(loops.measures.size());
    loops.measures.insert(loops.measures.end(), others.measures.begin(), others.measures.end());
    for (int t : ties) {
        const Tie& tie = others.ties[static_cast<std::size_t>(t)];
        const int first = static_cast<int>(loops.terms.size());
        for (int k = tie.term; k < tie.term_end; ++k) {
            loops.terms.push_back(others.terms[static_cast<std::size_t>(k)]);
            if (loops.terms.back().measure >= 0) loops.terms.back().measure += measures;
        }
        loops.ties.push_back({first, static_cast<int>(loops.terms.size()), tie.offset});
    }
}

class ClosedChain {
public:
    ClosedChain(const Tree& tree, Loops loops) : tree_(tree), k_(kernels()), loops_(std::move(loops)) {
        compile_loops(tree_, k_.lanes, loops_);
        const auto rows = static_cast<std::size_t>(loops_.rows);
        error_.resize(rows), rate_.resize(rows), change_.resize(rows), impulse_.resize(rows);
        dv_.resize(static_cast<std::size_t>(tree_.nv));
        memory_ = scratch_.get(k_.closed_bytes(tree_, loops_));
    }
    const Loops& loops() const { return loops_; }
    /// A tie whose terms are linear: their coefficients, from a row as wide as v, and the acceleration it is to have.
    void set_row(int tie, const double* row, double acceleration) {
        Tie& t = loops_.ties[static_cast<std::size_t>(tie)];
        t.target = acceleration;
        for (int k = t.term; k < t.term_end; ++k) loops_.terms[static_cast<std::size_t>(k)].c[0] = row[loops_.terms[static_cast<std::size_t>(k)].v];
    }
    int rows() const { return loops_.rows; }

    /// See closed_dynamics.
    double dynamics(const double* q, const double* v, const double* tau, const double* external, const double* gravity, double* a, double* lambda) {
        return k_.closed_dynamics(tree_, loops_, q, v, tau, external, gravity, memory_, a, lambda);
    }
    void jacobian(const double* q, const double* v, double* H, double* rate_v) { k_.closed_jacobian(tree_, loops_, q, v, memory_, H, rate_v); }
    void state(const double* q, const double* v, double* error, double* rate) { k_.closed_state(tree_, loops_, q, v, memory_, error, rate); }
    double wrenches(const double* q, const double* v, const double* lambda, double* out) {
        return k_.closed_wrenches(tree_, loops_, q, v, lambda, memory_, out);
    }
    void respond(const double* q, const double* v, const double* change, double* impulse, double* dv, bool careful = false) {
        k_.closed_prepare(tree_, loops_, q, v, careful, memory_);
        k_.closed_respond(tree_, loops_, q, memory_, change, impulse, dv);
    }
    void spring_torques(const double* q, const double* v, double* out) { k_.closed_spring_torques(tree_, loops_, q, v, memory_, out); }
    /// How a row answers its own force with the rows before it held, of the last dynamics; 0: it depends on them.
    double pivot(int row) const { return k_.closed_pivots(tree_, loops_, memory_)[row]; }
    void least_norm(double* lambda) { k_.closed_least_norm(tree_, loops_, memory_, lambda); }

    /// Velocity jump: every row changes its velocity by -(1 + restitution) of it (null: no restitution). Leaves the
    /// new v, the impulses along the rows (least norm) and what they do to the bodies a (6 per loop, see closed_wrenches).
    Jump jump(const double* q, double* v, const double* restitution, double* impulse, double* wrenches) {
        k_.closed_prepare(tree_, loops_, q, v, false, memory_);
        k_.closed_errors(tree_, loops_, memory_, error_.data(), rate_.data());
        for (std::size_t r = 0; r < rate_.size(); ++r) change_[r] = -(1 + (restitution ? restitution[r] : 0.0)) * rate_[r];
        k_.closed_respond(tree_, loops_, q, memory_, change_.data(), impulse, dv_.data());
        for (int i = 0; i < tree_.nv; ++i) v[i] += dv_[static_cast<std::size_t>(i)];
        const double* pivots = k_.closed_pivots(tree_, loops_, memory_);
        Jump jump{largest(error_), 0, 0};
        for (std::size_t r = 0; r < rate_.size(); ++r) {
            jump.energy_lost -= impulse[r] * (rate_[r] + 0.5 * change_[r]);  // an impulse works with the mean velocity
            jump.independent_rows += pivots[r] > 0;
        }
        if (jump.independent_rows < loops_.rows) least_norm(impulse);
        k_.closed_prepared_wrenches(tree_, loops_, impulse, memory_, wrenches);
        return jump;
    }

    /// Moves q, then v, by the least (in the metric of the inertia) that closes the loops. v loses what does not fit:
    /// its kinetic energy never rises. Returns the error that is left.
    double project(double* q, double* v) {
        if (loops_.rows == 0) return 0;
        double worst = 0, before = INFINITY, share = 1;  // Newton's steps, shortened while they lead away
        q_before_.assign(q, q + tree_.nq);
        for (int iteration = 0; iteration < 200; ++iteration) {
            state(q, v, error_.data(), rate_.data());
            worst = largest(error_);
            if (worst < closed_to || (worst < rounding && worst >= 0.5 * before)) break;
            if (worst > before && share > 1e-3) {
                share *= 0.25;
            } else {
                share = iteration == 0 ? 1.0 : std::fmin(1.0, 2 * share);
                before = worst;
                q_before_.assign(q, q + tree_.nq);
                for (std::size_t r = 0; r < error_.size(); ++r) change_[r] = -error_[r];
                respond(q, v, change_.data(), impulse_.data(), dv_.data(), true);
            }
            Batch b;
            b.tree = &tree_;
            b.q.data = q_before_.data(), b.v.data = dv_.data(), b.dt = share, b.out = q;
            k_.integrate(b, 0, 1, nullptr);
        }
        if (largest(rate_) > 0) {
            for (std::size_t r = 0; r < rate_.size(); ++r) change_[r] = -rate_[r];
            respond(q, v, change_.data(), impulse_.data(), dv_.data());
            for (int i = 0; i < tree_.nv; ++i) v[i] += dv_[static_cast<std::size_t>(i)];
        }
        return worst;
    }

private:
    /// Positions are corrected down to rounding and velocities always: what is left of an error along a nearly dependent
    /// direction would grow by the inverse of its singular value when the chain passes the singular pose.
    static constexpr double closed_to = 1e-15;
    /// Below this, steps that no longer help are rounding.
    static constexpr double rounding = 1e-9;

    static double largest(const std::vector<double>& x) {
        double m = 0;
        for (double e : x) m = std::fmax(m, std::fabs(e));
        return m;
    }

    const Tree& tree_;
    const Kernels& k_;
    Loops loops_;
    Scratch scratch_;
    void* memory_;
    std::vector<double> error_, rate_, change_, impulse_, dv_, q_before_;
};

}  // namespace ukemi
