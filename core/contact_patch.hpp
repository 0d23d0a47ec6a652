// A contact between two bodies: its points, hull and frame ([DF03] V-C, [CC00] 4.2), and the forces each condition allows.
//
// In the frame (z along the normal, origin O among the points) a wrench is (f_x f_y f_z n_x n_y n_z) and a motion
// (v_x v_y v_z omega_x omega_y omega_z). A condition is a basis: wrench = E z, and D the motions that z holds.
#pragma once
#include <algorithm>
#include <cmath>

#include "contact_system.hpp"
#include "manifold.hpp"

UKEMI_BEGIN

enum class Shape2 { point, line, face };
enum class Grip { off, stick, slip, pivot };  // pivot: one point sticks, the others slip about it ([CC00] Table 2)

struct PatchPoint {
    double x, y;          // in the frame
    double gap;           // [m]
    double radius;        // of the round surface whose centre lies this far above
    double target;        // least velocity along the normal at the end of the step
    double dx, dy, speed; // direction and speed of slip
    double share;         // 0: slip is the motion at the end of the step, less what sticking would leave; 1/2: the mean motion
    double pressure;      // normal force, from the last distribution
    double fx, fy;        // friction, as it is shared among the points
    double rest_x, rest_y; // slip that counts as none in the cone problem
    Vec3<double> example; // a force that was found possible for this point before (Patch::example)
};

struct Patch {
    int a, b, link_a, link_b;
    double middle;                    // a single point of two solids: its gap in the middle of the step, else NaN;
    Vec3<double> moved;               // and how far it has moved on over body a since the start
    Material material;
    Vec3<double> surface;             // velocity of b's surface in the frame, when b stands in the world
    Placement<double> frame;
    Vec<PatchPoint> points;
    Vec<int> hull;            // indices of points, counter-clockwise
    Shape2 shape;                     // of all points
    double size;                      // largest distance of a point from O

    // the hypothesis
    Grip grip;
    Shape2 kind;
    int i, j;                         // the point, or the ends of the line
    int pivot;                        // the point that sticks while the others slip
    int k, held;                      // unknowns; the first `held` hold their motion, the others are friction that slips
    Vec<char> bearing;        // face: points that share the pressure

    double u0[6], bias[6], target[6]; // motion at the start; what velocity products add; wanted at the end
    double lift;                      // how fast penetrations of its points are taken back, in all [m/s]
    double w[6], u[6];                // solution: wrench (impulse) and motion at the end
    double island_work = 0;           // of all contacts and stops that feel it [J];
    bool island_holds = true;         // their solution is valid
    bool stuck, slid, slid_again, pivoted;     // hypotheses tried: sticking; slipping against the friction that stuck, along the motion
    bool by_points;                   // the solution was found point by point
    bool example;                     // the points have examples: of the cone problem, or of the last step
    bool free_twist = false;          // nothing answers a twist (a planar mechanism): what it needs of one is there
    double turned = 0;                // how far the slip directions still turned
    double stops_below = 0;           // slower slip may stop within the step: sticking is tried first [m/s]
    double rests_below = 0;           // slower slip counts as rest [m/s]

    // of the hypothesis; last, as heaps do without
    double E[48], D[48];              // k columns of 6, k rows of 6
    double S[64], s0[8];              // k x k and k, what its forces have to do with each other besides: slipping friction

    /// Of its impulse: w . (u0 + u) / 2.
    double work() const {
        double sum = 0;
        for (int r = 0; r < 6; ++r) sum += 0.5 * w[r] * (u0[r] + u[r]);
        return sum;
    }
    Condition condition() const {
        if (grip == Grip::off) return Condition::off;
        if (grip == Grip::pivot) return Condition::point_stick;
        const bool slip = grip == Grip::slip;
        if (kind == Shape2::face) return slip ? Condition::face_slip : Condition::face_stick;
        if (kind == Shape2::line) return slip ? Condition::line_slip : Condition::line_stick;
        return slip ? Condition::point_slip : shape == Shape2::point ? Condition::point_stick : Condition::pivot_stick;
    }
};

