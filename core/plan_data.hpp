// Plain data of a centroidal plan, see plan.hpp.
#pragma once

namespace ukemi {

struct PlanData {
    int intervals, np;
    const double* h;          ///< length of each interval [s]
    const double* about;      ///< per interval, 6: c0 and F0 of the linearisation
    const double* share;      ///< per interval and point: 0 does not bear, up to 1 bears its share
    const double* place;      ///< per interval and point, 3
    const double* spin;       ///< per interval, 3: angular momentum of the reference
    const double* push;       ///< per interval, 6: the reference's whole force, and the weights of being off it along the axes
    const double* goal;       ///< per interval, 12: state at its end
    const double* start;      ///< 12
    double gravity[3], floor[9], mu;  ///< floor: normal and two tangents
    double weight[12], force_weight, last, tolerance;  ///< of the state, of forces, factor of the last state
    // results and work
    int *first, *pivot;
    double *B, *W, *D, *u, *z, *r, *du, *dz, *correct, *x, *P, *Y, *F, *affine, *V;
};

}  // namespace ukemi
