// Contact forces of one sample by a primal-dual interior-point method (Mehrotra's predictor and corrector).
//
// min 1/2 l'R l + p'l + 1/2 ws (w + y/ws - G l)^2,  l >= 0, ws diagonal. R is block-diagonal (4 x 4 per point), G has six rows, so that with
// s = ws (w - G l) + y a Newton step costs one 6 x 6 system:
//   D = R + Z/L,  (G D^-1 G' + ws^-1) ds = eta + G D^-1 rho,  dl = D^-1 (G' ds - rho).
#pragma once
#include <algorithm>
#include <cmath>

#include "../manifold.hpp"
#include "trajectory_data.hpp"

UKEMI_BEGIN

constexpr int max_live = 64;      // points of one sample that may bear
constexpr double keep_inside = 0.995;  // share of the way to the nearest bound
constexpr int force_steps = 40;   // of the interior-point method: 8 to 15 are usual

/// Cholesky factor in place (row-major, lower triangle) of a small symmetric matrix; false if it is not positive.
template <int N> UKEMI_INLINE bool small_cholesky(double* A) {
    for (int j = 0; j < N; ++j) {
        double d = A[j * N + j];
        for (int k = 0; k < j; ++k) d -= A[j * N + k] * A[j * N + k];
        if (!(d > 0)) return false;
        d = std::sqrt(d);
        A[j * N + j] = d;
        for (int i = j + 1; i < N; ++i) {
            double s = A[i * N + j];
            for (int k = 0; k < j; ++k) s -= A[i * N + k] * A[j * N + k];
            A[i * N + j] = s / d;
        }
    }
    return true;
}
template <int N> UKEMI_INLINE void small_solve(const double* L, double* x) {
    for (int i = 0; i < N; ++i) {
        for (int k = 0; k < i; ++k) x[i] -= L[i * N + k] * x[k];
        x[i] /= L[i * N + i];
    }
    for (int i = N - 1; i >= 0; --i) {
        for (int k = i + 1; k < N; ++k) x[i] -= L[k * N + i] * x[k];
        x[i] /= L[i * N + i];
    }
}

struct LivePoint {
    int index;
    double G[24];    // 6 x 4
    double R[16];    // quadratic cost of the edges
    double p[4];     // linear cost
    double E[12];    // 3 x 4 edges
    double l[4], z[4], D[16], DG[24], rho[4], dl[4], dz[4];
};

/// Fills what the step needs from (l, z, s): D's factor, D^-1 G', and the 6 x 6 matrix with its factor.
inline bool force_system(LivePoint* live, int count, const double* ws, double* S) {
    std::fill(S, S + 36, 0.0);
    for (int i = 0; i < 6; ++i) S[7 * i] = 1 / ws[i];
    for (int c = 0; c < count; ++c) {
        LivePoint& x = live[c];
        for (int i = 0; i < 16; ++i) x.D[i] = x.R[i];
        for (int e = 0; e < 4; ++e) x.D[5 * e] += x.z[e] / x.l[e];
        if (!small_cholesky<4>(x.D)) return false;
        for (int r = 0; r < 6; ++r) {
            double* column = x.DG + 4 * r;
            for (int e = 0; e < 4; ++e) column[e] = x.G[4 * r + e];
            small_solve<4>(x.D, column);
        }
        for (int i = 0; i < 6; ++i)
            for (int j = 0; j <= i; ++j) {
                double s = 0;
                for (int e = 0; e < 4; ++e) s += x.G[4 * i + e] * x.DG[4 * j + e];
                S[6 * i + j] += s;
            }
    }
    for (int i = 0; i < 6; ++i)
        for (int j = 0; j < i; ++j) S[6 * j + i] = S[6 * i + j];
    return true;
}

/// Newton's step towards the central path at `sigma`; `correct`: second-order terms of the predictor are taken off.
inline void force_direction(LivePoint* live, int count, const double* factor, const double* eta, double sigma, bool correct, double* ds, const double* s) {
    double right[6];
    std::copy(eta, eta + 6, right);
    for (int c = 0; c < count; ++c) {
        LivePoint& x = live[c];
        double rho[4];
        for (int e = 0; e < 4; ++e) {
            double r = x.p[e];
            for (int k = 0; k < 4; ++k) r += x.R[4 * e + k] * x.l[k];
            for (int i = 0; i < 6; ++i) r -= x.G[4 * i + e] * s[i];
            const double target = sigma - (correct ? x.dl[e] * x.dz[e] : 0.0);
            rho[e] = r - target / x.l[e];
            x.rho[e] = rho[e];
        }
        for (int i = 0; i < 6; ++i)
            for (int e = 0; e < 4; ++e) right[i] += x.DG[4 * i + e] * rho[e];
        if (correct)
            for (int e = 0; e < 4; ++e) x.dz[e] = sigma - x.dl[e] * x.dz[e];  // kept for the new dz below
    }
    std::copy(right, right + 6, ds);
    small_solve<6>(factor, ds);
    for (int c = 0; c < count; ++c) {
        LivePoint& x = live[c];
        double dl[4];
        for (int e = 0; e < 4; ++e) {
            dl[e] = -x.rho[e];
            for (int i = 0; i < 6; ++i) dl[e] += x.G[4 * i + e] * ds[i];
        }
        small_solve<4>(x.D, dl);
        for (int e = 0; e < 4; ++e) {
            const double target = correct ? x.dz[e] : sigma;
            x.dl[e] = dl[e];
            x.dz[e] = (target - x.z[e] * dl[e]) / x.l[e] - x.z[e];
        }
    }
}

