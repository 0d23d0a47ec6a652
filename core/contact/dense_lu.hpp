// LU factors of a dense matrix with partial pivoting, by blocks of columns.
#pragma once
#include <algorithm>
#include <cmath>

#include "../level_vector.hpp"

UKEMI_BEGIN

class DenseLu {
public:
    /// The matrix to be filled (n x n, row-major); memory is kept from one to the next.
    double* start(int n) {
        n_ = n;
        const auto size = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
        if (a_.size() < size) a_.resize(size);
        if (pivot_.size() < static_cast<std::size_t>(n)) pivot_.resize(static_cast<std::size_t>(n));
        return a_.data();
    }
    /// Factors in place; false where a pivot vanishes.
    bool factor() {
        for (int first = 0; first < n_; first += panel) {
            const int end = std::min(n_, first + panel);
            if (!factor_panel(first, end)) return false;
            for (int i = first + 1; i < end; ++i)  // U of the rows of the panel
                for (int k = first; k < i; ++k) subtract(row(i), row(i)[k], row(k), end, n_);
            for (int begin = end; begin < n_; begin += tile) update(first, end, begin, std::min(n_, begin + tile));
        }
        return true;
    }
    /// b becomes A^-1 b.
    void solve(double* b) const {
        for (int i = 0; i < n_; ++i) std::swap(b[i], b[pivot_[static_cast<std::size_t>(i)]]);
        for (int i = 0; i < n_; ++i) b[i] -= dot(row(i), b, 0, i);
        for (int i = n_ - 1; i >= 0; --i) b[i] = (b[i] - dot(row(i), b, i + 1, n_)) / row(i)[i];
    }

private:
    static constexpr int panel = 32, tile = 128;  // 32 rows of 128 doubles fit the first-level cache

    double* row(int i) { return a_.data() + static_cast<std::ptrdiff_t>(i) * n_; }
    const double* row(int i) const { return a_.data() + static_cast<std::ptrdiff_t>(i) * n_; }

    bool factor_panel(int first, int end) {
        for (int k = first; k < end; ++k) {
            int best = k;
            for (int i = k + 1; i < n_; ++i)
                if (std::fabs(row(i)[k]) > std::fabs(row(best)[k])) best = i;
            pivot_[static_cast<std::size_t>(k)] = best;
            if (best != k) std::swap_ranges(row(k), row(k) + n_, row(best));
            const double pivot = row(k)[k];
            if (!(std::fabs(pivot) > 0) || !std::isfinite(pivot)) return false;
            for (int i = k + 1; i < n_; ++i) {
                if (row(i)[k] == 0) continue;
                subtract(row(i), row(i)[k] /= pivot, row(k), k + 1, end);
            }
        }
        return true;
    }
    static void subtract(double* to, double factor, const double* from, int begin, int end) {
        if (factor == 0) return;
        for (int j = begin; j < end; ++j) to[j] -= factor * from[j];
    }
    /// What the panel's columns take from columns begin..end of the rows below.
    void update(int first, int last, int begin, int end) {
        for (int i = last; i < n_; ++i) {
            double* to = row(i);
            int k = first;
            for (; k + 4 <= last; k += 4) {
                const double a = to[k], b = to[k + 1], c = to[k + 2], d = to[k + 3];
                if (a == 0 && b == 0 && c == 0 && d == 0) continue;
                const double *p = row(k), *q = row(k + 1), *r = row(k + 2), *s = row(k + 3);
                for (int j = begin; j < end; ++j) to[j] -= a * p[j] + b * q[j] + c * r[j] + d * s[j];
            }
            for (; k < last; ++k) subtract(to, to[k], row(k), begin, end);
        }
    }
    /// Four sums side by side: one would wait for each of its additions.
    static double dot(const double* a, const double* b, int begin, int end) {
        double s[4] = {0, 0, 0, 0};
        int i = begin;
        for (; i + 4 <= end; i += 4)
            for (int l = 0; l < 4; ++l) s[l] += a[i + l] * b[i + l];
        for (; i < end; ++i) s[0] += a[i] * b[i];
        return (s[0] + s[1]) + (s[2] + s[3]);
    }

    int n_ = 0;
    Vec<double> a_;
    Vec<int> pivot_;
};

UKEMI_END
