// Steps of a particle system: semi-implicit with half drifts, and implicit by conjugate gradients. Nothing is allocated.
#pragma once
#include "particles.hpp"

namespace ukemi::particles {

/// The state in time, and what one step needs.
class Stepper {
public:
    System system;
    std::vector<Vec> external;  // forces on particles [N]
    std::vector<Vec> impulse;   // of the floor since the last `clear`
    long iterations = 0;        // of the last implicit step
    bool converged = true;      // every implicit step so far: to six digits at least

    explicit Stepper(System s) : system(std::move(s)) {
        const std::size_t n = system.size();
        external.resize(n), impulse.resize(n), force_.resize(n), steady_.resize(n);
        make_blocks();
    }
    void clear() { std::fill(impulse.begin(), impulse.end(), Vec{}); }

    /// x drifts half a step, v takes the kick of the forces there, the floor and the planes, x drifts on: semi-implicit
    /// Euler seen half a step later, therefore of second order without dampers, and as stable.
    void semi_implicit(Vec* x, Vec* v, double h, long steps, double ahead) {
        const std::size_t n = system.size();
        const bool plain = system.planes.empty() && system.hinges.empty() && system.floor.kind == Floor::Kind::none;
        set_steady();
        for (std::size_t i = 0; i < n; ++i) x[i] += v[i] * (0.5 * h), force_[i] = plain && alike_ ? Vec{} : steady_[i];
        for (long s = 0; s < steps; ++s) {
            if (plain) {
                sweep(x, v, h);
                continue;
            }
            system.internal_forces(x, v, ahead + (static_cast<double>(s) + 0.5) * h, force_.data());
            for (std::size_t i = 0; i < n; ++i) v[i] += force_[i] * (h * system.inverse_mass[i]);
            if (system.floor.kind != Floor::Kind::none) touch(x, v, h);
            system.project(v);
            for (std::size_t i = 0; i < n; ++i) x[i] += v[i] * h, force_[i] = steady_[i];
        }
        for (std::size_t i = 0; i < n; ++i) x[i] -= v[i] * (0.5 * h);
    }

    /// Backward Euler, linearised at the state: (M + h C + h^2 K) dv = h (f - h K v), in the space the planes leave.
    void implicit(Vec* x, Vec* v, double h, double ahead) {
        const std::size_t n = system.size();
        reserve();
        set_steady();
        std::copy(steady_.begin(), steady_.end(), force_.begin());
        system.internal_forces(x, v, ahead + h, force_.data());
        linearise(x);
        const bool springs = system.floor.kind == Floor::Kind::spring;
        for (std::size_t i = 0; i < n; ++i) {
            contact_[i] = {};
            if (!springs || system.inverse_mass[i] == 0) continue;
            Contact& c = contact_[i];
            const double depth = -system.floor.ground.gap(x[i], c.normal);
            if (depth <= 0) continue;
            c.push = system.floor.push(depth), c.touches = true;
        }
        for (int attempt = 0; attempt < 4; ++attempt) {  // contacts that would pull let go, and the step is taken again
            solve(v, h);
            bool again = false;
            for (std::size_t i = 0; i < n; ++i) {
                Contact& c = contact_[i];
                if (c.touches && pressed(c, v[i] + change_[i], h) < 0) c.touches = false, again = true;
            }
            if (!again) break;
        }
        for (std::size_t i = 0; i < n; ++i) {
            v[i] += change_[i];
            const Contact& c = contact_[i];
            if (!c.touches) continue;
            const Vec before = v[i];
            const double normal = h * std::max(0.0, pressed(c, v[i], h));
            system.floor.rub(c.normal, normal, system.mass[i], v[i]);
            impulse[i] += c.normal * normal + (v[i] - before) * system.mass[i];
        }
        if (system.floor.kind == Floor::Kind::bounce) touch(x, v, h);
        system.project(v);
        for (std::size_t i = 0; i < n; ++i) x[i] += v[i] * h;
    }

private:
    struct Contact {
        Vec normal{};
        Push push{};
        bool touches = false;
    };
    struct Direction {
        Vec along;           // unit vector of a link
        double sideways;     // tension over length, where it pulls: what resists turning
    };
    struct Block {
        std::size_t link, links, particle, particles;  // first and number of each; particles in `order_`
    };
    std::vector<Block> blocks_;
    std::vector<int> order_;
    bool alike_ = false;  // gravity is all that stays, and no mass is without weight
    std::vector<Vec> steady_, force_, change_, residual_, search_, image_, scaled_, diagonal_;
    std::vector<Direction> direction_;
    std::vector<Contact> contact_;

