// Dynamics of closed chains by constraint forces ([CC00] eq. 11-21), through the articulated bodies of the tree.
//
// A row of the constraint is a unit wrench on body b and its reaction on body a. Carried towards the world with the
// articulated gains it leaves u = S^T F at every joint on its way; the constraint matrix is then
//   B = H_C A^-1 H_C^T,  B_rs = sum over shared joints of u_r^T D^-1 u_s,
// in O(n) per row, without forming A, H_C or any inverse ([HAND07] 4.1 does the same for impulses). B is kept in its
// skyline and factorised as L D L^T; a row whose pivot vanishes depends on the rows before it and is dropped.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include "aba.hpp"
#include "manifold.hpp"

UKEMI_BEGIN

/// A pivot below this share of its diagonal means that the row depends on those before it: rounding of 1e-15 in the rows
/// is then 1e-6 in the forces. A pose 3e-5 rad away from a singular one has such a pivot.
inline constexpr double dependent = 1e-9;
/// The same when loops are closed: rows that are nearly dependent wait for a better pose, or rounding errors of 1e-13
/// would move the chain by that over the small singular value.
inline constexpr double nearly_dependent = 1e-5;
/// A row that its joints cannot follow leaves the square of rounding (1e-12) of what it could move in another direction.
inline constexpr double immovable = 1e-24;

/// Rows travel side by side, as many as a pack holds.
inline constexpr int side_by_side = lanes<Pack>;
template <class P> UKEMI_INLINE void set_lane(P& p, int l, double value) {
    if constexpr (side_by_side == 1) p = value;
    else p[l] = value;
}
template <class P> UKEMI_INLINE double get_lane(const P& p, int l) {
    if constexpr (side_by_side == 1) return p;
    else return p[l];
}
/// Unit wrenches of rows, at each body's origin in its coordinates.
struct RowWrenches { Force<Pack> on_a, on_b; };

/// Relative motion of frame B seen from frame A.
struct Relative {
    Placement<double> X_A;       // frame A in the world
    Vec3<double> at;             // origin of B in the world
    Mat3<double> R;              // R_AB
    Vec3<double> p, p_dot, w;    // place, velocity and angular velocity of B in A, A's axes
    Vec3<double> w_a;            // angular velocity of A, world axes
};

struct ClosedWork {
    AbaWork<double> aba;
    Placement<double>* X;        // of bodies, in the world
    Motion<double>* V;           // velocity of the origin and angular velocity, world axes
    Force<Pack>* carried;        // per body: the wrenches on their way
    double* external;            // 6 per body: given wrenches and those of elastic loops
    Relative* relative;          // per loop
    RowWrenches* wrench;         // per group of rows, six groups' room per loop
    Pack *u, *y;                 // per group of rows and freedom of its path: S^T F and D^-1 S^T F
    double *error, *rate, *rhs;  // per row: H_C's position error, velocity, right-hand side
    double* bound;               // per row: what B's diagonal could be in the best direction
    double *L, *pivot;           // factor of B in its skyline; pivot 0: dropped
    double* drive;               // per freedom
    double* scratch;             // per row
    double* qdd;                 // per freedom
};

struct Carver {  // cuts the work memory into its arrays; null counts bytes
    char* base;
    std::size_t used = 0;
    template <class T> T* take(std::size_t n) {
        used = (used + 63) / 64 * 64;
        T* p = base ? reinterpret_cast<T*>(base + used) : nullptr;
        used += n * sizeof(T);
        return p;
    }
};
inline ClosedWork carve(const Tree& tree, const Loops& loops, Carver& c) {
    const std::size_t n = tree.bodies.size(), nv = static_cast<std::size_t>(tree.nv), rows = static_cast<std::size_t>(loops.rows);
    ClosedWork w;
    w.aba = {c.take<AbaBody<double>>(n), c.take<double>(gain_size * nv), c.take<double>(nv), c.take<double>(nv)};
    w.X = c.take<Placement<double>>(n), w.V = c.take<Motion<double>>(n), w.carried = c.take<Force<Pack>>(n);
    w.external = c.take<double>(6 * n);
    w.relative = c.take<Relative>(loops.items.size()), w.wrench = c.take<RowWrenches>(6 * loops.items.size());
    w.u = c.take<Pack>(static_cast<std::size_t>(loops.store) / side_by_side), w.y = c.take<Pack>(static_cast<std::size_t>(loops.store) / side_by_side);
    w.error = c.take<double>(rows), w.rate = c.take<double>(rows), w.rhs = c.take<double>(rows), w.bound = c.take<double>(rows);
    w.L = c.take<double>(static_cast<std::size_t>(loops.envelope)), w.pivot = c.take<double>(rows);
    w.drive = c.take<double>(nv), w.scratch = c.take<double>(2 * rows), w.qdd = c.take<double>(nv);
    return w;
}
inline std::size_t closed_bytes(const Tree& tree, const Loops& loops) {
    Carver c{nullptr};
    carve(tree, loops, c);
    return c.used + 64;
}
inline ClosedWork closed_work(const Tree& tree, const Loops& loops, void* memory) {
    Carver c{static_cast<char*>(memory)};
    return carve(tree, loops, c);
}

