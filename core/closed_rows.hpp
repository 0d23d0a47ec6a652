// Kinematics of loops and ties: how far they are open, how fast they open, their unit wrenches and springs.
#pragma once
#include <cmath>

#include "closed_work.hpp"
#include "measures.hpp"

UKEMI_BEGIN

inline SomeBodies touched(const Loops& loops) { return {static_cast<int>(loops.touched.size()), loops.touched.data()}; }

/// World poses and velocities of the bodies that loops touch, from the placements and angular velocities in work.aba.
inline void world_motion(const Tree& tree, const Loops& loops, const double* v, const ClosedWork& w) {
    for (int i : loops.touched) {
        const Body& b = tree.bodies[i];
        const AbaBody<double>& x = w.aba.bodies[i];
        const bool slides = b.kind != JointKind::revolute && b.kind != JointKind::spherical && b.kind != JointKind::universal;
        Vec3<double> lin = slides ? rates(b, x.X.R, In<double>{v, 0}).p_dot : zero3<double>();
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
        x.w = rates(b, x.X.R, V).w;
        if (b.parent >= 0) x.w += tmul(x.X.R, w.aba.bodies[b.parent].w);
    }
    world_motion(tree, loops, v, w);
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
/// for every row of a loop, from row k on; directions in A's axes, at the origin of B.
template <class F> inline void for_each_row(const Loop& loop, const Relative& r, int k, F&& row) {
    const Vec3<double> none = zero3<double>();
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

/// Coefficients of a tie's terms, its position error, its rate, and the velocity-product part of its acceleration.
inline void tie_row(const Loops& loops, const Tie& tie, const double* q, const double* v, const ClosedWork& work, double& error, double& rate, double& product) {
    error = tie.offset, rate = product = 0;
    for (int t = tie.term; t < tie.term_end; ++t) {
        const TieTerm& term = loops.terms[static_cast<std::size_t>(t)];
        const double* c = term.c;
        double* coefficient = work.coefficient + 3 * t;
        double x = q[term.q], x_dot = v[term.v], turning = 0;
        Vec3<double> axis = {1, 0, 0};
        if (term.measure >= 0) {
            const Measured m = measure(loops.measures[static_cast<std::size_t>(term.measure)], q + term.q, v + term.v);
            x = m.x, axis = m.gradient, x_dot = dot(axis, read3(v + term.v)), turning = m.product;
        } else if (term.angle) {
            // angle t = |r| with its axis n = r / t: t' = n . w, and t'' = n . w' + n' . w with t n' = r' - t' n
            const Vec3<double> r = log_rotation(load_quat(q + term.q)), w = read3(v + term.v);
            x = std::sqrt(dot(r, r));
            axis = x > 0 ? r * (1 / x) : axis;
            x_dot = dot(axis, w);
            turning = x > 0 ? (dot(rotation_vector_rate(r, w), w) - x_dot * x_dot) / x : 0.0;
        }
        const double slope = c[0] + x * (2 * c[1] + x * (3 * c[2] + x * (4 * c[3])));
        const double curve = 2 * c[1] + x * (6 * c[2] + x * (12 * c[3]));
        write3(coefficient, axis * slope);
        error += x * (c[0] + x * (c[1] + x * (c[2] + x * c[3])));
        rate += slope * x_dot;
        product += curve * x_dot * x_dot + slope * turning;
    }
}
/// Calls f(index into v, index into the block's freedoms, coefficient) for every freedom of a tie.
template <class F> UKEMI_INLINE void for_each_coefficient(const Loops& loops, const Tie& tie, const ClosedWork& work, F&& f) {
    for (int t = tie.term; t < tie.term_end; ++t) {
        const TieTerm& term = loops.terms[static_cast<std::size_t>(t)];
        for (int k = 0; k < (term.angle ? 3 : 1); ++k) f(term.v + k, term.freedom + k, work.coefficient[3 * t + k]);
    }
}

/// Relative motions of all loops, coefficients of all ties. Needs world_motion.
inline void closed_relatives(const Loops& loops, const double* q, const double* v, const ClosedWork& work) {
    for (std::size_t l = 0; l < loops.items.size(); ++l) work.relative[l] = relative_motion(loops.items[l], work);
    for (std::size_t t = 0; t < loops.ties.size(); ++t) {
        const int row = loops.blocks[loops.items.size() + t].row;
        tie_row(loops, loops.ties[t], q, v, work, work.error[row], work.rate[row], work.product[t]);
    }
}
/// The same, with position errors and velocities of all rows.
inline void closed_rows(const Loops& loops, const double* q, const double* v, const ClosedWork& work) {
    closed_relatives(loops, q, v, work);
    for (std::size_t l = 0; l < loops.items.size(); ++l) {
        const Loop& loop = loops.items[l];
        const Relative& r = work.relative[l];
        for_each_row(loop, r, loops.blocks[l].row, [&](int k, const Vec3<double>&, const Vec3<double>&, double error, double rate, double) {
            work.error[k] = error, work.rate[k] = rate;
        });
    }
}
/// Unit wrenches of all loops' rows on their bodies, side by side. Needs closed_relatives.
inline void closed_unit_wrenches(const Loops& loops, const ClosedWork& work) {
    const Vec3<Pack> none = zero3<Pack>();
    for (std::size_t l = 0; l < loops.items.size(); ++l) {
        const Loop& loop = loops.items[l];
        const RowBlock& block = loops.blocks[l];
        const Relative& r = work.relative[l];
        Vec3<Pack> f[6], n[6];
        for (int g = 0; g < block.tiles; ++g) f[g] = n[g] = none;
        for_each_row(loop, r, 0, [&](int k, const Vec3<double>& force, const Vec3<double>& moment, double, double, double) {
            const int g = k / side_by_side, s = k % side_by_side;
            set_lane(f[g].x, s, force.x), set_lane(f[g].y, s, force.y), set_lane(f[g].z, s, force.z);
            set_lane(n[g].x, s, moment.x), set_lane(n[g].y, s, moment.y), set_lane(n[g].z, s, moment.z);
        });
        for (int g = 0; g < block.tiles; ++g) {
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

UKEMI_END
