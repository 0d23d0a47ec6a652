// One step of the dynamics filter: accelerations, contact forces and joint torques in one solve, then integration.
//
// [DF03] VII chooses among all solutions of the equation of motion (34) the one nearest to the desired accelerations. Here the
// same choice is made under friction cones and limits. Every demand is a row  r . a = d - s lambda  with compliance s: zero for the
// equation of motion of the free base and for points that stick, 1 / weight for wishes (feet in the air). With the desired
// joint accelerations a0 of weights D, a = a0 + D^-1 R^T lambda and (R D^-1 R^T + s) lambda = d - R a0. Contact forces enter the
// rows of the base alone, which are taken as the rates of momentum about the centre of mass and stand last: the last block of the
// factor leaves a problem in the forces only, in which the centre of mass and angular momentum are wishes on the forces themselves.
#pragma once
#include <cstring>

#include "crba.hpp"
#include "factor.hpp"
#include "filter_data.hpp"
#include "kinematics.hpp"
#include "manifold.hpp"
#include "nonneg.hpp"
#include "rnea.hpp"

UKEMI_BEGIN

/// Dot product of rows whose length is a multiple of the pack's.
inline double dot_rows(const double* a, const double* b, int n) {
    Pack s0{}, s1{}, x, y;
    constexpr int w = lanes<Pack>;
    int i = 0;
    for (; i + 2 * w <= n; i += 2 * w) {
        std::memcpy(&x, a + i, sizeof x), std::memcpy(&y, b + i, sizeof y), s0 += x * y;
        std::memcpy(&x, a + i + w, sizeof x), std::memcpy(&y, b + i + w, sizeof y), s1 += x * y;
    }
    for (; i < n; i += w) std::memcpy(&x, a + i, sizeof x), std::memcpy(&y, b + i, sizeof y), s0 += x * y;
    s0 += s1;
    if constexpr (w == 1) {
        return *reinterpret_cast<double*>(&s0);
    } else {
        double sum = 0;
        for (int l = 0; l < w; ++l) sum += reinterpret_cast<const double*>(&s0)[l];
        return sum;
    }
}

struct Ground { double height; Vec3<double> n; };
/// Distance above the floor, and its normal there. A box counts for points over it that are not far below its top.
inline Ground ground_under(const FilterFloor& f, const Vec3<double>& x) {
    Ground g{dot(f.n, x) - f.offset, f.n};
    for (int i = 0; i < f.boxes; ++i) {
        const double* b = f.box + 5 * i;
        if (x.x >= b[0] && x.x <= b[1] && x.y >= b[2] && x.y <= b[3] && x.z - b[4] > -0.06 && x.z - b[4] < g.height) g = {x.z - b[4], {0, 0, 1}};
    }
    return g;
}

/// Three rows of the Jacobian of a point, weighted into one: direction . J. Adds to a cleared row.
inline void point_row(const Tree& tree, const BodyMotion* B, const In<double>& q, const FilterPoint& point, const Vec3<double>& at, const Vec3<double>& e, double* row) {
    for (int i = point.body; i >= 0; i = tree.bodies[i].parent) {
        const Body& b = tree.bodies[i];
        const Vec3<double> turn = tmul(B[i].X.R, cross(at - B[i].X.p, e)), push = tmul(B[i].X.R, e);  // e . (w x arm) = w . (arm x e)
        if (b.kind == JointKind::spherical) {
            row[b.iv] = turn.x, row[b.iv + 1] = turn.y, row[b.iv + 2] = turn.z;
        } else {
            const Mat3<double> R = b.kind == JointKind::planar ? placement(b, q).R : B[i].X.R;
            for (int k = 0; k < b.nv; ++k) {
                const Motion<double> S = subspace(b, R, q, k);
                row[b.iv + k] = dot(S.lin, push) + dot(S.ang, turn);
            }
        }
    }
}

inline void point_motion(const BodyMotion* B, const FilterPoint& p, double* place, double* velocity, double* acceleration) {
    const BodyMotion& b = B[p.body];
    const Vec3<double> spin = cross(b.w, p.p);
    write3(place, b.X.p + b.X.R * p.p);
    write3(velocity, b.X.R * (b.v + spin));
    write3(acceleration, b.X.R * (b.a + cross(b.alpha, p.p) + cross(b.w, spin)));
}

/// The rows of one solve, written one after another.
struct FilterRows {
    FilterData& d;
    int count = 0;
    double* add(double rhs, double slack) {
        double* row = d.rows + static_cast<std::ptrdiff_t>(count) * d.stride;
        std::memset(row, 0, static_cast<std::size_t>(d.stride) * sizeof(double));
        d.rhs[count] = rhs, d.slack[count] = slack, ++count;
        return row;
    }
};