inline double normal_velocity(const double* u, const PatchPoint& p) { return u[2] + u[3] * p.y - u[4] * p.x; }
inline double slip_x(const double* u, const PatchPoint& p) { return u[0] - u[5] * p.y; }
inline double slip_y(const double* u, const PatchPoint& p) { return u[1] + u[5] * p.x; }

/// Hull, shape and size from the points.
inline void shape_patch(Patch& p) {
    const int n = static_cast<int>(p.points.size());
    Vec<int>& h = p.hull;
    h.clear();
    p.size = 0;
    for (const PatchPoint& c : p.points) p.size = larger(p.size, norm(c.x, c.y));
    p.shape = Shape2::point;
    p.i = p.j = 0;
    if (n == 1 || p.size < 1e-7) {
        h.push_back(0);
        return;
    }
    static thread_local Vec<int> order;
    order.resize(static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) order[static_cast<std::size_t>(i)] = i;
    auto at = [&](int i) -> const PatchPoint& { return p.points[static_cast<std::size_t>(i)]; };
    std::sort(order.begin(), order.end(), [&](int a, int b) { return at(a).x < at(b).x || (at(a).x == at(b).x && at(a).y < at(b).y); });
    // a point nearer than this to a side of the hull adds nothing to it
    const double flat = 1e-6 * p.size;
    auto left = [&](int o, int a, int b) {
        const double ex = at(a).x - at(o).x, ey = at(a).y - at(o).y;
        const double length = larger(1e-300, norm(ex, ey));
        return (ex * (at(b).y - at(o).y) - ey * (at(b).x - at(o).x)) / length;
    };
    h.resize(static_cast<std::size_t>(2 * n + 2));
    int k = 0;
    for (int s = 0; s < n; ++s) {
        const int i = order[static_cast<std::size_t>(s)];
        while (k >= 2 && left(h[static_cast<std::size_t>(k - 2)], h[static_cast<std::size_t>(k - 1)], i) <= flat) --k;
        h[static_cast<std::size_t>(k++)] = i;
    }
    const int lower = k + 1;
    for (int s = n - 2; s >= 0; --s) {
        const int i = order[static_cast<std::size_t>(s)];
        while (k >= lower && left(h[static_cast<std::size_t>(k - 2)], h[static_cast<std::size_t>(k - 1)], i) <= flat) --k;
        h[static_cast<std::size_t>(k++)] = i;
    }
    h.resize(static_cast<std::size_t>(std::max(1, k - 1)));
    if (h.size() >= 3) {
        p.shape = Shape2::face;
    } else if (h.size() == 2) {
        p.shape = Shape2::line;
    }
    p.i = h[0], p.j = h.back();
}

/// Centre of pressure in the frame: (-n_y, n_x) / f_z ([CC00] eq. 26).
struct Cop { double x, y; };
inline Cop cop_of(const double* w) { return {-w[4] / w[2], w[3] / w[2]}; }

/// Distance of a place outside the hull (0: inside), and the corner or side of the hull nearest to it.
struct Outside { double distance; int i, j; };  // j < 0: a corner
inline Outside outside_hull(const Patch& p, const Cop& c) {
    const auto n = p.hull.size();
    auto at = [&](std::size_t i) -> const PatchPoint& { return p.points[static_cast<std::size_t>(p.hull[i % n])]; };
    Outside best{INFINITY, p.hull[0], -1};
    bool inside = n >= 3;
    for (std::size_t i = 0; i < (n >= 2 ? n : 1); ++i) {
        const PatchPoint &a = at(i), &b = at(i + 1);
        const double ex = b.x - a.x, ey = b.y - a.y, l2 = ex * ex + ey * ey;
        if (ex * (c.y - a.y) - ey * (c.x - a.x) < 0) inside = false;
        const double s = l2 > 0 ? smaller(1, larger(0, ((c.x - a.x) * ex + (c.y - a.y) * ey) / l2)) : 0;
        const double d = norm(c.x - a.x - s * ex, c.y - a.y - s * ey);
        if (d >= best.distance) continue;
        best = {d, p.hull[i % n], p.hull[(i + 1) % n]};
        if (s <= 0) best.j = -1;
        if (s >= 1) best = {d, p.hull[(i + 1) % n], -1};
    }
    if (inside) best.distance = 0;
    return best;
}

