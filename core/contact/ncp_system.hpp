// The linear systems of all inner methods: a law per block between changes of force and motion, and u = (W + eta) r.
//
// This is all that the methods know of W: another class with these functions (for example in the DOF of the trees,
// M + H^T A^-1 B H, where W would be large and full) can stand in its place.
#pragma once
#include "dense_lu.hpp"
#include "ncp_data.hpp"

UKEMI_BEGIN

namespace ncp {

/// A dr + B du = f of one block (leading rows x rows of row-major 3 x 3); `off`: dr = 0, its rows are left out.
struct Law {
    double A[9], B[9];
    bool off;
};

class DenseSystem {
public:
    /// W (n x n) and the blocks must stay; eta is added to the diagonal of W.
    void bind(int n, const double* W, const Vec<NcpBlock>& blocks) {
        n_ = n, W_ = W, blocks_ = &blocks;
        if (active_.size() < static_cast<std::size_t>(n))
            active_.resize(static_cast<std::size_t>(n)), y_.resize(static_cast<std::size_t>(n));
    }
    int size() const { return n_; }
    void set_eta(double eta) { eta_ = eta; }
    /// y = (W + eta) x, or W x.
    void multiply(const double* x, double* y, bool plain = false) const {
        const double eta = plain ? 0.0 : eta_;
        for (int i = 0; i < n_; ++i) y[i] = eta * x[i];
        for (int j = 0; j < n_; ++j) {  // columns are rows; most forces of a pile are zero
            const double s = x[j], *column = W_ + static_cast<std::ptrdiff_t>(j) * n_;
            if (s == 0) continue;
            for (int i = 0; i < n_; ++i) y[i] += s * column[i];
        }
    }
    /// Factors the system of these laws; false where it has no solution.
    bool factor(const Vec<Law>& laws) {
        rows_ = 0;
        for (std::size_t i = 0; i < blocks_->size(); ++i)
            for (int r = 0; r < (*blocks_)[i].rows && !laws[i].off; ++r)
                active_[static_cast<std::size_t>(rows_++)] = (*blocks_)[i].row + r;
        double* a = lu_.start(rows_);
        for (std::size_t i = 0; i < blocks_->size(); ++i) {
            const NcpBlock& block = (*blocks_)[i];
            if (laws[i].off) continue;
            for (int r = 0; r < block.rows; ++r, a += rows_) fill_row(block, laws[i], r, a);
        }
        a -= static_cast<std::ptrdiff_t>(rows_) * rows_;
        for (int i = 0, row = 0; row < rows_; ++i) {  // the blocks' own A
            const NcpBlock& block = (*blocks_)[static_cast<std::size_t>(i)];
            if (laws[static_cast<std::size_t>(i)].off) continue;
            for (int r = 0; r < block.rows; ++r)
                for (int c = 0; c < block.rows; ++c)
                    a[static_cast<std::ptrdiff_t>(row + r) * rows_ + row + c] +=
                        laws[static_cast<std::size_t>(i)].A[3 * r + c];
            row += block.rows;
        }
        return lu_.factor();
    }
    /// dr of the right-hand sides f; zero for blocks that are off.
    void solve(const double* f, double* dr) {
        for (int i = 0; i < rows_; ++i) y_[static_cast<std::size_t>(i)] = f[active_[static_cast<std::size_t>(i)]];
        lu_.solve(y_.data());
        std::fill(dr, dr + n_, 0.0);
        for (int i = 0; i < rows_; ++i) dr[active_[static_cast<std::size_t>(i)]] = y_[static_cast<std::size_t>(i)];
    }

private:
    /// Row r of B (W + eta), of the columns that are active.
    void fill_row(const NcpBlock& block, const Law& law, int r, double* a) const {
        const double* b = law.B + 3 * r;
        std::fill(a, a + rows_, 0.0);
        for (int k = 0; k < block.rows; ++k) {
            if (b[k] == 0) continue;
            const double* w = W_ + static_cast<std::ptrdiff_t>(block.row + k) * n_;
            for (int j = 0; j < rows_; ++j) a[j] += b[k] * w[active_[static_cast<std::size_t>(j)]];
        }
        for (int j = 0; j < rows_; ++j) {
            const int k = active_[static_cast<std::size_t>(j)] - block.row;
            if (k >= 0 && k < block.rows) a[j] += b[k] * eta_;
        }
    }

    int n_ = 0, rows_ = 0;
    double eta_ = 0;
    const double* W_ = nullptr;
    const Vec<NcpBlock>* blocks_ = nullptr;
    Vec<int> active_;  // rows that are not off
    Vec<double> y_;
    DenseLu lu_;
};

}  // namespace ncp

UKEMI_END
