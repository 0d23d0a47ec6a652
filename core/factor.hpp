// Tree-sparse factorisation of the inertia matrix: M = L^T D L with L as sparse as the tree (Featherstone, RBDA 6.5),
// in place of the lower triangle.
#pragma once
#include <cstddef>

#include "level.hpp"
#include "types.hpp"

UKEMI_BEGIN

inline void factorize(const Tree& tree, double* M) {
    const int n = tree.nv;
    const int* up = tree.dof_parent.data();
    for (int k = n - 1; k >= 0; --k) {
        double* row = M + static_cast<std::ptrdiff_t>(k) * n;
        const double d = 1.0 / row[k];
        for (int i = up[k]; i >= 0; i = up[i]) {
            const double l = row[i] * d;
            double* other = M + static_cast<std::ptrdiff_t>(i) * n;
            for (int j = i; j >= 0; j = up[j]) other[j] -= l * row[j];
            row[i] = l;
        }
    }
}

/// x := M^-1 x, with the factor above.
inline void solve(const Tree& tree, const double* L, double* x) {
    const int n = tree.nv;
    const int* up = tree.dof_parent.data();
    for (int k = n - 1; k >= 0; --k) {
        const double* row = L + static_cast<std::ptrdiff_t>(k) * n;
        for (int i = up[k]; i >= 0; i = up[i]) x[i] -= row[i] * x[k];
    }
    for (int k = 0; k < n; ++k) {
        const double* row = L + static_cast<std::ptrdiff_t>(k) * n;
        x[k] /= row[k];
        for (int i = up[k]; i >= 0; i = up[i]) x[k] -= row[i] * x[i];
    }
}

UKEMI_END
