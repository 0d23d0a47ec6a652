// Hypothesis and check as Newton's method: Alart and Curnier (1991), full steps.
//
// z = r - u labels each block off (z_n <= 0: r = 0), stick (|z_t| <= mu z_n: u = 0) or slip (u_n = 0, r_t = mu z_n t,
// t = z_t / |z_t|); the equations of these labels are solved, and the labels are read again ([DF03] V, [CC00] 4.4).
#pragma once
#include "ncp_pass.hpp"

UKEMI_BEGIN

namespace ncp {

class Newton {
public:
    void resize(std::size_t n, std::size_t blocks) {
        r_.resize(n), u_.resize(n), f_.resize(n), step_.resize(n), laws_.resize(blocks);
    }

    /// At most `limit` steps from the best iterate of the pass.
    void solve(Pass& pass, int limit) {
        std::copy(pass.r.begin(), pass.r.end(), r_.begin()), std::copy(pass.u.begin(), pass.u.end(), u_.begin());
        for (int step = 0; step < limit && !pass.solved(); ++step) {
            for (std::size_t i = 0; i < laws_.size(); ++i) linearise(pass.blocks[i], laws_[i]);
            if (dropped_) {  // forces of what is off go at once; the others meet the motion without them
                dropped_ = false;
                pass.system.multiply(r_.data(), u_.data());
                for (std::size_t i = 0; i < u_.size(); ++i) u_[i] += pass.b[i];
            }
            for (std::size_t i = 0; i < laws_.size(); ++i) right_hand_side(pass.blocks[i], laws_[i]);
            ++pass.iterations;
            if (!pass.system.factor(laws_)) return;
            pass.system.solve(f_.data(), step_.data());
            for (std::size_t i = 0; i < r_.size(); ++i) r_[i] += step_[i];
            if (!std::isfinite(pass.offer(r_.data(), u_.data()))) return;
        }
    }

private:
    /// Derivatives of the equations at z = r - u. The radius mu z_n and direction of slip are kept in A, B and f.
    void linearise(const NcpBlock& block, Law& law) {
        double *r = r_.data() + block.row, *u = u_.data() + block.row, *f = f_.data() + block.row;
        const NcpLabel label = label_of(block, r, u);
        law = {};
        if (label == NcpLabel::off) {
            law.off = true;
            for (int k = 0; k < block.rows; ++k) dropped_ |= r[k] != 0, r[k] = 0, f[k] = 0;
            return;
        }
        law.B[0] = 1;
        f[0] = 0;
        if (block.rows == 1) return;
        if (label == NcpLabel::stick) {
            law.B[4] = law.B[8] = 1, f[1] = f[2] = 0;
            return;
        }
        const double z[3] = {r[0] - u[0], r[1] - u[1], r[2] - u[2]}, size = length(z[1], z[2]);
        const double t[2] = {z[1] / size, z[2] / size}, radius = block.mu * z[0], k = radius / size;  // k < 1
        // dr_t - mu t (dr_n - du_n) - k (1 - t t^T)(dr_t - du_t) = mu z_n t - r_t
        for (int i = 0; i < 2; ++i) {
            law.A[3 * (i + 1)] = -block.mu * t[i], law.B[3 * (i + 1)] = block.mu * t[i];
            for (int j = 0; j < 2; ++j) {
                const double across = k * ((i == j) - t[i] * t[j]);
                law.A[3 * (i + 1) + j + 1] = (i == j) - across, law.B[3 * (i + 1) + j + 1] = across;
            }
            f[i + 1] = radius * t[i] - r[i + 1];
            // z in f, as u may change where others are dropped: F_t(u) is linear with B
            for (int j = 0; j < 3; ++j) f[i + 1] += law.B[3 * (i + 1) + j] * u[j];
        }
    }
    /// f - B u: what the laws lack at the present motion.
    void right_hand_side(const NcpBlock& block, const Law& law) {
        if (law.off) return;
        const double* u = u_.data() + block.row;
        for (int i = 0; i < block.rows; ++i)
            for (int j = 0; j < block.rows; ++j) f_[static_cast<std::size_t>(block.row + i)] -= law.B[3 * i + j] * u[j];
    }

    Vec<double> r_, u_, f_, step_;
    Vec<Law> laws_;
    bool dropped_ = false;
};

}  // namespace ncp

UKEMI_END
