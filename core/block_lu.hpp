// LU of a sparse matrix whose pattern is symmetric, in blocks of one to six rows: products of small dense blocks, of those alone that are
// not zero. Blocks with few neighbours go first (minimum degree; Tinney and Walker 1967).
//
// What a pivot k meets later stands beside it twice: as rows of U, and what is below it as rows of L^T. So all of it is updated in one
// way, U_ab -= L_ak U_kb and L^T_ab -= U^T_ak L^T_kb, four columns at a time.
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "four.hpp"
#include "level_vector.hpp"

UKEMI_BEGIN

class BlockLu {
public:
    static constexpr int most = 6;   // rows of a block
    static constexpr int lanes = 4;  // of a `Four`: in vectors a block has one or two
    struct alignas(32) Row { double x[lanes]; };
    /// Where U_kj begins; its rows are `stride` apart, and those of L^T_kj begin `below` farther on.
    struct Target { int start, stride, below; };

    /// A matrix of blocks of these sizes, none of which feels another yet.
    void clear(const Vec<int>& sizes) {
        sizes_ = sizes, n_ = static_cast<int>(sizes.size());
        words_ = (sizes.size() + 63) / 64;
        felt_.assign(sizes.size() * words_, 0);
    }
    /// These blocks feel each other.
    void couple(const int* which, int count) {
        for (int a = 0; a < count; ++a)
            for (int b = 0; b < count; ++b) felt_[word(which[a], which[b])] |= bit(which[b]);
    }
    /// The order of elimination, what it fills in, and room for it. From here on blocks are told by their places in this order.
    void arrange() {
        find_order();
        pivots_.clear(), columns_.clear(), later_.clear(), first_.assign(1, 0), start_.assign(at(n_, 0), -1);
        int end = 0;
        for (int k = 0; k < n_; ++k) first_.push_back(first_.back() + fours(sizes_[at(order_[at(k)])]));
        for (int k = 0; k < n_; ++k) {
            const int size = sizes_[at(order_[at(k)])];
            Pivot p{size, 0, end, static_cast<int>(later_.size()), 0, static_cast<int>(columns_.size()), 0};
            for_felt(order_[at(k)], [&](int block) { later_.push_back(place_[at(block)]); });
            p.later_end = static_cast<int>(later_.size());
            std::sort(later_.begin() + p.later, later_.end());
            start_[at(k, k)] = end;
            end += size * fours(size);
            for (int j = p.later; j < p.later_end; ++j) {
                start_[at(k, later_[at(j)])] = end + p.width;
                for (int f = first_[at(later_[at(j)])]; f < first_[at(later_[at(j)] + 1)]; ++f) columns_.push_back(lanes * f), ++p.width;
            }
            end += 2 * size * p.width;
            pivots_.push_back(p);
        }
        targets_.clear();
        for (Pivot& p : pivots_) {
            p.targets = static_cast<int>(targets_.size());
            for (int a = p.later; a < p.later_end; ++a) {
                const int* starts = start_.data() + at(later_[at(a)], 0);
                for (int b = a + 1; b < p.later_end; ++b)
                    for (int f = 0; f < width(later_[at(b)]); ++f) targets_.push_back(starts[later_[at(b)]] + f);
            }
        }
        values_.resize(at(end)), rows_.resize(at(most * n_));
    }
    /// The place in the order of a block as `clear` knew it.
    int place(int block) const { return place_[at(block)]; }
    /// Do these blocks, as `clear` knew them, feel each other, if only by what elimination fills in?
    bool couples(const int* which, int count) const {
        for (int a = 0; a < count; ++a)
            for (int b = 0; b < a; ++b)
                if (const auto [first, last] = std::minmax({place(which[a]), place(which[b])}); start_[at(first, last)] < 0) return false;
        return true;
    }
    int size(int k) const { return pivots_[at(k)].size; }
    int width(int k) const { return fours(size(k)); }  // in Fours
    /// Where a block begins in vectors, and how long these are.
    int first(int k) const { return lanes * first_[at(k)]; }
    int length() const { return lanes * first_.back(); }
    Target target(int k, int j) const {
        const Pivot& p = pivots_[at(k)];
        return {start_[at(k, j)], k == j ? fours(p.size) : p.width, p.size * p.width};
    }
    Row* values() { return values_.data(); }
    static int fours(int size) { return (size + lanes - 1) / lanes; }

    /// The unit matrix.
    void set_unit() {
        std::memset(values_.data(), 0, values_.size() * sizeof(Row));
        for (const Pivot& p : pivots_)
            for (int i = 0; i < p.size; ++i) values_[at(p.start + i * fours(p.size) + i / lanes)].x[i % lanes] = 1;
    }
    /// In place; false where a block on the diagonal has no inverse.
    bool factor() {
        for (std::size_t k = 0; k < pivots_.size(); ++k)
            if (!with_size(pivots_[k].size, [&](auto size) { return eliminate_pivot<size>(k); })) return false;
        return true;
    }
    void solve(double* b) const {
        for (std::size_t k = 0; k < pivots_.size(); ++k) with_size(pivots_[k].size, [&](auto size) { return forward<size>(k, b), true; });
        for (std::size_t k = pivots_.size(); k-- > 0;) with_size(pivots_[k].size, [&](auto size) { return back<size>(k, b), true; });
    }

private:
    /// `width`: Fours of all it meets later, which stand in `columns` of vectors; `start`: its own block, then its rows of U, then those of L^T.
    struct Pivot { int size, width, start, later, later_end, columns, targets; };