// --- kinematics of the loops -------------------------------------------------------------------------------------------

inline SomeBodies touched(const Loops& loops) { return {static_cast<int>(loops.touched.size()), loops.touched.data()}; }

/// World poses and velocities of the bodies that loops touch, from the placements and angular velocities in work.aba.
inline void world_motion(const Tree& tree, const Loops& loops, const double* q, const double* v, const ClosedWork& w) {
    for (int i : loops.touched) {
        const Body& b = tree.bodies[i];
        const AbaBody<double>& x = w.aba.bodies[i];
        const bool slides = b.kind != JointKind::revolute && b.kind != JointKind::spherical && b.kind != JointKind::universal;
        Vec3<double> lin = slides ? rates(b, x.X.R, In<double>{q, 0}, In<double>{v, 0}).p_dot : zero3<double>();
        if (b.parent < 0) {
            w.X[i] = x.X;
        } else {
            const Placement<double>& P = w.X[b.parent];
            const Motion<double>& VP = w.V[b.parent];
            const Vec3<double> arm = P.R * x.X.p;
            w.X[i] = {P.R * x.X.R, P.p + arm};
            lin = VP.lin + cross(VP.ang, arm) + (slides ? P.R * lin : lin);
        }
        w.V[i] = {lin, w.X[i].R * x.w};
    }
}
/// The same at a state for which no pass has run.
inline void world_motion_at(const Tree& tree, const Loops& loops, const double* q, const double* v, const ClosedWork& w) {
    const In<double> Q{q, 0}, V{v, 0};
    for (int i : loops.touched) {
        const Body& b = tree.bodies[i];
        AbaBody<double>& x = w.aba.bodies[i];
        x.X = placement(b, Q);
        x.w = rates(b, x.X.R, Q, V).w;
        if (b.parent >= 0) x.w += tmul(x.X.R, w.aba.bodies[b.parent].w);
    }
    world_motion(tree, loops, q, v, w);
}

