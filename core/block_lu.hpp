// LU of a sparse matrix whose pattern is symmetric, in blocks of four rows and columns: products of small dense blocks, of those
// alone that are not zero. Blocks with few neighbours go first (minimum degree; Tinney and Walker 1967).
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "four.hpp"
#include "level_vector.hpp"
#include "spatial.hpp"

UKEMI_BEGIN

class BlockLu {
public:
    static constexpr int size = 4;  // a row is a `Four`

    /// A matrix of so many blocks, none of which feels another yet.
    void clear(int blocks) {
        n_ = blocks;
        pattern_.assign(square(), 0);
        for (int i = 0; i < n_; ++i) pattern_[at(i, i)] = 1;
    }
    int blocks() const { return n_; }
    /// These blocks feel each other.
    void couple(const int* which, int count) {
        for (int a = 0; a < count; ++a)
            for (int b = 0; b < count; ++b) pattern_[at(which[a], which[b])] = 1;
    }
    /// The order of elimination, what it fills in, and room for it.
    void arrange() {
        order_.clear(), later_.clear(), begin_.assign(1, 0);
        left_.resize(static_cast<std::size_t>(n_));
        for (int i = 0; i < n_; ++i) left_[static_cast<std::size_t>(i)] = i;
        degree_.resize(left_.size());
        for (int i = 0; i < n_; ++i) degree_[static_cast<std::size_t>(i)] = static_cast<int>(std::count(pattern_.begin() + static_cast<std::ptrdiff_t>(at(i, 0)), pattern_.begin() + static_cast<std::ptrdiff_t>(at(i, 0)) + n_, 1));
        while (!left_.empty()) {
            const auto next = std::min_element(left_.begin(), left_.end(), [&](int a, int b) { return degree_[static_cast<std::size_t>(a)] < degree_[static_cast<std::size_t>(b)]; });
            const int k = *next;
            left_.erase(next);
            order_.push_back(k);
            for (const int i : left_)
                if (pattern_[at(k, i)]) later_.push_back(i);
            const auto first = later_.begin() + begin_.back();
            for (auto a = first; a != later_.end(); ++a) {
                --degree_[static_cast<std::size_t>(*a)];
                for (auto b = first; b != later_.end(); ++b)
                    if (!pattern_[at(*a, *b)]) pattern_[at(*a, *b)] = 1, ++degree_[static_cast<std::size_t>(*a)];
            }
            begin_.push_back(static_cast<int>(later_.size()));
        }
        place_.resize(square());
        int count = 0;
        for (std::size_t i = 0; i < square(); ++i)
            if (pattern_[i]) place_[i] = count++;
        values_.resize(static_cast<std::size_t>(count * size * size));
    }
    /// The unit matrix.
    void set_unit() {
        std::fill(values_.begin(), values_.end(), 0.0);
        for (int i = 0; i < n_; ++i)
            for (int k = 0; k < size; ++k) block(i, i)[k * size + k] = 1;
    }
    /// A block, row by row; only where the pattern has one.
    double* block(int i, int j) { return values_.data() + place_[at(i, j)] * size * size; }

    /// In place; false where a block on the diagonal has no inverse.
    bool factor() {
        double product[size * size];
        for (std::size_t p = 0; p < order_.size(); ++p) {
            const int k = order_[p];
            if (!invert(block(k, k))) return false;
            for (int a = begin_[p]; a < begin_[p + 1]; ++a) {
                const int i = later_[static_cast<std::size_t>(a)];
                double* L = block(i, k);
                std::fill(product, product + size * size, 0.0);
                subtract_product(L, block(k, k), product);
                for (int e = 0; e < size * size; ++e) L[e] = -product[e];
                for (int b = begin_[p]; b < begin_[p + 1]; ++b) subtract_product(L, block(k, later_[static_cast<std::size_t>(b)]), block(i, later_[static_cast<std::size_t>(b)]));
            }
        }
        return true;
    }
    void solve(double* b) {
        for (std::size_t p = 0; p < order_.size(); ++p)
            for (int a = begin_[p]; a < begin_[p + 1]; ++a) subtract_times(block(later_[static_cast<std::size_t>(a)], order_[p]), b + order_[p] * size, b + later_[static_cast<std::size_t>(a)] * size);
        for (std::size_t p = order_.size(); p-- > 0;) {
            const int k = order_[p];
            double* x = b + k * size;
            for (int a = begin_[p]; a < begin_[p + 1]; ++a) subtract_times(block(k, later_[static_cast<std::size_t>(a)]), b + later_[static_cast<std::size_t>(a)] * size, x);
            double y[size] = {};
            subtract_times(block(k, k), x, y);
            for (int i = 0; i < size; ++i) x[i] = -y[i];
        }
    }

private:
    std::size_t square() const { return static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_); }
    std::size_t at(int i, int j) const { return static_cast<std::size_t>(i) * static_cast<std::size_t>(n_) + static_cast<std::size_t>(j); }
    /// C -= A B
    UKEMI_INLINE static void subtract_product(const double* A, const double* B, double* C) {
        Four b[size], c;
        for (int s = 0; s < size; ++s) load(b[s], B + s * size);
        for (int r = 0; r < size; ++r) {
            load(c, C + r * size);
            for (int s = 0; s < size; ++s) c -= b[s] * A[r * size + s];
            store(c, C + r * size);
        }
    }
    /// y -= A x
    UKEMI_INLINE static void subtract_times(const double* A, const double* x, double* y) {
        Four a, b;
        load(b, x);
        for (int r = 0; r < size; ++r) load(a, A + r * size), y[r] -= sum(a * b);
    }
    /// By Gauss and Jordan, with exchanges of rows.
    static bool invert(double* A) {
        int row_of[size];
        for (int k = 0; k < size; ++k) {
            int best = k;
            for (int i = k + 1; i < size; ++i)
                if (std::fabs(A[i * size + k]) > std::fabs(A[best * size + k])) best = i;
            row_of[k] = best;
            if (best != k) std::swap_ranges(A + k * size, A + (k + 1) * size, A + best * size);
            if (!(std::fabs(A[k * size + k]) > 0)) return false;
            const double d = 1.0 / A[k * size + k];
            A[k * size + k] = 1;
            Four top, row;
            load(top, A + k * size);
            top = top * d;
            store(top, A + k * size);
            for (int i = 0; i < size; ++i) {
                if (i == k) continue;
                const double l = A[i * size + k];
                A[i * size + k] = 0;
                load(row, A + i * size);
                row -= top * l;
                store(row, A + i * size);
            }
        }
        for (int k = size - 1; k >= 0; --k)
            if (row_of[k] != k)
                for (int i = 0; i < size; ++i) std::swap(A[i * size + k], A[i * size + row_of[k]]);
        return true;
    }

    int n_ = 0;
    Vec<char> pattern_;
    Vec<int> place_, order_, later_, begin_, left_, degree_;
    Vec<double> values_;
};

UKEMI_END
