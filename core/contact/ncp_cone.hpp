// The friction cone: projection, De Saxce's shift, the natural map whose zeros are the solutions.
#pragma once
#include <algorithm>
#include <cmath>

#include "../level_vector.hpp"
#include "ncp_data.hpp"

UKEMI_BEGIN

namespace ncp {

inline double length(double x, double y) { return std::sqrt(x * x + y * y); }

/// P_K(z): the point of the block's cone nearest to z.
inline void project(const NcpBlock& block, const double* z, double* out) {
    if (block.kind == NcpKind::bilateral) {
        out[0] = z[0];
        return;
    }
    if (block.rows == 1) {
        out[0] = std::max(0.0, z[0]);
        return;
    }
    const double t = length(z[1], z[2]), mu = block.mu;
    if (t <= mu * z[0]) {
        std::copy(z, z + 3, out);
    } else if (mu * t <= -z[0]) {
        std::fill(out, out + 3, 0.0);
    } else {
        const double normal = (z[0] + mu * t) / (1 + mu * mu), share = mu * normal / t;
        out[0] = normal, out[1] = share * z[1], out[2] = share * z[2];
    }
}

/// F = D r - P_K(D r - u^), u^ = u + mu |u_t| e_n: zero where force and motion obey Coulomb's law. As speeds.
inline void natural_map(const NcpBlock& block, double D, const double* r, const double* u, double* F) {
    double z[3] = {0, 0, 0}, nearest[3];
    for (int i = 0; i < block.rows; ++i) z[i] = D * r[i] - u[i];
    if (block.rows == 3) z[0] -= block.mu * length(u[1], u[2]);
    project(block, z, nearest);
    for (int i = 0; i < block.rows; ++i) F[i] = D * r[i] - nearest[i];
}
/// Length of the natural map.
inline double natural_residual(const NcpBlock& block, double D, const double* r, const double* u) {
    double F[3] = {0, 0, 0};
    natural_map(block, D, r, u, F);
    return std::sqrt(F[0] * F[0] + F[1] * F[1] + F[2] * F[2]);
}

/// What z = r - u tells of a block: the hypothesis of Newton's next step.
inline NcpLabel label_of(const NcpBlock& block, const double* r, const double* u) {
    if (block.kind == NcpKind::bilateral) return NcpLabel::stick;
    const double normal = r[0] - u[0];
    if (!(normal > 0)) return NcpLabel::off;
    if (block.rows == 1 || length(r[1] - u[1], r[2] - u[2]) <= block.mu * normal) return NcpLabel::stick;
    return NcpLabel::slip;
}

}  // namespace ncp

UKEMI_END
