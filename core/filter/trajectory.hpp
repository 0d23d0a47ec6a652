// The motion's half of the whole-clip filter: kinematics of samples, their Gauss-Newton rows in a banded matrix, and the step.
//
// A step is a spline x(t) in the tangent space of the present motion, q <- q exp(x); each sample feels `bases` of its coefficients.
// docs/filter.md has the problem.
#pragma once
#include <cstddef>

#include "../crba.hpp"
#include "../level_vector.hpp"
#include "../manifold.hpp"
#include "root_rows.hpp"

UKEMI_BEGIN

/// Memory of one thread, reused from sample to sample.
struct TrajectoryWork {
    Vec<BodyMotion> motions;
    Vec<RootBody> bodies;
    Vec<CrbaBody<double>> crba;
    Vec<double> M, rows, weighted, local;
    Vec<int> dof_body;
    explicit TrajectoryWork(const Tree& tree, int bases = 0)
        : motions(tree.bodies.size()), bodies(tree.bodies.size()), crba(tree.bodies.size()), M(static_cast<std::size_t>(tree.nv) * static_cast<std::size_t>(tree.nv)),
          rows(6 * static_cast<std::size_t>(tree.nv * bases)), weighted(rows.size()), local(static_cast<std::size_t>(tree.nv * bases) * static_cast<std::size_t>(tree.nv * bases)) {}
};

/// Of a point of a body at p from O that moves with velocity u.
UKEMI_INLINE Vec3<double> point_acceleration(const RootBody& b, const Vec3<double>& p, const Vec3<double>& u) { return b.A.lin + cross(b.A.ang, p) + cross(b.V.ang, u); }

/// Wrenches that the motion needs, and places, velocities and accelerations of the points.
inline void trajectory_kinematics(const TrajectoryModel& model, const TrajectorySamples& s, const TrajectoryKinematics& out) {
    const Tree& tree = *model.tree;
    TrajectoryWork work(tree);
    const Vec3<double> g = read3(model.gravity);
    for (std::ptrdiff_t k = 0; k < s.n; ++k) {
        const Vec3<double> O = root_motions(tree, s.q + k * tree.nq, s.v + k * tree.nv, s.a + k * tree.nv, work.motions.data(), work.bodies.data());
        Vec3<double> f = zero3<double>(), n = f;
        for (const RootBody& b : work.bodies) f += b.P_dot - g * b.m, n += b.L_dot - cross(b.mc, g);
        write3(out.wrench + 6 * k, f * (1 / model.force_unit)), write3(out.wrench + 6 * k + 3, n * (1 / model.moment_unit));
        for (std::ptrdiff_t i = 0; i < model.np; ++i) {
            const RootBody& b = work.bodies[static_cast<std::size_t>(model.point_body[i])];
            const Vec3<double> p = b.p + b.R * read3(s.place + 3 * (k * model.np + i));
            write3(out.point + 3 * (k * model.np + i), O + p);
            const Vec3<double> u = b.V.lin + cross(b.V.ang, p);
            write3(out.velocity + 3 * (k * model.np + i), u);
            write3(out.acceleration + 3 * (k * model.np + i), point_acceleration(b, p, u));
        }
    }
}

/// local += rows' weights rows for one row: `row` (size columns, a list of those that are not zero), lower triangle, columns contiguous.
UKEMI_INLINE void add_row(double* local, int size, const int* columns, int count, const double* row, double weight, double error, double* gradient) {
    for (int c = 0; c < count; ++c) {
        const double scaled = weight * row[c];
        double* column = local + static_cast<std::ptrdiff_t>(columns[c]) * size;
        for (int r = c; r < count; ++r) column[columns[r]] += scaled * row[r];
        gradient[columns[c]] += scaled * error;
    }
}