/// Shares the normal wrench (f_z, n_x, n_y) among the points: the least sum of squares of which no share is negative.
inline void share_pressure(Patch& p) {
    const std::size_t n = p.points.size();
    p.bearing.assign(n, 1);
    if (p.kind == Shape2::point) {
        for (std::size_t i = 0; i < n; ++i) p.points[i].pressure = static_cast<int>(i) == p.i ? p.w[2] : 0.0;
        return;
    }
    if (p.kind == Shape2::line) {
        const PatchPoint &a = p.points[static_cast<std::size_t>(p.i)], &b = p.points[static_cast<std::size_t>(p.j)];
        const double ex = b.x - a.x, ey = b.y - a.y, l2 = ex * ex + ey * ey;
        const Cop c = p.w[2] != 0 ? cop_of(p.w) : Cop{0.5 * (a.x + b.x), 0.5 * (a.y + b.y)};
        const double s = ((c.x - a.x) * ex + (c.y - a.y) * ey) / l2;
        for (std::size_t i = 0; i < n; ++i) p.points[i].pressure = static_cast<int>(i) == p.i ? (1 - s) * p.w[2] : static_cast<int>(i) == p.j ? s * p.w[2] : 0.0;
        return;
    }
    for (std::size_t round = 0; round < n; ++round) {
        Sym3<double> G{0, 0, 0, 0, 0, 0};
        for (std::size_t i = 0; i < n; ++i) {
            if (!p.bearing[i]) continue;
            const double y = p.points[i].y, x = -p.points[i].x;
            G += Sym3<double>{1, y, x, y * y, y * x, x * x};
        }
        const Vec3<double> m = inverse(G) * Vec3<double>{p.w[2], p.w[3], p.w[4]};
        double worst = 0;
        std::size_t drop = n, bearing = 0;
        for (std::size_t i = 0; i < n; ++i) {
            PatchPoint& c = p.points[i];
            c.pressure = p.bearing[i] ? m.x + m.y * c.y - m.z * c.x : 0.0;
            bearing += p.bearing[i] != 0;
            if (c.pressure < worst) worst = c.pressure, drop = i;
        }
        if (drop == n || worst > -1e-12 * std::fabs(p.w[2]) || bearing <= 3) break;
        p.bearing[drop] = 0;
    }
}

inline void basis_column(Patch& p, const double (&column)[6]) {
    for (int r = 0; r < 6; ++r) p.E[6 * p.k + r] = p.D[6 * p.k + r] = column[r];
    ++p.k;
}
/// Adds `scale` times the tangential force (fx, fy) at a point to the wrench (f_x, f_y, n_z).
inline void add_tangential(double (&t)[3], const PatchPoint& c, double fx, double fy) { t[0] += fx, t[1] += fy, t[2] += c.x * fy - c.y * fx; }

