// A primal-dual interior-point method on De Saxce's form, where Newton's labels go round in circles.
//
// X = (mu r_n, r_t) and Y = (u_n / mu + |u_t|, u_t) lie in the same round cone and are perpendicular. Both follow the
// central path X o Y = m e by Newton's steps, |u_t| included, with the scaling of Nesterov and Todd (1997) and the
// predictor and corrector of Mehrotra (1992). |u_t| has no derivative at rest and is rounded off while m is large.
#pragma once
#include "ncp_pass.hpp"

UKEMI_BEGIN

namespace ncp {

class InteriorPoint {
public:
    void resize(std::size_t n, std::size_t blocks) {
        for (Vec<double>* x : {&r_, &u_, &X_, &Y_, &dX_, &dY_, &lack_, &aim_, &f_, &step_}) x->resize(n);
        cones_.resize(blocks), laws_.resize(blocks);
    }
    /// At most `options.interior` steps from the middle of the cones; the pass keeps the best iterate.
    void solve(Pass& pass, const NcpOptions& options) {
        start(pass, options.interior_start);
        for (int step = 0; step < options.interior; ++step) {
            forces(pass);
            if (!std::isfinite(pass.offer(r_.data(), u_.data())) || pass.solved()) return;
            const double m = complementarity(pass);
            smooth_ = std::min(options.interior_smooth[0] * std::sqrt(m), options.interior_smooth[1] * m);
            ++pass.iterations;
            if (!linearise(pass) || !pass.system.factor(laws_)) return;
            find_aim(pass, 0.0, false);
            find_step(pass);
            const double far = longest(pass, 1.0), left = (1 - far) * (1 - far) * (1 - far);
            find_aim(pass, m * std::max(options.interior_centre, left), far > options.interior_correct);
            find_step(pass);
            const double length = longest(pass, options.interior_step);
            if (!(length > least_step)) return;
            for (std::size_t i = 0; i < X_.size(); ++i) X_[i] += length * dX_[i], Y_[i] += length * dY_[i];
        }
        forces(pass);
        pass.offer(r_.data(), u_.data());
    }

private:
    static constexpr double least_step = 1e-9;  // below, the path has ended
    /// W X = W^-1 Y = lambda; t: direction of the rounded |Y_t|, which it has the length of.
    struct Cone { double W[9], Wi[9], lambda[3], t[2], size; };

    static double mu_of(const NcpBlock& block) { return block.rows == 3 ? block.mu : 1.0; }

