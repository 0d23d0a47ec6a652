// Centroidal plan: how the centre of mass and the angular momentum can follow a reference over a window of time, given which
// points may bear on the floor and where they are.
//
// Per unit mass: state x = (c, v, l, t): centre of mass, velocity, angular momentum, and its excess over the reference added up
// over time, which is how far the body has turned from it. Forces are constant over each interval, a sum of the edges of friction
// pyramids, u >= 0.
//   c+ = c + h v + h^2/2 (F + g),  v+ = v + h (F + g),  l+ = l + h (sum (p_i - c0) x f_i - (c - c0) x F0),
//   t+ = t + h (l - l_ref)
// where (c0, F0) is what the product of place and force is linearised about. Cost: squares of x - x_ref, of u and of F - F_ref. Solved by a
// primal-dual interior-point method (Mehrotra's predictor and corrector) whose Newton steps are Riccati recursions: linear in
// the number of intervals, and with H = D + rho B_v^T B_v, D = weights + z/u diagonal, only 12 x 12 matrices are inverted:
//   P_k = Q + A^T P (1 + Y P)^-1 A,  Y = B H^-1 B^T.
// B_v = h E are the rows of B for the velocity, rho = weights of F - F_ref over h, a diagonal: as F = E u, that cost costs one 3 x 3
// matrix.  H^-1 = D^-1 - D^-1 B_v^T C B_v D^-1,  C = s (1 + s B_v D^-1 B_v^T s)^-1 s,  s^2 = rho  (Woodbury).
#pragma once
#include <cmath>

#include "manifold.hpp"
#include "plan_data.hpp"

UKEMI_BEGIN

constexpr int NX = 12, VC = 3 * NX + 9;  // of the state; of V and C

/// LU factor with partial pivoting of a matrix of the state's size, in place.
inline void lu(double* A, int* pivot) {
    for (int k = 0; k < NX; ++k) {
        int best = k;
        for (int i = k + 1; i < NX; ++i)
            if (std::fabs(A[i * NX + k]) > std::fabs(A[best * NX + k])) best = i;
        pivot[k] = best;
        if (best != k)
            for (int j = 0; j < NX; ++j) { const double t = A[k * NX + j]; A[k * NX + j] = A[best * NX + j], A[best * NX + j] = t; }
        const double d = 1 / A[k * NX + k];
        for (int i = k + 1; i < NX; ++i) {
            const double l = A[i * NX + k] *= d;
            for (int j = k + 1; j < NX; ++j) A[i * NX + j] -= l * A[k * NX + j];
        }
    }
}
inline void lu_solve(const double* A, const int* pivot, double* x) {
    for (int k = 0; k < NX; ++k) { const double t = x[k]; x[k] = x[pivot[k]], x[pivot[k]] = t; }
    for (int i = 0; i < NX; ++i)
        for (int j = 0; j < i; ++j) x[i] -= A[i * NX + j] * x[j];
    for (int i = NX - 1; i >= 0; --i) {
        for (int j = i + 1; j < NX; ++j) x[i] -= A[i * NX + j] * x[j];
        x[i] /= A[i * NX + i];
    }
}

/// The same for NX right-hand sides, the rows of X one after another.
inline void lu_solve_all(const double* A, const int* pivot, double* X) {
    auto less = [&](int i, int j) {
        const double a = A[i * NX + j];
        for (int c = 0; c < NX; ++c) X[i * NX + c] -= a * X[j * NX + c];
    };
    for (int k = 0; k < NX; ++k)
        for (int c = 0; pivot[k] != k && c < NX; ++c) { const double t = X[k * NX + c]; X[k * NX + c] = X[pivot[k] * NX + c], X[pivot[k] * NX + c] = t; }
    for (int i = 0; i < NX; ++i)
        for (int j = 0; j < i; ++j) less(i, j);
    for (int i = NX - 1; i >= 0; --i) {
        for (int j = i + 1; j < NX; ++j) less(i, j);
        const double d = 1 / A[i * NX + i];
        for (int c = 0; c < NX; ++c) X[i * NX + c] *= d;
    }
}

