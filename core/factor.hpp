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

/// Row i of M less what `count` rows below it (already factorised among each other) take: their entries in column i become those of L.
template <int count> UKEMI_INLINE void eliminate(const Tree& tree, double* M, int first, const double* inverse, int i) {
    const std::ptrdiff_t n = tree.nv;
    double *__restrict other = M + i * n, *rows[count], l[count];
    for (int k = 0; k < count; ++k) rows[k] = M + (first + k) * n, l[k] = rows[k][i] * inverse[k];
    for_each_run(tree, i, [&](int begin, int end) {
        for (int j = begin; j < end; ++j) {
            double sum = l[0] * rows[0][j];
            for (int k = 1; k < count; ++k) sum += l[k] * rows[k][j];
            other[j] -= sum;
        }
    });
    for (int k = 0; k < count; ++k) rows[k][i] = l[k];
}

inline void factorize(const Tree& tree, double* M) {
    const int* up = tree.dof_parent.data();
    for (auto b = tree.bodies.rbegin(); b != tree.bodies.rend(); ++b) {
        double inverse[6];  // of D
        for (int k = b->nv - 1; k >= 0; --k) {  // the joint's own rows
            const std::ptrdiff_t row = b->iv + k;
            inverse[k] = 1.0 / M[row * tree.nv + row];
            for (int i = b->iv + k - 1; i >= b->iv; --i) eliminate<1>(tree, M, b->iv + k, inverse + k, i);
        }
        for (int i = b->nv > 0 ? up[b->iv] : -1; i >= 0; i = up[i]) {  // those above, three at once where they are three
            if (b->nv == 3) eliminate<3>(tree, M, b->iv, inverse, i);
            else for (int k = b->nv - 1; k >= 0; --k) eliminate<1>(tree, M, b->iv + k, inverse + k, i);
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
