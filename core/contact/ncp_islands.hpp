// The whole problem: islands (blocks that W joins) solved one by one in scaled rows, and the certificate.
#pragma once
#include "ncp_proximal.hpp"

UKEMI_BEGIN

namespace ncp {

/// Solves problems one after the other; memory is kept, nothing is allocated where an earlier one was as large.
class Solver {
public:
    void solve(const NcpProblem& problem, const NcpOptions& options, NcpSolution& out) {
        problem_ = &problem;
        find_responses();
        find_islands();
        out.iterations = out.passes = out.islands = 0, out.method = NcpMethod::newton;
        std::fill(out.r, out.r + problem.n, 0.0);
        for (int i = 0; i < problem.blocks; ++i)
            if (island_[static_cast<std::size_t>(i)] == i) solve_island(i, options, out);
        certify(out);
    }

private:
    const NcpBlock& block(int i) const { return problem_->block[i]; }
    const double* row(int i) const { return problem_->W + static_cast<std::ptrdiff_t>(i) * problem_->n; }

    /// D_i: mean diagonal of W_ii.
    void find_responses() {
        D_.resize(static_cast<std::size_t>(problem_->blocks));
        for (int i = 0; i < problem_->blocks; ++i) {
            double sum = 0;
            for (int r = block(i).row; r < block(i).row + block(i).rows; ++r) sum += row(r)[r];
            D_[static_cast<std::size_t>(i)] = sum / block(i).rows;
        }
    }
    /// Every block by the first one of its island.
    void find_islands() {
        island_.resize(static_cast<std::size_t>(problem_->blocks));
        for (int i = 0; i < problem_->blocks; ++i) island_[static_cast<std::size_t>(i)] = i;
        block_of_.resize(static_cast<std::size_t>(problem_->n));
        for (int i = 0; i < problem_->blocks; ++i)
            for (int r = 0; r < block(i).rows; ++r) block_of_[static_cast<std::size_t>(block(i).row + r)] = i;
        for (int a = 0; a < problem_->n; ++a)
            for (int b = 0; b < a; ++b)
                if (row(a)[b] != 0)
                    join(block_of_[static_cast<std::size_t>(a)], block_of_[static_cast<std::size_t>(b)]);
        for (int i = 0; i < problem_->blocks; ++i) island_[static_cast<std::size_t>(i)] = first(i);
    }
    int first(int i) const {
        while (island_[static_cast<std::size_t>(i)] != i) i = island_[static_cast<std::size_t>(i)];
        return i;
    }
    void join(int a, int b) {
        a = first(a), b = first(b);
        island_[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
    }
    /// r = sqrt(D) r of the island over its largest |q| so scaled; friction rows that have no friction are left out.
    void solve_island(int which, const NcpOptions& options, NcpSolution& out) {
        rows_.clear(), members_.clear();
        double fastest = 0, scale = 0;
        for (int i = which; i < problem_->blocks; ++i) {
            const double D = D_[static_cast<std::size_t>(i)];
            if (island_[static_cast<std::size_t>(i)] != which || !(D > 0))
                continue;  // what does not answer has no force
            members_.push_back(i);
            const int used = block(i).mu > 0 ? block(i).rows : 1;
            for (int r = block(i).row; r < block(i).row + block(i).rows; ++r) {
                if (r < block(i).row + used) rows_.push_back(r);
                const double speed = std::fabs(problem_->q[r]);
                fastest = std::max(fastest, speed), scale = std::max(scale, speed / std::sqrt(D));
            }
        }
        if (problem_->start)  // forces without anything that asks for them: what they do is the scale
            for (const int i : members_)
                for (int r = block(i).row; r < block(i).row + block(i).rows && fastest == 0; ++r)
                    scale = std::max(scale, std::fabs(problem_->start[r]) * std::sqrt(D_[static_cast<std::size_t>(i)]));
        if (scale == 0) return;
        if (fastest == 0)
            for (const int i : members_)
                fastest = std::max(fastest, scale * std::sqrt(D_[static_cast<std::size_t>(i)]));
        ++out.islands;
        const std::size_t n = rows_.size();
        loop_.resize(n, members_.size());
        unit_.resize(n);  // sqrt(D) of each row
        std::size_t at = 0;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const NcpBlock& b = block(members_[m]);
            const double unit = std::sqrt(D_[static_cast<std::size_t>(members_[m])]);
            const int used = b.mu > 0 ? b.rows : 1;
            loop_.pass.blocks[m] = {b.kind == NcpKind::contact && used == 1 ? NcpKind::unilateral : b.kind,
                                    static_cast<int>(at), used, b.mu};
            loop_.pass.weight[m] = unit * scale / fastest;
            for (int r = 0; r < used; ++r) unit_[at++] = unit;
        }
        for (std::size_t i = 0; i < n; ++i) {
            const int global = rows_[i];
            loop_.q[i] = problem_->q[global] / (unit_[i] * scale);
            loop_.r[i] = problem_->start ? problem_->start[global] * unit_[i] / scale : 0.0;
            const double* w = row(global);
            double* to = loop_.W.data() + i * n;
            for (std::size_t j = 0; j < n; ++j) to[j] = w[rows_[j]] / (unit_[i] * unit_[j]);
        }
        for (const NcpBlock& b : loop_.pass.blocks) {  // the centre is possible
            double in[3] = {0, 0, 0};
            std::copy(loop_.r.data() + b.row, loop_.r.data() + b.row + b.rows, in);
            project(b, in, loop_.r.data() + b.row);
        }
        loop_.solve(options);
        for (std::size_t i = 0; i < n; ++i) out.r[rows_[i]] = loop_.r[i] * scale / unit_[i];
        out.iterations += loop_.pass.iterations;
        out.passes = std::max(out.passes, loop_.passes), out.method = std::max(out.method, loop_.method);
    }
    /// u and labels of the forces, and how good they are.
    void certify(NcpSolution& out) const {
        const int n = problem_->n;
        double fastest = 0, before = 0, after = 0, worst = 0, bilateral = 0;
        for (int i = 0; i < n; ++i) out.u[i] = problem_->q[i], fastest = std::max(fastest, std::fabs(problem_->q[i]));
        for (int j = 0; j < n; ++j)
            for (int i = 0; i < n && out.r[j] != 0; ++i) out.u[i] += out.r[j] * row(j)[i];
        for (int k = 0; k < problem_->blocks; ++k) {
            const NcpBlock& b = block(k);
            const double D = D_[static_cast<std::size_t>(k)], e = natural_residual(b, D, out.r + b.row, out.u + b.row);
            if (!(e <= worst)) worst = e;
            if (b.kind == NcpKind::bilateral) bilateral = std::max(bilateral, std::fabs(out.u[b.row]));
            double z[3] = {0, 0, 0};
            for (int r = b.row; r < b.row + b.rows; ++r) {
                z[r - b.row] = D * out.r[r];
                after = std::max(after, std::fabs(D * out.r[r]));
                if (problem_->start) before = std::max(before, std::fabs(D * problem_->start[r]));
            }
            out.label[k] = label_of(b, z, out.u + b.row);
        }
        const double unit = fastest > 0 ? fastest : before > 0 ? before : 1.0;
        out.residual = worst / unit, out.bilateral = bilateral / unit, out.growth = after / std::max(unit, before);
    }

    const NcpProblem* problem_ = nullptr;
    Vec<double> D_, unit_;
    Vec<int> island_, block_of_, rows_, members_;  // of each block, of each row; of the present island
    ProximalLoop loop_;
};

}  // namespace ncp

UKEMI_END