/// Solves sample k of the problem; the result is written into the problem's arrays.
inline void solve_forces(const ForceProblem& f, int k, LivePoint* live) {
    const int np = f.np;
    const double* ws = f.stiffness + 6 * k;
    int count = 0;
    for (int i = 0; i < np; ++i) {
        const std::size_t at = static_cast<std::size_t>(k) * static_cast<std::size_t>(np) + static_cast<std::size_t>(i);
        double* force = f.force + 3 * at;
        force[0] = force[1] = force[2] = 0;
        if (f.cost[at] < 0 || count == max_live) continue;
        LivePoint& x = live[count++];
        x.index = i;
        const Vec3<double> n = read3(f.normal + 3 * at), arm = read3(f.arm + 3 * at) * (1 / f.arm_unit);
        const Vec3<double> seed = std::fabs(n.x) < 0.7 ? Vec3<double>{1, 0, 0} : Vec3<double>{0, 1, 0};
        Vec3<double> t1 = seed - n * dot(seed, n);
        t1 = t1 * (1 / std::sqrt(dot(t1, t1)));
        const Vec3<double> t2 = cross(n, t1), edges[4] = {n + t1 * f.mu, n - t1 * f.mu, n + t2 * f.mu, n - t2 * f.mu};
        const Vec3<double> line = read3(f.line + 3 * at), target = read3(f.target + 3 * at);
        Vec3<double> off[4];  // (1 - line n') e, what is off the leg's line
        for (int e = 0; e < 4; ++e) {
            off[e] = edges[e] - line * dot(n, edges[e]);
            const Vec3<double> moment = cross(arm, edges[e]);
            const double column[6] = {edges[e].x, edges[e].y, edges[e].z, moment.x, moment.y, moment.z};
            for (int r = 0; r < 6; ++r) x.G[4 * r + e] = column[r];
            x.E[e] = edges[e].x, x.E[4 + e] = edges[e].y, x.E[8 + e] = edges[e].z;
            x.p[e] = f.price[at] * dot(n, edges[e]) - f.rate_weight * dot(edges[e], target);
        }
        for (int e = 0; e < 4; ++e)
            for (int c = 0; c < 4; ++c)
                x.R[4 * e + c] = f.line_weight * dot(off[e], off[c]) + f.rate_weight * dot(edges[e], edges[c]) + (e == c ? f.cost[at] : 0.0);
        // a warm start keeps away from the bounds, so that what becomes needed can grow
        const double least = std::max(10 * f.barrier, 1e-6);
        for (int e = 0; e < 4; ++e) {
            x.l[e] = std::max(f.lambda[4 * at + static_cast<std::size_t>(e)], least);
            x.z[e] = std::max(f.dual[4 * at + static_cast<std::size_t>(e)], f.barrier / x.l[e]);
        }
    }
    const double *w = f.wrench + 6 * k, *y = f.multiplier + 6 * k;
    double s[6], S[36], factor[36], eta[6], ds[6];
    auto residual = [&](double* r) {
        std::copy(w, w + 6, r);
        for (int c = 0; c < count; ++c)
            for (int i = 0; i < 6; ++i)
                for (int e = 0; e < 4; ++e) r[i] -= live[c].G[4 * i + e] * live[c].l[e];
    };
    residual(eta);
    for (int i = 0; i < 6; ++i) s[i] = ws[i] * eta[i] + y[i];
    int steps = 0;
    for (; count && steps < force_steps; ++steps) {
        residual(eta);
        double off = 0, gap = 0, lack = 0;
        for (int i = 0; i < 6; ++i) eta[i] += (y[i] - s[i]) / ws[i], lack = std::max(lack, std::fabs(eta[i]));
        for (int c = 0; c < count; ++c) {
            const LivePoint& x = live[c];
            for (int e = 0; e < 4; ++e) {
                double r = x.p[e] - x.z[e];
                for (int m = 0; m < 4; ++m) r += x.R[4 * e + m] * x.l[m];
                for (int i = 0; i < 6; ++i) r -= x.G[4 * i + e] * s[i];
                lack = std::max(lack, std::fabs(r) / (1 + x.p[e] + x.R[5 * e]));
                gap += x.l[e] * x.z[e];
                off = std::max(off, std::fabs(x.l[e] * x.z[e] - f.barrier));
            }
        }
        gap /= 4 * count;
        if (lack < 1e-9 && off < 1e-2 * f.barrier) break;
        if (!force_system(live, count, ws, S)) break;
        std::copy(S, S + 36, factor);
        if (!small_cholesky<6>(factor)) break;
        // far from the path: Mehrotra's predictor straight for the bounds, and corrector; near it: plain Newton steps onto it
        const bool near = gap < 2 * f.barrier;
        force_direction(live, count, factor, eta, near ? f.barrier : 0.0, false, ds, s);
        auto longest = [&]() {
            double a = 1 / keep_inside;
            for (int c = 0; c < count; ++c)
                for (int e = 0; e < 4; ++e) {
                    if (live[c].dl[e] < 0) a = std::min(a, -live[c].l[e] / live[c].dl[e]);
                    if (live[c].dz[e] < 0) a = std::min(a, -live[c].z[e] / live[c].dz[e]);
                }
            return a;
        };
        if (!near) {
            const double reach = std::min(1.0, longest());
            double ahead = 0;
            for (int c = 0; c < count; ++c)
                for (int e = 0; e < 4; ++e) ahead += (live[c].l[e] + reach * live[c].dl[e]) * (live[c].z[e] + reach * live[c].dz[e]);
            ahead /= 4 * count;
            const double share = ahead / gap, sigma = std::max(f.barrier, gap * share * share * share);
            force_direction(live, count, factor, eta, sigma, true, ds, s);
        }
        const double step = keep_inside * longest();
        for (int c = 0; c < count; ++c)
            for (int e = 0; e < 4; ++e) live[c].l[e] += step * live[c].dl[e], live[c].z[e] += step * live[c].dz[e];
        for (int i = 0; i < 6; ++i) s[i] += step * ds[i];
    }
    f.iterations[k] = steps;
    double *r = f.residual + 6 * k, *pull = f.pull + 6 * k, *W = f.weight + 36 * k;
    residual(r);
    double value = 0;
    for (int i = 0; i < 6; ++i) {
        pull[i] = ws[i] * r[i] + y[i];
        value += pull[i] * pull[i] / (2 * ws[i]);
    }
    for (int c = 0; c < count; ++c) {
        const LivePoint& x = live[c];
        const std::size_t at = static_cast<std::size_t>(k) * static_cast<std::size_t>(np) + static_cast<std::size_t>(x.index);
        for (int e = 0; e < 4; ++e) {
            double quadratic = 0;
            for (int m = 0; m < 4; ++m) quadratic += x.R[4 * e + m] * x.l[m];
            value += x.l[e] * (0.5 * quadratic + x.p[e]) - f.barrier * std::log(x.l[e]);
            f.lambda[4 * at + static_cast<std::size_t>(e)] = x.l[e], f.dual[4 * at + static_cast<std::size_t>(e)] = x.z[e];
            for (int i = 0; i < 3; ++i) f.force[3 * at + static_cast<std::size_t>(i)] += x.E[4 * i + e] * x.l[e];
        }
        const Vec3<double> target = read3(f.target + 3 * at);
        value += 0.5 * f.rate_weight * dot(target, target);
    }
    f.value[k] = value;
    // W = (G D^-1 G' + 1/ws)^-1 by columns
    if (!force_system(live, count, ws, S)) std::fill(S, S + 36, 0.0);
    std::copy(S, S + 36, factor);
    const bool solid = small_cholesky<6>(factor);
    for (int i = 0; i < 6; ++i) {
        double column[6] = {0, 0, 0, 0, 0, 0};
        column[i] = solid ? 1.0 : 0.0;
        if (solid) small_solve<6>(factor, column);
        for (int j = 0; j < 6; ++j) W[6 * i + j] = column[j];
    }
    // an optimum's forces move with the wrench by E D^-1 G' W
    for (int c = 0; c < count; ++c) {
        const LivePoint& x = live[c];
        double* K = f.response + 18 * (static_cast<std::size_t>(k) * static_cast<std::size_t>(np) + static_cast<std::size_t>(x.index));
        for (int i = 0; i < 3; ++i) {
            double by_pull[6];
            for (int r = 0; r < 6; ++r) {
                by_pull[r] = 0;
                for (int e = 0; e < 4; ++e) by_pull[r] += x.E[4 * i + e] * x.DG[4 * r + e];
            }
            for (int j = 0; j < 6; ++j)
                for (int r = 0; r < 6; ++r) K[6 * i + j] += by_pull[r] * W[6 * r + j];
        }
    }
}

UKEMI_END
