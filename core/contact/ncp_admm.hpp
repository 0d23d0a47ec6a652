// ADMM on De Saxce's form, the last resort: slow, but it gets near where the others fail.
//
// x minimises 1/2 x^T A x + (b + s)^T x, y is its copy in the cones, z in the dual cones their multiplier, which is u^
// in the end; s = mu |z_t| e_n follows z (Acary et al. 2011; the same splitting: Carpentier, Le Lidec, Montaut 2024).
#pragma once
#include "ncp_pass.hpp"

UKEMI_BEGIN

namespace ncp {

class Admm {
public:
    void resize(std::size_t n, std::size_t blocks) {
        for (Vec<double>* x : {&x_, &y_, &z_, &u_, &f_, &before_}) x->resize(n);
        laws_.resize(blocks);
    }
    /// At most `options.admm` iterations from the best iterate of the pass, which keeps the best.
    void solve(Pass& pass, const NcpOptions& options) {
        const std::size_t n = x_.size();
        y_ = pass.r;
        for (std::size_t i = 0; i < laws_.size(); ++i) {  // z: u^ of the best iterate, as far as it is a multiplier
            const NcpBlock& block = pass.blocks[i];
            const auto at = static_cast<std::size_t>(block.row);
            for (int k = 0; k < block.rows; ++k)
                z_[at + static_cast<std::size_t>(k)] = pass.u[at + static_cast<std::size_t>(k)];
            if (block.rows == 3) z_[at] += block.mu * length(z_[at + 1], z_[at + 2]);
            if (block.kind != NcpKind::bilateral) z_[at] = std::max(0.0, z_[at]);
        }
        double rho = options.admm_rho;
        if (!factor(pass, rho)) return;
        for (int i = 1; i <= options.admm; ++i) {
            ++pass.iterations;
            for (std::size_t k = 0; k < n; ++k) f_[k] = rho * y_[k] + z_[k] - pass.b[k];
            for (const NcpBlock& block : pass.blocks)
                if (block.rows == 3)
                    f_[static_cast<std::size_t>(block.row)] -=
                        block.mu * length(z_[static_cast<std::size_t>(block.row) + 1],
                                          z_[static_cast<std::size_t>(block.row) + 2]);
            pass.system.solve(f_.data(), x_.data());
            before_ = y_;
            double apart = 0, moved = 0;
            for (std::size_t k = 0; k < n; ++k) {
                apart = std::max(apart, std::fabs(x_[k] - y_[k]));
                x_[k] = options.admm_relaxation * x_[k] + (1 - options.admm_relaxation) * y_[k];
                f_[k] = x_[k] - z_[k] / rho;
            }
            for (const NcpBlock& block : pass.blocks) project(block, f_.data() + block.row, y_.data() + block.row);
            for (std::size_t k = 0; k < n; ++k)
                z_[k] -= rho * (x_[k] - y_[k]), moved = std::max(moved, rho * std::fabs(y_[k] - before_[k]));
            if (i % options.admm_balance != 0 && i != options.admm) continue;
            if (!std::isfinite(pass.offer(y_.data(), u_.data())) || pass.solved()) return;
            const double ratio = std::sqrt(std::max(apart, 1e-300) / std::max(moved, 1e-300));
            if (ratio > 0.5 && ratio < 2) continue;  // not worth a new factor
            rho = std::clamp(rho * std::clamp(ratio, 0.1, 10.0), 1e-8, 1e8);
            if (!factor(pass, rho)) return;
        }
    }

private:
    bool factor(Pass& pass, double rho) {
        for (Law& law : laws_) {
            law = {};
            for (int k = 0; k < 9; k += 4) law.A[k] = rho, law.B[k] = 1;
        }
        return pass.system.factor(laws_);
    }

    Vec<double> x_, y_, z_, u_, f_, before_;
    Vec<Law> laws_;
};

}  // namespace ncp

UKEMI_END
