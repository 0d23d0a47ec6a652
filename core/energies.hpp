// Kinetic and potential energy alone: no pose is formed, bodies pass gravity and how far they have fallen on to their children.
#pragma once
#include "closed_work.hpp"

UKEMI_BEGIN

/// out: kinetic energy; potential energy of weight and springs. Leaves in `scratch` where the joints place their bodies, as
/// held_dynamics reads it.
inline void energies(const Tree& tree, const double* q, const double* v, const double* gravity, void* scratch, double* out) {
    Carver c{static_cast<char*>(scratch)};
    AbaBody<double>* bodies = c.take<AbaBody<double>>(tree.bodies.size());
    place_bodies(tree, q, bodies, c.take<double>(gain_size * static_cast<std::size_t>(tree.nv)));
    const In<double> V{v, 0};
    double kinetic = 0, potential = elastic_energy(tree, q);
    for (std::size_t i = 0; i < tree.bodies.size(); ++i) {
        const Body& b = tree.bodies[i];
        AbaBody<double>& x = bodies[i];
        const Rates<double> r = rates(b, x.X.R, V);
        Vec3<double> velocity = r.p_dot, g = {gravity[0], gravity[1], gravity[2]};  // of the origin, parent coordinates
        double fallen = 0;
        x.w = r.w;
        if (b.parent >= 0) {
            const AbaBody<double>& P = bodies[b.parent];
            velocity += P.a + cross(P.w, x.X.p), g = P.alpha, fallen = P.F.f.x;
            x.w += tmul(x.X.R, P.w);
        }
        x.a = tmul(x.X.R, velocity), x.alpha = tmul(x.X.R, g), x.F.f.x = fallen + dot(g, x.X.p);  // velocity, gravity, g . place
        kinetic += 0.5 * (b.mass * dot(x.a, x.a) + dot(x.w, b.I * x.w)) + dot(x.a, cross(x.w, b.h));
        potential -= b.mass * x.F.f.x + dot(b.h, x.alpha);
        for (int k = 0; k < b.nv && b.armed; ++k) kinetic += 0.5 * b.armature[k] * v[b.iv + k] * v[b.iv + k];
    }
    out[0] = kinetic, out[1] = potential;
}

UKEMI_END
