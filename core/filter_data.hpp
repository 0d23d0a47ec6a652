// Plain data of one step of the dynamics filter: what it is told, what it keeps, what it gives back.
//
// No functions here, as in types.hpp: the algorithm stands in filter.hpp, one copy per instruction-set level.
#pragma once
#include "types.hpp"

namespace ukemi {

/// A point of a body that may touch the floor. The tip of a sole prolongs it while it lies flat and gives way when it does not: it is
/// stopped by nothing and sent nowhere. A point of the seat goes where the body goes: it comes down gently where it should, but has
/// no place to go to; so do the pivot on which a foot turns, with points that glide beside it, and the ends of toes that bend at the
/// ball, which are kept on the floor but not in their place there. A hand, knee or elbow is a sole of one point that yields a little.
enum class PointKind { sole, tip, seat, pivot, glide, toe, hand };
struct FilterPoint { int body; Vec3<double> p; PointKind kind; };  // place in body coordinates

/// Gains and weights; accelerations of joints with weight 1 are the unit. The order is that of SETTINGS in bind_filter.cpp.
struct FilterSettings {
    double dt;                                 ///< time step [s]
    double mu;                                 ///< friction: forces stay in a pyramid inside this cone
    double regularisation;                     ///< of contact forces [1/N^2]
    double com_weight, com_kp, com_kd;         ///< centre of mass: weight of (m/s^2)^2
    double spin_weight, spin_k;                ///< angular momentum about it: weight of (N m)^2
    double swing_weight, swing_kp, swing_kd;   ///< points in the air: weight per point
    double land_weight, land_kp, land_kd;      ///< points that should be down and are not
    double land_touch;                         ///< speed with which they touch the floor [m/s]
    double land_brake;                         ///< they come down as fast as this deceleration can stop them at the floor [m/s^2]
    double land_speed;                         ///< but no faster than this [m/s]
    double brake_weight;                       ///< of points that slow down before the floor
    double near;                               ///< a point comes down only this near to where it should [m]
    double stick;                              ///< rate at which a stuck point returns to its place [1/s]
    double limit_time;                         ///< joints approach their limits no faster than the way left over this time [s]
};

/// The ground: a plane n . x = offset that may move in its own directions, and level boxes on it (x0, x1, y0, y1, z).
struct FilterFloor {
    Vec3<double> n, t1, t2, velocity;
    double offset;
    int boxes;
    const double* box;
};

/// What one step is told.
struct FilterInput {
    const double *q, *v, *a;     ///< reference: nq, nv, nv
    const double* share;         ///< per point: 0 is not to touch, up to 1 should and may carry its share of the load, below 0 may
    const double* shift;         ///< per point, 6: how far from its reference place it goes, and how fast that changes
    const double* centroid;      ///< 15: place, velocity, acceleration of the centre of mass; angular momentum and its rate
    const double* external;      ///< wrench per body in body coordinates, or null
};

struct FilterData {
    const Tree* tree;
    FilterSettings s;
    FilterFloor floor;
    double gravity[3], mass;
    int np;
    const FilterPoint* points;
    const double *kp, *kd, *weight;            ///< per velocity: joint feedback and weights (base: first six)
    const double *lower, *upper, *effort;      ///< per velocity: limits of one-freedom joints (spherical: angle in upper), torque limit
    // state
    double *q, *v;
    int* down;                                 ///< per point: stuck to the floor
    double* anchor;                            ///< per point, 3: where
    // results of a step
    double *a, *tau, *force, *impulse;         ///< nv, nv, 3 per point, 3 per point
    double com[3], com_velocity[3], spin[3];   ///< before the step
    int active_limits, iterations;
    // work memory
    int stride, max_rows;                      ///< nv rounded up to the pack, rows at most
    double *M, *bias, *goal, *rows, *scaled, *S, *rhs, *slack, *y, *lambda, *inverse;
    double *grasp, *reduced, *Q, *c, *edge, *nn_work, *response, *factor, *v_new, *slide;
    int *passive, *limit_rows, *nn_index;
    void *bodies, *reference, *crba, *rnea;    ///< one element per body each
    double *place, *velocity, *drift;          ///< per point, 3: in the world; drift: acceleration when the joints have none
    double *ref_place, *ref_velocity, *ref_acceleration;
    int* set;
};

}  // namespace ukemi
