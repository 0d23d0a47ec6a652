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
        place_.resize(square()), targets_.clear();
        int count = 0;
        for (std::size_t p = 0; p < order_.size(); ++p) {  // what a pivot meets stands together: its own block, those beside it, those below it
            const int k = order_[p];
            const int *first = later_.data() + begin_[p], *last = later_.data() + begin_[p + 1];
            place_[at(k, k)] = count++;
            for (const int* j = first; j != last; ++j) place_[at(k, *j)] = count++;
            for (const int* i = first; i != last; ++i) place_[at(*i, k)] = count++;
        }
        for (std::size_t p = 0; p < order_.size(); ++p)
            for (int a = begin_[p]; a < begin_[p + 1]; ++a)
                for (int b = begin_[p]; b < begin_[p + 1]; ++b) targets_.push_back(place_[at(later_[static_cast<std::size_t>(a)], later_[static_cast<std::size_t>(b)])]);
        values_.resize(static_cast<std::size_t>(count)), rows_.resize(static_cast<std::size_t>(size * n_));
    }
    /// The unit matrix.
    void set_unit() {
        std::fill(values_.begin(), values_.end(), Block{});
        for (int i = 0; i < n_; ++i)
            for (int k = 0; k < size; ++k) block(i, i)[k * size + k] = 1;
    }
    /// A block, row by row; only where the pattern has one.
    double* block(int i, int j) { return values_[static_cast<std::size_t>(place_[at(i, j)])].x; }

    /// In place; false where a block on the diagonal has no inverse.
    bool factor() {
        const int* to = targets_.data();
        Block* pivot = values_.data();
        for (std::size_t p = 0; p < order_.size(); ++p) {
            const int m = begin_[p + 1] - begin_[p];
            const Block* beside = pivot + 1;
            Block* below = pivot + 1 + m;
            int* rows = rows_.data() + p * size;
            if (!eliminate(pivot->x, rows)) return false;
            for (int a = 0; a < m; ++a, to += m) {
                divide(below[a].x, pivot->x, rows);
                const Block& factor = below[a];
                int b = 0;
                for (; b + 1 < m; b += 2) subtract_products<2>(factor.x, beside + b, {&values_[static_cast<std::size_t>(to[b])], &values_[static_cast<std::size_t>(to[b + 1])]});
                if (b < m) subtract_products<1>(factor.x, beside + b, {&values_[static_cast<std::size_t>(to[b])]});
            }
            pivot += 1 + 2 * m;
        }
        return true;
    }
    void solve(double* b) const {
        const Block* pivot = values_.data();
        for (std::size_t p = 0; p < order_.size(); ++p) {
            const int m = begin_[p + 1] - begin_[p], *later = later_.data() + begin_[p];
            for (int a = 0; a < m; ++a) subtract_times(pivot[1 + m + a].x, b + order_[p] * size, b + later[a] * size);
            pivot += 1 + 2 * m;
        }
        for (std::size_t p = order_.size(); p-- > 0;) {
            const int m = begin_[p + 1] - begin_[p], *later = later_.data() + begin_[p];
            pivot -= 1 + 2 * m;
            double* x = b + order_[p] * size;
            for (int a = 0; a < m; ++a) subtract_times(pivot[1 + a].x, b + later[a] * size, x);
            substitute(pivot->x, rows_.data() + p * size, x);
        }
    }

private:
    std::size_t square() const { return static_cast<std::size_t>(n_) * static_cast<std::size_t>(n_); }
    std::size_t at(int i, int j) const { return static_cast<std::size_t>(i) * static_cast<std::size_t>(n_) + static_cast<std::size_t>(j); }
    struct alignas(64) Block { double x[size * size]; };
    template <int count> struct Targets { Block* block[count]; };
    /// C -= A B, of blocks B side by side
    template <int count> UKEMI_INLINE static void subtract_products(const double* A, const Block* B, const Targets<count>& C) {
        Four b[count][size], c[count];
        for (int k = 0; k < count; ++k)
            for (int s = 0; s < size; ++s) load(b[k][s], B[k].x + s * size);
        for (int r = 0; r < size; ++r) {
            for (int k = 0; k < count; ++k) load(c[k], C.block[k]->x + r * size);
            for (int s = 0; s < size; ++s)
                for (int k = 0; k < count; ++k) c[k] -= b[k][s] * A[r * size + s];
            for (int k = 0; k < count; ++k) store(c[k], C.block[k]->x + r * size);
        }
    }
    /// y -= A x
    UKEMI_INLINE static void subtract_times(const double* A, const double* x, double* y) {
        Four a, b;
        load(b, x);
        for (int r = 0; r < size; ++r) load(a, A + r * size), y[r] -= sum(a * b);
    }
    /// A = P^T L U, with exchanges of rows; on the diagonal the inverse of U's.
    static bool eliminate(double* A, int* row_of) {
        for (int k = 0; k < size; ++k) {
            int best = k;
            for (int i = k + 1; i < size; ++i)
                if (std::fabs(A[i * size + k]) > std::fabs(A[best * size + k])) best = i;
            row_of[k] = best;
            if (best != k) std::swap_ranges(A + k * size, A + (k + 1) * size, A + best * size);
            if (!(std::fabs(A[k * size + k]) > 0)) return false;
            const double d = A[k * size + k] = 1.0 / A[k * size + k];
            for (int i = k + 1; i < size; ++i) {
                const double l = A[i * size + k] *= d;
                for (int j = k + 1; j < size; ++j) A[i * size + j] -= l * A[k * size + j];
            }
        }
        return true;
    }
    /// B A^-1 in place of B.
    UKEMI_INLINE static void divide(double* B, const double* A, const int* row_of) {
        Four c[size];  // columns
        for (int k = 0; k < size; ++k) c[k] = Four{B[k], B[size + k], B[2 * size + k], B[3 * size + k]};
        for (int k = 0; k < size; ++k) {  // U
            c[k] = c[k] * A[k * size + k];
            for (int j = k + 1; j < size; ++j) c[j] -= c[k] * A[k * size + j];
        }
        for (int k = size - 1; k > 0; --k)  // L
            for (int j = 0; j < k; ++j) c[j] -= c[k] * A[k * size + j];
        for (int k = size - 1; k >= 0; --k)
            if (row_of[k] != k) std::swap(c[k], c[row_of[k]]);
        for (int r = 0; r < size; ++r) store(Four{c[0][r], c[1][r], c[2][r], c[3][r]}, B + r * size);
    }
    /// A^-1 x in place of x.
    static void substitute(const double* A, const int* row_of, double* x) {
        for (int k = 0; k < size; ++k) std::swap(x[k], x[row_of[k]]);
        for (int k = 1; k < size; ++k)
            for (int j = 0; j < k; ++j) x[k] -= A[k * size + j] * x[j];
        for (int k = size - 1; k >= 0; --k) {
            for (int j = k + 1; j < size; ++j) x[k] -= A[k * size + j] * x[j];
            x[k] *= A[k * size + k];
        }
    }

    int n_ = 0;
    Vec<char> pattern_;
    Vec<int> place_, order_, later_, begin_, left_, degree_, rows_;
    Vec<int> targets_;  // of the products of each pivot
    Vec<Block> values_;
};

UKEMI_END
