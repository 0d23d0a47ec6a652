// Small dense systems: elimination with dependent rows left out, symmetric elimination.
#pragma once
#include <algorithm>
#include <cmath>

#include "level_vector.hpp"
#include "spatial.hpp"

UKEMI_BEGIN

/// Four sums side by side: one would wait for each of its additions.
inline double dot_product(const double* a, const double* b, int n) {
    double s[4] = {0, 0, 0, 0};
    int i = 0;
    for (; i + 4 <= n; i += 4)
        for (int l = 0; l < 4; ++l) s[l] += a[i + l] * b[i + l];
    for (; i < n; ++i) s[0] += a[i] * b[i];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

/// Solves A x = b (n x n, row-major, destroyed). Rows that depend on others get no force: their pivots are below
/// `dependent_share` of the largest entry that the elimination started with.
inline void solve_rows(double* A, double* b, int n, double* x, Vec<int>& columns) {
    constexpr double dependent_share = 1e-11;
    columns.resize(static_cast<std::size_t>(n));
    double scale = 0;
    for (int i = 0; i < n; ++i) columns[static_cast<std::size_t>(i)] = i, x[i] = 0, scale = std::fmax(scale, std::fabs(A[i * n + i]));
    int rank = n;
    for (int k = 0; k < n; ++k) {
        int pr = k, pc = k;
        double best = 0;
        for (int i = k; i < n; ++i)
            if (std::fabs(A[i * n + k]) > best) best = std::fabs(A[i * n + k]), pr = i;
        if (best <= 1e-6 * scale) {  // a weak column: look everywhere
            for (int i = k; i < n; ++i)
                for (int j = k; j < n; ++j)
                    if (std::fabs(A[i * n + j]) > best) best = std::fabs(A[i * n + j]), pr = i, pc = j;
            if (best <= dependent_share * scale) {
                rank = k;
                break;
            }
        }
        if (pr != k) {
            for (int j = 0; j < n; ++j) std::swap(A[k * n + j], A[pr * n + j]);
            std::swap(b[k], b[pr]);
        }
        if (pc != k) {
            for (int i = 0; i < n; ++i) std::swap(A[i * n + k], A[i * n + pc]);
            std::swap(columns[static_cast<std::size_t>(k)], columns[static_cast<std::size_t>(pc)]);
        }
        const double d = 1.0 / A[k * n + k];
        for (int i = k + 1; i < n; ++i) {
            const double l = A[i * n + k] * d;
            if (l == 0) continue;
            for (int j = k + 1; j < n; ++j) A[i * n + j] -= l * A[k * n + j];
            b[i] -= l * b[k];
        }
    }
    for (int k = rank - 1; k >= 0; --k) {
        double s = b[k];
        for (int j = k + 1; j < rank; ++j) s -= A[k * n + j] * x[columns[static_cast<std::size_t>(j)]];
        x[columns[static_cast<std::size_t>(k)]] = s / A[k * n + k];
    }
}

/// Exchanges two unknowns i < j of a symmetric matrix (n x n, row-major, upper triangle).
inline void exchange_symmetric(double* A, int n, int i, int j) {
    for (int r = 0; r < i; ++r) std::swap(A[r * n + i], A[r * n + j]);
    for (int r = i + 1; r < j; ++r) std::swap(A[i * n + r], A[r * n + j]);
    for (int c = j + 1; c < n; ++c) std::swap(A[i * n + c], A[j * n + c]);
    std::swap(A[i * n + i], A[j * n + j]);
}
/// Eliminates the first `rows` unknowns of a symmetric system (L D L^T; n x n, row-major, upper triangle): what is left of the
/// others stands in their triangle, how the eliminated follow from them in the upper right block, 1 / D on the diagonal. Weak
/// ones come last; those that depend on the others (their pivot is below `dependent_share` of the largest) get no share: 1 / D
/// is 0. `order`: the unknowns as they stand.
inline void reduce_symmetric(double* A, int rows, int n, Vec<int>& order) {
    constexpr double weak_share = 1e-6, dependent_share = 1e-11;
    order.resize(static_cast<std::size_t>(rows));
    double scale = 0;
    for (int i = 0; i < rows; ++i) order[static_cast<std::size_t>(i)] = i, scale = larger(scale, A[i * n + i]);
    for (int k = 0; k < rows; ++k) {
        double* top = A + k * n;
        if (top[k] <= weak_share * scale) {
            int best = k;
            for (int i = k + 1; i < rows; ++i)
                if (A[i * n + i] > A[best * n + best]) best = i;
            if (best != k) exchange_symmetric(A, n, k, best), std::swap(order[static_cast<std::size_t>(k)], order[static_cast<std::size_t>(best)]);
        }
        const double d = top[k] = top[k] > dependent_share * scale ? 1.0 / top[k] : 0.0;
        for (int i = k + 1; i < n; ++i) {
            const double l = top[i] * d;
            if (l == 0) continue;
            double* row = A + i * n;
            for (int j = i; j < n; ++j) row[j] -= l * top[j];
        }
    }
    for (int k = rows - 1; k >= 0; --k) {
        double* top = A + k * n;
        for (int j = rows; j < n; ++j) top[j] *= top[k];
        for (int i = k + 1; i < rows; ++i) {
            const double l = top[i] * top[k], *row = A + i * n;
            if (l == 0) continue;
            for (int j = rows; j < n; ++j) top[j] -= l * row[j];
        }
    }
}
/// Solves for the eliminated unknowns alone, x := A^-1 x.
inline void solve_reduced(const double* A, int rows, int n, double* x) {
    for (int k = 0; k < rows; ++k) {
        const double *top = A + k * n, l = x[k] * top[k];
        for (int i = k + 1; i < rows; ++i) x[i] -= l * top[i];
    }
    for (int k = rows - 1; k >= 0; --k) {
        const double* top = A + k * n;
        x[k] = (x[k] - dot_product(top + k + 1, x + k + 1, rows - k - 1)) * top[k];
    }
}

UKEMI_END
