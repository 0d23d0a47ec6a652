// The problem of one pass of the proximal loop, and the best iterate that the inner methods have found of it.
#pragma once
#include "ncp_cone.hpp"
#include "ncp_system.hpp"

UKEMI_BEGIN

namespace ncp {

/// Scaled rows (unit mean diagonal of each W_ii): u = (W + eta) r + b.
struct Pass {
    DenseSystem system;
    Vec<NcpBlock> blocks;
    Vec<double> weight;   // of each block: its scaled speed as a share of max |q|
    Vec<double> b;
    double tolerance = 0;
    int iterations = 0;   // of all methods, of all passes

    Vec<double> r, u;     // the best iterate
    double residual = 0;

    /// max of the weighted natural map.
    double residual_of(const double* force, const double* motion) const {
        double worst = 0;
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            const double e =
                weight[i] * natural_residual(blocks[i], 1.0, force + blocks[i].row, motion + blocks[i].row);
            if (!(e <= worst)) worst = e;  // also what is not a number
        }
        return std::isfinite(worst) ? worst : INFINITY;
    }
    /// motion = (W + eta) force + b; keeps the iterate if it is the best. Returns its residual.
    double offer(const double* force, double* motion) {
        system.multiply(force, motion);
        const auto n = static_cast<std::size_t>(system.size());
        for (std::size_t i = 0; i < n; ++i) motion[i] += b[i];
        const double e = residual_of(force, motion);
        if (e < residual) {
            residual = e;
            std::copy(force, force + n, r.data()), std::copy(motion, motion + n, u.data());
        }
        return e;
    }
    bool solved() const { return residual <= tolerance; }
};

}  // namespace ncp

UKEMI_END