    void start(const Pass& pass, double far) {
        std::fill(X_.begin(), X_.end(), 0.0), std::fill(Y_.begin(), Y_.end(), 0.0);
        for (const NcpBlock& block : pass.blocks) {
            if (block.kind == NcpKind::bilateral) continue;
            X_[static_cast<std::size_t>(block.row)] = Y_[static_cast<std::size_t>(block.row)] = far;
        }
    }
    void forces(const Pass& pass) {
        r_ = X_;
        for (const NcpBlock& block : pass.blocks) r_[static_cast<std::size_t>(block.row)] /= mu_of(block);
    }
    /// Mean product of force and motion of a cone.
    double complementarity(const Pass& pass) const {
        double sum = 0;
        int count = 0;
        for (const NcpBlock& block : pass.blocks) {
            if (block.kind == NcpKind::bilateral) continue;
            ++count;
            for (int k = block.row; k < block.row + block.rows; ++k)
                sum += X_[static_cast<std::size_t>(k)] * Y_[static_cast<std::size_t>(k)];
        }
        return sum / std::max(1, count);
    }
    /// The scaling of every cone; du + A dr = f in the rows of r and u.
    bool linearise(const Pass& pass) {
        for (std::size_t i = 0; i < cones_.size(); ++i) {
            const NcpBlock& block = pass.blocks[i];
            const double *X = X_.data() + block.row, *Y = Y_.data() + block.row, *u = u_.data() + block.row;
            double* lack = lack_.data() + block.row;
            Cone& c = cones_[i];
            Law& law = laws_[i] = {};
            law.B[0] = law.B[4] = law.B[8] = 1;
            lack[0] = u[0] / mu_of(block) - Y[0];
            if (block.kind == NcpKind::bilateral) {
                lack[0] = u[0];
                continue;
            }
            if (block.rows == 1) {
                if (!(X[0] > 0) || !(Y[0] > 0)) return false;
                c.W[0] = std::sqrt(Y[0] / X[0]), c.Wi[0] = 1 / c.W[0], c.lambda[0] = std::sqrt(X[0] * Y[0]);
                law.A[0] = Y[0] / X[0];
                continue;
            }
            c.size = std::sqrt(Y[1] * Y[1] + Y[2] * Y[2] + smooth_ * smooth_);
            c.t[0] = c.size > 0 ? Y[1] / c.size : 0.0, c.t[1] = c.size > 0 ? Y[2] / c.size : 0.0;
            lack[0] += c.size, lack[1] = u[1] - Y[1], lack[2] = u[2] - Y[2];
            if (!scale(c, X, Y)) return false;
            // S N W^2 S with S = diag(mu, 1, 1) and N = 1 - e (0, t)^T
            double* A = law.A;
            for (int r = 0; r < 3; ++r)
                for (int j = 0; j < 3; ++j) {
                    A[3 * r + j] = 0;
                    for (int k = 0; k < 3; ++k) A[3 * r + j] += c.W[3 * r + k] * c.W[3 * k + j];
                }
            for (int j = 0; j < 3; ++j) A[j] = block.mu * (A[j] - c.t[0] * A[3 + j] - c.t[1] * A[6 + j]);
            for (int r = 0; r < 3; ++r) A[3 * r] *= block.mu;
        }
        return true;
    }
    /// Scaling of Nesterov and Todd: W X = W^-1 Y.
    static bool scale(Cone& c, const double* X, const double* Y) {
        const double x2 = determinant(X), y2 = determinant(Y);
        if (!(x2 > 0) || !(y2 > 0)) return false;
        const double x = std::sqrt(x2), y = std::sqrt(y2), beta = std::sqrt(y / x);
        double product = 1;
        for (int k = 0; k < 3; ++k) product += X[k] / x * (Y[k] / y);
        const double half = 1 / std::sqrt(2 * product);
        double v[3] = {(Y[0] / y + X[0] / x) * half + 1, (Y[1] / y - X[1] / x) * half, (Y[2] / y - X[2] / x) * half};
        const double unit = 1 / std::sqrt(2 * v[0]);
        for (double& e : v) e *= unit;
        for (int k = 0; k < 3; ++k)
            for (int j = 0; j < 3; ++j) {
                const double J = k != j ? 0.0 : k == 0 ? 1.0 : -1.0, flip = (k == 0) == (j == 0) ? 1.0 : -1.0;
                c.W[3 * k + j] = beta * (2 * v[k] * v[j] - J), c.Wi[3 * k + j] = (2 * flip * v[k] * v[j] - J) / beta;
            }
        times(c.W, X, c.lambda);
        return true;
    }
    /// W (lambda \ (centre e - lambda o lambda - corrector)): where dY + W^2 dX is to go.
    void find_aim(const Pass& pass, double centre, bool correct) {
        for (std::size_t i = 0; i < cones_.size(); ++i) {
            const NcpBlock& block = pass.blocks[i];
            const Cone& c = cones_[i];
            const double *dX = dX_.data() + block.row, *dY = dY_.data() + block.row, *l = c.lambda;
            double* aim = aim_.data() + block.row;
            if (block.kind == NcpKind::bilateral) continue;
            if (block.rows == 1) {
                aim[0] = c.W[0] * (centre - l[0] * l[0] - (correct ? dX[0] * dY[0] : 0.0)) / l[0];
                continue;
            }
            double product[3], d[3];
            multiply(l, l, product);
            d[0] = centre - product[0], d[1] = -product[1], d[2] = -product[2];
            if (correct) {
                double a[3], b[3];
                times(c.W, dX, a), times(c.Wi, dY, b);
                multiply(a, b, product);
                for (int k = 0; k < 3; ++k) d[k] -= product[k];
            }
            const double x = (l[0] * d[0] - l[1] * d[1] - l[2] * d[2]) / determinant(l);
            const double scaled[3] = {x, (d[1] - x * l[1]) / l[0], (d[2] - x * l[2]) / l[0]};
            times(c.W, scaled, aim);
        }
    }
    /// dX and dY of the present aims.
    void find_step(Pass& pass) {
        for (std::size_t i = 0; i < cones_.size(); ++i) {
            const NcpBlock& block = pass.blocks[i];
            const Cone& c = cones_[i];
            const double *lack = lack_.data() + block.row, *aim = aim_.data() + block.row;
            double* f = f_.data() + block.row;
            if (block.kind == NcpKind::bilateral) {
                f[0] = -lack[0];
            } else {
                f[0] = mu_of(block) * (aim[0] - lack[0]);
                if (block.rows == 3) {
                    f[0] -= block.mu * (c.t[0] * aim[1] + c.t[1] * aim[2]);
                    f[1] = aim[1] - lack[1], f[2] = aim[2] - lack[2];
                }
            }
        }
        pass.system.solve(f_.data(), dX_.data());
        for (std::size_t i = 0; i < cones_.size(); ++i) {
            const NcpBlock& block = pass.blocks[i];
            const Cone& c = cones_[i];
            const double* aim = aim_.data() + block.row;
            double *dX = dX_.data() + block.row, *dY = dY_.data() + block.row, once[3], twice[3];
            if (block.kind == NcpKind::bilateral) continue;
            dX[0] *= mu_of(block);
            if (block.rows == 1) {
                dY[0] = aim[0] - c.W[0] * c.W[0] * dX[0];
                continue;
            }
            times(c.W, dX, once), times(c.W, once, twice);
            for (int k = 0; k < 3; ++k) dY[k] = aim[k] - twice[k];
        }
    }
    /// Length of the step, at most 1, that goes `share` of the way to the border of a cone.
    double longest(const Pass& pass, double share) const {
        double best = 1;
        for (const NcpBlock& block : pass.blocks) {
            if (block.kind == NcpKind::bilateral) continue;
            const std::ptrdiff_t at = block.row;
            best = std::min({best, share * room(X_.data() + at, dX_.data() + at, block.rows),
                             share * room(Y_.data() + at, dY_.data() + at, block.rows)});
        }
        return best;
    }
    /// How far x + s d stays in its cone.
    static double room(const double* x, const double* d, int rows) {
        double best = d[0] < 0 ? -x[0] / d[0] : INFINITY;
        if (rows == 1) return best;
        // (x0 + s d0)^2 = |x_t + s d_t|^2: a s^2 + 2 b s + c = 0 with c > 0
        const double a = d[0] * d[0] - d[1] * d[1] - d[2] * d[2], b = x[0] * d[0] - x[1] * d[1] - x[2] * d[2],
                     c = determinant(x);
        const double under = b * b - a * c;
        if (under >= 0) {
            const double root = std::sqrt(under), q = -(b + (b >= 0 ? root : -root));
            for (const double s : {a != 0 ? q / a : INFINITY, q != 0 ? c / q : INFINITY})
                if (s > 0) best = std::min(best, s);
        }
        return best;
    }
    static double determinant(const double* x) {
        const double t = length(x[1], x[2]);
        return (x[0] - t) * (x[0] + t);
    }
    static void times(const double* A, const double* x, double* y) {
        for (int i = 0; i < 3; ++i) y[i] = A[3 * i] * x[0] + A[3 * i + 1] * x[1] + A[3 * i + 2] * x[2];
    }
    static void multiply(const double* a, const double* b, double* c) {  // Jordan product
        c[0] = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        c[1] = a[0] * b[1] + b[0] * a[1], c[2] = a[0] * b[2] + b[0] * a[2];
    }

    Vec<double> r_, u_, X_, Y_, dX_, dY_, lack_, aim_, f_, step_;
    Vec<Cone> cones_;
    Vec<Law> laws_;
    double smooth_ = 0;
};

}  // namespace ncp

UKEMI_END
