// The outer loop: a proximal point around the last forces, and in each pass Newton, interior point, ADMM in turn.
//
// A pass solves u = W r + q + eta (r - c): positive definite however many rows depend on each other, near the centre c
// where the motion leaves forces open. The centre moves until W r + q itself is met (Rockafellar 1976). What answers
// with lambda comes nearer by eta / (eta + lambda) a pass, so eta is only cut where that is slow (mass ratios), and by
// as little as Newton's labels follow from pass to pass. Rows that contradict each other let forces grow by 1 / cut
// for nothing: such a pass is taken back.
#pragma once
#include "ncp_admm.hpp"
#include "ncp_interior_point.hpp"
#include "ncp_newton.hpp"

UKEMI_BEGIN

namespace ncp {

class ProximalLoop {
public:
    /// Scaled problem of an island, filled by the caller: blocks, weights, and these.
    Pass pass;
    Vec<double> W, q, r;  // r: centre in, solution out
    int passes = 0;
    double residual = 0;
    NcpMethod method = NcpMethod::newton;

    void resize(std::size_t n, std::size_t blocks) {
        W.resize(n * n), q.resize(n), r.resize(n);
        for (Vec<double>* x : {&pass.b, &pass.r, &pass.u, &u_, &centre_}) x->resize(n);
        pass.blocks.resize(blocks), pass.weight.resize(blocks);
        newton_.resize(n, blocks), interior_.resize(n, blocks), admm_.resize(n, blocks);
    }
    void solve(const NcpOptions& options) {
        pass.system.bind(static_cast<int>(q.size()), W.data(), pass.blocks);
        pass.iterations = passes = 0, method = NcpMethod::newton;
        residual = residual_of(r);
        double eta = options.eta, cut = options.eta_cut, before = 0, last = residual, size = std::max(1.0, largest(r));
        bool sure = false;  // the last pass was solved
        int fallen = 0;
        centre_ = r;
        while (passes < options.passes) {
            ++passes;
            begin(options, eta);
            const int done = pass.iterations;
            newton_.solve(pass, options.newton);
            const bool easy = pass.iterations - done <= options.newton / 4;
            if (!pass.solved()) {
                if (sure && before > eta && cut < options.last_cut) {  // too far from the last pass
                    cut = std::sqrt(cut), eta = before * cut;
                    continue;
                }
                if (fallen++ == options.fall_backs) return;
                fall_back(options);
            }
            const double e = residual_of(pass.r), grown = largest(pass.r);
            const bool worth = before == 0 || e <= 0.5 * residual || grown <= options.growth * size;
            if (e < residual && worth) residual = e, size = std::max(1.0, grown), r = pass.r;
            if (residual <= options.tolerance || (before > eta && e > options.stalled * last)) return;
            if (easy && pass.solved())
                cut = std::max(options.eta_cut, cut * cut);  // as steps of integrators grow again
            sure = pass.solved(), before = eta, centre_ = pass.r;
            if (e * e > options.tolerance * last) eta *= cut;  // one more pass like this one would not do
            last = e;
        }
    }

private:
    /// The problem of a pass around the centre.
    void begin(const NcpOptions& options, double eta) {
        pass.system.set_eta(eta);
        pass.tolerance = options.inner_share * options.tolerance;
        for (std::size_t i = 0; i < q.size(); ++i) pass.b[i] = q[i] - eta * centre_[i];
        pass.residual = INFINITY;
        pass.offer(centre_.data(), u_.data());
    }
    void fall_back(const NcpOptions& options) {
        method = std::max(method, NcpMethod::interior);
        interior_.solve(pass, options);
        newton_.solve(pass, options.newton);
        if (pass.solved()) return;
        method = NcpMethod::admm;
        admm_.solve(pass, options);
        newton_.solve(pass, options.newton);
    }
    /// Of the problem itself, without the proximal term.
    double residual_of(const Vec<double>& force) {
        pass.system.multiply(force.data(), u_.data(), true);
        for (std::size_t i = 0; i < u_.size(); ++i) u_[i] += q[i];
        return pass.residual_of(force.data(), u_.data());
    }
    static double largest(const Vec<double>& x) {
        double most = 0;
        for (const double e : x) most = std::max(most, std::fabs(e));
        return most;
    }

    Vec<double> u_, centre_;
    Newton newton_;
    InteriorPoint interior_;
    Admm admm_;
};

}  // namespace ncp

UKEMI_END
