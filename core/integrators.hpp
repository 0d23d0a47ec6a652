// Time integration of a tree on its configuration manifold.
//
// Semi-implicit Euler (with stiff joints implicit: see limit_step.hpp), the classical fourth-order Runge-Kutta method, and Dormand and Prince's embedded 5(4) pair with
// step control. The Runge-Kutta methods work in a chart around the state at the start of the step, where rotations are
// rotation vectors (Munthe-Kaas): the solution never leaves the manifold and the order is kept.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "kernels.hpp"

namespace ukemi {

enum class Method { semi_implicit, implicit, rk4, adaptive };

/// Accelerations of the mechanism at (t, q, v).
using Accelerations = std::function<void(double t, const double* q, const double* v, double* a)>;

class Integrator {
public:
    Integrator(const Tree& tree, Method method, double rtol, double atol)
        : tree_(tree), k_(kernels()), method_(method), rtol_(rtol), atol_(atol), nq_(static_cast<std::size_t>(tree.nq)), nv_(static_cast<std::size_t>(tree.nv)),
          stages_(7 * 2 * nv_), x_(nv_), v_(nv_), q_(nq_), q_new_(nq_), v_new_(nv_) {}

    Method method() const { return method_; }
    long evaluations = 0;
    /// Adaptive steps that kept less than the tolerance at the smallest step: near singular poses, and where the torques
    /// jump, smaller steps bring nothing.
    long rough = 0;
    /// Accelerations are not known better than this; whoever computes them may raise it. No smaller step removes it.
    double noise = 0;
    /// The adaptive method's next step; whoever tries steps sets it back.
    double next_step() const { return step_; }
    void set_next_step(double h) { step_ = h; }
    /// Called with every accepted state, which it may correct: loops are closed here.
    std::function<void(double* q, double* v)> on_accept;

    /// Moves (q, v) from t to t + dt. False: the step size fell to rounding (adaptive only).
    bool advance(const Accelerations& acceleration, double t, double dt, double* q, double* v) {
        switch (method_) {
            case Method::semi_implicit:
                semi_implicit(acceleration, t, dt, q, v);
                if (on_accept) on_accept(q, v);
                return true;
            case Method::rk4:
                runge_kutta(rk4_tableau, acceleration, t, dt, q, v);
                accept(q, v);
                return true;
            case Method::adaptive: return adaptive(acceleration, t, dt, q, v);
            case Method::implicit: break;  // a step of its own, limit_step.hpp
        }
        return false;
    }

private:
    struct Tableau { int stages; double c[7], a[7][6], b[7]; };
    static constexpr Tableau rk4_tableau = {
        4, {0, 0.5, 0.5, 1}, {{}, {0.5}, {0, 0.5}, {0, 0, 1}}, {1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6}};
    // Dormand and Prince, J. Comput. Appl. Math. 6 (1980) 19-26, RK5(4)7M
    static constexpr Tableau dormand_prince = {
        7, {0, 0.2, 0.3, 0.8, 8.0 / 9, 1, 1},
        {{}, {0.2}, {3.0 / 40, 9.0 / 40}, {44.0 / 45, -56.0 / 15, 32.0 / 9},
         {19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729},
         {9017.0 / 3168, -355.0 / 33, 46732.0 / 5247, 49.0 / 176, -5103.0 / 18656},
         {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84}},
        {35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84, 0}};
    /// b of order 5 minus b of order 4
    static constexpr double error_weights[7] = {71.0 / 57600, 0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200, 22.0 / 525, -1.0 / 40};

    double* rate(int stage) { return stages_.data() + 2 * nv_ * static_cast<std::size_t>(stage); }
    double* accel(int stage) { return rate(stage) + nv_; }

    void semi_implicit(const Accelerations& acceleration, double t, double dt, double* q, double* v) {
        acceleration(t, q, v, accel(0));
        ++evaluations;
        k_.semi_implicit(tree_, accel(0), dt, q, v);
    }

    /// One step; the result stays in q_new_, v_new_ until it is accepted.
    void runge_kutta(const Tableau& tableau, const Accelerations& acceleration, double t, double dt, const double* q, const double* v) {
        noise = 0;
        for (int s = 0; s < tableau.stages; ++s) {
            combine(tableau.a[s], s, dt, v);
            k_.retract(tree_, q, x_.data(), q_.data());
            k_.chart_rate(tree_, x_.data(), q_.data(), v_.data(), rate(s));
            acceleration(t + tableau.c[s] * dt, q_.data(), v_.data(), accel(s));
            ++evaluations;
        }
        combine(tableau.b, tableau.stages, dt, v);
        k_.retract(tree_, q, x_.data(), q_new_.data());
        v_new_ = v_;
    }
    /// x_ and v_ after a step dt along the weighted stages.
    void combine(const double* weights, int stages, double dt, const double* v) {
        std::fill(x_.begin(), x_.end(), 0.0);
        std::copy(v, v + nv_, v_.begin());
        for (int s = 0; s < stages; ++s) {
            const double w = dt * weights[s];
            if (w == 0) continue;
            for (std::size_t i = 0; i < nv_; ++i) x_[i] += w * rate(s)[i], v_[i] += w * accel(s)[i];
        }
    }
    void accept(double* q, double* v) {
        std::copy(q_new_.begin(), q_new_.end(), q);
        std::copy(v_new_.begin(), v_new_.end(), v);
        if (on_accept) on_accept(q, v);
    }

    /// Largest error of the step against its tolerance: rotations and positions measured in the chart.
    double error(double dt, const double* v) {
        double worst = 0;
        for (std::size_t i = 0; i < nv_; ++i) {
            double ex = 0, ev = 0;
            for (int s = 0; s < 7; ++s) ex += error_weights[s] * rate(s)[i], ev += error_weights[s] * accel(s)[i];
            const double scale_x = atol_ + rtol_ * std::max(1.0, std::fabs(x_[i])) + dt * dt * noise;
            const double scale_v = atol_ + rtol_ * std::max({1.0, std::fabs(v[i]), std::fabs(v_new_[i])}) + dt * noise;
            worst = std::max({worst, std::fabs(dt * ex) / scale_x, std::fabs(dt * ev) / scale_v});
            if (std::isnan(ex) || std::isnan(ev)) return INFINITY;
        }
        return worst;
    }
    bool adaptive(const Accelerations& acceleration, double t, double dt, double* q, double* v) {
        const double end = t + dt;
        if (step_ <= 0 || step_ > dt) step_ = dt;
        while (t < end) {
            const bool last = t + step_ >= end - 1e-12 * dt;
            const double h = last ? end - t : step_;
            runge_kutta(dormand_prince, acceleration, t, h, q, v);
            const double e = error(h, v);
            const double factor = std::clamp(0.9 * std::pow(std::max(e, 1e-10), -0.2), 0.2, 5.0);
            const bool smallest = h <= smallest_step * dt && std::isfinite(e);
            if (e <= 1 || smallest) {
                rough += e > 1;
                accept(q, v);
                t = last ? end : t + h;
                if (!last || factor < 1) step_ = std::max(h * factor, smallest_step * dt);
            } else {
                if (h <= smallest_step * dt) return false;
                step_ = std::max(h * factor, smallest_step * dt);
            }
        }
        return true;
    }

    static constexpr double smallest_step = 1e-5;  // as a share of the time between two samples

    const Tree& tree_;
    const Kernels& k_;
    Method method_;
    double rtol_, atol_;
    std::size_t nq_, nv_;
    double step_ = 0;
    std::vector<double> stages_, x_, v_, q_, q_new_, v_new_;
};

}  // namespace ukemi