struct PlanStep {  // one interval: A in parts, B by columns
    const PlanData& d;
    int k;
    double h;
    Vec3<double> c0, F0;
    PlanStep(const PlanData& data, int i) : d(data), k(i), h(data.h[i]), c0(read3(data.about + 6 * i)), F0(read3(data.about + 6 * i + 3)) {}
    /// y = A x
    void forward(const double* x, double* y) const {
        const Vec3<double> c = read3(x), v = read3(x + 3), l = read3(x + 6), t = read3(x + 9);
        write3(y, c + v * h), write3(y + 3, v), write3(y + 6, l - cross(c, F0) * h), write3(y + 9, t + l * h);
    }
    /// y = A^T x
    void backward(const double* x, double* y) const {
        const Vec3<double> c = read3(x), v = read3(x + 3), l = read3(x + 6), t = read3(x + 9);
        write3(y, c - cross(F0, l) * h), write3(y + 3, c * h + v), write3(y + 6, l + t * h), write3(y + 9, t);  // (a x F)^T = F x
    }
    /// C x
    Vec3<double> softened(const Vec3<double>& x) const {
        const double* C = d.V + VC * k + 3 * NX;
        return {dot(read3(C), x), dot(read3(C + 3), x), dot(read3(C + 6), x)};
    }
    int first() const { return d.first[k]; }
    int last() const { return d.first[k + 1]; }
    /// what the interval adds by itself: gravity, and the linearisation
    void drift(double* y) const {
        const Vec3<double> g = read3(d.gravity);
        write3(y, g * (0.5 * h * h)), write3(y + 3, g * h), write3(y + 6, cross(c0, F0) * h), write3(y + 9, read3(d.spin + 3 * k) * -h);
    }
};

/// Columns of B: what a unit along each edge does to the state.
inline void plan_columns(const PlanData& d) {
    int e = 0;
    for (int k = 0; k < d.intervals; ++k) {
        const PlanStep step(d, k);
        d.first[k] = e;
        for (int p = 0; p < d.np; ++p) {
            const double share = d.share[k * d.np + p];
            if (!(share > 0)) continue;
            const Vec3<double> arm = read3(d.place + 3 * (k * d.np + p)) - step.c0;
            const Vec3<double> n = read3(d.floor), a = read3(d.floor + 3) * d.mu, b = read3(d.floor + 6) * d.mu;
            for (const Vec3<double>& f : {n + a, n - a, n + b, n - b}) {
                double* B = d.B + NX * e;
                write3(B, f * (0.5 * step.h * step.h)), write3(B + 3, f * step.h), write3(B + 6, cross(arm, f) * step.h), write3(B + 9, zero3<double>());
                d.W[e++] = d.force_weight * step.h / (share * share);
            }
        }
    }
    d.first[d.intervals] = e;
}

/// Weights of the state at the end of interval k.
inline double state_weight(const PlanData& d, int k, int i) { return d.weight[i] * (k == d.intervals - 1 ? d.last : 1.0) * d.h[k]; }

inline void plan_roll(const PlanData& d) {
    double y[NX], add[NX];
    for (int i = 0; i < NX; ++i) d.x[i] = d.start[i];
    for (int k = 0; k < d.intervals; ++k) {
        const PlanStep step(d, k);
        step.forward(d.x + NX * k, y), step.drift(add);
        for (int i = 0; i < NX; ++i) y[i] += add[i];
        for (int e = step.first(); e < step.last(); ++e)
            for (int i = 0; i < NX; ++i) y[i] += d.B[NX * e + i] * d.u[e];
        for (int i = 0; i < NX; ++i) d.x[NX * (k + 1) + i] = y[i];
    }
}