/// Friction that slips: t + mu sum p_i d_i = 0 with d_i along the slip m_i of point i and p_i linear in the normal
/// forces: [DF03] eq. 27-28, point by point. Linearised (Newton) about the present d_i and p_i: rows of S, of D, which acts
/// on u, and s0, what u0 adds.
inline void slip_rows(Patch& p, double mu) {
    const int normals = p.kind == Shape2::face ? 3 : p.kind == Shape2::line ? 2 : 1;
    const int n = p.held, k = n + 3;
    double K[3][3] = {}, K0[3][3] = {}, K_target[3][3] = {};
    auto point = [&](const PatchPoint& c, const double* share, int count) {
        for (int j = 0; j < count; ++j) {
            double t[3] = {0, 0, 0};
            add_tangential(t, c, mu * c.dx * share[j], mu * c.dy * share[j]);
            for (int a = 0; a < 3; ++a) p.S[(n + a) * k + j] += t[a];
        }
        const double speed = larger(c.speed, 1e-12), stiff = mu * larger(0.0, c.pressure) / speed;  // across the slip
        const double ex = -c.dy, ey = c.dx, arm = c.x * ey - c.y * ex, e[3] = {ex, ey, arm};
        for (int a = 0; a < 3; ++a)
            for (int b = 0; b < 3; ++b) K[a][b] += (1 - c.share) * stiff * e[a] * e[b], K0[a][b] += c.share * stiff * e[a] * e[b], K_target[a][b] += (1 - 2 * c.share) * stiff * e[a] * e[b];
    };
    auto sticks = [&](int i) { return p.grip == Grip::pivot && i == p.pivot; };
    if (p.kind == Shape2::face) {
        Sym3<double> G{0, 0, 0, 0, 0, 0};
        for (std::size_t i = 0; i < p.points.size(); ++i) {
            if (!p.bearing[i]) continue;
            const double y = p.points[i].y, x = -p.points[i].x;
            G += Sym3<double>{1, y, x, y * y, y * x, x * x};
        }
        const Sym3<double> P = inverse(G);
        for (std::size_t i = 0; i < p.points.size(); ++i) {
            if (!p.bearing[i] || sticks(static_cast<int>(i))) continue;
            const Vec3<double> s = P * Vec3<double>{1, p.points[i].y, -p.points[i].x};
            const double share[3] = {s.x, s.y, s.z};
            point(p.points[i], share, 3);
        }
    } else {
        const double first[2] = {1, 0}, second[2] = {0, 1};
        if (!sticks(p.i)) point(p.points[static_cast<std::size_t>(p.i)], first, normals);
        if (p.kind == Shape2::line && !sticks(p.j)) point(p.points[static_cast<std::size_t>(p.j)], second, normals);
    }
    constexpr int row_of[3] = {0, 1, 5};
    for (int a = 0; a < 3; ++a) {
        double e[6] = {0, 0, 0, 0, 0, 0};
        e[row_of[a]] = 1;
        basis_column(p, e);
        for (int r = 0; r < 6; ++r) p.D[6 * (n + a) + r] = 0;
        p.s0[n + a] = 0;
        for (int b = 0; b < 3; ++b) p.D[6 * (n + a) + row_of[b]] = K[a][b], p.s0[n + a] += K0[a][b] * p.u0[row_of[b]] - K_target[a][b] * p.target[row_of[b]];
        p.S[(n + a) * k + n + a] += 1;
    }
}

/// The unknowns of the hypothesis: E, D, S.
inline void basis(Patch& p) {
    p.k = p.held = 0;
    if (p.grip == Grip::off) return;
    if (p.kind == Shape2::face) {
        for (int r = 0; r < 3; ++r) {
            double e[6] = {0, 0, 0, 0, 0, 0};
            e[2 + r] = 1;
            basis_column(p, e);
        }
    } else {
        for (int end : {p.i, p.j}) {
            const PatchPoint& c = p.points[static_cast<std::size_t>(end)];
            basis_column(p, {0, 0, 1, c.y, -c.x, 0});
            if (p.kind == Shape2::point) break;
        }
    }
    p.held = p.k;
    std::fill(p.S, p.S + 64, 0.0);
    if (p.grip == Grip::pivot) {
        const PatchPoint& c = p.points[static_cast<std::size_t>(p.pivot)];
        basis_column(p, {1, 0, 0, 0, 0, -c.y});
        basis_column(p, {0, 1, 0, 0, 0, c.x});
        p.held = p.k;
        slip_rows(p, p.material.mu_d);
        return;
    }
    if (p.grip == Grip::slip) {
        if (p.material.mu_d > 0) slip_rows(p, p.material.mu_d);
        return;
    }
    if (p.kind == Shape2::point) {
        const PatchPoint& c = p.points[static_cast<std::size_t>(p.i)];
        basis_column(p, {1, 0, 0, 0, 0, -c.y});
        basis_column(p, {0, 1, 0, 0, 0, c.x});
    } else {
        basis_column(p, {1, 0, 0, 0, 0, 0});
        basis_column(p, {0, 1, 0, 0, 0, 0});
        basis_column(p, {0, 0, 0, 0, 0, 1});
    }
    p.held = p.k;
}