/// Rows of the joints that need more than their limit, tau_j = S_j (what the subtree needs less what the ground gives it).
///
/// Whoever carries joint j moves its axis and its whole subtree, whoever it carries a part of it; and the ground's forces follow the wrench
/// that the root needs (`response`).
inline void add_torque_rows(const TrajectoryModel& model, const TrajectorySamples& s, const TrajectorySystem& sys, std::ptrdiff_t k, TrajectoryWork& work, const Axis* axes, double* local,
                            double* gradient) {
    const Tree& tree = *model.tree;
    const int nv = tree.nv, bases = sys.bases, size = nv * bases;
    const double *weight = sys.torque_weight + k * nv, *B0 = sys.basis + k * 3 * bases, *B1 = B0 + bases, *B2 = B1 + bases;
    const Vec3<double> g = read3(model.gravity);
    for (int j = 0; j < nv; ++j) {
        if (!(weight[j] > 0)) continue;
        int at = 0;
        while (at + 1 < static_cast<int>(tree.bodies.size()) && tree.bodies[static_cast<std::size_t>(at + 1)].iv <= j) ++at;
        const RootBody& sub = work.bodies[static_cast<std::size_t>(at)];
        const Motion<double>& S = axes[j].S;
        const Force<double> needs = {sub.P_dot - g * sub.m - sub.f, sub.L_dot - cross(sub.mc, g) - Vec3<double>{sub.pf.yz - sub.pf.zy, sub.pf.zx - sub.pf.xz, sub.pf.xy - sub.pf.yx}};
        auto power = [&](const Motion<double>& m, const Force<double>& w) { return dot(m.lin, w.f) + dot(m.ang, w.n); };
        // the ground's forces on the subtree, by the wrench: -S_j sum_p K_p
        double follow[6] = {0, 0, 0, 0, 0, 0};
        for (std::ptrdiff_t i = 0; i < model.np; ++i) {
            int b = model.point_body[i];
            while (b > at) b = tree.bodies[static_cast<std::size_t>(b)].parent;
            if (b != at) continue;
            const RootBody& body = work.bodies[static_cast<std::size_t>(model.point_body[i])];
            const Vec3<double> J = S.lin + cross(S.ang, body.p + body.R * read3(s.place + 3 * (k * model.np + i)));
            const double* K = sys.response + 18 * (k * model.np + i);
            for (int r = 0; r < 6; ++r) follow[r] -= model.force_unit * (J.x * K[r] + J.y * K[6 + r] + J.z * K[12 + r]);
        }
        double* row = work.weighted.data();  // no longer needed
        for (int c = 0; c < size; ++c) {
            row[c] = 0;
            for (int r = 0; r < 6; ++r) row[c] += follow[r] * work.rows[static_cast<std::size_t>(r * size + c)];
        }
        for (std::size_t i = 0; i < tree.bodies.size(); ++i) {
            const int body = static_cast<int>(i);
            int up = at, down = body;  // who carries whom
            while (up > body) up = tree.bodies[static_cast<std::size_t>(up)].parent;
            while (down > at) down = tree.bodies[static_cast<std::size_t>(down)].parent;
            const bool above = up == body, below = down == at;
            if (!above && !below) continue;
            const Body& b = tree.bodies[i];
            for (int c = 0; c < b.nv; ++c) {
                const Axis& axis = axes[b.iv + c];
                Force<double> x, rate, acc;
                root_columns(axis, above ? sub : work.bodies[i], g, &x, &rate, &acc);
                double by_x = power(S, x), by_rate = power(S, rate), by_acc = power(S, acc);
                if (above && !(body == at && in_parent(b, j - b.iv))) by_x += power(cross_motion(axis.S, S), needs);
                if (b.iv + c == j) by_acc += b.armature[c];
                for (int m = 0; m < bases; ++m) row[m * nv + b.iv + c] += by_x * B0[m] + by_rate * B1[m] + by_acc * B2[m];
            }
        }
        const double error = sys.torque[k * nv + j];
        for (int c = 0; c < size; ++c) {
            const double scaled = weight[j] * row[c];
            double* column = local + static_cast<std::ptrdiff_t>(c) * size;
            for (int r = c; r < size; ++r) column[r] += scaled * row[r];
            gradient[c] += scaled * error;
        }
    }
}

