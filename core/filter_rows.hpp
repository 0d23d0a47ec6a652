// Rows of the filter's solve: points that stick, points in the air, momentum of the whole.
#pragma once
#include <cstring>

#include "filter_data.hpp"
#include "kinematics.hpp"

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

UKEMI_END
