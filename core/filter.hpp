// One step of the dynamics filter: accelerations, contact forces and joint torques in one solve, then integration.
//
// [DF03] VII chooses among all solutions of the equation of motion (34) the one nearest to the desired accelerations. Here the
// same choice is made under friction cones and limits. Every demand is a row  r . a = d - s lambda  with compliance s: zero for the
// equation of motion of the free base and for points that stick, 1 / weight for wishes (feet in the air). With the desired
// joint accelerations a0 of weights D, a = a0 + D^-1 R^T lambda and (R D^-1 R^T + s) lambda = d - R a0. Contact forces enter the
// rows of the base alone, which are taken as the rates of momentum about the centre of mass and stand last: the last block of the
// factor leaves a problem in the forces only, in which the centre of mass and angular momentum are wishes on the forces themselves.
#pragma once
#include "crba.hpp"
#include "filter_impulse.hpp"
#include "manifold.hpp"
#include "rnea.hpp"

UKEMI_BEGIN

/// Acceleration bound of a limit: freedom (or angle of a spherical joint) k reaches `limit` no faster than the way left over tau.
struct JointLimit { double value, rate; };
inline JointLimit joint_value(const FilterData& d, const Body& b, int k, double* direction) {
    const double *q = d.q + b.iq, *v = d.v + b.iv;
    if (b.kind == JointKind::spherical) {
        const Vec3<double> r = log_rotation(load_quat(q));
        const double angle = std::sqrt(dot(r, r));
        const Vec3<double> u = angle > 1e-6 ? r * (1 / angle) : Vec3<double>{1, 0, 0};
        write3(direction, u);
        return {angle, dot(u, read3(v))};
    }
    direction[0] = direction[1] = direction[2] = 0;
    direction[k] = 1;
    return {q[k], v[k]};
}

