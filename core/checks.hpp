// Checks of whole arrays at the border, quick enough to run over every batch; what is wrong is looked for only afterwards.
#pragma once
#include <cmath>
#include <cstddef>

#include "level.hpp"
#include "types.hpp"

UKEMI_BEGIN

/// Products with zero are zero unless something is not finite; several sums at a time keep the adders busy.
inline bool all_finite(const double* x, std::ptrdiff_t n) {
    double sums[16] = {};
    std::ptrdiff_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (int k = 0; k < 16; ++k) sums[k] += x[i + k] * 0.0;
    for (; i < n; ++i) sums[i % 16] += x[i] * 0.0;
    double sum = 0;
    for (double s : sums) sum += s;
    return sum == 0;
}
/// Whether all quaternions of these states are unit, within 1e-6 of the square.
inline bool unit_quaternions(const Tree& tree, const double* q, std::ptrdiff_t states) {
    double worst = 0;
    for (std::ptrdiff_t s = 0; s < states; ++s, q += tree.nq) {
        for (int i : tree.quaternions) {
            const double off = std::fabs(q[i] * q[i] + q[i + 1] * q[i + 1] + q[i + 2] * q[i + 2] + q[i + 3] * q[i + 3] - 1.0);
            worst = off > worst ? off : worst;
        }
    }
    return worst <= 1e-6;
}

UKEMI_END