/// P, Y and the factor of 1 + Y P for every interval, from D.
inline void plan_factor(const PlanData& d) {
    double* P = d.P + NX * NX * d.intervals;  // of the state at the end of the interval
    for (int i = 0; i < NX * NX; ++i) P[i] = 0;
    for (int i = 0; i < NX; ++i) P[i * NX + i] = state_weight(d, d.intervals - 1, i);
    for (int k = d.intervals - 1; k >= 0; --k) {
        const PlanStep step(d, k);
        double *Y = d.Y + NX * NX * k, *F = d.F + NX * NX * k;
        for (int i = 0; i < NX * NX; ++i) Y[i] = 0;
        for (int e = step.first(); e < step.last(); ++e) {
            const double *b = d.B + NX * e, w = 1 / d.D[e];
            for (int i = 3; i < 9; ++i)  // velocity and angular momentum; the turn is not pushed
                for (int j = 3; j < 9; ++j) Y[i * NX + j] += w * b[i] * b[j];
        }
        for (int i = 0; i < 3; ++i)  // the place goes h/2 times as far as the velocity changes
            for (int j = 3; j < 9; ++j) Y[i * NX + j] = Y[j * NX + i] = 0.5 * step.h * Y[(i + 3) * NX + j];
        for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) Y[i * NX + j] = 0.5 * step.h * Y[i * NX + 3 + j];
        // V = B D^-1 B_v^T, then C
        double* V = d.V + VC * k;
        for (int i = 0; i < NX; ++i)
            for (int j = 0; j < 3; ++j) V[3 * i + j] = Y[i * NX + 3 + j];
        const double *w = d.push + 6 * k + 3, *y = Y + 3 * NX + 3;
        const Vec3<double> s{std::sqrt(w[0] / step.h), std::sqrt(w[1] / step.h), std::sqrt(w[2] / step.h)};  // of rho
        const Sym3<double> C = inverse(Sym3<double>{1 + s.x * s.x * y[0], s.x * s.y * y[1], s.x * s.z * y[2], 1 + s.y * s.y * y[NX + 1], s.y * s.z * y[NX + 2], 1 + s.z * s.z * y[2 * NX + 2]});
        write3(V + 3 * NX, Vec3<double>{C.xx * s.x, C.xy * s.y, C.xz * s.z} * s.x), write3(V + 3 * NX + 3, Vec3<double>{C.xy * s.x, C.yy * s.y, C.yz * s.z} * s.y);
        write3(V + 3 * NX + 6, Vec3<double>{C.xz * s.x, C.yz * s.y, C.zz * s.z} * s.z);
        for (int i = 0; i < NX; ++i) {
            const Vec3<double> c = step.softened(read3(V + 3 * i));
            for (int j = 0; j < NX; ++j) Y[i * NX + j] -= dot(c, read3(V + 3 * j));
        }
        P = d.P + NX * NX * (k + 1);
        auto times_P = [&](const double* M, double* to) {  // to += M P; the rows of P are contiguous
            for (int i = 0; i < NX; ++i)
                for (int l = 0; l < NX; ++l)
                    for (int j = 0; j < NX; ++j) to[i * NX + j] += M[i * NX + l] * P[l * NX + j];
        };
        for (int i = 0; i < NX * NX; ++i) F[i] = i % (NX + 1) == 0;
        times_P(Y, F);
        lu(F, d.pivot + NX * k);
        if (k == 0) break;
        // P_k = Q + A^T P (1 + Y P)^-1 A, of which (1 + Y P)^-1 A first; P is symmetric, so that X^T P = (P X)^T
        double *out = d.P + NX * NX * k, X[NX * NX], XP[NX * NX] = {}, column[NX], a[NX], r[NX];
        for (int j = 0; j < NX; ++j) {
            for (int i = 0; i < NX; ++i) column[i] = i == j;
            step.forward(column, a);
            for (int i = 0; i < NX; ++i) X[i * NX + j] = a[i];
        }
        lu_solve_all(F, d.pivot + NX * k, X);
        for (int i = 0; i < NX; ++i)
            for (int j = 0; j < i; ++j) { const double t = X[i * NX + j]; X[i * NX + j] = X[j * NX + i], X[j * NX + i] = t; }
        times_P(X, XP);
        for (int j = 0; j < NX; ++j) {
            step.backward(XP + NX * j, r);
            for (int i = 0; i < NX; ++i) out[i * NX + j] = r[i];
        }
        for (int i = 0; i < NX; ++i) {
            out[i * NX + i] += state_weight(d, k - 1, i);
            for (int j = 0; j < i; ++j) out[i * NX + j] = out[j * NX + i] = 0.5 * (out[i * NX + j] + out[j * NX + i]);
        }
    }
}

/// Newton direction du for the gradient r of u, with costates of the states as they are.
inline void plan_direction(const PlanData& d, const double* r, double* du) {
    double p[NX], s[NX], t[NX], w[NX];
    const int n = d.intervals;
    for (int i = 0; i < NX; ++i) p[i] = state_weight(d, n - 1, i) * (d.x[NX * n + i] - d.goal[NX * (n - 1) + i]);
    for (int k = n - 1; k >= 0; --k) {
        const PlanStep step(d, k);
        const double *Y = d.Y + NX * NX * k, *P = d.P + NX * NX * (k + 1);
        double* keep = d.affine + 2 * NX * k;  // s - Y p, then p: for the way forward
        for (int i = 0; i < NX; ++i) s[i] = 0;
        for (int e = step.first(); e < step.last(); ++e)
            for (int i = 0; i < 9; ++i) s[i] -= d.B[NX * e + i] * (r[e] / d.D[e]);
        const Vec3<double> soft = step.softened(read3(s + 3));
        for (int i = 0; i < NX; ++i) s[i] -= dot(read3(d.V + VC * k + 3 * i), soft);
        for (int i = 0; i < NX; ++i) {
            for (int l = 0; l < NX; ++l) s[i] -= Y[i * NX + l] * p[l];
            keep[i] = s[i], keep[NX + i] = p[i];
        }
        lu_solve(d.F + NX * NX * k, d.pivot + NX * k, s);
        for (int i = 0; i < NX; ++i) {
            t[i] = p[i];
            for (int l = 0; l < NX; ++l) t[i] += P[i * NX + l] * s[l];
        }
        step.backward(t, w);
        if (k > 0)
            for (int i = 0; i < NX; ++i) p[i] = w[i] + state_weight(d, k - 1, i) * (d.x[NX * k + i] - d.goal[NX * (k - 1) + i]);
    }
    double dx[NX] = {};
    for (int k = 0; k < n; ++k) {
        const PlanStep step(d, k);
        const double *keep = d.affine + 2 * NX * k, *P = d.P + NX * NX * (k + 1);
        step.forward(dx, t);
        for (int i = 0; i < NX; ++i) t[i] += keep[i];
        lu_solve(d.F + NX * NX * k, d.pivot + NX * k, t);
        for (int i = 0; i < NX; ++i) dx[i] = t[i];
        for (int i = 0; i < NX; ++i) {
            s[i] = keep[NX + i];
            for (int l = 0; l < NX; ++l) s[i] += P[i * NX + l] * dx[l];  // costate
        }
        Vec3<double> whole = zero3<double>();
        for (int e = step.first(); e < step.last(); ++e) {
            double g = r[e];
            for (int i = 0; i < NX; ++i) g += d.B[NX * e + i] * s[i];
            du[e] = -g / d.D[e];
            whole += read3(d.B + NX * e + 3) * du[e];
        }
        const Vec3<double> soft = step.softened(whole);
        for (int e = step.first(); e < step.last(); ++e) du[e] -= dot(read3(d.B + NX * e + 3), soft) / d.D[e];
    }
}