inline Relative relative_motion(const Loop& loop, const ClosedWork& work) {
    const Placement<double> world{{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
    const Motion<double> still{{0, 0, 0}, {0, 0, 0}};
    const Placement<double>&XA = loop.a < 0 ? world : work.X[loop.a], &XB = loop.b < 0 ? world : work.X[loop.b];
    const Motion<double>&VA = loop.a < 0 ? still : work.V[loop.a], &VB = loop.b < 0 ? still : work.V[loop.b];
    Relative r;
    r.X_A = {XA.R * loop.X_a.R, XA.p + XA.R * loop.X_a.p};
    const Mat3<double> R_B = XB.R * loop.X_b.R;
    r.at = XB.p + XB.R * loop.X_b.p;
    r.p = tmul(r.X_A.R, r.at - r.X_A.p);
    const Mat3<double>& R = r.X_A.R;
    r.R = {dot(Vec3<double>{R.xx, R.yx, R.zx}, Vec3<double>{R_B.xx, R_B.yx, R_B.zx}), dot(Vec3<double>{R.xx, R.yx, R.zx}, Vec3<double>{R_B.xy, R_B.yy, R_B.zy}), dot(Vec3<double>{R.xx, R.yx, R.zx}, Vec3<double>{R_B.xz, R_B.yz, R_B.zz}),
           dot(Vec3<double>{R.xy, R.yy, R.zy}, Vec3<double>{R_B.xx, R_B.yx, R_B.zx}), dot(Vec3<double>{R.xy, R.yy, R.zy}, Vec3<double>{R_B.xy, R_B.yy, R_B.zy}), dot(Vec3<double>{R.xy, R.yy, R.zy}, Vec3<double>{R_B.xz, R_B.yz, R_B.zz}),
           dot(Vec3<double>{R.xz, R.yz, R.zz}, Vec3<double>{R_B.xx, R_B.yx, R_B.zx}), dot(Vec3<double>{R.xz, R.yz, R.zz}, Vec3<double>{R_B.xy, R_B.yy, R_B.zy}), dot(Vec3<double>{R.xz, R.yz, R.zz}, Vec3<double>{R_B.xz, R_B.yz, R_B.zz})};
    r.w_a = VA.ang;
    r.w = tmul(R, VB.ang - VA.ang);
    r.p_dot = tmul(R, VB.lin + cross(VB.ang, r.at - XB.p) - VA.lin - cross(VA.ang, r.at - XA.p));
    return r;
}

inline Vec3<double> unit_axis(int k) { return {k == 0 ? 1.0 : 0.0, k == 1 ? 1.0 : 0.0, k == 2 ? 1.0 : 0.0}; }
/// A direction across `a`, the same for the same axis.
inline Vec3<double> across(const Vec3<double>& a) {
    const Vec3<double> e = std::fabs(a.x) < 0.6 ? unit_axis(0) : unit_axis(1), n = cross(a, e);
    return n * (1.0 / std::sqrt(dot(n, n)));
}
inline Vec3<double> rotation_vector(const Mat3<double>& R) {
    const Vec3<double> s = {0.5 * (R.zy - R.yz), 0.5 * (R.xz - R.zx), 0.5 * (R.yx - R.xy)};  // axis times sine
    const double sine = std::sqrt(dot(s, s)), cosine = 0.5 * (R.xx + R.yy + R.zz - 1);
    if (sine > 1e-6) return s * (std::atan2(sine, cosine) / sine);
    if (cosine > 0) return s;
    // near a half turn the axis is the largest column of R + 1; its sign follows the sine
    const double dx = R.xx + 1, dy = R.yy + 1, dz = R.zz + 1;
    Vec3<double> axis = dx >= dy && dx >= dz ? Vec3<double>{dx, R.yx, R.zx} : dy >= dz ? Vec3<double>{R.xy, dy, R.zy} : Vec3<double>{R.xz, R.yz, dz};
    if (dot(axis, s) < 0) axis = -axis;
    return axis * (std::atan2(sine, cosine) / std::sqrt(dot(axis, axis)));
}

/// Calls row(k, force direction, moment direction, position error, its rate, velocity-product part of its acceleration)
/// for every row of a loop; directions in A's axes, at the origin of B.
template <class F> inline void for_each_row(const Loop& loop, const Relative& r, F&& row) {
    const Vec3<double> none = zero3<double>();
    int k = loop.row;
    for (int i = 0; i < 3; ++i) {
        if (!loop.lin[i]) continue;
        const Vec3<double> e = unit_axis(i);
        row(k++, e, none, dot(e, r.p), dot(e, r.p_dot), 0.0);
    }
    if (loop.rot == 3) {
        const Vec3<double> angle = rotation_vector(r.R);
        for (int i = 0; i < 3; ++i) row(k++, none, unit_axis(i), dot(unit_axis(i), angle), dot(unit_axis(i), r.w), 0.0);
    } else if (loop.rot == 2) {
        const Vec3<double> b1 = across(loop.axis1), b2 = cross(loop.axis1, b1), axis = r.R * loop.axis2;
        Vec3<double> tilt = cross(loop.axis1, axis);
        const double sine = std::sqrt(dot(tilt, tilt)), cosine = dot(loop.axis1, axis);
        if (cosine < 0 || sine > 1e-6) tilt = sine > 1e-6 ? tilt * (std::atan2(sine, cosine) / sine) : b1 * std::atan2(sine, cosine);
        row(k++, none, b1, dot(b1, tilt), dot(b1, r.w), 0.0);
        row(k++, none, b2, dot(b2, tilt), dot(b2, r.w), 0.0);
    } else if (loop.rot == 1) {
        const Vec3<double> a2 = r.R * loop.axis2, n = cross(a2, loop.axis1);
        const double scale = 1.0 / std::sqrt(1.0 - loop.cosine * loop.cosine);
        row(k++, none, n * scale, (dot(loop.axis1, a2) - loop.cosine) * scale, dot(n, r.w) * scale, dot(cross(cross(r.w, a2), loop.axis1), r.w) * scale);
    }
}

/// Wrench (A's axes, at the origin of B) as it acts on a body, in the body's coordinates at its origin.
template <class W> inline Force<W> on_body(const ClosedWork& work, int body, const Relative& r, const Vec3<W>& f, const Vec3<W>& n) {
    const Placement<double>& X = work.X[body];
    const Vec3<W> f_W = r.X_A.R * f, n_W = r.X_A.R * n + cross(r.at - X.p, f_W);
    return {tmul(X.R, f_W), tmul(X.R, n_W)};
}

/// Relative motions of all loops, position errors and velocities of their rows. Needs world_motion.
inline void closed_rows(const Loops& loops, const ClosedWork& work) {
    for (std::size_t l = 0; l < loops.items.size(); ++l) {
        const Loop& loop = loops.items[l];
        const Relative& r = work.relative[l] = relative_motion(loop, work);
        for_each_row(loop, r, [&](int k, const Vec3<double>&, const Vec3<double>&, double error, double rate, double) {
            work.error[k] = error, work.rate[k] = rate;
        });
    }
}
/// Unit wrenches of all rows on their bodies, side by side. Needs closed_rows.
inline void closed_unit_wrenches(const Loops& loops, const ClosedWork& work) {
    const Vec3<Pack> none = zero3<Pack>();
    for (std::size_t l = 0; l < loops.items.size(); ++l) {
        const Loop& loop = loops.items[l];
        const Relative& r = work.relative[l];
        Vec3<Pack> f[6], n[6];
        for (int g = 0; g * side_by_side < loop.rows; ++g) f[g] = n[g] = none;
        for_each_row(loop, r, [&](int k, const Vec3<double>& force, const Vec3<double>& moment, double, double, double) {
            const int g = (k - loop.row) / side_by_side, s = (k - loop.row) % side_by_side;
            set_lane(f[g].x, s, force.x), set_lane(f[g].y, s, force.y), set_lane(f[g].z, s, force.z);
            set_lane(n[g].x, s, moment.x), set_lane(n[g].y, s, moment.y), set_lane(n[g].z, s, moment.z);
        });
        for (int g = 0; g * side_by_side < loop.rows; ++g) {
            RowWrenches& w = work.wrench[6 * l + static_cast<std::size_t>(g)];
            if (loop.b >= 0) w.on_b = on_body(work, loop.b, r, f[g], n[g]);
            if (loop.a >= 0) w.on_a = on_body(work, loop.a, r, -f[g], -n[g]);
        }
    }
}

/// Wrench of a loop's springs and dampers on B (A's axes, at the origin of B), and the energy in the springs.
inline double elastic_wrench(const Loop& loop, const Relative& r, Force<double>& F) {
    if (loop.axial) {
        const double length = std::sqrt(dot(r.p, r.p)), stretch = length - loop.length;
        const Vec3<double> line = length > 0 ? r.p * (1.0 / length) : zero3<double>();
        F = {line * (-loop.stiffness[0] * stretch - loop.damping[0] * dot(line, r.p_dot)), zero3<double>()};
        return 0.5 * loop.stiffness[0] * stretch * stretch;
    }
    const Vec3<double> angle = rotation_vector(r.R);
    const double place[6] = {r.p.x, r.p.y, r.p.z, angle.x, angle.y, angle.z}, speed[6] = {r.p_dot.x, r.p_dot.y, r.p_dot.z, r.w.x, r.w.y, r.w.z};
    double pull[6], drag[6], energy = 0;
    for (int i = 0; i < 6; ++i) {
        pull[i] = -loop.stiffness[i] * place[i], drag[i] = -loop.damping[i] * speed[i];
        energy += 0.5 * loop.stiffness[i] * place[i] * place[i];
    }
    // in A's axes r' = Jl^-1(r) w, so the moment of 1/2 r^T K r is -Jl^-T(r) K r = -Jr^-1(r) K r
    F = {read3(pull) + read3(drag), rotation_vector_rate(angle, read3(pull + 3)) + read3(drag + 3)};
    return energy;
}

/// Springs and dampers of loops, added to the external wrenches of the bodies; returns the energy in the springs.
inline double elastic_loops(const Loops& loops, const ClosedWork& work) {
    double energy = 0;
    for (const Loop& loop : loops.items) {
        if (!loop.elastic) continue;
        const Relative r = relative_motion(loop, work);
        Force<double> F;
        energy += elastic_wrench(loop, r, F);
        auto add = [&](int body, const Vec3<double>& f, const Vec3<double>& n) {
            if (body < 0) return;
            const Force<double> on = on_body(work, body, r, f, n);
            const double x[6] = {on.f.x, on.f.y, on.f.z, on.n.x, on.n.y, on.n.z};
            for (int i = 0; i < 6; ++i) work.external[6 * body + i] += x[i];
        };
        add(loop.b, F.f, F.n), add(loop.a, -F.f, -F.n);
    }
    return energy;
}

// --- the constraint matrix -----------------------------------------------------------------------------------------------

/// Carries a group of rows' wrenches towards the world, leaving S^T F in u; `articulated`: what each joint takes away is
/// left out of what goes on (the response of the tree), else all goes on (the rows of the Jacobian).
template <bool articulated> inline void carry(const Tree& tree, const Loops& loops, const Loop& loop, const RowWrenches& wrench, const In<double>& q, const ClosedWork& work, Pack* u, Pack* y) {
    const Force<Pack> nothing{zero3<Pack>(), zero3<Pack>()};
    for (int k = loop.path; k < loop.path_end; ++k) work.carried[loops.bodies[k]] = nothing;
    if (loop.b >= 0) work.carried[loop.b] = wrench.on_b;
    if (loop.a >= 0) work.carried[loop.a] = wrench.on_a;
    for (int k = loop.path; k < loop.path_end; ++k) {
        const int i = loops.bodies[k];
        const Body& b = tree.bodies[i];
        const AbaBody<double>& x = work.aba.bodies[i];
        Force<Pack> F = work.carried[i];
        double* g = work.aba.gain + gain_size * b.iv;
        if (b.kind == JointKind::revolute) u[0] = dot(b.axis, F.n);
        else if (b.kind == JointKind::spherical) stored_vec(u) = F.n;
        else if (b.kind == JointKind::free) stored_vec(u) = F.f, stored_vec(u + 3) = F.n;
        else {
            for (int d = 0; d < b.nv; ++d) {
                const Motion<double> S = subspace(b, x.X.R, q, d);
                u[d] = dot(S.lin, F.f) + dot(S.ang, F.n);
            }
        }
        if constexpr (articulated) {
            if (is_plain(b, JointKind::spherical)) {
                stored_vec(y) = stored_sym(g + 9) * F.n;
                F = {F.f - stored_mat(g) * F.n, zero3<Pack>()};
            } else if (b.kind == JointKind::revolute) {
                y[0] = g[6] * u[0];
                F = {F.f - stored_vec(g) * u[0], F.n - stored_vec(g + 3) * u[0]};
            } else if (is_plain(b, JointKind::free)) {
                const Motion<Pack> a = free_response(g, F.f, F.n);
                stored_vec(y) = a.lin, stored_vec(y + 3) = a.ang;
                F = nothing;
            } else {
                for (int d = 0; d < b.nv; ++d) {
                    y[d] = u[d];
                    F.f -= stored_vec(g + 6 * d) * u[d];
                    F.n -= stored_vec(g + 6 * d + 3) * u[d];
                }
                small_solve(g + 6 * b.nv, b.nv, y);
            }
            y += b.nv;
        }
        if (b.parent >= 0) {
            Force<Pack>& F_P = work.carried[b.parent];
            const Vec3<Pack> f = x.X.R * F.f;
            F_P.f += f;
            F_P.n += x.X.R * F.n + cross(x.X.p, f);
        }
        u += b.nv;
    }
}

/// What B's diagonal would be for a unit force at the connection, and for a unit moment, if every joint on the way could
/// follow it fully: the scale against which a diagonal is rounding.
inline void row_bounds(const Tree& tree, const Loops& loops, const Loop& loop, const Relative& r, const ClosedWork& work) {
    double force = 0, moment = 0;
    for (int k = loop.path; k < loop.path_end; ++k) {
        const int i = loops.bodies[k];
        const Body& b = tree.bodies[i];
        const Vec3<double> arm = r.at - work.X[i].p;
        const double reach = dot(arm, arm);
        const double* g = work.aba.gain + gain_size * b.iv;
        double slide = 0, turn = 0;  // D^-1 of its freedoms
        if (is_plain(b, JointKind::spherical)) turn = g[9] + g[12] + g[14];
        else if (b.kind == JointKind::revolute) turn = g[6];
        else if (is_plain(b, JointKind::free)) slide = g[15] + g[18] + g[20], turn = g[9] + g[12] + g[14];
        else {
            for (int d = 0; d < b.nv; ++d) slide += 1.0 / g[6 * b.nv + d * b.nv + d];
            turn = slide;
        }
        force += slide + turn * reach;
        moment += turn;
    }
    int k = loop.row;
    for (int i = 0; i < 3; ++i)
        if (loop.lin[i]) work.bound[k++] = force;
    for (int i = 0; i < loop.rot; ++i) work.bound[k++] = moment;
}

/// Where a group of a loop's rows keeps its responses.
UKEMI_INLINE std::size_t group_store(const Loop& loop, int group) {
    return static_cast<std::size_t>(loop.store / side_by_side + group * (loop.dofs_end - loop.dofs));
}

/// B in its skyline and its factor. Needs closed_rows and the articulated inertias.
inline void closed_factor(const Tree& tree, const Loops& loops, const In<double>& q, double tolerance, const ClosedWork& work) {
    closed_unit_wrenches(loops, work);
    for (std::size_t l = 0; l < loops.items.size(); ++l) {
        const Loop& loop = loops.items[l];
        row_bounds(tree, loops, loop, work.relative[l], work);
        for (int g = 0; g * side_by_side < loop.rows; ++g)
            carry<true>(tree, loops, loop, work.wrench[6 * l + static_cast<std::size_t>(g)], q, work, work.u + group_store(loop, g), work.y + group_store(loop, g));
    }
    std::fill(work.L, work.L + loops.envelope, 0.0);
    for (const LoopPair& pair : loops.pairs) {
        const Loop &p = loops.items[pair.first], &s = loops.items[pair.second];
        for (int gs = 0; gs * side_by_side < s.rows; ++gs) {
            for (int gp = 0; gp * side_by_side < p.rows; ++gp) {
                // products of all rows of one group with all rows of the other
                Pack sums[side_by_side] = {};
                for (int k = pair.runs; k < pair.runs_end; ++k) {
                    const SharedRun& run = loops.runs[k];
                    const Pack *a = work.u + group_store(p, gp) + run.i, *b = work.y + group_store(s, gs) + run.j;
                    for (int d = 0; d < run.count; ++d)
                        for (int i = 0; i < side_by_side; ++i) sums[i] += get_lane(a[d], i) * b[d];
                }
                for (int j = 0; j < side_by_side && gs * side_by_side + j < s.rows; ++j) {
                    const int row = s.row + gs * side_by_side + j;
                    for (int i = 0; i < side_by_side && gp * side_by_side + i < p.rows; ++i) {
                        const int column = p.row + gp * side_by_side + i;
                        if (column <= row) work.L[loops.offset[row] + column] = get_lane(sums[i], j);
                    }
                }
            }
        }
    }
    // L D L^T within the skyline; entries of L are kept divided by their pivots
    for (int r = 0; r < loops.rows; ++r) {
        double* line = work.L + loops.offset[r];
        const int first = loops.first[r];
        const double diagonal = line[r];
        for (int c = first; c < r; ++c) {
            const double* other = work.L + loops.offset[c];
            double sum = line[c];
            for (int k = std::max(first, loops.first[c]); k < c; ++k) sum -= line[k] * other[k];
            line[c] = sum;  // L_rc times pivot c, for now
        }
        double pivot = diagonal;
        for (int c = first; c < r; ++c) {
            const double l = work.pivot[c] > 0 ? line[c] / work.pivot[c] : 0.0;
            pivot -= l * line[c];
            line[c] = l;
        }
        work.pivot[r] = pivot > std::max(tolerance * diagonal, immovable * work.bound[r]) ? pivot : 0.0;
    }
}

/// x := B^-1 x over the independent rows; dropped rows get 0.
inline void closed_solve(const Loops& loops, const ClosedWork& work, double* x) {
    for (int r = 0; r < loops.rows; ++r) {
        const double* line = work.L + loops.offset[r];
        for (int c = loops.first[r]; c < r; ++c) x[r] -= line[c] * x[c];
        if (work.pivot[r] == 0) x[r] = 0;
    }
    for (int r = 0; r < loops.rows; ++r) x[r] = work.pivot[r] > 0 ? x[r] / work.pivot[r] : 0.0;
    for (int r = loops.rows - 1; r >= 0; --r) {
        const double* line = work.L + loops.offset[r];
        for (int c = loops.first[r]; c < r; ++c) x[c] -= line[c] * x[r];
    }
}

/// Drives of the constraint forces lambda, added to `drive`.
inline void closed_drive(const Loops& loops, const ClosedWork& work, const double* lambda, double* drive) {
    for (const Loop& loop : loops.items) {
        const int width = loop.dofs_end - loop.dofs;
        for (int g = 0; g * side_by_side < loop.rows; ++g) {
            Pack force{};
            for (int s = 0; s < side_by_side && g * side_by_side + s < loop.rows; ++s) set_lane(force, s, lambda[loop.row + g * side_by_side + s]);
            const Pack* y = work.y + group_store(loop, g);
            for (int d = 0; d < width; ++d) {
                const Pack product = force * y[d];
                double sum = 0;
                for (int s = 0; s < side_by_side; ++s) sum += get_lane(product, s);
                drive[loops.freedoms[loop.dofs + d]] += sum;
            }
        }
    }
}

/// H_C theta_dd + H_C_dot theta_d of every row, from the accelerations that the last outward pass left in the bodies.
inline void closed_row_accelerations(const Loops& loops, const ClosedWork& work, const Vec3<double>& a_world, double* out) {
    auto of_point = [&](int body, const Vec3<double>& at, Vec3<double>& alpha) {
        if (body < 0) {
            alpha = {0, 0, 0};
            return a_world;
        }
        const Placement<double>& X = work.X[body];
        const AbaBody<double>& x = work.aba.bodies[body];
        const Vec3<double> arm = at - X.p, w = work.V[body].ang;
        alpha = X.R * x.alpha;
        return X.R * x.a + cross(alpha, arm) + cross(w, cross(w, arm));
    };
    for (std::size_t l = 0; l < loops.items.size(); ++l) {
        const Loop& loop = loops.items[l];
        const Relative& r = work.relative[l];
        Vec3<double> alpha_a, alpha_b;
        const Vec3<double> a_b = of_point(loop.b, r.at, alpha_b), a_a = of_point(loop.a, r.at, alpha_a);
        const Mat3<double>& R = r.X_A.R;
        const Vec3<double> p_dd = tmul(R, a_b - a_a - cross(r.w_a, R * r.p_dot) * 2.0);
        const Vec3<double> w_d = tmul(R, alpha_b - alpha_a - cross(r.w_a, R * r.w));
        for_each_row(loop, r, [&](int k, const Vec3<double>& f, const Vec3<double>& n, double, double, double extra) { out[k] = dot(f, p_dd) + dot(n, w_d) + extra; });
    }
}

// --- what the rest of the package calls -------------------------------------------------------------------------------------

/// Accelerations and constraint forces of the closed chain. external: per body, body coordinates, or null.
inline void closed_dynamics(const Tree& tree, const Loops& loops, const double* q, const double* v, const double* tau, const double* external, const double* gravity,
                            void* memory, double* a, double* lambda) {
    const ClosedWork work = closed_work(tree, loops, memory);
    const In<double> Q{q, 0}, V{v, 0}, TAU{tau, 0};
    const std::size_t n6 = 6 * tree.bodies.size();
    const double* wrenches = external;
    if (std::any_of(loops.items.begin(), loops.items.end(), [](const Loop& l) { return l.elastic; })) {
        world_motion_at(tree, loops, q, v, work);
        if (external) std::copy(external, external + n6, work.external);
        else std::fill(work.external, work.external + n6, 0.0);
        elastic_loops(loops, work);
        wrenches = work.external;
    }
    aba_inward<double>(tree, Q, V, TAU, {wrenches, 0}, work.aba);
    const Vec3<double> a_world = {-gravity[0], -gravity[1], -gravity[2]};
    const AllBodies all{static_cast<int>(tree.bodies.size())};
    if (loops.rows == 0) {
        aba_outward<true>(tree, all, Q, a_world, work.aba, work.aba.drive, Out<double>{a, 0});
        return;
    }
    aba_outward<true>(tree, touched(loops), Q, a_world, work.aba, work.aba.drive, Out<double>{a, 0});
    world_motion(tree, loops, q, v, work);
    closed_rows(loops, work);
    closed_factor(tree, loops, Q, dependent, work);
    closed_row_accelerations(loops, work, a_world, lambda);
    for (int r = 0; r < loops.rows; ++r) lambda[r] = -lambda[r];
    closed_solve(loops, work, lambda);
    std::copy(work.aba.drive, work.aba.drive + tree.nv, work.drive);
    closed_drive(loops, work, lambda, work.drive);
    aba_outward<true>(tree, all, Q, a_world, work.aba, work.drive, Out<double>{a, 0});
}

/// Prepares the response at q: inertias, rows (errors, rates at v), factor; `careful` leaves nearly dependent rows out.
inline void closed_prepare(const Tree& tree, const Loops& loops, const double* q, const double* v, bool careful, void* memory) {
    const ClosedWork work = closed_work(tree, loops, memory);
    aba_inward<double>(tree, {q, 0}, {v, 0}, {nullptr, 0}, {nullptr, 0}, work.aba);
    world_motion(tree, loops, q, v, work);
    closed_rows(loops, work);
    closed_factor(tree, loops, {q, 0}, careful ? nearly_dependent : dependent, work);
}
/// Response of the prepared chain to impulses along its rows that change the rows' velocities by `change`: impulses
/// F = B^-1 change ([CC00] eq. 18) and the change of v, A^-1 H_C^T F (eq. 19).
inline void closed_respond(const Tree& tree, const Loops& loops, const double* q, void* memory, const double* change, double* impulse, double* dv) {
    const ClosedWork work = closed_work(tree, loops, memory);
    std::copy(change, change + loops.rows, impulse);
    closed_solve(loops, work, impulse);
    std::fill(work.drive, work.drive + tree.nv, 0.0);
    closed_drive(loops, work, impulse, work.drive);
    aba_outward<false>(tree, AllBodies{static_cast<int>(tree.bodies.size())}, In<double>{q, 0}, Vec3<double>{0, 0, 0}, work.aba, work.drive, Out<double>{dv, 0});
}
/// Errors and rates of all rows at (q, v).
inline void closed_state(const Tree& tree, const Loops& loops, const double* q, const double* v, void* memory, double* error, double* rate) {
    const ClosedWork work = closed_work(tree, loops, memory);
    world_motion_at(tree, loops, q, v, work);
    closed_rows(loops, work);
    std::copy(work.error, work.error + loops.rows, error);
    std::copy(work.rate, work.rate + loops.rows, rate);
}
/// Errors and rates of all rows, of the state that was prepared.
inline void closed_errors(const Tree& tree, const Loops& loops, void* memory, double* error, double* rate) {
    const ClosedWork work = closed_work(tree, loops, memory);
    std::copy(work.error, work.error + loops.rows, error);
    std::copy(work.rate, work.rate + loops.rows, rate);
}
/// For each loop the wrench that acts on A, of its rows (lambda) and, if asked for, its springs and dampers: force and
/// moment at the origin of B, in the coordinates of body a (6 per loop). Returns the energy in the springs.
inline double closed_wrenches(const Tree& tree, const Loops& loops, const double* q, const double* v, const double* lambda, bool springs, void* memory, double* out) {
    const ClosedWork work = closed_work(tree, loops, memory);
    world_motion_at(tree, loops, q, v, work);
    double energy = 0;
    for (const Loop& loop : loops.items) {
        const Relative r = relative_motion(loop, work);
        Force<double> F{zero3<double>(), zero3<double>()};
        if (loop.elastic && springs) energy += elastic_wrench(loop, r, F);
        for_each_row(loop, r, [&](int k, const Vec3<double>& f, const Vec3<double>& n, double, double, double) { F.f += f * lambda[k], F.n += n * lambda[k]; });
        write3(out, -(loop.X_a.R * F.f)), write3(out + 3, -(loop.X_a.R * F.n));
        out += 6;
    }
    return energy;
}
/// Generalized forces (nv) of the springs and dampers of the loops.
inline void closed_spring_torques(const Tree& tree, const Loops& loops, const double* q, const double* v, void* memory, double* out) {
    const ClosedWork work = closed_work(tree, loops, memory);
    std::fill(work.external, work.external + 6 * tree.bodies.size(), 0.0);
    std::fill(out, out + tree.nv, 0.0);
    world_motion_at(tree, loops, q, v, work);
    elastic_loops(loops, work);
    for (auto i = loops.touched.rbegin(); i != loops.touched.rend(); ++i) {
        const Body& b = tree.bodies[*i];
        const Placement<double>& X = work.aba.bodies[*i].X;
        const Force<double> F = {read3(work.external + 6 * *i), read3(work.external + 6 * *i + 3)};
        project(b, X.R, In<double>{q, 0}, F, [&](int k, double value) { out[b.iv + k] = value; });
        if (b.parent < 0) continue;
        double* above = work.external + 6 * b.parent;
        const Vec3<double> f = X.R * F.f;
        write3(above, read3(above) + f), write3(above + 3, read3(above + 3) + X.R * F.n + cross(X.p, f));
    }
}
/// H_C (rows x nv, row-major, cleared by the caller) and H_C_dot v.
inline void closed_jacobian(const Tree& tree, const Loops& loops, const double* q, const double* v, void* memory, double* H, double* rate_v) {
    const ClosedWork work = closed_work(tree, loops, memory);
    const In<double> Q{q, 0}, V{v, 0};
    aba_inward<double>(tree, Q, V, {nullptr, 0}, {nullptr, 0}, work.aba);
    world_motion(tree, loops, q, v, work);
    closed_rows(loops, work);
    closed_unit_wrenches(loops, work);
    for (std::size_t l = 0; l < loops.items.size(); ++l) {
        const Loop& loop = loops.items[l];
        for (int g = 0; g * side_by_side < loop.rows; ++g) {
            Pack* u = work.u + group_store(loop, g);
            carry<false>(tree, loops, loop, work.wrench[6 * l + static_cast<std::size_t>(g)], Q, work, u, nullptr);
            for (int s = 0; s < side_by_side && g * side_by_side + s < loop.rows; ++s)
                for (int d = 0; d < loop.dofs_end - loop.dofs; ++d)
                    H[static_cast<std::ptrdiff_t>(loop.row + g * side_by_side + s) * tree.nv + loops.freedoms[loop.dofs + d]] = get_lane(u[d], s);
        }
    }
    // qdd = 0, no gravity: what is left of the rows' accelerations is H_dot v
    for (std::size_t i = 0; i < tree.bodies.size(); ++i) {
        const Body& b = tree.bodies[i];
        AbaBody<double>& x = work.aba.bodies[i];
        Vec3<double> a = x.gamma, alpha = x.zeta;
        if (b.parent >= 0) {
            const AbaBody<double>& P = work.aba.bodies[b.parent];
            a += P.a + cross(P.alpha, x.X.p);
            alpha += tmul(x.X.R, P.alpha);
        }
        x.a = tmul(x.X.R, a), x.alpha = alpha;
    }
    closed_row_accelerations(loops, work, {0, 0, 0}, rate_v);
}

/// Pivots of the last factorisation: 0 marks a dependent row.
inline const double* closed_pivots(const Tree& tree, const Loops& loops, void* memory) { return closed_work(tree, loops, memory).pivot; }

/// Takes out of the constraint forces what does no work: with redundant rows, forces along the combinations z of rows
/// that vanish (H_C^T z = 0) change nothing, and the least of all solutions has no part along them.
inline void closed_least_norm(const Tree& tree, const Loops& loops, void* memory, double* lambda) {
    const ClosedWork work = closed_work(tree, loops, memory);
    std::vector<std::vector<double>> basis;
    for (int r = 0; r < loops.rows; ++r) {
        if (work.pivot[r] > 0) continue;
        // row r = sum over earlier independent rows of c_k row k, with c = L^-T (line r of L)
        std::vector<double> z(static_cast<std::size_t>(loops.rows), 0.0);
        const double* line = work.L + loops.offset[r];
        for (int c = loops.first[r]; c < r; ++c) z[static_cast<std::size_t>(c)] = work.pivot[c] > 0 ? line[c] : 0.0;
        for (int k = r - 1; k >= 0; --k) {
            const double* other = work.L + loops.offset[k];
            for (int c = loops.first[k]; c < k; ++c) z[static_cast<std::size_t>(c)] -= other[c] * z[static_cast<std::size_t>(k)];
        }
        z[static_cast<std::size_t>(r)] = -1.0;
        for (const auto& b : basis) {
            double part = 0;
            for (int k = 0; k < loops.rows; ++k) part += b[static_cast<std::size_t>(k)] * z[static_cast<std::size_t>(k)];
            for (int k = 0; k < loops.rows; ++k) z[static_cast<std::size_t>(k)] -= part * b[static_cast<std::size_t>(k)];
        }
        double length = 0;
        for (double x : z) length += x * x;
        length = std::sqrt(length);
        double part = 0;
        for (int k = 0; k < loops.rows; ++k) part += (z[static_cast<std::size_t>(k)] /= length) * lambda[k];
        for (int k = 0; k < loops.rows; ++k) lambda[k] -= part * z[static_cast<std::size_t>(k)];
        basis.push_back(z);
    }
}

UKEMI_END
