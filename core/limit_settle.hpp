// Joint limits at an event ([HAND07] 3.3): velocities after the impacts of all limits that touch, then which of them hold.
//
// A limit is a row x <= 0. With Y = R A^-1 the answers of the velocities to unit impulses along rows (of loops and ties, H,
// and of limits that touch, J), each in O(n), loops and ties are eliminated: B = J A^-1 J^T less what they take back. Impulses
// follow Newton's law of restitution and only push; then the limits at rest push as far as none accelerates outwards.
#pragma once
#include <cmath>
#include <vector>

#include "closed_chain.hpp"

namespace ukemi {

class LimitSettler {
public:
    struct Hit { int row; double speed, impulse; };
    std::vector<Hit> hits;     ///< limits that took an impulse
    std::vector<int> pushing;  ///< limits that hold from now on

    /// closed: loops and ties, or null; limits: a chain whose ties are all limits; outside: rows that do not act yet.
    LimitSettler(const Tree& tree, ClosedChain* closed, ClosedChain& limits) : tree_(tree), closed_(closed), limits_(limits), n_(static_cast<std::size_t>(tree.nv)) {}

    /// Changes v.
    void settle(const std::vector<double>& restitution, const std::vector<int>& outside, const double* q, double* v, const double* tau, const double* gravity) {
        const auto rows = static_cast<std::size_t>(limits_.rows());
        std::vector<double> error(rows), rate(rows);
        limits_.state(q, v, error.data(), rate.data());
        for (int row : outside) error[static_cast<std::size_t>(row)] = -INFINITY;
        std::vector<std::size_t> touching;
        bool crossed_now = false;
        for (std::size_t r = 0; r < rows; ++r)
            if (error[r] > -near) touching.push_back(r), crossed_now |= rate[r] > crossed;
        if (touching.empty()) return;
        respond(touching, q, v);
        if (crossed_now) {
            const std::vector<double> x = newton(touching, rate, restitution);
            for (std::size_t t = 0; t < touching.size(); ++t) {
                if (x[t] > 0) hits.push_back({static_cast<int>(touching[t]), rate[touching[t]], x[t]});
                for (std::size_t i = 0; i < n_; ++i) v[i] -= x[t] * Y_[(loops_ + t) * n_ + i];
            }
            limits_.state(q, v, error.data(), rate.data());
        }
        std::vector<std::size_t> resting;
        for (std::size_t t = 0; t < touching.size(); ++t)
            if (std::fabs(rate[touching[t]]) <= at_rest) resting.push_back(t);
        if (resting.empty()) return;
        const std::vector<double> force = push(resting, outward_accelerations(touching, q, v, tau, gravity));
        for (std::size_t k = 0; k < resting.size(); ++k)
            if (force[k] > 0) pushing.push_back(static_cast<int>(touching[resting[k]]));
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
    void respond(const std::vector<std::size_t>& touching, const double* q, const double* v) {
        loops_ = closed_ ? static_cast<std::size_t>(closed_->rows()) : 0, m_ = loops_ + touching.size();
        R_.assign(m_ * n_, 0.0), Y_.resize(m_ * n_), A_.resize(m_ * m_), rate_v_.resize(std::max(loops_, static_cast<std::size_t>(limits_.rows())));
        if (closed_) closed_->jacobian(q, v, R_.data(), rate_v_.data());
        J_.assign(static_cast<std::size_t>(limits_.rows()) * n_, 0.0);
        limits_.jacobian(q, v, J_.data(), rate_v_.data());
        for (std::size_t t = 0; t < touching.size(); ++t) std::copy_n(&J_[touching[t] * n_], n_, &R_[(loops_ + t) * n_]);
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
        factor_.assign(loops_ * m_, 0.0);
        std::vector<double> diagonal(loops_);
        double largest = 0;
        for (std::size_t k = 0; k < loops_; ++k) diagonal[k] = A_[k * m_ + k], largest = std::fmax(largest, diagonal[k]);
        for (std::size_t k = 0; k < loops_; ++k) {
            const double pivot = A_[k * m_ + k];
            if (!(pivot > std::fmax(dependent * diagonal[k], immovable * largest))) continue;
            for (std::size_t r = k + 1; r < m_; ++r) {
                const double f = factor_[k * m_ + r] = A_[r * m_ + k] / pivot;
                for (std::size_t s = k + 1; s < m_; ++s) A_[r * m_ + s] -= f * A_[k * m_ + s];
                for (std::size_t i = 0; i < n_; ++i) Y_[r * n_ + i] -= f * Y_[k * n_ + i];
            }
        }
    }
    double B(std::size_t t, std::size_t s) const { return A_[(loops_ + t) * m_ + loops_ + s]; }

    /// min x^T B x / 2 - x^T wanted over x >= 0, of some of the limits that touch.
    std::vector<double> push(const std::vector<std::size_t>& which, const std::vector<double>& wanted) const {
        const std::size_t n = which.size();
        std::vector<double> Q(n * n), c(n), x(n), work(n * n + 3 * n);
        std::vector<int> passive(n, 1), index(n);
        for (std::size_t i = 0; i < n; ++i) {
            c[i] = wanted[which[i]];
            for (std::size_t j = 0; j < n; ++j) Q[i * n + j] = 0.5 * (B(which[i], which[j]) + B(which[j], which[i]));
        }
        if (n > 0) kernels().nonneg_least(Q.data(), c.data(), static_cast<int>(n), x.data(), passive.data(), work.data(), index.data());
        return x;
    }
    /// Newton's law for simultaneous impacts (eq. 4.28): what is turned back by the others hits in turn.
    std::vector<double> newton(const std::vector<std::size_t>& touching, const std::vector<double>& rate, const std::vector<double>& restitution) const {
        const std::size_t n = touching.size();
        std::vector<double> speed(n), total(n), wanted(n);  // speeds outwards
        double fastest = 0;
        for (std::size_t t = 0; t < n; ++t) speed[t] = rate[touching[t]], fastest = std::fmax(fastest, std::fabs(speed[t]));
        const double rest = still * (1 + fastest);
        for (int round = 0; round < most_rounds; ++round) {
            if (round && *std::max_element(speed.begin(), speed.end()) <= rest) break;
            const bool last = round == most_rounds - 1;  // over all and without restitution: a projection, which none can follow
            std::vector<std::size_t> hit;
            for (std::size_t t = 0; t < n; ++t) {
                if (last || speed[t] >= -rest) hit.push_back(t);
                const double e = rate[touching[t]] > at_rest && !last ? restitution[touching[t]] : 0.0;
                wanted[t] = (1 + e) * (last ? speed[t] : std::fmax(speed[t], 0.0));
            }
            const std::vector<double> x = push(hit, wanted);
            for (std::size_t k = 0; k < hit.size(); ++k) {
                total[hit[k]] += x[k];
                for (std::size_t t = 0; t < n; ++t) speed[t] -= B(t, hit[k]) * x[k];
            }
        }
        return total;
    }
    /// Accelerations along the limits that touch, when no limit pushes.
    std::vector<double> outward_accelerations(const std::vector<std::size_t>& touching, const double* q, const double* v, const double* tau, const double* gravity) {
        std::vector<double> a(n_), torque(tau, tau + n_), along(m_), dropped(std::max(J_.size(), m_ * n_));
        if (closed_) {
            closed_->spring_torques(q, v, a.data());
            for (std::size_t i = 0; i < n_; ++i) torque[i] += a[i];
        }
        Batch b;
        b.tree = &tree_, b.q.data = q, b.v.data = v, b.x.data = torque.data(), b.out = a.data();
        std::copy(gravity, gravity + 3, b.gravity);
        run_here(kernels().forward_dynamics, b, 0, 1);
        for (std::size_t r = 0; r < m_; ++r) along[r] = product(&R_[r * n_], a.data());
        if (closed_) {
            closed_->jacobian(q, v, dropped.data(), rate_v_.data());
            for (std::size_t r = 0; r < loops_; ++r) along[r] += rate_v_[r];
        }
        limits_.jacobian(q, v, dropped.data(), rate_v_.data());
        for (std::size_t t = 0; t < touching.size(); ++t) along[loops_ + t] += rate_v_[touching[t]];
        for (std::size_t k = 0; k < loops_; ++k)
            for (std::size_t r = k + 1; r < m_; ++r) along[r] -= factor_[k * m_ + r] * along[k];
        return {along.begin() + static_cast<std::ptrdiff_t>(loops_), along.end()};
    }

    const Tree& tree_;
    ClosedChain* closed_;
    ClosedChain& limits_;
    std::size_t n_, loops_ = 0, m_ = 0;
    std::vector<double> R_, J_, Y_, A_, factor_, rate_v_;
};

}  // namespace ukemi