    static std::size_t at(int i) { return static_cast<std::size_t>(i); }
    std::size_t at(int i, int j) const { return at(i) * at(n_) + at(j); }
    std::size_t word(int i, int j) const { return at(i) * words_ + at(j) / 64; }
    static std::uint64_t bit(int j) { return std::uint64_t{1} << (j % 64); }
    template <class F> void for_felt(int k, F f) const {
        for (std::size_t w = 0; w < words_; ++w)
            for (std::uint64_t left = felt_[at(k) * words_ + w]; left; left &= left - 1) f(static_cast<int>(w * 64) + std::countr_zero(left));
    }
    /// f with the size of a block as a constant.
    template <class F> UKEMI_INLINE static bool with_size(int size, F&& f) {
        switch (size) {
            case 1: return f(std::integral_constant<int, 1>{});
            case 2: return f(std::integral_constant<int, 2>{});
            case 3: return f(std::integral_constant<int, 3>{});
            case 4: return f(std::integral_constant<int, 4>{});
            case 5: return f(std::integral_constant<int, 5>{});
            default: return f(std::integral_constant<int, most>{});
        }
    }
    /// `felt_` becomes what each block meets that is eliminated after it.
    void find_order() {
        order_.clear(), left_.clear(), place_.resize(at(n_)), degree_.resize(at(n_));
        auto find_degree = [&](int i) {
            degree_[at(i)] = 0;
            for (std::size_t w = 0; w < words_; ++w) degree_[at(i)] += std::popcount(felt_[at(i) * words_ + w]);
        };
        for (int i = 0; i < n_; ++i) left_.push_back(i), felt_[word(i, i)] &= ~bit(i), find_degree(i);
        while (!left_.empty()) {
            const auto next = std::min_element(left_.begin(), left_.end(), [&](int a, int b) { return degree_[at(a)] < degree_[at(b)]; });
            const int k = *next;
            *next = left_.back(), left_.pop_back();
            place_[at(k)] = static_cast<int>(order_.size()), order_.push_back(k);
            for_felt(k, [&](int i) {
                for (std::size_t w = 0; w < words_; ++w) felt_[at(i) * words_ + w] |= felt_[at(k) * words_ + w];
                felt_[word(i, i)] &= ~bit(i), felt_[word(i, k)] &= ~bit(k);
                find_degree(i);
            });
        }
    }