/// Adds the Gauss-Newton rows of all samples to the band and the gradient.
inline void trajectory_assemble(const TrajectoryModel& model, const TrajectorySamples& s, const TrajectorySystem& sys) {
    const Tree& tree = *model.tree;
    const int nv = tree.nv, bases = sys.bases, size = nv * bases;
    TrajectoryWork work(tree, bases);
    Vec<double> gradient(static_cast<std::size_t>(size)), row(static_cast<std::size_t>(6 * size));
    Vec<int> path(static_cast<std::size_t>(nv)), columns(static_cast<std::size_t>(size));
    Vec<Axis> axes(static_cast<std::size_t>(nv));
    const Vec3<double> g = read3(model.gravity);
    for (std::ptrdiff_t k = 0; k < s.n; ++k) {
        const double* q = s.q + k * tree.nq;
        root_motions(tree, q, s.v + k * nv, s.a + k * nv, work.motions.data(), work.bodies.data());
        for (std::ptrdiff_t i = 0; i < model.np; ++i) {
            RootBody& b = work.bodies[static_cast<std::size_t>(model.point_body[i])];
            const Vec3<double> f = read3(sys.force + 3 * (k * model.np + i)) * model.force_unit;
            b.f += f;
            b.pf += outer(b.p + b.R * read3(s.place + 3 * (k * model.np + i)), f);
        }
        root_composites(tree, work.bodies.data());
        const double *B0 = sys.basis + k * 3 * bases, *B1 = B0 + bases, *B2 = B1 + bases;
        // moments are taken about the root's origin, which a step carries along: n changes by -dO x (what the forces leave)
        const RootBody& whole = work.bodies[0];
        const Vec3<double> left = whole.P_dot - g * whole.m - whole.f - read3(sys.known + 3 * k) * model.force_unit;
        // root rows: 6 x size
        for (std::size_t i = 0; i < tree.bodies.size(); ++i) {
            const Body& b = tree.bodies[i];
            for (int c = 0; c < b.nv; ++c) {
                const int j = b.iv + c;
                axes[static_cast<std::size_t>(j)] = root_axis(tree, q, work.bodies.data(), static_cast<int>(i), c);
                Force<double> x, rate, acc;
                root_columns(axes[static_cast<std::size_t>(j)], work.bodies[i], g, &x, &rate, &acc);
                if (i == 0 && c < 3) x.n -= cross(axes[static_cast<std::size_t>(j)].S.lin, left);
                for (int m = 0; m < bases; ++m) {
                    const Vec3<double> f = (x.f * B0[m] + rate.f * B1[m] + acc.f * B2[m]) * (1 / model.force_unit);
                    const Vec3<double> n = (x.n * B0[m] + rate.n * B1[m] + acc.n * B2[m]) * (1 / model.moment_unit);
                    double* column = work.rows.data() + m * nv + j;
                    column[0] = f.x, column[size] = f.y, column[2 * size] = f.z, column[3 * size] = n.x, column[4 * size] = n.y, column[5 * size] = n.z;
                }
            }
        }
        const double *W = sys.weight + 36 * k, *pull = sys.pull + 6 * k;
        for (int r = 0; r < 6; ++r) {
            double* out = work.weighted.data() + r * size;
            std::fill(out, out + size, 0.0);
            for (int t = 0; t < 6; ++t) {
                const double w = W[6 * r + t], *in = work.rows.data() + t * size;
                for (int j = 0; j < size; ++j) out[j] += w * in[j];
            }
        }
        std::fill(gradient.begin(), gradient.end(), 0.0);
        for (int r = 0; r < 6; ++r)
            for (int j = 0; j < size; ++j) gradient[static_cast<std::size_t>(j)] += work.rows[static_cast<std::size_t>(r * size + j)] * pull[r];
        double* local = work.local.data();
        for (int j = 0; j < size; ++j) {
            double* column = local + static_cast<std::ptrdiff_t>(j) * size;
            const double* a = work.rows.data() + j;
            const double a0 = a[0], a1 = a[size], a2 = a[2 * size], a3 = a[3 * size], a4 = a[4 * size], a5 = a[5 * size];
            const double* w = work.weighted.data();
            for (int i = j; i < size; ++i)
                column[i] = a0 * w[i] + a1 * w[size + i] + a2 * w[2 * size + i] + a3 * w[3 * size + i] + a4 * w[4 * size + i] + a5 * w[5 * size + i];
        }
        // distances from the reference: pose, rate, acceleration; the last also by the inertia matrix
        std::fill(work.M.begin(), work.M.end(), 0.0);
        if (sys.inertia_weight > 0) crba<double>(tree, {q, 0}, true, work.crba.data(), {work.M.data(), 0}, nv);
        const double *e0 = sys.pose + k * nv, *e1 = sys.rate + k * nv, *e2 = sys.acceleration + k * nv;
        const double *w0 = sys.pose_weight + k * nv, *w1 = sys.rate_weight + k * nv, *w2 = sys.acceleration_weight + k * nv;
        for (int j = 0; j < nv; ++j) {
            double* Mj = work.M.data() + static_cast<std::ptrdiff_t>(j) * nv;
            double g2 = w2[j] * e2[j];
            for (int i = 0; i < nv; ++i) Mj[i] *= sys.inertia_weight, g2 += Mj[i] * e2[i];
            Mj[j] += w2[j];
            const double g0 = w0[j] * e0[j], g1 = w1[j] * e1[j];
            for (int m = 0; m < bases; ++m) {
                gradient[static_cast<std::size_t>(m * nv + j)] += B0[m] * g0 + B1[m] * g1 + B2[m] * g2;
                double* column = local + static_cast<std::ptrdiff_t>(m * nv + j) * size;
                for (int t = m; t < bases; ++t) {
                    const double b2 = B2[m] * B2[t];
                    double* out = column + t * nv;
                    const int from = t == m ? j : 0;
                    for (int i = from; i < nv; ++i) out[i] += b2 * Mj[i];
                    out[j] += B0[m] * B0[t] * w0[j] + B1[m] * B1[t] * w1[j];
                }
            }
        }
        // points: gap, now and between samples, slip and its rate
        for (std::ptrdiff_t i = 0; i < model.np; ++i) {
            const std::ptrdiff_t at = k * model.np + i;
            const double wg = sys.gap_weight[at], ws = sys.slip_weight[at], wr = sys.slip_rate_weight[at], wa = sys.ahead_weight[at];
            if (!(wg > 0) && !(ws > 0) && !(wr > 0) && !(wa > 0)) continue;
            const RootBody& body = work.bodies[static_cast<std::size_t>(model.point_body[i])];
            const Vec3<double> n = read3(sys.normal + 3 * at), p = body.p + body.R * read3(s.place + 3 * at), u = body.V.lin + cross(body.V.ang, p);
            const Vec3<double> du = point_acceleration(body, p, u);
            int count = 0;
            for (int b = model.point_body[i]; b >= 0; b = tree.bodies[static_cast<std::size_t>(b)].parent)
                for (int c = tree.bodies[static_cast<std::size_t>(b)].nv - 1; c >= 0; --c) path[static_cast<std::size_t>(count++)] = tree.bodies[static_cast<std::size_t>(b)].iv + c;
            std::reverse(path.begin(), path.begin() + count);
            double *r0 = row.data(), *r1 = r0 + size, *r2 = r1 + size, *r3 = r2 + size, *r4 = r3 + size, *r5 = r4 + size;
            const Vec3<double> n_ahead = read3(sys.ahead_normal + 3 * at);
            const double later = sys.ahead_time;
            const Vec3<double> seed = std::fabs(n.x) < 0.7 ? Vec3<double>{1, 0, 0} : Vec3<double>{0, 1, 0};
            Vec3<double> t1 = seed - n * dot(seed, n);
            t1 = t1 * (1 / std::sqrt(dot(t1, t1)));
            const Vec3<double> t2 = cross(n, t1);
            for (int m = 0; m < bases; ++m)
                for (int c = 0; c < count; ++c) {
                    const Axis& axis = axes[static_cast<std::size_t>(path[static_cast<std::size_t>(c)])];
                    const Motion<double> S1 = cross_motion(axis.U, axis.S), S2 = cross_motion(axis.U_dot, axis.S) + cross_motion(axis.U, S1);
                    const Vec3<double> J = axis.S.lin + cross(axis.S.ang, p), J_dot = S1.lin + cross(S1.ang, p) + cross(axis.S.ang, u);
                    const Vec3<double> J_ddot = S2.lin + cross(S2.ang, p) + cross(S1.ang, u) * 2.0 + cross(axis.S.ang, du);
                    const Vec3<double> slip = J * B1[m] + J_dot * B0[m], rate = J * B2[m] + J_dot * (2 * B1[m]) + J_ddot * B0[m];
                    const int at_row = m * count + c;
                    columns[static_cast<std::size_t>(at_row)] = m * nv + path[static_cast<std::size_t>(c)];
                    r0[at_row] = dot(n, J) * B0[m], r1[at_row] = dot(t1, slip), r2[at_row] = dot(t2, slip), r3[at_row] = dot(t1, rate), r4[at_row] = dot(t2, rate);
                    r5[at_row] = dot(n_ahead, J * B0[m] + slip * later + rate * (0.5 * later * later));
                }
            const Vec3<double> slip = read3(sys.slip + 3 * at), rate = read3(sys.slip_rate + 3 * at);
            if (wg > 0) add_row(local, size, columns.data(), bases * count, r0, wg, sys.gap[at], gradient.data());
            if (ws > 0) {
                add_row(local, size, columns.data(), bases * count, r1, ws, dot(t1, slip), gradient.data());
                add_row(local, size, columns.data(), bases * count, r2, ws, dot(t2, slip), gradient.data());
            }
            if (wa > 0) add_row(local, size, columns.data(), bases * count, r5, wa, sys.ahead[at], gradient.data());
            if (wr > 0) {
                add_row(local, size, columns.data(), bases * count, r3, wr, dot(t1, rate), gradient.data());
                add_row(local, size, columns.data(), bases * count, r4, wr, dot(t2, rate), gradient.data());
            }
        }
        add_torque_rows(model, s, sys, k, work, axes.data(), local, gradient.data());
        // into the band: column j of the whole matrix is contiguous, from its diagonal down
        const std::ptrdiff_t start = static_cast<std::ptrdiff_t>(sys.first[k]) * nv;
        for (int j = 0; j < size; ++j) {
            double* column = sys.band + (start + j) * size;
            const double* in = local + static_cast<std::ptrdiff_t>(j) * size + j;
            for (int i = 0; i < size - j; ++i) column[i] += in[i];
            sys.gradient[start + j] += gradient[static_cast<std::size_t>(j)];
        }
    }
}

