// Joint limits at an event ([HAND07] 3.3): velocities after the impacts of all limits that touch, then which of them hold.
//
// A limit is a row x <= 0. With Y = R A^-1 the answers of the velocities to unit impulses along rows (of loops and ties, H,
// and of limits that touch, J), each in O(n), loops and ties are eliminated: B = J A^-1 J^T less what they take back. Impulses
// follow Newton's law of restitution and only push; then the limits at rest push as far as none accelerates outwards.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "closed_chain.hpp"

namespace ukemi {

/// Its storage grows with the events it has seen and is used again.
class LimitSettler {
public:
    struct Hit { int row; double speed, impulse; };
    std::vector<Hit> hits;     ///< limits that took an impulse in the last event
    std::vector<int> pushing;  ///< limits that hold since

    /// limits: a chain whose ties are all limits; restitution: one per limit.
    LimitSettler(const Tree& tree, ClosedChain& limits, std::vector<double> restitution) : tree_(tree), limits_(limits), restitution_(std::move(restitution)), n_(static_cast<std::size_t>(tree.nv)) {
        const auto rows = static_cast<std::size_t>(limits.rows());
        error_.resize(rows), rate_.resize(rows), J_.resize(rows * n_), a_.resize(n_), torque_.resize(n_);
    }

    /// Changes v. closed: loops and ties, or null; outside: rows that do not act yet.
    void settle(ClosedChain* closed, const std::vector<int>& outside, const double* q, double* v, const double* tau, const double* gravity) {
        hits.clear(), pushing.clear(), touching_.clear();
        limits_.state(q, v, error_.data(), rate_.data());
        for (int row : outside) error_[static_cast<std::size_t>(row)] = -INFINITY;
        bool crossed_now = false;
        for (std::size_t r = 0; r < error_.size(); ++r)
            if (error_[r] > -near) touching_.push_back(r), crossed_now |= rate_[r] > crossed;
        if (touching_.empty()) return;
        respond(closed, q, v);
        if (crossed_now) {
            jump(v);
            limits_.state(q, v, error_.data(), rate_.data());
        }
        resting_.clear();
        for (std::size_t t = 0; t < touching_.size(); ++t)
            if (std::fabs(rate_[touching_[t]]) <= at_rest) resting_.push_back(t);
        if (resting_.empty()) return;
        push(resting_, outward_accelerations(closed, q, v, tau, gravity));
        for (std::size_t k = 0; k < resting_.size(); ++k)
            if (x_[k] > 0) pushing.push_back(static_cast<int>(touching_[resting_[k]]));
    }
    /// Impacts alone, at the limits for which touches(row): how implicit steps bounce. Changes v.
    template <class F> void bounce(ClosedChain* closed, const double* q, double* v, F&& touches) {
        hits.clear(), touching_.clear();
        limits_.state(q, v, error_.data(), rate_.data());
        for (std::size_t r = 0; r < error_.size(); ++r)
            if (touches(r)) touching_.push_back(r);
        respond(closed, q, v);
        jump(v);
    }

private:
    static constexpr double near = 1e-9;         // a limit nearer than this touches [rad, m]
    static constexpr double crossed = 1e-9;      // a limit is passed when faster than this [rad/s, m/s], as in limit_guard.hpp
    static constexpr double at_rest = 1e-7;      // slower than this nothing comes back, and a joint that is pushed stays [rad/s, m/s]
    static constexpr double still = 1e-12;       // share of the speeds before an impact that is rest
    static constexpr double dependent = 1e-9;    // a row of loops with a smaller share of its diagonal depends on those before it
    static constexpr double immovable = 1e-12;   // a row of loops with a smaller share of the largest is one that nothing can move
    static constexpr int most_rounds = 100;      // of impacts at one instant; the last is without restitution and ends them

    /// Y and B of the rows of loops and of the limits that touch.
    void respond(ClosedChain* closed, const double* q, const double* v) {
        loops_ = closed ? static_cast<std::size_t>(closed->rows()) : 0, m_ = loops_ + touching_.size();
        R_.assign(m_ * n_, 0.0), Y_.resize(m_ * n_), A_.resize(m_ * m_), rate_v_.resize(std::max(loops_, error_.size()));
        if (closed) closed->jacobian(q, v, R_.data(), rate_v_.data());
        std::fill(J_.begin(), J_.end(), 0.0);
        limits_.jacobian(q, v, J_.data(), rate_v_.data());
        for (std::size_t t = 0; t < touching_.size(); ++t) std::copy_n(&J_[touching_[t] * n_], n_, &R_[(loops_ + t) * n_]);
        Batch b;
        b.tree = &tree_, b.q.data = q, b.x = {R_.data(), tree_.nv}, b.out = Y_.data(), b.out_stride = tree_.nv;
        run_here(kernels().impulse_response, b, 0, static_cast<std::ptrdiff_t>(m_));
        for (std::size_t r = 0; r < m_; ++r)
            for (std::size_t s = 0; s < m_; ++s) A_[r * m_ + s] = product(&R_[r * n_], &Y_[s * n_]);
        eliminate();
    }
    double product(const double* a, const double* b) const {
        double sum = 0;
        for (std::size_t i = 0; i < n_; ++i) sum += a[i] * b[i];
        return sum;
    }
    /// Gauss' elimination of the rows of loops from A and Y, and (in `factor_`) from what comes later.
    void eliminate() {
        factor_.assign(loops_ * m_, 0.0), diagonal_.resize(loops_);
        double largest = 0;
        for (std::size_t k = 0; k < loops_; ++k) diagonal_[k] = A_[k * m_ + k], largest = std::fmax(largest, diagonal_[k]);
        for (std::size_t k = 0; k < loops_; ++k) {
            const double pivot = A_[k * m_ + k];
            if (!(pivot > std::fmax(dependent * diagonal_[k], immovable * largest))) continue;
            for (std::size_t r = k + 1; r < m_; ++r) {
                const double f = factor_[k * m_ + r] = A_[r * m_ + k] / pivot;
                for (std::size_t s = k + 1; s < m_; ++s) A_[r * m_ + s] -= f * A_[k * m_ + s];
                for (std::size_t i = 0; i < n_; ++i) Y_[r * n_ + i] -= f * Y_[k * n_ + i];
            }
        }
    }
    double B(std::size_t t, std::size_t s) const { return A_[(loops_ + t) * m_ + loops_ + s]; }

