// The mean velocity of a contact step before it is solved: its acceleration changes as it did in the last three whole steps, along a
// parabola, if these were as long and nothing happened within them.
#pragma once
#include <algorithm>

#include "level_vector.hpp"

UKEMI_BEGIN

class Expectation {
public:
    explicit Expectation(std::size_t nv) : acceleration_{Vec<double>(nv), Vec<double>(nv), Vec<double>(nv)} {}
    /// Velocities jumped, or the state is another: what was learnt tells nothing.
    void forget() { steps_ = 0; }
    bool any() const { return steps_ == 3; }
    /// The mean velocity over t from v; v itself where nothing can be expected.
    void mean(double t, const double* v, Vec<double>& out) {
        if (t != length_) forget();
        const double *a = acceleration_[0].data(), *b = acceleration_[1].data(), *c = acceleration_[2].data();
        for (std::size_t i = 0; i < out.size(); ++i) out[i] = v[i] + (any() ? 0.5 * t * (3 * a[i] - 3 * b[i] + c[i]) : 0.0);
    }
    /// How much of the change in a step the mean velocity that a pass found may differ from that of its velocity products: most
    /// passes bring it nearer by t |v|.
    double same_enough(int pass) const {
        if (!any()) return pass == 0 ? 0.0 : 0.05;
        return pass == 0 ? 2e-4 : 5e-3;  // an expectation may be far from it
    }
    /// A step t led from v_start to v.
    void learn(double t, const Vec<double>& v_start, const double* v) {
        std::swap(acceleration_[1], acceleration_[2]), std::swap(acceleration_[0], acceleration_[1]);
        for (std::size_t i = 0; i < v_start.size(); ++i) acceleration_[0][i] = (v[i] - v_start[i]) / t;
        steps_ = std::min(3, steps_ + 1), length_ = t;
    }

private:
    Vec<double> acceleration_[3];  // of the last steps, the latest first
    int steps_ = 0;                // how many of them there are
    double length_ = 0;            // how long they were
};

UKEMI_END
