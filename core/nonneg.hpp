// min 1/2 x^T Q x - c^T x over x >= 0: the active-set method of Lawson and Hanson on the normal equations, started from
// the set that was active before. Finite, deterministic, exact to rounding.
#pragma once
#include <cmath>

#include "level.hpp"

UKEMI_BEGIN

/// Lower Cholesky factor in place (row-major, leading dimension ld). A pivot below `tiny` of its diagonal marks a row that
/// depends on those before it: it is raised to that share, which makes the row a very stiff wish instead of an equation.
inline void cholesky(double* A, int n, int ld, double tiny) {
    for (int i = 0; i < n; ++i) {
        double* a = A + static_cast<std::ptrdiff_t>(i) * ld;
        const double diagonal = a[i];
        for (int j = 0; j <= i; ++j) {
            const double* b = A + static_cast<std::ptrdiff_t>(j) * ld;
            double s = a[j];
            for (int k = 0; k < j; ++k) s -= a[k] * b[k];
            if (j < i) a[j] = b[j] > 0 ? s / b[j] : 0.0;
            else a[i] = std::sqrt(std::fmax(s, tiny * diagonal));
        }
    }
}
inline void forward_substitute(const double* L, int n, int ld, double* x) {
    for (int i = 0; i < n; ++i) {
        const double* l = L + static_cast<std::ptrdiff_t>(i) * ld;
        double s = x[i];
        for (int k = 0; k < i; ++k) s -= l[k] * x[k];
        x[i] = l[i] > 0 ? s / l[i] : 0.0;
    }
}
inline void back_substitute(const double* L, int n, int ld, double* x) {
    for (int i = n - 1; i >= 0; --i) {
        const double* l = L + static_cast<std::ptrdiff_t>(i) * ld;
        x[i] = l[i] > 0 ? x[i] / l[i] : 0.0;
        for (int k = 0; k < i; ++k) x[k] -= l[k] * x[i];
    }
}

/// Returns the number of factorisations. passive[i] != 0: x[i] may differ from zero; its value at the call is where the
/// search begins. work: n n + 3 n doubles, index: n.
inline int nonneg_least(const double* Q, const double* c, int n, double* x, int* passive, double* work, int* index) {
    double *L = work, *z = work + static_cast<std::ptrdiff_t>(n) * n, *w = z + n, scale = 0;
    for (int i = 0; i < n; ++i) scale = std::fmax(scale, std::fabs(c[i])), x[i] = 0;
    const double small = 1e-12 * scale;
    int count = 0, rounds = 0;
    auto minimise = [&] {  // over the passive set, into z
        count = 0;
        for (int i = 0; i < n; ++i)
            if (passive[i]) index[count++] = i;
        for (int i = 0; i < count; ++i) {
            for (int j = 0; j <= i; ++j) L[i * count + j] = Q[static_cast<std::ptrdiff_t>(index[i]) * n + index[j]];
            z[i] = c[index[i]];
        }
        cholesky(L, count, count, 1e-14);
        forward_substitute(L, count, count, z);
        back_substitute(L, count, count, z);
        ++rounds;
    };
    for (;;) {  // the set from before, without what became negative
        minimise();
        bool positive = true;
        for (int i = 0; i < count; ++i)
            if (!(z[i] > 0)) passive[index[i]] = 0, positive = false;
        if (positive) break;
    }
    for (int i = 0; i < count; ++i) x[index[i]] = z[i];
    for (int outer = 0; outer < 3 * n; ++outer) {
        int best = -1;
        double most = small;
        for (int i = 0; i < n; ++i) {
            if (passive[i]) continue;
            w[i] = c[i];
            for (int j = 0; j < count; ++j) w[i] -= Q[static_cast<std::ptrdiff_t>(i) * n + index[j]] * x[index[j]];
            if (w[i] > most) most = w[i], best = i;
        }
        if (best < 0) break;
        passive[best] = 1;
        for (int inner = 0; inner <= n; ++inner) {
            minimise();
            double step = 1;
            for (int i = 0; i < count; ++i) {
                const double from = x[index[i]];
                if (!(z[i] > 0)) step = std::fmin(step, from > 0 ? from / (from - z[i]) : 0.0);
            }
            for (int i = 0; i < count; ++i) {
                double& xi = x[index[i]];
                const bool leaves = !(z[i] > 0) && (xi <= 0 || xi / (xi - z[i]) <= step);
                xi += step * (z[i] - xi);
                if (leaves) xi = 0, passive[index[i]] = 0;
            }
            if (step >= 1) break;
        }
    }
    return rounds;
}

UKEMI_END
