// Plain data of the whole-clip filter: what one call of a kernel reads and writes. docs/filter.md states the problem.
#pragma once
#include "../types.hpp"

namespace ukemi {

/// A figure with points that may touch the ground, and the units in which its root equations are weighed.
struct TrajectoryModel {
    const Tree* tree;
    int np;                      ///< candidate contact points
    const int* point_body;       ///< (np) the body that carries each
    double gravity[3];           ///< [m/s^2]
    double force_unit;           ///< body weight [N]
    double moment_unit;          ///< body weight times a third of the leg [N m]
};

/// A range of samples of a motion and what is known of the ground under its points.
/// n samples; arrays by sample.
struct TrajectorySamples {
    int n;
    const double *q, *v, *a;     ///< (n, nq), (n, nv), (n, nv)
    const double* place;         ///< (n, np, 3) the points in their bodies [m]
};

/// What the motion needs and where its points are.
struct TrajectoryKinematics {
    double* wrench;              ///< (n, 6) rate of momentum less gravity, about the root's origin, in units of body weight
    double *point, *velocity, *acceleration;  ///< (n, np, 3) in the world [m], [m/s], [m/s^2]
};

/// The force problem of every sample: min 1/2 l'R l + p'l + 1/2 ws (w + y/ws - G l)^2 - barrier sum log l, l >= 0, where
/// f = sum l_e (n + mu t_e) over four edges of the friction pyramid.
struct ForceProblem {
    int n, np;
    const double* wrench;        ///< (n, 6) in units
    const double* arm;           ///< (n, np, 3) from the root's origin to the point [m]
    const double* normal;        ///< (n, np, 3) of the ground
    const double* cost;          ///< (n, np) quadratic cost of an edge [1/BW^2]; negative: the point is not there
    const double* price;         ///< (n, np) linear price of the normal force [1/BW]
    const double* target;        ///< (n, np, 3) what f is drawn to, besides [BW]
    const double* line;          ///< (n, np, 3) direction of the leg, scaled so that its normal component is 1
    const double* stiffness;     ///< (n, 6) ws, weights of what the root equations lack [1/unit^2]
    double line_weight, rate_weight;
    double mu, barrier;
    double arm_unit;             ///< moment unit over force unit [m]
    const double* multiplier;    ///< (n, 6)
    double *lambda, *dual;       ///< (n, np, 4): edges and their bounds' multipliers; warm start and result
    double* force;               ///< (n, np, 3) [BW]
    double *residual, *pull;     ///< (n, 6): w - G l, and its derivative of the optimum: ws r + y
    double* weight;              ///< (n, 6, 6) Hessian of the optimum by the wrench
    double* response;            ///< (n, np, 3, 6) derivative of the forces by the wrench [BW/unit]
    double* value;               ///< (n) of the optimum
    int* iterations;             ///< (n)
};

/// One Gauss-Newton system of the motion: rows are gathered into the lower band of H (columns contiguous) and the gradient.
struct TrajectorySystem {
    int bases;                   ///< coefficients that a sample feels: 3 or 4
    const int* first;            ///< (n) the first of them
    const double* basis;         ///< (n, 3, bases) values, first and second derivatives
    const double *force;         ///< (n, np, 3) [BW]
    const double *known;         ///< (n, 3) sum of the forces that act besides, fixed in the world [BW]
    const double *pull, *weight; ///< (n, 6), (n, 6, 6) of the root rows
    const double *normal;        ///< (n, np, 3)
    const double *gap, *gap_weight;    ///< (n, np) [m], [1/m^2]
    double ahead_time;                 ///< [s] of the rows below: depths p + t v + t^2/2 a, between samples
    const double *ahead, *ahead_weight, *ahead_normal;  ///< (n, np) [m], (n, np) [1/m^2], (n, np, 3)
    const double *slip, *slip_weight;  ///< (n, np, 3) [m/s], (n, np) [s^2/m^2]
    const double *slip_rate, *slip_rate_weight;  ///< (n, np, 3) [m/s^2], (n, np) [s^4/m^2]
    const double *pose, *pose_weight;  ///< (n, nv) distances from the reference and their weights
    const double *rate, *rate_weight;
    const double *acceleration, *acceleration_weight;
    const double *torque, *torque_weight;  ///< (n, nv) what joints need beyond their limits [N m] or [N], 1/unit^2
    const double* response;      ///< (n, np, 3, 6) derivative of the forces by the wrench
    double inertia_weight;       ///< of e_a' M e_a
    double *band, *gradient;     ///< (knots nv, bases nv), (knots nv)
};

}  // namespace ukemi