/// Solves with the given limits as equations; returns how many rows stand before those of the limits.
inline int filter_solve(FilterData& d, const FilterInput& in, const BodyMotion* B, const In<double>& q, int limits) {
    const Tree& tree = *d.tree;
    const FilterSettings& s = d.s;
    FilterRows rows{d};
    stick_rows(d, B, q, rows);
    swing_rows(d, in, B, q, rows);
    const int wishes = rows.count;
    // limits of joints that are active, then of torques; the latter hold forces as the base's rows do
    double direction[3];
    for (int i = 0; i < limits; ++i) {
        const int code = d.limit_rows[2 * i], sign = d.limit_rows[2 * i + 1];
        if (code >= tree.nv) continue;
        for (const Body& b : tree.bodies) {
            if (code < b.iv || code >= b.iv + b.nv) continue;
            const JointLimit now = joint_value(d, b, code - b.iv, direction);
            const double limit = sign > 0 ? d.upper[code] : d.lower[code];
            double* row = rows.add(((limit - now.value) / s.limit_time - 2 * now.rate) / s.limit_time, 0);
            if (b.kind == JointKind::spherical) for (int k = 0; k < 3; ++k) row[b.iv + k] = direction[k];
            else row[code] = 1;
        }
    }
    const int plain = rows.count;
    for (int i = 0; i < limits; ++i) {
        const int code = d.limit_rows[2 * i] - tree.nv, sign = d.limit_rows[2 * i + 1];
        if (code < 0) continue;
        double* row = rows.add(sign * d.effort[code] - d.bias[code], 0);
        for (int j = 0; j < tree.nv; ++j) row[j] = d.M[code * tree.nv + j];
    }
    momentum_rows(d, B, rows);
    const int m = rows.count, tail = m - plain, n = d.stride;

    // S = R D^-1 R^T + slack, factorised
    for (int i = 0; i < m; ++i) {
        const double* r = d.rows + static_cast<std::ptrdiff_t>(i) * n;
        double* x = d.scaled + static_cast<std::ptrdiff_t>(i) * n;
        for (int j = 0; j < n; ++j) x[j] = r[j] * d.inverse[j];
        for (int j = 0; j <= i; ++j) d.S[i * m + j] = dot_rows(x, d.rows + static_cast<std::ptrdiff_t>(j) * n, n);
        d.S[i * m + i] += d.slack[i];
        d.y[i] = d.rhs[i] - dot_rows(r, d.goal, n);
    }
    cholesky(d.S, m, m, 1e-11);
    forward_substitute(d.S, m, m, d.y);

    // what is left for the forces: 1/2 |y2 + L22^-1 G f|^2 + 1/2 W |G f - wish|^2 + 1/2 reg |f|^2
    const int edges = friction_edges(d, d.down, d.edge, d.s.mu);
    double wish[6];
    {
        Vec3<double> F = Vec3<double>{d.gravity[0], d.gravity[1], d.gravity[2]} * d.mass, N = zero3<double>();
        for (std::size_t i = 0; in.external && i < tree.bodies.size(); ++i) {
            const Vec3<double> f = B[i].X.R * read3(in.external + 6 * i);
            F += f;
            N += B[i].X.R * read3(in.external + 6 * i + 3) + cross(B[i].X.p - read3(d.com), f);
        }
        const double* t = in.centroid;
        const Vec3<double> push = (read3(t + 6) + (read3(t) - read3(d.com)) * s.com_kp + (read3(t + 3) - read3(d.com_velocity)) * s.com_kd) * d.mass - F;
        const Vec3<double> twist = read3(t + 12) + (read3(t + 9) - read3(d.spin)) * s.spin_k - N;
        write3(wish, push), write3(wish + 3, twist);
    }
    const double weights[6] = {s.com_weight / (d.mass * d.mass), s.com_weight / (d.mass * d.mass), s.com_weight / (d.mass * d.mass), s.spin_weight, s.spin_weight, s.spin_weight};
    const double* L = d.S;
    int e = 0;
    for (int p = 0; p < d.np; ++p) {
        if (!d.down[p]) continue;
        const Vec3<double> arm = read3(d.place + 3 * p) - read3(d.com);
        for (int k = 0; k < 4; ++k, ++e) {
            double *G = d.grasp + e * d.max_rows, *b = d.reduced + e * d.max_rows;
            const Vec3<double> f = read3(d.edge + 3 * e);
            int t = 0;
            for (int i = 0; i < limits; ++i) {  // torques: M_j a - J_j^T f = limit - bias_j
                const int code = d.limit_rows[2 * i] - tree.nv;
                if (code < 0) continue;
                double* row = d.nn_work;
                std::memset(row, 0, static_cast<std::size_t>(n) * sizeof(double));
                point_row(tree, B, q, d.points[p], read3(d.place + 3 * p), f, row);
                G[t++] = row[code];
            }
            write3(G + t, f), write3(G + t + 3, cross(arm, f));
            for (int i = 0; i < tail; ++i) {
                const double* l = L + (plain + i) * m + plain;
                double x = G[i];
                for (int j = 0; j < i; ++j) x -= l[j] * b[j];
                b[i] = l[i] > 0 ? x / l[i] : 0.0;
            }
        }
    }
    e = 0;
    const double* y2 = d.y + plain;
    for (int p = 0; p < d.np; ++p) {
        if (!d.down[p]) continue;
        const double share = std::fmax(std::fabs(in.share[p]), 0.02), reg = s.regularisation / (share * share);
        for (int k = 0; k < 4; ++k, ++e) {
            const double *G = d.grasp + e * d.max_rows, *b = d.reduced + e * d.max_rows;
            double c = 0;
            for (int i = 0; i < tail; ++i) c -= b[i] * y2[i];
            for (int i = 0; i < 6; ++i) c += weights[i] * G[tail - 6 + i] * wish[i];
            d.c[e] = c;
            for (int j = 0; j <= e; ++j) {
                const double *H = d.grasp + j * d.max_rows, *h = d.reduced + j * d.max_rows;
                double x = 0;
                for (int i = 0; i < tail; ++i) x += b[i] * h[i];
                for (int i = 0; i < 6; ++i) x += weights[i] * G[tail - 6 + i] * H[tail - 6 + i];
                d.Q[e * edges + j] = d.Q[j * edges + e] = x;
            }
            d.Q[e * edges + e] += reg;
        }
    }
    double* x = d.nn_work;
    int* passive = d.nn_index;
    e = 0;
    for (int p = 0; p < d.np; ++p)
        for (int k = 0; k < 4; ++k)
            if (d.down[p]) passive[e++] = d.passive[4 * p + k];
    d.iterations += nonneg_least(d.Q, d.c, edges, x, passive, x + edges, passive + edges);
    e = 0;
    for (int p = 0; p < d.np; ++p) {
        write3(d.force + 3 * p, zero3<double>());
        for (int k = 0; k < 4; ++k) {
            d.passive[4 * p + k] = d.down[p] ? passive[e] : 0;
            if (!d.down[p]) continue;
            for (int i = 0; i < 3; ++i) d.force[3 * p + i] += x[e] * d.edge[3 * e + i];
            for (int i = 0; i < tail; ++i) d.y[plain + i] += x[e] * d.reduced[e * d.max_rows + i], d.rhs[plain + i] += x[e] * d.grasp[e * d.max_rows + i];
            ++e;
        }
    }
    // a = a0 + D^-1 R^T lambda, refined once by what the rows still lack
    std::memcpy(d.lambda, d.y, static_cast<std::size_t>(m) * sizeof(double));
    back_substitute(L, m, m, d.lambda);
    std::memcpy(d.v_new, d.goal, static_cast<std::size_t>(n) * sizeof(double));
    auto answer = [&](const double* by) {
        for (int i = 0; i < m; ++i) {
            const double* r = d.scaled + static_cast<std::ptrdiff_t>(i) * n;
            for (int j = 0; j < n; ++j) d.v_new[j] += by[i] * r[j];
        }
    };
    answer(d.lambda);
    for (int i = 0; i < m; ++i) d.y[i] = d.rhs[i] - d.slack[i] * d.lambda[i] - dot_rows(d.rows + static_cast<std::ptrdiff_t>(i) * n, d.v_new, n);
    forward_substitute(L, m, m, d.y), back_substitute(L, m, m, d.y);
    answer(d.y);
    for (int i = 0; i < m; ++i) d.lambda[i] += d.y[i];
    for (int j = 0; j < tree.nv; ++j) d.a[j] = d.v_new[j];
    return wishes;
}