/// Rotation by x on the right of a motion: angular velocity and acceleration in the new axes. Jr is the right Jacobian of exp.
inline void turn_motion(const Vec3<double>& x, const Vec3<double>& x1, const Vec3<double>& x2, const Mat3<double>& E, Vec3<double>* w, Vec3<double>* alpha) {
    const double t2 = dot(x, x);
    const RotationSeries k = rotation_series(t2);
    double beta, gamma;  // b'(t) / t and c'(t) / t
    if (t2 < 1e-3) {
        beta = -1.0 / 12 + t2 / 180 - t2 * t2 / 6720, gamma = -1.0 / 60 + t2 / 1260 - t2 * t2 / 60480;
    } else {
        const double t = std::sqrt(t2), sn = std::sin(t), cs = std::cos(t);
        beta = (t * sn - 2 * (1 - cs)) / (t2 * t2), gamma = (t * (1 - cs) - 3 * (t - sn)) / (t2 * t2 * t);
    }
    const Vec3<double> xx1 = cross(x, x1), xxx1 = cross(x, xx1), xx2 = cross(x, x2);
    const double r = dot(x, x1);
    const Vec3<double> turn = x1 - xx1 * k.b + xxx1 * k.c;
    const Vec3<double> rate = x2 - xx2 * k.b + cross(x, xx2) * k.c - xx1 * (r * beta) + xxx1 * (r * gamma) + cross(x1, xx1) * k.c;
    const Vec3<double> w_in = tmul(E, *w);
    *alpha = tmul(E, *alpha) - cross(turn, w_in) + rate;
    *w = w_in + turn;
}