    /// x_ = argmin x^T B x / 2 - x^T wanted over x >= 0, of some of the limits that touch.
    void push(const std::vector<std::size_t>& which, const double* wanted) {
        const std::size_t n = which.size();
        Q_.resize(n * n), c_.resize(n), x_.resize(n), work_.resize(n * n + 3 * n), passive_.assign(n, 1), index_.resize(n);
        for (std::size_t i = 0; i < n; ++i) {
            c_[i] = wanted[which[i]];
            for (std::size_t j = 0; j < n; ++j) Q_[i * n + j] = 0.5 * (B(which[i], which[j]) + B(which[j], which[i]));
        }
        if (n > 0) kernels().nonneg_least(Q_.data(), c_.data(), static_cast<int>(n), x_.data(), passive_.data(), work_.data(), index_.data());
    }
    /// The impacts of what touches: changes v, leaves the hits.
    void jump(double* v) {
        newton();
        for (std::size_t t = 0; t < touching_.size(); ++t) {
            if (total_[t] > 0) hits.push_back({static_cast<int>(touching_[t]), rate_[touching_[t]], total_[t]});
            for (std::size_t i = 0; i < n_; ++i) v[i] -= total_[t] * Y_[(loops_ + t) * n_ + i];
        }
    }
    /// Newton's law for simultaneous impacts (eq. 4.28), total_: what is turned back by the others hits in turn. Each round
    /// loses energy or keeps it: with B x >= (1 + e) s, x >= 0 and one of them an equality, it changes by -x (1 - e) s / 2.
    void newton() {
        const std::size_t n = touching_.size();
        speed_.resize(n), total_.assign(n, 0.0), wanted_.resize(n);  // speeds outwards
        double fastest = 0;
        for (std::size_t t = 0; t < n; ++t) speed_[t] = rate_[touching_[t]], fastest = std::fmax(fastest, std::fabs(speed_[t]));
        const double rest = still * (1 + fastest);
        for (int round = 0; round < most_rounds; ++round) {
            if (round && *std::max_element(speed_.begin(), speed_.end()) <= rest) break;
            const bool last = round == most_rounds - 1;  // over all and without restitution: a projection, which none can follow
            hit_.clear();
            for (std::size_t t = 0; t < n; ++t) {
                if (last || speed_[t] >= -rest) hit_.push_back(t);
                const double e = rate_[touching_[t]] > at_rest && !last ? restitution_[touching_[t]] : 0.0;
                wanted_[t] = (1 + e) * (last ? speed_[t] : std::fmax(speed_[t], 0.0));
            }
            push(hit_, wanted_.data());
            for (std::size_t k = 0; k < hit_.size(); ++k) {
                total_[hit_[k]] += x_[k];
                for (std::size_t t = 0; t < n; ++t) speed_[t] -= B(t, hit_[k]) * x_[k];
            }
        }
    }
    /// Accelerations along the limits that touch, when no limit pushes.
    const double* outward_accelerations(ClosedChain* closed, const double* q, const double* v, const double* tau, const double* gravity) {
        std::copy(tau, tau + n_, torque_.begin());
        along_.resize(m_), dropped_.resize(std::max(J_.size(), m_ * n_));
        if (closed) {
            closed->spring_torques(q, v, a_.data());
            for (std::size_t i = 0; i < n_; ++i) torque_[i] += a_[i];
        }
        Batch b;
        b.tree = &tree_, b.q.data = q, b.v.data = v, b.x.data = torque_.data(), b.out = a_.data();
        std::copy(gravity, gravity + 3, b.gravity);
        run_here(kernels().forward_dynamics, b, 0, 1);
        for (std::size_t r = 0; r < m_; ++r) along_[r] = product(&R_[r * n_], a_.data());
        if (closed) {
            closed->jacobian(q, v, dropped_.data(), rate_v_.data());
            for (std::size_t r = 0; r < loops_; ++r) along_[r] += rate_v_[r];
        }
        limits_.jacobian(q, v, dropped_.data(), rate_v_.data());
        for (std::size_t t = 0; t < touching_.size(); ++t) along_[loops_ + t] += rate_v_[touching_[t]];
        for (std::size_t k = 0; k < loops_; ++k)
            for (std::size_t r = k + 1; r < m_; ++r) along_[r] -= factor_[k * m_ + r] * along_[k];
        return along_.data() + loops_;
    }

    const Tree& tree_;
    ClosedChain& limits_;
    std::vector<double> restitution_;
    std::size_t n_, loops_ = 0, m_ = 0;
    std::vector<double> error_, rate_;                                          // per limit
    std::vector<std::size_t> touching_, resting_, hit_;                         // limits; of these, those at rest; in a round, those that push
    std::vector<double> R_, J_, Y_, A_, factor_, diagonal_, rate_v_;            // rows of loops, then of what touches
    std::vector<double> speed_, total_, wanted_, Q_, c_, x_, work_, along_, dropped_, a_, torque_;
    std::vector<int> passive_, index_;
};

}  // namespace ukemi