    template <int K> bool eliminate_pivot(std::size_t k) {
        const Pivot& p = pivots_[k];
        Row *own = values_.data() + p.start, *U = own + K * fours(K), *Lt = U + K * p.width;
        int* rows = rows_.data() + k * most;
        if (!eliminate<K>(own->x, rows)) return false;
        for (int f = 0; f < p.width; ++f) divide<K>(own->x, rows, Lt + f, p.width);
        const int* to = targets_.data() + p.targets;
        for (int i = p.later, a = 0; i < p.later_end; ++i) {
            const Pivot& q = pivots_[at(later_[at(i)])];
            const int wide = fours(q.size), below = q.size * q.width;
            for (int f = 0; f < wide; ++f) subtract<K, 1>(q.size, Lt[a].x, U + a + f, p.width, {values_.data() + q.start + f}, wide);
            int b = a + wide;
            for (; b + 1 < p.width; b += 2, to += 2) {
                Row *one = values_.data() + to[0], *other = values_.data() + to[1];
                subtract<K, 2>(q.size, Lt[a].x, U + b, p.width, {one, other}, q.width);
                subtract<K, 2>(q.size, U[a].x, Lt + b, p.width, {one + below, other + below}, q.width);
            }
            for (; b < p.width; ++b, ++to) {
                subtract<K, 1>(q.size, Lt[a].x, U + b, p.width, {values_.data() + *to}, q.width);
                subtract<K, 1>(q.size, U[a].x, Lt + b, p.width, {values_.data() + *to + below}, q.width);
            }
            a += wide;
        }
        return true;
    }
    template <int count> struct Rows { Row* row[count]; };
    /// Of `rows` rows of C: C -= A^T B, where A and B are K rows, `stride` apart, and the rows of C `step`.
    template <int K, int count> UKEMI_INLINE static void subtract(int rows, const double* A, const Row* B, int stride, Rows<count> C, int step) {
        Four b[count][K], c[count];
        for (int s = 0; s < K; ++s)
            for (int n = 0; n < count; ++n) load(b[n][s], B[s * stride + n].x);
        for (int r = 0; r < rows; ++r) {
            for (int n = 0; n < count; ++n) load(c[n], C.row[n][r * step].x);
            for (int s = 0; s < K; ++s)
                for (int n = 0; n < count; ++n) c[n] -= b[n][s] * A[s * stride * lanes + r];
            for (int n = 0; n < count; ++n) store(c[n], C.row[n][r * step].x);
        }
    }
    /// A = P^T L U, with exchanges of rows; on the diagonal the inverse of U's.
    template <int K> static bool eliminate(double* A, int* row_of) {
        constexpr int ld = (K + lanes - 1) / lanes * lanes;
        for (int k = 0; k < K; ++k) {
            int best = k;
            for (int i = k + 1; i < K; ++i)
                if (std::fabs(A[i * ld + k]) > std::fabs(A[best * ld + k])) best = i;
            row_of[k] = best;
            if (best != k) std::swap_ranges(A + k * ld, A + k * ld + K, A + best * ld);
            if (!(std::fabs(A[k * ld + k]) > 0)) return false;
            const double d = A[k * ld + k] = 1.0 / A[k * ld + k];
            for (int i = k + 1; i < K; ++i) {
                const double l = A[i * ld + k] *= d;
                for (int j = k + 1; j < K; ++j) A[i * ld + j] -= l * A[k * ld + j];
            }
        }
        return true;
    }
    /// A^-T B in place of B, of one Four of each row.
    template <int K> UKEMI_INLINE static void divide(const double* A, const int* row_of, Row* B, int stride) {
        constexpr int ld = (K + lanes - 1) / lanes * lanes;
        Four c[K];
        for (int k = 0; k < K; ++k) load(c[k], B[k * stride].x);
        for (int k = 0; k < K; ++k) {  // U^T
            c[k] = c[k] * A[k * ld + k];
            for (int j = k + 1; j < K; ++j) c[j] -= c[k] * A[k * ld + j];
        }
        for (int k = K - 1; k > 0; --k)  // L^T
            for (int j = 0; j < k; ++j) c[j] -= c[k] * A[k * ld + j];
        for (int k = 0; k < K; ++k) store(c[k], B[k * stride].x);
        for (int k = K - 1; k >= 0; --k)
            if (row_of[k] != k) std::swap(B[k * stride], B[row_of[k] * stride]);
    }
    template <int K> UKEMI_INLINE void forward(std::size_t k, double* b) const {
        const Pivot& p = pivots_[k];
        const Row* Lt = values_.data() + p.start + K * (fours(K) + p.width);
        const double* x = b + lanes * first_[k];
        for (int f = 0; f < p.width; ++f) {
            double* y = b + columns_[at(p.columns + f)];
            Four sum, row;
            load(sum, y);
            for (int s = 0; s < K; ++s) load(row, Lt[s * p.width + f].x), sum -= row * x[s];
            store(sum, y);
        }
    }
    template <int K> UKEMI_INLINE void back(std::size_t k, double* b) const {
        constexpr int ld = (K + lanes - 1) / lanes * lanes;
        const Pivot& p = pivots_[k];
        const Row* U = values_.data() + p.start + K * fours(K);
        const double* A = values_[at(p.start)].x;
        const int* row_of = rows_.data() + k * most;
        double *from = b + lanes * first_[k], x[ld] = {};
        Four sums[K] = {}, row, y;
        for (int f = 0; f < p.width; ++f) {
            load(y, b + columns_[at(p.columns + f)]);
            for (int s = 0; s < K; ++s) load(row, U[s * p.width + f].x), sums[s] += row * y;
        }
        for (int s = 0; s < K; ++s) x[s] = from[s] - sum(sums[s]);
        for (int s = 0; s < K; ++s)
            if (row_of[s] != s) std::swap(x[s], x[row_of[s]]);
        for (int s = 1; s < K; ++s)
            for (int j = 0; j < s; ++j) x[s] -= A[s * ld + j] * x[j];
        for (int s = K - 1; s >= 0; --s) {
            for (int j = s + 1; j < K; ++j) x[s] -= A[s * ld + j] * x[j];
            x[s] *= A[s * ld + s];
        }
        for (int s = 0; s < ld; s += lanes) store(Four{x[s], x[s + 1], x[s + 2], x[s + 3]}, from + s);  // whole: who loads it next need not wait for four stores
    }

    int n_ = 0;
    Vec<int> sizes_;                      // of the blocks
    std::size_t words_ = 0;               // of a row of `felt_`
    Vec<std::uint64_t> felt_;             // a bit for each block that a block feels
    Vec<int> order_, place_, left_, degree_;
    Vec<Pivot> pivots_;
    Vec<int> first_, later_, columns_;    // see Pivot
    Vec<int> start_;                      // of U_kj
    Vec<int> targets_;                    // of each pivot: where U_ab stands, for each a it meets and each Four of the b after a
    Vec<int> rows_;                       // exchanged in each pivot
    Vec<Row> values_;
};

UKEMI_END