/// Twist about the centre of pressure ([DF03] eq. 26) over the pressure's second moment: each point takes twist in
/// proportion to its pressure and distance.
inline double friction_turn(const Patch& p, const Cop& c) {
    if (p.free_twist) return 0.0;
    const double twist = p.w[5] - (c.x * p.w[1] - c.y * p.w[0]);
    double second = 0;
    for (const PatchPoint& q : p.points) second += q.pressure / p.w[2] * ((q.x - c.x) * (q.x - c.x) + (q.y - c.y) * (q.y - c.y));
    // pressure in one corner bears no twist; what the solution has of it there is rounding unless it is a real lever
    return second > 1e-8 * p.size * p.size ? twist / second : (std::fabs(twist) < 1e-6 * p.size * p.w[2] ? 0.0 : std::copysign(INFINITY, twist));
}
/// How much friction the sticking wrench asks of its worst point, as a share of the normal force: each point takes its
/// share of the force, and of the twist about the centre of pressure in proportion to its distance. This is a
/// distribution that exists, where [DF03] eq. 24-25 estimate one.
struct FrictionUse { double share; bool twisted; };
inline FrictionUse friction_use(Patch& p) {
    const double fz = p.w[2], f = norm(p.w[0], p.w[1]);
    const Cop c = cop_of(p.w);
    share_pressure(p);
    const double turn = p.kind == Shape2::point ? 0.0 : friction_turn(p, c);
    if (std::isinf(turn)) {  // no friction turns that much
        for (PatchPoint& q : p.points) q.fx = q.pressure / fz * p.w[0], q.fy = q.pressure / fz * p.w[1];
        return {INFINITY, true};
    }
    double worst = f;
    for (PatchPoint& q : p.points) {
        const double share = q.pressure / fz, fx = p.w[0] - turn * (q.y - c.y), fy = p.w[1] + turn * (q.x - c.x);
        q.fx = share * fx, q.fy = share * fy;
        if (q.pressure > 1e-9 * fz) worst = larger(worst, norm(fx, fy));
    }
    return {worst / fz, worst > f * (1 + 1e-9)};
}
/// The two ends of a line: friction across it follows from force and twist; along it they share what mu leaves them.
inline bool share_along_line(Patch& p, double mu) {
    PatchPoint &a = p.points[static_cast<std::size_t>(p.i)], &b = p.points[static_cast<std::size_t>(p.j)];
    const double length = norm(b.x - a.x, b.y - a.y), ex = (b.x - a.x) / length, ey = (b.y - a.y) / length;
    const double along = p.w[0] * ex + p.w[1] * ey, room_a = mu * a.pressure, room_b = mu * b.pressure;
    const double across_a = a.fy * ex - a.fx * ey, across_b = b.fy * ex - b.fx * ey;
    if (std::fabs(across_a) > room_a || std::fabs(across_b) > room_b) return false;
    const double most_a = std::sqrt(room_a * room_a - across_a * across_a), most_b = std::sqrt(room_b * room_b - across_b * across_b);
    if (std::fabs(along) > most_a + most_b) return false;
    const double share = most_a + most_b > 0 ? most_a / (most_a + most_b) : 0.5;
    auto set = [&](PatchPoint& c, double x, double y) { c.fx = x * ex - y * ey, c.fy = x * ey + y * ex; };
    set(a, share * along, across_a), set(b, (1 - share) * along, across_b);
    return true;
}
/// The points' examples, with what the wrench differs from theirs spread evenly.
inline bool share_by_example(Patch& p, double mu) {
    double d[6];
    std::copy(p.w, p.w + 6, d);
    double second = 0;
    for (const PatchPoint& c : p.points) {
        const Vec3<double>& f = c.example;
        d[0] -= f.x, d[1] -= f.y, d[2] -= f.z, d[3] -= c.y * f.z, d[4] += c.x * f.z, d[5] -= c.x * f.y - c.y * f.x;
        second += c.x * c.x + c.y * c.y;
    }
    double xx = 0, xy = 0, yy = 0;
    for (const PatchPoint& c : p.points) xx += c.x * c.x, xy += c.x * c.y, yy += c.y * c.y;
    const double least = 1e-12 * second, det = (xx + least) * (yy + least) - xy * xy;
    const double a = second > 0 ? ((xx + least) * d[3] + xy * d[4]) / det : 0.0, b = second > 0 ? (xy * d[3] + (yy + least) * d[4]) / det : 0.0;
    const double n = static_cast<double>(p.points.size()), turn = second > 0 ? d[5] / second : 0.0;
    const double rounding = 1e-9 * p.w[2];
    bool holds = true;
    for (PatchPoint& c : p.points) {
        c.pressure = c.example.z + d[2] / n + a * c.y - b * c.x;
        c.fx = c.example.x + d[0] / n - turn * c.y, c.fy = c.example.y + d[1] / n + turn * c.x;
        holds &= c.pressure >= -rounding && norm(c.fx, c.fy) <= mu * c.pressure + rounding;
    }
    return holds;
}

