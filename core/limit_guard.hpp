// Joint limits as events of smooth steps ([HAND07] 3.3): rows x <= 0 are watched while steps run, and where one is crossed,
// or a held one would have to pull, the time is located within the step.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "closed_chain.hpp"

namespace ukemi {

class LimitGuard {
public:
    /// limits: a chain whose ties are all limits; held: rows that are the last ties of `chain`, the structure's own;
    /// outside: rows whose joints start beyond them, which wait until they are within.
    LimitGuard(ClosedChain& limits, const ClosedChain* chain, const std::vector<int>& held, const std::vector<int>& outside) : limits_(limits), chain_(chain), held_(held.size()) {
        const auto rows = static_cast<std::size_t>(limits_.rows());
        error_.resize(rows), rate_.resize(rows), kind_.assign(rows, watched);
        for (int row : held) kind_[static_cast<std::size_t>(row)] = is_held;
        for (int row : outside) kind_[static_cast<std::size_t>(row)] = is_outside;
        error_start_.assign(rows, 1.0), rate_start_.assign(rows, 0.0);
        value_.resize(rows + held_), broken_.resize(rows + held_);
    }
    bool holds() const { return held_ > 0; }
    /// A step begins at the state that was looked at last.
    void begin() { error_start_ = error_, rate_start_ = rate_; }

    /// Whether a limit is crossed at (q, v), or (with accelerations and constraint forces of the chain there) a held one pulls.
    bool broken(const double* q, const double* v, const double* a, std::size_t nv, const double* lambda) {
        limits_.state(q, v, error_.data(), rate_.data());
        bool found = false;
        for (std::size_t r = 0; r < error_.size(); ++r) {
            if (kind_[r] == is_outside && error_[r] <= 0) kind_[r] = watched;
            value_[r] = kind_[r] == watched ? error_[r] : -1.0;
            // passed outwards; or since the step began, and on the way back already
            found |= broken_[r] = value_[r] > 0 && (rate_[r] > crossed || (value_[r] > grazed && error_start_[r] <= 0));
        }
        if (held_ == 0) return found;
        double largest = 0;
        for (std::size_t i = 0; i < nv; ++i) largest = std::max(largest, std::fabs(a[i]));
        const std::size_t first = static_cast<std::size_t>(chain_->rows()) - held_;
        for (std::size_t k = 0; k < held_; ++k) {
            // the acceleration with which it would leave, if nothing held it
            const double away = lambda[first + k] * chain_->pivot(static_cast<int>(first + k)), r = rounding * (1 + largest);
            value_[error_.size() + k] = away - r;
            found |= broken_[error_.size() + k] = away > r;
        }
        return found;
    }

    /// Rows that touched when the step began and stand beyond their limits at (q, v), though they do not move outwards:
    /// closing the chain has moved them.
    bool nudged(const double* q, const double* v, std::vector<int>& rows) {
        limits_.state(q, v, error_.data(), rate_.data());
        rows.clear();
        for (std::size_t r = 0; r < error_.size(); ++r)
            if (kind_[r] == watched && error_[r] > grazed && rate_[r] <= at_rest && error_start_[r] > -near) rows.push_back(static_cast<int>(r));
        return !rows.empty();
    }
    const Loops& loops() const { return limits_.loops(); }

    /// The time within a step h at which a row that ends within was farthest out, if it was beyond its limit there: the peak
    /// of the cubic through both ends. -1: none was.
    double grazes(double h) const {
        double first = -1;
        for (std::size_t r = 0; r < error_.size(); ++r) {
            if (kind_[r] != watched || !(rate_start_[r] > crossed) || !(rate_[r] < 0) || error_start_[r] > 0) continue;
            // x = x0 + r0 t + a t^2 + b t^3 over t in [0, 1]; its rate is zero between
            const double r0 = rate_start_[r] * h, r1 = rate_[r] * h, d = error_[r] - error_start_[r], a = 3 * d - 2 * r0 - r1, b = r0 + r1 - 2 * d;
            const double t = r0 / (std::sqrt(std::fmax(a * a - 3 * b * r0, 0.0)) - a);  // of 3 b t^2 + 2 a t + r0 = 0
            if (!(t > 0 && t < 1) || error_start_[r] + t * (r0 + t * (a + t * b)) <= grazed) continue;
            if (first < 0 || t * h < first) first = t * h;
        }
        return first;
    }

    /// The time in (0, h] at which a step h is broken first, to `located` of h. try_step(t) moves from the start by t and
    /// says whether the end is broken; the whole step was the last that was tried. Illinois' false position, on the rows
    /// that the whole step breaks; where these do not tell, halving.
    template <class F> double locate(double h, F&& try_step) {
        double low = 0, high = h, f_low = 0, f_high = 1;
        culprit_ = broken_;
        ends_ = value_;
        bool tells = false;  // f_low is known, and of the right sign
        int side = 0;
        for (int trial = 0; high - low > located * h; ++trial) {
            double t = 0.5 * (low + high);
            if (tells && trial < most_clever) {
                t = low + (high - low) * f_low / (f_low - f_high);
                t = std::clamp(t + (side > 0 ? -0.4 : 0.4) * located * h, low + 0.1 * located * h, high - 0.1 * located * h);
            } else if (trial == 0) {
                t = 0.25 * located * h;  // the start itself: not broken, or at once
            }
            const bool now = try_step(t);
            const double f = progress();
            if (trial > 0 && (f > 0) != now) tells = false, trial = most_clever;
            if (now) {
                high = t, f_high = f;
                if (tells && side > 0) f_low *= 0.5;
                side = 1;
            } else {
                low = t, f_low = f;
                if (trial == 0) tells = f < 0;
                else if (tells && side < 0) f_high *= 0.5;
                side = -1;
            }
        }
        return high;
    }

private:
    enum : char { watched, is_held, is_outside };
    static constexpr double crossed = 1e-9;    // slower than this nothing is crossed [rad/s, m/s] (limits.py: CROSSED)
    static constexpr double near = 1e-9;       // a limit nearer than this touches [rad, m], as in limit_settle.hpp
    static constexpr double at_rest = 1e-7;    // slower than this is rest [rad/s, m/s], as there
    static constexpr double grazed = 1e-10;    // what passed by less is not noticed on its way back [rad, m]
    static constexpr double rounding = 1e-10;  // a held row that would leave with less than this share of the accelerations stays
    static constexpr double located = 1e-10;   // share of the step
    static constexpr int most_clever = 30;     // trials

    /// How far the culprits are: 1 at the end of the whole step, negative before all of them.
    double progress() const {
        double f = -1;
        for (std::size_t k = 0; k < value_.size(); ++k)
            if (culprit_[k]) f = std::max(f, value_[k] / ends_[k]);
        return f;
    }

    ClosedChain& limits_;
    const ClosedChain* chain_;
    std::size_t held_;
    std::vector<double> error_, rate_, error_start_, rate_start_, value_, ends_;
    std::vector<char> kind_, broken_, culprit_;
};

}  // namespace ukemi
