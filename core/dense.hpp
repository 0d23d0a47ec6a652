// Small dense systems: LU with row exchanges.
#pragma once
#include <algorithm>
#include <cmath>

#include "level.hpp"
#include "level_vector.hpp"

UKEMI_BEGIN

/// A = P L U in place (n x n, row-major); false where a pivot vanishes.
inline bool lu_factor(double* A, int n, Vec<int>& pivots) {
    pivots.resize(static_cast<std::size_t>(n));
    for (int k = 0; k < n; ++k) {
        int best = k;
        for (int i = k + 1; i < n; ++i)
            if (std::fabs(A[i * n + k]) > std::fabs(A[best * n + k])) best = i;
        pivots[static_cast<std::size_t>(k)] = best;
        if (best != k) std::swap_ranges(A + k * n, A + (k + 1) * n, A + best * n);
        if (!(std::fabs(A[k * n + k]) > 0)) return false;
        const double d = 1.0 / A[k * n + k];
        const double* top = A + k * n;
        for (int i = k + 1; i < n; ++i) {
            double* row = A + i * n;
            const double l = row[k] *= d;
            if (l == 0) continue;
            for (int j = k + 1; j < n; ++j) row[j] -= l * top[j];
        }
    }
    return true;
}
inline void lu_solve(const double* A, int n, const Vec<int>& pivots, double* b) {
    for (int k = 0; k < n; ++k) std::swap(b[k], b[pivots[static_cast<std::size_t>(k)]]);
    for (int i = 0; i < n; ++i) {
        double s = b[i];
        for (int j = 0; j < i; ++j) s -= A[i * n + j] * b[j];
        b[i] = s;
    }
    for (int i = n - 1; i >= 0; --i) {
        double s = b[i];
        for (int j = i + 1; j < n; ++j) s -= A[i * n + j] * b[j];
        b[i] = s / A[i * n + i];
    }
}

UKEMI_END
