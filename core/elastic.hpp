// Joint springs and dampers: tau = -dU/dq - B v, with U = 1/2 d^T K d and d = difference(rest, q).
//
// For a spherical joint d is the rotation vector r from the rest pose; its rate is Jr^-1(r) w, so the torque is
// -Jr^-T(r) K r: the exact gradient, and -K r when K is a multiple of the identity. Free joints take position and
// rotation apart, each with its own chart.
#pragma once
#include "manifold.hpp"

UKEMI_BEGIN

/// d(r) and, from g = K d, the generalized force dU/dq of one joint.
inline void elastic_offset(const Body& b, const double* rest, const double* q, double* d) {
    if (b.kind == JointKind::free) {
        const Quat a = load_quat(rest + 3);
        write3(d, turn_back(a, read3(q) - read3(rest)));
        write3(d + 3, log_rotation(conjugate(a) * load_quat(q + 3)));
    } else {
        joint_difference(b, rest, q, d);
    }
}
inline void elastic_gradient(const Body& b, const double* rest, const double* q, const double* d, double* g) {
    if (b.kind == JointKind::spherical) {
        write3(g, rotation_vector_rate(-read3(d), read3(g)));  // Jr^-T(r) = Jr^-1(-r)
    } else if (b.kind == JointKind::free) {
        // rate of the offset = R_rest^T R v, so the force in link coordinates is R^T R_rest g
        write3(g, turn_back(load_quat(q + 3), turn(load_quat(rest + 3), read3(g))));
        write3(g + 3, rotation_vector_rate(-read3(d + 3), read3(g + 3)));
    }
}
inline double quadratic(const double* K, const double* d, int n, double* Kd) {
    double e = 0;
    for (int i = 0; i < n; ++i) {
        Kd[i] = 0;
        for (int j = 0; j < n; ++j) Kd[i] += K[i * n + j] * d[j];
        e += d[i] * Kd[i];
    }
    return 0.5 * e;
}

/// dU/dq + B v of one joint, from its own coordinates and velocities: what the actuator must give to hold against
/// spring and damper.
inline void elastic_torque(const Body& b, const Elastic& e, const double* q, const double* v, double* torque) {
    if (b.nv == 1) {
        torque[0] = e.stiffness[0] * (q[0] - e.rest[0]) + e.damping[0] * v[0];
        return;
    }
    double d[6], damping[6];
    elastic_offset(b, e.rest, q, d);
    quadratic(e.stiffness, d, b.nv, torque);
    elastic_gradient(b, e.rest, q, d, torque);
    quadratic(e.damping, v, b.nv, damping);
    for (int k = 0; k < b.nv; ++k) torque[k] += damping[k];
}
inline double elastic_energy(const Tree& tree, const double* q) {
    double energy = 0, d[6], Kd[6];
    for (const Elastic& e : tree.elastic) {
        const Body& b = tree.bodies[e.body];
        if (b.nv == 1) {
            energy += 0.5 * e.stiffness[0] * (q[b.iq] - e.rest[0]) * (q[b.iq] - e.rest[0]);
            continue;
        }
        elastic_offset(b, e.rest, q + b.iq, d);
        energy += quadratic(e.stiffness, d, b.nv, Kd);
    }
    for (const CoupledSpring& s : tree.springs)
        for (std::size_t i = 0, n = s.q.size(); i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) energy += 0.5 * (q[s.q[i]] - s.rest[i]) * s.stiffness[i * n + j] * (q[s.q[j]] - s.rest[j]);
    return energy;
}

/// Calls add(row, column, m) for every entry that joints add to the inertia matrix beside its diagonal.
template <class F> inline void for_each_joint_inertia(const Tree& tree, F&& add) {
    if (tree.joint_inertias.empty()) return;
    for (const Body& b : tree.bodies) {
        if (!b.coupled) continue;
        const double* m = tree.joint_inertias[static_cast<std::size_t>(b.coupled - 1)].matrix;
        for (int i = 0; i < b.nv; ++i)
            for (int j = 0; j < b.nv; ++j) add(b.iv + i, b.iv + j, m[i * b.nv + j]);
    }
}

/// Calls add(k, torque) for the springs and dampers of every joint of every lane; v may be absent (at rest).
template <class T, class F> inline void for_each_elastic_torque(const Tree& tree, const In<T>& q, const In<T>& v, F&& add) {
    static constexpr double at_rest[6] = {};
    double torque[6];
    for (const Elastic& e : tree.elastic) {
        const Body& b = tree.bodies[e.body];
        for (int l = 0; l < lanes<T>; ++l) {
            elastic_torque(b, e, q.data + l * q.stride + b.iq, v ? v.data + l * v.stride + b.iv : at_rest, torque);
            for (int k = 0; k < b.nv; ++k) add(l, b.iv + k, torque[k]);
        }
    }
    for (const CoupledSpring& s : tree.springs) {
        const std::size_t n = s.q.size();
        for (int l = 0; l < lanes<T>; ++l) {
            const double *x = q.data + l * q.stride, *x_dot = v ? v.data + l * v.stride : nullptr;
            for (std::size_t i = 0; i < n; ++i) {
                double sum = 0;
                for (std::size_t j = 0; j < n; ++j)
                    sum += s.stiffness[i * n + j] * (x[s.q[j]] - s.rest[j]) + (x_dot ? s.damping[i * n + j] * x_dot[s.v[j]] : 0.0);
                add(l, s.v[i], sum);
            }
        }
    }
}

UKEMI_END
