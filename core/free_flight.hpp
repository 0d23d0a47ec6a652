// Bodies that fly fly straight. A free joint has its linear velocity in the link's axes, which turn; a step that takes it to be constant
// there would bend the way of whatever spins. Here it is constant in the world: over a step it is carried in the axes of the step's middle.
#pragma once
#include "manifold.hpp"

UKEMI_BEGIN

class FreeFlight {
public:
    explicit FreeFlight(const Tree& tree) : acceleration_(static_cast<std::size_t>(tree.nv), 0.0) {
        for (const Body& b : tree.bodies)
            if (b.kind == JointKind::free && b.parent < 0) free_.push_back(&b);
    }
    /// q_new = q moved by the constant velocity v for a time dt: free bodies turn about an axis that flies straight.
    void move(const Tree& tree, const double* q, const double* v, double dt, double* q_new) const {
        integrate(tree, q, v, dt, q_new);
        for (const Body* b : free_) write3(q_new + b->iq, read3(q + b->iq) + turn(load_quat(q + b->iq + 3), read3(v + b->iv)) * dt);
    }
    /// Puts linear velocities into the axes that bodies have after they turned with the angular velocities in v for a time dt. What does not
    /// turn keeps its velocity to the last digit.
    void carry(double dt, double* v) const {
        for (const Body* b : free_) write3(v + b->iv, turn_back(exp_rotation(read3(v + b->iv + 3) * dt), read3(v + b->iv)));
    }
    /// The rate of v for which free bodies fly straight: - w x v for their linear velocities, 0 for all else.
    const double* straight(const double* v) {
        for (const Body* b : free_) write3(acceleration_.data() + b->iv, cross(read3(v + b->iv), read3(v + b->iv + 3)));
        return free_.empty() ? nullptr : acceleration_.data();
    }
    /// What that rate adds to the acceleration along a row (nv) of a Jacobian.
    double rate(const double* row, const double* v) const {
        double sum = 0;
        for (const Body* b : free_) sum += dot(read3(row + b->iv), cross(read3(v + b->iv), read3(v + b->iv + 3)));
        return sum;
    }

private:
    Vec<const Body*> free_;
    Vec<double> acceleration_;
};

UKEMI_END
