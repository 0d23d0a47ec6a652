// Tree-sparse factorisation of the inertia matrix: M = L^T D L with L as sparse as the tree (Featherstone, RBDA 6.5),
// in place of the lower triangle. The way to the root goes by runs of consecutive freedoms. Rows stand `ld` apart: freedoms of different
// trees have nothing in common, so that rows no longer than the largest tree do for many (`row_length`).
#pragma once
#include <algorithm>
#include <cstddef>

#include "dense.hpp"
#include "level_vector.hpp"
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

/// `above` rows of M from `top` on, less what `below` rows from `first` on take from them (already factorised among each
/// other): the entries of these in those columns become L's. Entries right of the diagonal are no one's, and are not kept.
template <int above, int below> UKEMI_INLINE void eliminate(const Tree& tree, double* M, std::ptrdiff_t ld, int first, const double* inverse, int top) {
    double *__restrict rows[above], *from[below], l[above][below];
    for (int k = 0; k < below; ++k) from[k] = M + (first + k) * ld;
    for (int i = 0; i < above; ++i) {
        rows[i] = M + (top + i) * ld;
        for (int k = 0; k < below; ++k) l[i][k] = from[k][top + i] * inverse[k];
    }
    for_each_run(tree, top + above - 1, [&](int begin, int end) {
        for (int j = begin; j < end; ++j)
            for (int i = 0; i < above; ++i) {
                double sum = l[i][0] * from[0][j];
                for (int k = 1; k < below; ++k) sum += l[i][k] * from[k][j];
                rows[i][j] -= sum;
            }
    });
    for (int i = 0; i < above; ++i)
        for (int k = 0; k < below; ++k) from[k][top + i] = l[i][k];
}

/// How far rows must be apart so that no two entries of one tree, nor of two, stand in the same place.
inline int row_length(const Tree& tree) {
    int longest = 0;
    Vec<int> first(static_cast<std::size_t>(tree.nv));  // freedom of the tree
    for (int k = 0; k < tree.nv; ++k) {
        const int up = tree.dof_parent[static_cast<std::size_t>(k)];
        first[static_cast<std::size_t>(k)] = up < 0 ? k : first[static_cast<std::size_t>(up)];
        longest = std::max(longest, k - first[static_cast<std::size_t>(k)] + 1);
    }
    return longest;
}

inline void factorize(const Tree& tree, double* M, std::ptrdiff_t ld) {
    for (auto b = tree.bodies.rbegin(); b != tree.bodies.rend(); ++b) {
        double inverse[6];  // of D
        for (int k = b->nv - 1; k >= 0; --k) {  // the joint's own rows
            const std::ptrdiff_t row = b->iv + k;
            inverse[k] = 1.0 / M[row * ld + row];
            for (int i = b->iv + k - 1; i >= b->iv; --i) eliminate<1, 1>(tree, M, ld, b->iv + k, inverse + k, i);
        }
        for (int a = b->parent; a >= 0; a = tree.bodies[static_cast<std::size_t>(a)].parent) {  // those above, by threes where they are three
            const Body& other = tree.bodies[static_cast<std::size_t>(a)];
            const int width = other.nv % 3 == 0 ? 3 : 1;
            for (int i = other.iv + other.nv - width; i >= other.iv; i -= width) {
                if (b->nv == 3) {
                    if (width == 3) eliminate<3, 3>(tree, M, ld, b->iv, inverse, i);
                    else eliminate<1, 3>(tree, M, ld, b->iv, inverse, i);
                    continue;
                }
                for (int k = b->nv - 1; k >= 0; --k) {
                    if (width == 3) eliminate<3, 1>(tree, M, ld, b->iv + k, inverse + k, i);
                    else eliminate<1, 1>(tree, M, ld, b->iv + k, inverse + k, i);
                }
            }
        }
    }
}

/// x := L^-1 x
inline void solve_lower(const Tree& tree, const double* L, std::ptrdiff_t ld, double* x) {
    for (int k = 0; k < tree.nv; ++k) {
        const double* row = L + k * ld;
        double sum = 0;
        for_each_run(tree, tree.dof_parent[static_cast<std::size_t>(k)], [&](int begin, int end) { sum += dot_product(row + begin, x + begin, end - begin); });
        x[k] -= sum;
    }
}

/// x := M^-1 x, with the factor above.
inline void solve(const Tree& tree, const double* L, std::ptrdiff_t ld, double* x) {
    const int n = tree.nv;
    const int* up = tree.dof_parent.data();
    for (int k = n - 1; k >= 0; --k) {
        const double* row = L + k * ld;
        const double from = x[k];
        for_each_run(tree, up[k], [&](int begin, int end) {
            for (int i = begin; i < end; ++i) x[i] -= row[i] * from;
        });
    }
    for (int k = 0; k < n; ++k) x[k] /= L[k * ld + k];
    solve_lower(tree, L, ld, x);
}

UKEMI_END