/// Compliance of points that may close a loop with others: a knee on the floor beside the foot of the same leg is held twice.
constexpr double yields = 1e-6;

/// Points that stick and that share a body: three directions at one point, two at a second, one at a third hold the body as all would.
inline void stick_rows(FilterData& d, const BodyMotion* B, const In<double>& q, FilterRows& rows) {
    const FilterSettings& s = d.s;
    auto hold = [&](int p, const Vec3<double>& e) {
        const Vec3<double> x = read3(d.place + 3 * p), v = read3(d.velocity + 3 * p) - d.floor.velocity, drift = read3(d.drift + 3 * p);
        const Vec3<double> wish = (x - read3(d.anchor + 3 * p)) * (-s.stick * s.stick) - v * (2 * s.stick) - drift;
        point_row(*d.tree, B, q, d.points[p], x, e, rows.add(dot(e, wish), d.points[p].kind == PointKind::hand ? yields : 0.0));
    };
    auto sticks = [&](int p) { return d.down[p] && d.points[p].kind != PointKind::glide && d.points[p].kind != PointKind::toe; };
    auto normal = [&](int p) { hold(p, ground_under(d.floor, read3(d.place + 3 * p)).n); };
    for (int p = 0; p < d.np; ++p) {
        if (!d.down[p]) continue;
        bool first = true, flat = false;
        for (int k = 0; k < d.np; ++k) {
            if (!d.down[k] || d.points[k].body != d.points[p].body) continue;
            first &= k >= p || sticks(k) != sticks(p);
            flat |= d.points[k].kind == PointKind::sole;
        }
        // both ends of toes stay on the floor; one of two points that glide keeps a foot from rolling over its pivot
        if (!sticks(p) && (d.points[p].kind == PointKind::toe || (first && !flat))) normal(p);
        if (!sticks(p) || !first) continue;
        const Vec3<double> x = read3(d.place + 3 * p);
        hold(p, {1, 0, 0}), hold(p, {0, 1, 0}), hold(p, {0, 0, 1});
        int second = -1, third = -1;
        double far = 1e-8, wide = 1e-10;
        for (int k = p + 1; k < d.np; ++k) {
            if (!sticks(k) || d.points[k].body != d.points[p].body) continue;
            const Vec3<double> r = read3(d.place + 3 * k) - x;
            if (dot(r, r) > far) far = dot(r, r), second = k;
        }
        if (second < 0) continue;
        const Vec3<double> line = (read3(d.place + 3 * second) - x) * (1 / std::sqrt(far));
        const Vec3<double> other = std::fabs(line.z) < 0.7 ? Vec3<double>{0, 0, 1} : Vec3<double>{1, 0, 0};
        Vec3<double> e1 = cross(line, other);
        e1 = e1 * (1 / std::sqrt(dot(e1, e1)));
        hold(second, e1), hold(second, cross(line, e1));
        Vec3<double> across = zero3<double>();
        for (int k = p + 1; k < d.np; ++k) {
            if (!sticks(k) || k == second || d.points[k].body != d.points[p].body) continue;
            const Vec3<double> n = cross(line, read3(d.place + 3 * k) - x);
            if (dot(n, n) > wide) wide = dot(n, n), third = k, across = n;
        }
        if (third >= 0) hold(third, across * (1 / std::sqrt(wide)));
    }
}

/// Points that go where their body goes: sent down where they should be, but to no place.
constexpr bool rides(PointKind kind) { return kind == PointKind::seat || kind == PointKind::pivot || kind == PointKind::toe; }

/// How high a point goes that is still far from where it should come down: a foot that drags would stick in the wrong place. One
/// that stands already is not lifted.
inline double clearance(const FilterData& d, const FilterInput& in, int p) {
    if (rides(d.points[p].kind)) return 0.0;
    for (int k = 0; k < d.np; ++k)
        if (d.down[k] && d.points[k].body == d.points[p].body) return 0.0;
    const Vec3<double> way = read3(d.ref_place + 3 * p) + read3(in.shift + 6 * p) - read3(d.place + 3 * p);
    const double a = dot(way, d.floor.t1), b = dot(way, d.floor.t2), far = std::sqrt(a * a + b * b);
    return far > d.s.near ? std::fmin(0.3 * far, 0.03) : 0.0;
}

/// Toes so far below the ground are under a step that the foot stands before [m].
constexpr double under = 0.02;

/// Speeds follow their course within this time [s], and what is below its height comes up within the second.
constexpr double follow = 6e-3, come_up = 15e-3;

