// Impulses of the filter's points that come down within a step.
#pragma once
#include "factor.hpp"
#include "filter_rows.hpp"
#include "nonneg.hpp"

UKEMI_BEGIN

/// Below this speed [m/s] friction of points that glide fades.
constexpr double slow_slide = 0.05;

/// Forces of the points that are down, as a sum over the edges of their friction pyramids; returns the number of edges.
inline int friction_edges(const FilterData& d, const int* set, double* edge, double mu_glide) {
    int count = 0;
    for (int p = 0; p < d.np; ++p) {
        if (!set[p]) continue;
        const Ground g = ground_under(d.floor, read3(d.place + 3 * p));
        if (d.points[p].kind == PointKind::glide) {  // Coulomb's law: against the way it slides
            const Vec3<double> v = read3(d.velocity + 3 * p) - d.floor.velocity, along = v - g.n * dot(g.n, v);
            const Vec3<double> e = g.n - along * (mu_glide / std::fmax(std::sqrt(dot(along, along)), slow_slide));
            for (int k = 0; k < 4; ++k) write3(edge + 3 * count++, e);
            continue;
        }
        const Vec3<double> a = d.floor.t1 * d.s.mu, b = d.floor.t2 * d.s.mu;
        for (const Vec3<double>& e : {g.n + a, g.n - a, g.n + b, g.n - b}) write3(edge + 3 * count++, e);
    }
    return count;
}

/// Marks the points that would end the step below the floor with the velocity v_new; true if there are new ones.
inline bool mark_impacts(FilterData& d, const BodyMotion* B, const In<double>& q) {
    bool any = false;
    double* row = d.nn_work;
    for (int p = 0; p < d.np; ++p) {
        // tips and toes give way, and what turns is a part of the sole
        if (d.set[p] || (d.points[p].kind != PointKind::sole && d.points[p].kind != PointKind::seat && d.points[p].kind != PointKind::hand)) continue;
        const Ground g = ground_under(d.floor, read3(d.place + 3 * p));
        if (g.height > 0.05) continue;
        std::memset(row, 0, static_cast<std::size_t>(d.stride) * sizeof(double));
        point_row(*d.tree, B, q, d.points[p], read3(d.place + 3 * p), g.n, row);
        if (g.height + d.s.dt * dot_rows(row, d.v_new, d.stride) < std::fmin(-1e-7, g.height)) d.set[p] = 1, any = true;
    }
    return any;
}

/// Points that would end the step below the floor get an impulse in the cone that stops them at it, and so do those that are
/// down; points that this sends down are added.
inline void filter_impulse(FilterData& d, const BodyMotion* B, const In<double>& q) {
    const Tree& tree = *d.tree;
    const int n = tree.nv;
    constexpr double rise = 0.02;  // a point found below the floor comes up no faster than this [m/s]
    for (int p = 0; p < d.np; ++p) write3(d.impulse + 3 * p, zero3<double>()), d.set[p] = d.down[p];
    for (int round = 0; round < 4 && mark_impacts(d, B, q); ++round) {
        if (round == 0) {
            for (int i = 0; i < n * n; ++i) d.factor[i] = d.M[i];
            factorize(tree, d.factor, n);
        }
        for (int j = 0; j < n; ++j) d.v_new[j] = d.v[j] + d.s.dt * d.a[j];
        const int edges = friction_edges(d, d.set, d.edge, 0.0);  // what glides is only kept out of the floor
        int e = 0;
        double trace = 0;
        for (int p = 0; p < d.np; ++p) {
            if (!d.set[p]) continue;
            const Ground g = ground_under(d.floor, read3(d.place + 3 * p));
            const Vec3<double> goal = d.floor.velocity - g.n * (d.down[p] ? 0.0 : std::fmax(g.height / d.s.dt, -rise));
            for (int k = 0; k < 4; ++k, ++e) {
                double *j = d.grasp + e * d.stride, *r = d.response + e * d.stride;
                std::memset(j, 0, static_cast<std::size_t>(d.stride) * sizeof(double));
                const Vec3<double> f = read3(d.edge + 3 * e);
                point_row(tree, B, q, d.points[p], read3(d.place + 3 * p), f, j);
                std::memcpy(r, j, static_cast<std::size_t>(d.stride) * sizeof(double));
                solve(tree, d.factor, n, r);
                d.c[e] = dot(f, goal) - dot_rows(j, d.v_new, d.stride);
                for (int i = 0; i <= e; ++i) d.Q[e * edges + i] = d.Q[i * edges + e] = dot_rows(j, d.response + i * d.stride, d.stride);
                trace += d.Q[e * edges + e];
            }
        }
        for (int i = 0; i < edges; ++i) d.Q[i * edges + i] += 1e-9 * trace / edges, d.nn_index[i] = 0;
        // Least squares over the cone alone would throw a point that slides up by mu times its speed: that speed is taken off
        // the wish until it agrees with what comes out (De Saxce and Feng 1998, as a fixed point)
        for (int p = 0; p < d.np; ++p) d.slide[p] = 0;
        for (int again = 0; again < 30; ++again) {
            double *x = d.nn_work, *c = x + edges, *work = c + edges;
            e = 0;
            for (int p = 0; p < d.np; ++p)
                for (int k = 0; d.set[p] && k < 4; ++k, ++e) c[e] = d.c[e] - d.s.mu * d.slide[p];
            nonneg_least(d.Q, c, edges, x, d.nn_index, work, d.nn_index + edges);
            for (int j = 0; j < n; ++j) d.v_new[j] = d.v[j] + d.s.dt * d.a[j];
            e = 0;
            for (int p = 0; p < d.np; ++p) {
                write3(d.impulse + 3 * p, zero3<double>());
                for (int k = 0; d.set[p] && k < 4; ++k, ++e) {
                    for (int i = 0; i < 3; ++i) d.impulse[3 * p + i] += x[e] * d.edge[3 * e + i];
                    for (int j = 0; j < n; ++j) d.v_new[j] += x[e] * d.response[e * d.stride + j];
                }
            }
            double change = 0;
            e = 0;
            for (int p = 0; p < d.np; ++p) {
                if (!d.set[p]) continue;
                double along[4];  // of the edges: n + mu t1, n - mu t1, n + mu t2, n - mu t2
                for (int k = 0; k < 4; ++k, ++e) along[k] = dot_rows(d.grasp + e * d.stride, d.v_new, d.stride) - dot(read3(d.edge + 3 * e), d.floor.velocity);
                const double speed = std::fmax(std::fabs(along[0] - along[1]), std::fabs(along[2] - along[3])) / (2 * d.s.mu);
                change = std::fmax(change, std::fabs(speed - d.slide[p]));
                d.slide[p] = speed;
            }
            if (change < 1e-3) break;
        }
    }
}

UKEMI_END