    /// Kick and drift of links and particles alone, one block after the other: a particle moves as soon as all its
    /// links have pulled, while it is still in the cache.
    void sweep(Vec* x, Vec* v, double h) {
        const Kernels& level = kernels();
        const double* steady = alike_ ? nullptr : &steady_[0].x;
        for (const Block& b : blocks_) {
            level.springs(system.links.data() + b.link, b.links, &x->x, &v->x, &force_[0].x);
            level.kick_and_drift(order_.data() + b.particle, b.particles, h, system.inverse_mass.data(), &system.gravity.x, steady, &x->x, &v->x, &force_[0].x);
        }
    }
    void make_blocks() {
        constexpr std::size_t links_per_block = 512;  // some 100 kB with their particles: inside the second cache
        const std::size_t n = system.size(), count = system.links.size();
        std::vector<std::size_t> last(n, 0);  // block of the last link of each particle
        for (std::size_t e = 0; e < count; ++e) last[system.links[e].a] = last[system.links[e].b] = e / links_per_block;
        blocks_.resize(count / links_per_block + 1);
        for (std::size_t b : last) ++blocks_[b].particles;
        std::size_t particle = 0;
        for (std::size_t k = 0; k < blocks_.size(); ++k) {
            Block& b = blocks_[k];
            b.link = k * links_per_block, b.links = std::min(links_per_block, count - b.link);
            b.particle = particle, particle += b.particles, b.particles = 0;
        }
        order_.resize(n);
        for (std::size_t i = 0; i < n; ++i) order_[blocks_[last[i]].particle + blocks_[last[i]].particles++] = static_cast<int>(i);
    }
    void set_steady() {
        alike_ = true;
        for (std::size_t i = 0; i < system.size(); ++i) {
            steady_[i] = external[i] + system.gravity * system.weight[i];
            alike_ &= system.inverse_mass[i] == 0 || (system.weight[i] == system.mass[i] && dot(external[i], external[i]) == 0);
        }
    }
    void touch(const Vec* x, Vec* v, double h) {
        for (std::size_t i = 0; i < system.size(); ++i) {
            if (system.inverse_mass[i] == 0) continue;
            const Vec before = v[i];
            if (system.floor.answer(x[i], system.mass[i], h, v[i])) impulse[i] += (v[i] - before) * system.mass[i];
        }
    }
    void reserve() {
        if (!contact_.empty()) return;
        for (auto* a : {&change_, &residual_, &search_, &image_, &scaled_, &diagonal_}) a->resize(system.size());
        contact_.resize(system.size()), direction_.resize(system.links.size());
    }
    void linearise(const Vec* x) {
        for (std::size_t e = 0; e < system.links.size(); ++e) {
            const Link& link = system.links[e];
            const Vec d = x[link.b] - x[link.a];
            const double l = norm(d);
            direction_[e] = {d * (1 / l), std::max(0.0, link.stiffness * (1 - link.length / l))};
        }
    }
    static double pressed(const Contact& c, const Vec& v, double h) {
        return c.push.force - (c.push.damping + h * c.push.stiffness) * dot(v, c.normal);
    }
    /// out += (hc C + hk K) y
    void stiffness(double hc, double hk, const Vec* y, Vec* out) const {
        for (std::size_t e = 0; e < system.links.size(); ++e) {
            const Link& link = system.links[e];
            const Direction& d = direction_[e];
            const Vec w = y[link.b] - y[link.a];
            const double side = hk * d.sideways, stretch = hc * link.damping + hk * link.stiffness - side;
            const Vec pull = d.along * (stretch * dot(d.along, w)) + w * side;
            out[link.b] += pull, out[link.a] -= pull;
        }
        for (const Hinge& hinge : system.hinges)
            hinge.spread((hc * (hinge.friction + hinge.kd) + hk * hinge.kp) * hinge.rate_of(y), out);
        for (std::size_t i = 0; i < system.size(); ++i) {
            const Contact& c = contact_[i];
            if (c.touches) out[i] += c.normal * ((hc * c.push.damping + hk * c.push.stiffness) * dot(c.normal, y[i]));
        }
    }
    void add_diagonal(double h) {
        for (std::size_t i = 0; i < system.size(); ++i) {
            const double m = system.mass[i];
            diagonal_[i] = {m, m, m};
            const Contact& c = contact_[i];
            if (c.touches) diagonal_[i] += squares(c.normal) * (h * c.push.damping + h * h * c.push.stiffness);
        }
        for (std::size_t e = 0; e < system.links.size(); ++e) {
            const Link& link = system.links[e];
            const double side = h * h * direction_[e].sideways, stretch = h * link.damping + h * h * link.stiffness - side;
            const Vec both = squares(direction_[e].along) * stretch + Vec{side, side, side};
            diagonal_[link.a] += both, diagonal_[link.b] += both;
        }
        for (const Hinge& hinge : system.hinges) {
            const double s = h * (hinge.friction + hinge.kd) + h * h * hinge.kp;
            diagonal_[hinge.a] += squares(hinge.first) * s, diagonal_[hinge.c] += squares(hinge.second) * s;
            diagonal_[hinge.b] += squares(hinge.first) * s, diagonal_[hinge.d] += squares(hinge.second) * s;
        }
    }
    static Vec squares(const Vec& a) { return {a.x * a.x, a.y * a.y, a.z * a.z}; }