/// tau = M a + bias - J^T f; the six of the base are the residual of the equation of motion.
inline void filter_torques(FilterData& d, const BodyMotion* B, const In<double>& q) {
    const Tree& tree = *d.tree;
    for (int i = 0; i < tree.nv; ++i) {
        double t = d.bias[i];
        for (int j = 0; j < tree.nv; ++j) t += d.M[i * tree.nv + j] * d.a[j];
        d.tau[i] = t;
    }
    double* row = d.nn_work;
    for (int p = 0; p < d.np; ++p) {
        if (!d.down[p]) continue;
        std::memset(row, 0, static_cast<std::size_t>(d.stride) * sizeof(double));
        point_row(tree, B, q, d.points[p], read3(d.place + 3 * p), read3(d.force + 3 * p), row);
        for (int j = 0; j < tree.nv; ++j) d.tau[j] -= row[j];
    }
}

/// Adds the limits that the solution breaks, drops those that pull the wrong way; true if the set changed.
inline bool review_limits(FilterData& d, int& limits, int wishes) {
    const Tree& tree = *d.tree;
    bool changed = false;
    int kept = 0, row = wishes;
    // multipliers: joints first, torques after, in the order of their rows
    for (int pass = 0; pass < 2; ++pass) {
        for (int i = 0; i < limits; ++i) {
            const bool torque = d.limit_rows[2 * i] >= tree.nv;
            if (torque != (pass == 1)) continue;
            const double push = d.lambda[row++] * d.limit_rows[2 * i + 1];
            if (push > 0) d.limit_rows[2 * i] = -1 - d.limit_rows[2 * i], changed = true;  // it would rather move away from the limit
        }
    }
    for (int i = 0; i < limits; ++i) {
        if (d.limit_rows[2 * i] < 0) continue;
        d.limit_rows[2 * kept] = d.limit_rows[2 * i], d.limit_rows[2 * kept + 1] = d.limit_rows[2 * i + 1], ++kept;
    }
    limits = kept;
    auto has = [&](int code) {
        for (int i = 0; i < limits; ++i)
            if (d.limit_rows[2 * i] == code) return true;
        return false;
    };
    auto add = [&](int code, int sign) {
        if (limits >= 32 || has(code)) return;
        d.limit_rows[2 * limits] = code, d.limit_rows[2 * limits + 1] = sign, ++limits, changed = true;
    };
    double direction[3];
    for (const Body& b : tree.bodies) {
        if (b.kind == JointKind::free) continue;
        for (int k = 0; k < (b.kind == JointKind::spherical ? 1 : b.nv); ++k) {
            const int j = b.iv + k;
            if (d.upper[j] > 1e9 && d.lower[j] < -1e9) continue;
            const JointLimit now = joint_value(d, b, k, direction);
            double a = 0;
            for (int i = 0; i < (b.kind == JointKind::spherical ? 3 : b.nv); ++i) a += direction[i] * d.a[b.iv + i];
            const double up = ((d.upper[j] - now.value) / d.s.limit_time - 2 * now.rate) / d.s.limit_time;
            const double low = ((d.lower[j] - now.value) / d.s.limit_time - 2 * now.rate) / d.s.limit_time;
            if (a > up + 1e-6) add(j, 1);
            else if (a < low - 1e-6) add(j, -1);
        }
        for (int k = 0; k < b.nv; ++k) {
            const int j = b.iv + k;
            if (std::fabs(d.tau[j]) > d.effort[j] * (1 + 1e-9)) add(tree.nv + j, d.tau[j] > 0 ? 1 : -1);
        }
    }
    return changed;
}