/// Acceleration of a point that comes down with `speed` (negative) and has the height `left`: it reaches the floor with the speed
/// `touch`, no faster on its way than a steady deceleration can stop, and than `most`.
inline double brake_before(const FilterSettings& s, double left, double speed, double touch, double most) {
    if (left < 0) return (-left / come_up - speed) / follow;
    const double then = std::fmax(left + speed * s.dt, 0.0);  // where it is when it has the speed that is chosen now
    const double pace = std::sqrt(touch * touch + 2 * s.land_brake * then);
    return (-std::fmin(pace, most) - speed) / follow + (pace < most ? s.land_brake * std::fmin(std::fmax(-speed / std::fmax(pace, 1e-3), 0.0), 1.0) : 0.0);
}

/// Points in the air follow their reference; those that should be down go down.
inline void swing_rows(FilterData& d, const FilterInput& in, const BodyMotion* B, const In<double>& q, FilterRows& rows) {
    const FilterSettings& s = d.s;
    for (int p = 0; p < d.np; ++p) {
        const PointKind kind = d.points[p].kind;
        const bool land = in.share[p] > 0;  // below zero: it may touch, but is not sent down
        if (d.down[p] || kind == PointKind::tip || kind == PointKind::glide || (!land && kind == PointKind::pivot)) continue;
        const bool carried = rides(kind);
        const double w = land ? s.land_weight : s.swing_weight, kp = land ? s.land_kp : s.swing_kp, kd = land ? s.land_kd : s.swing_kd;
        if (w <= 0) continue;
        const double above = ground_under(d.floor, read3(d.place + 3 * p)).height;
        if (carried && (above > d.s.near || (kind == PointKind::toe && above < -under))) continue;
        const Vec3<double> x = read3(d.place + 3 * p), v = read3(d.velocity + 3 * p), drift = read3(d.drift + 3 * p);
        const Vec3<double> goal = read3(d.ref_place + 3 * p) + read3(in.shift + 6 * p);
        const Vec3<double> wish = (goal - x) * kp + (read3(d.ref_velocity + 3 * p) + read3(in.shift + 6 * p + 3) - v) * kd + read3(d.ref_acceleration + 3 * p);
        const Ground g = ground_under(d.floor, x);
        const double high = clearance(d, in, p);
        double down = dot(g.n, wish) + kp * std::fmax(0.0, high - ground_under(d.floor, goal).height);
        // touch-down: no faster than a foot comes down, and than it can be stopped; what is not sent down slows down before the floor too
        const double speed = dot(g.n, v), left = g.height - high, touch = high > 0 || in.share[p] == 0 || kind == PointKind::toe ? 0.0 : s.land_touch;
        const double gently = brake_before(s, left, speed, touch, land ? s.land_speed : 1e30);
        const bool brake = land || down < gently;
        if (brake) down = gently;
        const Vec3<double> e[3] = {d.floor.t1, d.floor.t2, g.n};
        const double level[3] = {dot(e[0], wish), dot(e[1], wish), down}, weights[3] = {w, w, brake ? s.brake_weight : w};
        for (int k = carried ? 2 : 0; k < (carried && !brake ? 2 : 3); ++k)
            point_row(*d.tree, B, q, d.points[p], x, e[k], rows.add(level[k] - dot(e[k], drift), 1 / weights[k]));
    }
}

/// Momentum rows of the base: linear, then angular about the centre of mass, from the first six rows of M and the bias.
inline void momentum_rows(FilterData& d, const BodyMotion* B, FilterRows& rows) {
    const int n = d.tree->nv;
    const Mat3<double>& R = B[0].X.R;
    const Vec3<double> arm = B[0].X.p - read3(d.com);
    double* out[6];
    for (auto& o : out) o = rows.add(0, 0);
    auto turn = [&](const Vec3<double>& f, const Vec3<double>& m, double* to[6], int j, double sign) {
        const Vec3<double> F = R * f, N = R * m + cross(arm, F);
        to[0][j] = sign * F.x, to[1][j] = sign * F.y, to[2][j] = sign * F.z, to[3][j] = sign * N.x, to[4][j] = sign * N.y, to[5][j] = sign * N.z;
    };
    for (int j = 0; j < n; ++j) turn({d.M[j], d.M[n + j], d.M[2 * n + j]}, {d.M[3 * n + j], d.M[4 * n + j], d.M[5 * n + j]}, out, j, 1.0);
    double* rhs = d.rhs + rows.count - 6;
    double* to[6] = {rhs, rhs + 1, rhs + 2, rhs + 3, rhs + 4, rhs + 5};
    turn(read3(d.bias), read3(d.bias + 3), to, 0, -1.0);
}

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
            factorize(tree, d.factor);
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
                solve(tree, d.factor, r);
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
    crba<double>(tree, q, true, static_cast<CrbaBody<double>*>(d.crba), {d.M, 0});
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
