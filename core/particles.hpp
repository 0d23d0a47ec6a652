// Links as springs between particles [PART05]: what a system is, its forces, its rotation planes, the step that is stable.
#pragma once
#include <algorithm>
#include <vector>

#include "kernels.hpp"
#include "particles_floor.hpp"

namespace ukemi::particles {

/// Two links that turn against each other: b -> a and d -> c. The joint of [PART05] Fig. 3 has b = d.
struct Hinge {
    int a, b, c, d;
    Vec normal;
    bool held;  // the rotation plane keeps its direction; else it is spanned by the links as they are
    double friction, kp, kd;
    double torque = 0, target = 0, rate = 0;             // what is asked for
    double angle = 0, angle_rate = 0, applied = 0;       // what was found at the last step
    Vec first{}, second{};                               // gradients of the angle at a (and -b), and at d (and -c)

    /// Angle from d -> c to b -> a about the normal, its rate and its gradients.
    void measure(const Vec* x, const Vec* v) {
        const Vec r1 = x[a] - x[b], r2 = x[c] - x[d];
        Vec across = cross(r2, r1);
        if (!held && dot(across, across) > 1e-12 * dot(r1, r1) * dot(r2, r2)) {  // straight links keep the plane they had
            const double sign = dot(across, normal) < 0 ? -1 : 1;
            normal = across * (sign / norm(across));
        }
        const double out1 = dot(normal, r1), out2 = dot(normal, r2);
        angle = std::atan2(dot(normal, across), dot(r1, r2) - out1 * out2);
        first = cross(normal, r1) * (1 / (dot(r1, r1) - out1 * out1));  // eq. 20 for a unit torque
        second = cross(normal, r2) * (1 / (dot(r2, r2) - out2 * out2));
        angle_rate = dot(first, v[a] - v[b]) - dot(second, v[c] - v[d]);  // eq. 23-26, corrected
    }
    /// Torque and friction, `ahead` seconds after the target was given.
    double drive(double ahead) {
        const double error = kp == 0 ? 0 : std::remainder(target + rate * ahead - angle, 6.283185307179586);
        applied = torque + kp * error + kd * (rate - angle_rate);
        return applied - friction * angle_rate;  // eq. 22
    }
    /// out += s times the gradient of the angle: a couple on each link, opposite ones, so that no force is left over.
    void spread(double s, Vec* out) const {
        out[a] += first * s, out[b] -= first * s;  // eq. 21
        out[c] -= second * s, out[d] += second * s;
    }
    double rate_of(const Vec* v) const { return dot(first, v[a] - v[b]) - dot(second, v[c] - v[d]); }
};

/// Particles of one rotation plane: along its normal they move as one.
struct Plane {
    Vec normal;
    std::vector<int> members;
    double mass;
    bool fixed;  // one of them stands still
};

struct System {
    std::vector<double> mass, inverse_mass, weight;  // fixed particles have inverse mass 0; weight: mass that gravity pulls
    std::vector<Link> links;
    std::vector<Hinge> hinges;
    std::vector<Plane> planes;
    Floor floor;
    Vec gravity{0, 0, -9.81};

    std::size_t size() const { return mass.size(); }

    /// f += springs and dampers along the links [eq. 7-10 with K, and a damper], torques of the hinges.
    void internal_forces(const Vec* x, const Vec* v, double ahead, Vec* f) {
        kernels().springs(links.data(), links.size(), &x->x, &v->x, &f->x);
        for (Hinge& hinge : hinges) {
            hinge.measure(x, v);
            hinge.spread(hinge.drive(ahead), f);
        }
    }

    /// Eq. 12 keeping momentum: what each velocity lacks of the plane's common motion along the normal is removed.
    void project(Vec* v) const {
        for (const Plane& plane : planes) {
            double common = 0;
            if (!plane.fixed)
                for (int i : plane.members) common += mass[i] / plane.mass * dot(plane.normal, v[i]);
            for (int i : plane.members) v[i] += plane.normal * (common - dot(plane.normal, v[i]));
        }
    }
    /// The same on forces (the transpose): accelerations m^-1 of the result move as one.
    void project_forces(Vec* f) const {
        for (const Plane& plane : planes) {
            double total = 0;
            if (!plane.fixed)
                for (int i : plane.members) total += dot(plane.normal, f[i]);
            for (int i : plane.members) f[i] += plane.normal * (mass[i] / plane.mass * total - dot(plane.normal, f[i]));
        }
        for (std::size_t i = 0; i < size(); ++i)
            if (inverse_mass[i] == 0) f[i] = {0, 0, 0};
    }

    /// The largest step that is surely stable: 4 M - 2 h C - h^2 K stays positive. Rows of B^T M^-1 B K bound the largest
    /// eigenvalue: for every spring the sum, over its particles and their springs, of |g| k |g'| / m.
    double stable_step(const Vec* x, const Vec* v) {
        std::vector<double> k(size(), floor.kind == Floor::Kind::spring ? floor.steepest() : 0.0), c(size(), 0.0);
        for (const Link& e : links)
            for (int p : {e.a, e.b}) k[p] += e.stiffness, c[p] += e.damping;
        for (Hinge& e : hinges) {
            e.measure(x, v);
            for_each(e, [&](int p, double g) { k[p] += e.kp * g, c[p] += (e.kd + e.friction) * g; });
        }
        double stiff = 0, damped = 0;
        for (std::size_t p = 0; p < size(); ++p)
            if (floor.kind == Floor::Kind::spring) stiff = std::max(stiff, k[p] * inverse_mass[p]);
        for (const Link& e : links) {
            stiff = std::max(stiff, k[e.a] * inverse_mass[e.a] + k[e.b] * inverse_mass[e.b]);
            damped = std::max(damped, c[e.a] * inverse_mass[e.a] + c[e.b] * inverse_mass[e.b]);
        }
        for (const Hinge& e : hinges) {
            double row = 0, damper = 0;
            for_each(e, [&](int p, double g) { row += g * k[p] * inverse_mass[p], damper += g * c[p] * inverse_mass[p]; });
            stiff = std::max(stiff, row), damped = std::max(damped, damper);
        }
        return 4 / (damped + std::sqrt(damped * damped + 4 * stiff));  // h^2 stiff + 2 h damped = 4
    }

private:
    /// Particles of a hinge and the size of the gradient at each.
    template <class F> static void for_each(const Hinge& e, F&& f) {
        f(e.a, norm(e.first)), f(e.c, norm(e.second));
        if (e.b == e.d)
            f(e.b, norm(e.second - e.first));
        else
            f(e.b, norm(e.first)), f(e.d, norm(e.second));
    }
};

}  // namespace ukemi::particles