/// The motion that counts as a point's slip.
struct Slip { double x, y; };
inline Slip slip_of(const Patch& p, const PatchPoint& c, const double* u) {
    const double before = c.share, after = 1 - c.share, stuck = 1 - 2 * c.share;
    return {before * slip_x(p.u0, c) + after * slip_x(u, c) - stuck * slip_x(p.target, c), before * slip_y(p.u0, c) + after * slip_y(u, c) - stuck * slip_y(p.target, c)};
}
/// Slip at the end of the step beyond what sticking leaves: `target` keeps the contact to second order, and so, to first,
/// does no motion; and contacts that hold the same motion, each at its own height within what counts as touching, cannot
/// all be still. So slow they creep, and only while something else moves them.
inline constexpr double stick_tolerance = 1e-5;   // [m/s]
inline constexpr double moving_tolerance = 1e-4;  // [m/s]: the same in a heap while something slides in it
inline double creep(const Patch& p, const PatchPoint& c, const double* u) {
    const double x = slip_x(p.target, c), y = slip_y(p.target, c);
    return larger(0.0, norm(slip_x(u, c) - x, slip_y(u, c) - y) - norm(x, y) - p.rests_below);
}
/// Directions of slip from the motion; returns how much they turned where pressure acts.
inline double turn_slip(Patch& p, const double* u) {
    double change = 0, total = 0;
    for (const PatchPoint& c : p.points) total += std::fabs(c.pressure);
    for (PatchPoint& c : p.points) {
        const Slip m = slip_of(p, c, u);
        const double speed = norm(m.x, m.y);
        if (speed < 1e-14 || (p.grip == Grip::pivot && &c == &p.points[static_cast<std::size_t>(p.pivot)])) continue;
        const double share = total > 0 ? std::fabs(c.pressure) / total : 1.0;
        change = larger(change, share * norm(m.x / speed - c.dx, m.y / speed - c.dy));
        c.dx = m.x / speed, c.dy = m.y / speed, c.speed = speed;
    }
    return change;
}

UKEMI_END