/// Gradient of the costs of forces: W u + weight B_v^T (F - F_ref).
inline void plan_gradient(const PlanData& d) {
    for (int k = 0; k < d.intervals; ++k) {
        const PlanStep step(d, k);
        const Vec3<double> F = (read3(d.x + NX * (k + 1) + 3) - read3(d.x + NX * k + 3)) * (1 / step.h) - read3(d.gravity);
        const Vec3<double> off = F - read3(d.push + 6 * k), w = read3(d.push + 6 * k + 3), over{off.x * w.x, off.y * w.y, off.z * w.z};
        for (int e = step.first(); e < step.last(); ++e) d.r[e] = d.W[e] * d.u[e] + dot(read3(d.B + NX * e + 3), over);
    }
}

/// Solves the plan; returns the number of iterations, negative if it stopped before the tolerance.
inline int plan_solve(PlanData& d) {
    plan_columns(d);
    const int m = d.first[d.intervals];
    for (int e = 0; e < m; ++e) d.u[e] = 1.0, d.z[e] = 1.0;
    plan_roll(d);
    if (m == 0) return 0;
    const int most = 60;
    for (int it = 1; it <= most; ++it) {
        double mu = 0;
        for (int e = 0; e < m; ++e) mu += d.u[e] * d.z[e], d.D[e] = d.W[e] + d.z[e] / d.u[e];
        mu /= m;
        plan_factor(d);
        plan_gradient(d);  // predictor: towards u z = 0
        plan_direction(d, d.r, d.du);
        double step = 1, after = 0;
        for (int e = 0; e < m; ++e) {
            d.dz[e] = -d.z[e] - d.z[e] / d.u[e] * d.du[e];
            if (d.du[e] < 0) step = std::fmin(step, -d.u[e] / d.du[e]);
            if (d.dz[e] < 0) step = std::fmin(step, -d.z[e] / d.dz[e]);
        }
        for (int e = 0; e < m; ++e) after += (d.u[e] + step * d.du[e]) * (d.z[e] + step * d.dz[e]);
        after /= m;
        const double sigma = (after / mu) * (after / mu) * (after / mu), target = sigma * mu;
        for (int e = 0; e < m; ++e) {
            d.correct[e] = (target - d.du[e] * d.dz[e]) / d.u[e];
            d.r[e] -= d.correct[e];
        }
        plan_direction(d, d.r, d.du);
        double length = 1;
        for (int e = 0; e < m; ++e) {
            d.dz[e] = d.correct[e] - d.z[e] - d.z[e] / d.u[e] * d.du[e];
            if (d.du[e] < 0) length = std::fmin(length, -0.995 * d.u[e] / d.du[e]);
            if (d.dz[e] < 0) length = std::fmin(length, -0.995 * d.z[e] / d.dz[e]);
        }
        double moved = 0;
        for (int e = 0; e < m; ++e) {
            d.u[e] += length * d.du[e], d.z[e] += length * d.dz[e];
            moved = std::fmax(moved, std::fabs(length * d.du[e]));
        }
        plan_roll(d);
        if (length > 0.9 && mu < d.tolerance && moved < 1e-3) return it;
    }
    return -most;
}

UKEMI_END
