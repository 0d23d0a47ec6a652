// Floors for particles: where the ground is, and how it answers [PART05 eq. 30-32].
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "particles_vec.hpp"

namespace ukemi::particles {

/// A plane, or heights on a grid between which the ground is bilinear; beyond the grid it goes on as at its edge.
struct Ground {
    Vec normal{0, 0, 1};
    double offset = 0;  // of the plane along its normal
    int nx = 0, ny = 0;
    double x0 = 0, y0 = 0, dx = 1, dy = 1;
    std::vector<double> heights;  // nx rows of ny

    /// Distance above the ground (below: negative), and its normal there.
    double gap(const Vec& p, Vec& n) const {
        if (heights.empty()) {
            n = normal;
            return dot(normal, p) - offset;
        }
        const double u = std::clamp((p.x - x0) / dx, 0.0, nx - 1.0), w = std::clamp((p.y - y0) / dy, 0.0, ny - 1.0);
        const int i = std::min(static_cast<int>(u), nx - 2), j = std::min(static_cast<int>(w), ny - 2);
        const double s = u - i, t = w - j;
        const double* h = heights.data() + static_cast<std::ptrdiff_t>(i) * ny + j;
        const double low = h[0] + s * (h[ny] - h[0]), high = h[1] + s * (h[ny + 1] - h[1]);
        const Vec up{-((1 - t) * (h[ny] - h[0]) + t * (h[ny + 1] - h[1])) / dx, -(high - low) / dy, 1};
        n = up * (1 / norm(up));
        return (p.z - (low + t * (high - low))) * n.z;
    }
};

/// How hard the ground pushes at a depth: force = push - damping * speed away from it; stiffness is its slope.
struct Push {
    double force, stiffness, damping;
};

struct Floor {
    enum class Kind { none, bounce, spring } kind = Kind::none;
    Ground ground;
    double restitution = 0.8;
    double stiffness = 0, exponent = 1, damping = 0;  // k d^p and its damper: c for a spring, c d^p when p > 1
    double sink = 0;                                            // the depth it was made for
    double drag = 0;                                  // gamma of eq. 31 [s/m]
    double friction = std::numeric_limits<double>::infinity();  // largest tangential share of the normal force

    Push push(double depth) const {
        if (exponent == 1) return {stiffness * depth, stiffness, damping};
        const double force = stiffness * std::pow(depth, exponent);
        return {force, exponent * force / depth, damping * force / stiffness};
    }
    /// The largest slope to reckon with: at ten times the sink.
    double steepest() const { return exponent == 1 ? stiffness : push(10 * sink).stiffness; }
    /// Answers a particle of mass m at p that would move with v after a step h: changes v and returns whether it touched.
    bool answer(const Vec& p, double m, double h, Vec& v) const {
        Vec n;
        const double depth = -ground.gap(p, n);
        if (depth <= 0) return false;
        const double vn = dot(v, n);
        double after;  // normal velocity after the step
        if (kind == Kind::bounce) {
            if (vn >= 0) return false;
            after = -restitution * vn;  // eq. 30, on the way down only
        } else {
            const Push f = push(depth);
            after = (vn + h * f.force / m) / (1 + h * f.damping / m);  // the damper acts on the velocity after the step
            if (after <= vn) return false;                            // it would pull
        }
        rub(n, (after - vn) * m, m, v);
        v += n * (after - vn);
        return true;
    }
    /// Friction of eq. 31 for a normal impulse: f = -gamma v T, at most `friction` T, on the velocity after the step.
    void rub(const Vec& n, double impulse, double m, Vec& v) const {
        if (drag == 0) return;
        const Vec slip = v - n * dot(v, n);
        const double speed = norm(slip);
        if (speed == 0) return;
        const double dragged = speed / (1 + drag * impulse / m), least = speed - friction * impulse / m;
        v += slip * (std::max(dragged, least) / speed - 1);
    }
};

}  // namespace ukemi::particles