    /// Conjugate gradients for the change of velocity, with the diagonal as preconditioner.
    void solve(const Vec* v, double h) {
        const std::size_t n = system.size();
        add_diagonal(h);
        std::fill(residual_.begin(), residual_.end(), Vec{});
        stiffness(0, -h * h, v, residual_.data());
        for (std::size_t i = 0; i < n; ++i) {
            residual_[i] += force_[i] * h;
            const Contact& c = contact_[i];
            if (c.touches) residual_[i] += c.normal * (h * (c.push.force - c.push.damping * dot(c.normal, v[i])));
            change_[i] = {};
        }
        system.project_forces(residual_.data());
        precondition();
        std::copy(scaled_.begin(), scaled_.end(), search_.begin());
        double size = product(residual_, scaled_);
        const double enough = 1e-20 * size;  // ten digits
        iterations = 0;
        const long most = 10 * static_cast<long>(n) + 100;
        while (size > enough && iterations < most) {
            ++iterations;
            for (std::size_t i = 0; i < n; ++i) image_[i] = search_[i] * system.mass[i];
            stiffness(h, h * h, search_.data(), image_.data());
            system.project_forces(image_.data());
            const double step = size / product(search_, image_);
            for (std::size_t i = 0; i < n; ++i) change_[i] += search_[i] * step, residual_[i] -= image_[i] * step;
            precondition();
            const double next = product(residual_, scaled_);
            for (std::size_t i = 0; i < n; ++i) search_[i] = scaled_[i] + search_[i] * (next / size);
            size = next;
        }
        converged &= !(size > 1e8 * enough);
    }
    /// scaled = P D^-1 P^T residual; fixed particles stay out of it because their residual is zero.
    void precondition() {
        for (std::size_t i = 0; i < system.size(); ++i) {
            const Vec &r = residual_[i], &d = diagonal_[i];
            scaled_[i] = {r.x / d.x, r.y / d.y, r.z / d.z};
        }
        system.project(scaled_.data());
    }
    static double product(const std::vector<Vec>& a, const std::vector<Vec>& b) {
        double sum = 0;
        for (std::size_t i = 0; i < a.size(); ++i) sum += dot(a[i], b[i]);
        return sum;
    }
};

}  // namespace ukemi::particles
