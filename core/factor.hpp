// Tree-sparse factorisation of the inertia matrix: M = L^T D L with L as sparse as the tree (Featherstone, RBDA 6.5),
// in place of the lower triangle. The way to the root goes by runs of consecutive freedoms.
#pragma once
#include <cstddef>

#include "dense.hpp"
#include "types.hpp"

UKEMI_BEGIN

/// f(begin, end) for every run of freedoms from `dof` to the root.
template <class F> UKEMI_INLINE void for_each_run(const Tree& tree, int dof, F&& f) {
    while (dof >= 0) {
        const int begin = tree.dof_run[static_cast<std::size_t>(dof)];
        f(begin, dof + 1);
        dof = tree.dof_parent[static_cast<std::size_t>(begin)];
    }
}

inline void factorize(const Tree& tree, double* M) {
    const int n = tree.nv;
    const int* up = tree.dof_parent.data();
    for (int k = n - 1; k >= 0; --k) {
        double* row = M + static_cast<std::ptrdiff_t>(k) * n;
        const double d = 1.0 / row[k];
        for (int i = up[k]; i >= 0; i = up[i]) {
            const double l = row[i] * d;
            double* __restrict other = M + static_cast<std::ptrdiff_t>(i) * n;
            for_each_run(tree, i, [&](int begin, int end) {
                for (int j = begin; j < end; ++j) other[j] -= l * row[j];
            });
            row[i] = l;
        }
    }
}

/// x := L^-1 x
inline void solve_lower(const Tree& tree, const double* L, double* x) {
    const int n = tree.nv;
    for (int k = 0; k < n; ++k) {
        const double* row = L + static_cast<std::ptrdiff_t>(k) * n;
        double sum = 0;
        for_each_run(tree, tree.dof_parent[static_cast<std::size_t>(k)], [&](int begin, int end) { sum += dot_product(row + begin, x + begin, end - begin); });
        x[k] -= sum;
    }
}

/// x := M^-1 x, with the factor above.
inline void solve(const Tree& tree, const double* L, double* x) {
    const int n = tree.nv;
    const int* up = tree.dof_parent.data();
    for (int k = n - 1; k >= 0; --k) {
        const double* row = L + static_cast<std::ptrdiff_t>(k) * n;
        const double from = x[k];
        for_each_run(tree, up[k], [&](int begin, int end) {
            for (int i = begin; i < end; ++i) x[i] -= row[i] * from;
        });
    }
    for (int k = 0; k < n; ++k) x[k] /= L[static_cast<std::ptrdiff_t>(k) * n + k];
    solve_lower(tree, L, x);
}

UKEMI_END