/// Samples moved by a step: x, its rate and second derivative (n, nv). q, v, a are replaced; v and a may be absent.
inline void trajectory_retract(const Tree& tree, int n, const double* x, const double* x1, const double* x2, double* q, double* v, double* a) {
    for (std::ptrdiff_t k = 0; k < n; ++k)
        for (const Body& b : tree.bodies) {
            double* from = q + k * tree.nq + b.iq;
            const double *y = x + k * tree.nv + b.iv, *y1 = x1 + k * tree.nv + b.iv, *y2 = x2 + k * tree.nv + b.iv;
            double *u = v ? v + k * tree.nv + b.iv : nullptr, *du = a ? a + k * tree.nv + b.iv : nullptr;
            if (b.kind != JointKind::spherical && b.kind != JointKind::free) {
                for (int i = 0; i < b.nv; ++i) {
                    from[i] += y[i];
                    if (u) u[i] += y1[i], du[i] += y2[i];
                }
                continue;
            }
            const int r = b.kind == JointKind::free ? 3 : 0;  // where the rotation stands
            const Quat old = load_quat(from + r), by = exp_rotation(read3(y + r));
            const Mat3<double> E = rotation(by.w, by.x, by.y, by.z);
            Vec3<double> w = zero3<double>(), alpha = w, w_new = w, alpha_new = w;
            if (u) {
                w = w_new = read3(u + r), alpha = alpha_new = read3(du + r);
                turn_motion(read3(y + r), read3(y1 + r), read3(y2 + r), E, &w_new, &alpha_new);
            }
            if (r) {
                const Vec3<double> s = read3(y);
                write3(from, read3(from) + turn(old, s));
                if (u) {
                    const Vec3<double> s1 = read3(y1), lin = read3(u), ws = cross(w, s);
                    const Vec3<double> v_new = lin + ws + s1;  // in the old axes
                    const Vec3<double> acc = read3(du) + cross(w, lin) + cross(alpha, s) + cross(w, ws + s1 * 2.0) + read3(y2);
                    const Vec3<double> v_out = tmul(E, v_new);
                    write3(u, v_out), write3(du, tmul(E, acc) - cross(w_new, v_out));
                }
            }
            if (u) write3(u + r, w_new), write3(du + r, alpha_new);
            store_quat(from + r, normalized(old * by));
        }
}

UKEMI_END
