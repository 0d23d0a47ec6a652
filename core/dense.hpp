// Small dense systems: LU with row exchanges, elimination with dependent rows left out, symmetric elimination.
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

/// Symmetric elimination, L D L^T: of the symmetric n x n matrix A (upper triangle, rows `ld` apart, columns up to ld) the
/// first `rows` rows and columns are eliminated from all others. Rows that depend on those before them (their pivot is below
/// `dependent_share` of the largest) are left out and get no share: `kept` tells.
inline void reduce_symmetric(double* A, int rows, int n, int ld, Vec<char>& kept) {
    constexpr double dependent_share = 1e-11;
    kept.resize(static_cast<std::size_t>(rows));
    double scale = 0;
    for (int i = 0; i < rows; ++i) scale = std::fmax(scale, A[i * ld + i]);
    for (int k = 0; k < rows; ++k) {
        const double* top = A + k * ld;
        kept[static_cast<std::size_t>(k)] = top[k] > dependent_share * scale;
        if (!kept[static_cast<std::size_t>(k)]) continue;
        const double d = 1.0 / top[k];
        for (int i = k + 1; i < n; ++i) {
            const double l = top[i] * d;
            if (l == 0) continue;
            double* row = A + i * ld;
            for (int j = i; j < ld; ++j) row[j] -= l * top[j];
        }
    }
}
/// What follows for the eliminated unknowns from the columns beyond them: x = column - (columns of others) times them.
inline void back_substitute(double* A, int rows, int ld, const Vec<char>& kept) {
    for (int k = rows - 1; k >= 0; --k) {
        double* top = A + k * ld;
        const double d = kept[static_cast<std::size_t>(k)] ? 1.0 / top[k] : 0.0;
        for (int j = rows; j < ld; ++j) top[j] *= d;
        for (int i = k + 1; i < rows; ++i) {
            const double l = top[i] * d;
            if (l == 0) continue;
            const double* row = A + i * ld;
            for (int j = rows; j < ld; ++j) top[j] -= l * row[j];
        }
    }
}

UKEMI_END