/// A point is down when it is this near to the floor [m], and no longer when it is lifted this high by an impulse elsewhere.
constexpr double touching = 5e-4, lifted = 1e-3;
/// A point that is down before its time must be slower than this along the floor [m/s].
constexpr double still = 0.2;

inline void filter_step(FilterData& d, const FilterInput& in) {
    const Tree& tree = *d.tree;
    auto* B = static_cast<BodyMotion*>(d.bodies);
    auto* reference = static_cast<BodyMotion*>(d.reference);
    const In<double> q{d.q, 0}, v{d.v, 0};
    const Mechanics now = mechanics(tree, q, v, B);
    write3(d.com, now.com), write3(d.com_velocity, now.linear * (1 / now.mass)), write3(d.spin, now.angular);
    body_motions(tree, {in.q, 0}, {in.v, 0}, reference, {in.a, 0});
    for (int p = 0; p < d.np; ++p) {
        point_motion(B, d.points[p], d.place + 3 * p, d.velocity + 3 * p, d.drift + 3 * p);
        point_motion(reference, d.points[p], d.ref_place + 3 * p, d.ref_velocity + 3 * p, d.ref_acceleration + 3 * p);
        // contact is what the simulated state shows; the schedule only says what is wanted
        const Vec3<double> x = read3(d.place + 3 * p);
        const Ground g = ground_under(d.floor, x);
        const bool end = d.points[p].kind == PointKind::tip || d.points[p].kind == PointKind::toe;  // may come from below
        if (in.share[p] == 0 || std::fabs(g.height) > (end || g.height > 0 ? lifted : 1.0)) {
            d.down[p] = 0;
        } else if (!d.down[p]) {
            const Vec3<double> way = read3(d.velocity + 3 * p) - d.floor.velocity;
            const double speed = dot(g.n, way), slide = dot(way, way) - speed * speed;
            const bool rests = in.share[p] > 0 || slide < still * still;  // before its time only what does not slide
            if (g.height < touching && clearance(d, in, p) == 0 && std::fabs(speed) < 5e-2 && rests) {
                d.down[p] = 1;
                write3(d.anchor + 3 * p, x - g.n * g.height);
            }
        }
    }
    crba<double>(tree, q, true, static_cast<CrbaBody<double>*>(d.crba), {d.M, 0}, tree.nv);
    rnea<double>(tree, q, v, {nullptr, 0}, {in.external, 0}, {d.gravity[0], d.gravity[1], d.gravity[2]}, static_cast<RneaBody<double>*>(d.rnea), {d.bias, 0});

    // desired accelerations: [DF03] eq. 39
    difference(tree, d.q, in.q, d.goal);
    for (int j = 0; j < tree.nv; ++j) d.goal[j] = in.a[j] + d.kp[j] * d.goal[j] + d.kd[j] * (in.v[j] - d.v[j]);

    int limits = d.active_limits;
    d.iterations = 0;
    for (int round = 0;; ++round) {
        const int wishes = filter_solve(d, in, B, q, limits);
        filter_torques(d, B, q);
        if (round >= 8 || !review_limits(d, limits, wishes)) break;
    }
    d.active_limits = limits;

    for (int j = 0; j < d.stride; ++j) d.v_new[j] = j < tree.nv ? d.v[j] + d.s.dt * d.a[j] : 0.0;
    filter_impulse(d, B, q);
    for (int j = 0; j < tree.nv; ++j) d.v[j] = d.v_new[j];
    integrate(tree, d.q, d.v, d.s.dt, d.q);
    for (int p = 0; p < d.np; ++p)
        if (d.down[p]) write3(d.anchor + 3 * p, read3(d.anchor + 3 * p) + d.floor.velocity * d.s.dt);
}

UKEMI_END
