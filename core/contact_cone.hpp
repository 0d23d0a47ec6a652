// Contact with Coulomb friction as one problem over cones, solved by an interior-point method: where trial and error finds
// no valid set of conditions, or forces are not unique.
//
// A point's force (mu f_n, f_t) and its motion (u_n / mu + |u_t|, u_t) (De Saxce and Feng 1998) lie in the same
// round cone and are perpendicular. With y = D^1/2 L (v - v_free), so that u = u_free + Y^T y and y = Y w, both follow
// a central path by Newton's steps (scaling of Nesterov and Todd 1997, corrector of Mehrotra 1992) in a matrix as large as the freedoms, however
// many points touch and however many of them are redundant. Newton's steps take |u_t| along; where that path breaks off, |u_t|
// is kept from step to step until the solution is near (a convex problem each; Acary et al. 2011 go on so to the end).
#pragma once
#include "contact_patch.hpp"
#include "dense.hpp"

UKEMI_BEGIN

class ConeSolver {
public:
    /// A new problem: freedoms are those of the groups added.
    void clear() { cones_.clear(), equal_.clear(), places_.clear(), at_.clear(), freedoms_ = 0; }
    void reserve(int nv) { where_.resize(static_cast<std::size_t>(nv), -1); }

    /// A group with what it does without forces; its points or stops or equal rows follow.
    void add_group(const RowSystem& rows, const Group& g, const double* u_free) {
        At at{&g, static_cast<int>(places_.size()), {}, {}, {}};
        for (int d = g.dofs; d < g.dofs_end; ++d) {
            int& place = where_[static_cast<std::size_t>(rows.dofs[static_cast<std::size_t>(d)])];
            if (place < 0) place = freedoms_++;
            places_.push_back(place);
        }
        std::copy(u_free, u_free + g.rows, at.u_free);
        at_.push_back(at);
    }
    /// A point (x, y) that may not approach faster than `target`; its slip is u_t + shift.
    void add_point(double x, double y, double mu, double target, double shift_x, double shift_y) {
        Cone c{};
        c.at = static_cast<int>(at_.size()) - 1, c.x = x, c.y = y, c.mu = mu, c.size = mu > smooth ? 3 : 1;
        c.shift[0] = -target, c.shift[1] = shift_x, c.shift[2] = shift_y;
        cones_.push_back(c);
    }
    void add_stop(double target) {
        Cone c{};
        c.at = static_cast<int>(at_.size()) - 1, c.size = 1, c.stop = true, c.shift[0] = -target;
        cones_.push_back(c);
    }
    void add_equal(int row, double target) { equal_.push_back({static_cast<int>(at_.size()) - 1, row, target, 0.0}); }

    /// Finds forces and motions, as well as they can be found.
    void solve(const RowSystem& rows) {
        best_ = INFINITY;
        kept_.assign(3 * cones_.size() + equal_.size(), 0.0);
        for (const double far : {1.0, 30.0, 0.03, 5.0, 0.2, 300.0, 3e-3})
            for (const double near : {static_cast<double>(INFINITY), 1e-3, 1e-4, 1e-2, 1e-1})
                if (best_ >= tolerable) follow_path(rows, far, near);
        restore();
    }
    /// Force (f_x, f_y, f_n) of the i-th point or stop; force of the i-th equal row.
    Vec3<double> force(std::size_t i) const {
        const Cone& c = cones_[i];
        return c.size == 1 ? Vec3<double>{0, 0, c.z[0]} : Vec3<double>{c.z[1], c.z[2], c.z[0] / c.mu};
    }
    double equal_force(std::size_t i) const { return equal_[i].force; }

private:
    struct At { const Group* group; int places; double u_free[6], u[6], w[6]; };
    struct Cone {
        int at, size;
        bool stop;
        double x, y, mu, shift[3];
        double s[3], z[3], ds[3], dz[3];   // motion and force, on the cone's own scale; their steps
        double W[9], Wi[9], lambda[3];     // scaling: lambda = W z = W^-1 s
        double left[3], aim[3];            // what the motion still lacks; where the products go
        double tx, ty;                     // direction of slip while Newton's steps take |u_t| along, else 0
    };
    struct Equal { int at, row; double target, force; };
    static constexpr double smooth = 1e-9;    // friction below this is none
    static constexpr int most_steps = 90, patience = 12;  // a path with |u_t| kept goes slowly
    static constexpr double slow = 1e-3;      // [m/s]: directions of slower slip count less
    static constexpr double enough = 1e-13, tolerable = 1e-10;  // ends the path; is a solution

    /// The cone's motion from that of its group.
    static void motion_of(const Cone& c, const double* u, double* s) {
        if (c.stop) {
            s[0] = u[0];
            return;
        }
        s[0] = u[2] + u[3] * c.y - u[4] * c.x;
        if (c.size == 1) return;
        s[0] /= c.mu, s[1] = u[0] - u[5] * c.y, s[2] = u[1] + u[5] * c.x;
    }
    static void add_wrench(const Cone& c, const double* z, double* w) {
        if (c.stop) {
            w[0] += z[0];
            return;
        }
        const double n = c.size == 1 ? z[0] : z[0] / c.mu, x = c.size == 1 ? 0.0 : z[1], y = c.size == 1 ? 0.0 : z[2];
        w[0] += x, w[1] += y, w[2] += n, w[3] += c.y * n, w[4] -= c.x * n, w[5] += c.x * y - c.y * x;
    }

    void start(const RowSystem& rows, double far) {
        speed_ = 1e-9;
        double response = 1e-300;
        for (Cone& c : cones_) {
            double s[3] = {0, 0, 0};
            motion_of(c, at_[static_cast<std::size_t>(c.at)].u_free, s);
            s[0] += c.size == 1 ? c.shift[0] : c.shift[0] / c.mu;
            if (c.size == 3) s[1] += c.shift[1], s[2] += c.shift[2];
            for (int i = 0; i < c.size; ++i) speed_ = larger(speed_, std::fabs(s[i]));
            const At& at = at_[static_cast<std::size_t>(c.at)];
            const double* y = rows.Y.data() + at.group->store;
            const int n = at.group->rows, column = c.stop ? 0 : 2;
            double own = 0;
            for (int d = 0; d < at.group->dofs_end - at.group->dofs; ++d) own += y[d * n + column] * y[d * n + column];
            response = larger(response, own);
        }
        force_ = speed_ / response;
        for (Cone& c : cones_)
            for (int i = 0; i < 3; ++i) c.s[i] = i == 0 ? far * speed_ : 0.0, c.z[i] = i == 0 ? far * force_ : 0.0;
        for (Equal& e : equal_) e.force = 0;
        y_.assign(static_cast<std::size_t>(freedoms_), 0.0);
    }
    /// far: how far out the path starts; near: share of the start at which |u_t| joins Newton's steps.
    void follow_path(const RowSystem& rows, double far, double near) {
        start(rows, far);
        const auto n = static_cast<std::size_t>(freedoms_), all = n + equal_.size();
        step_.resize(all), rest_.resize(n), equal_left_.resize(equal_.size());
        double reached = 1, lowest = INFINITY;
        for (int step = 0, best_step = 0; step < most_steps && step < best_step + (std::isinf(near) ? patience : most_steps); ++step) {
            const double gap = residuals(rows, reached < near);
            reached = quality(gap);
            if (!std::isfinite(reached)) break;
            if (reached < lowest) lowest = reached, best_step = step;
            if (reached < best_) best_ = reached, keep();
            if (reached < enough || !scale()) break;
            assemble(rows);
            if (!lu_factor(K_.data(), static_cast<int>(all), pivots_)) break;
            for (Cone& c : cones_) aim(c, 0.0, false);
            direction(rows);
            const double reach = longest();
            const double centre = (1 - reach) * (1 - reach) * (1 - reach) * gap;
            for (Cone& c : cones_) aim(c, centre, true);
            direction(rows);
            const double length = longest();
            if (length < 1e-8) break;
            for (std::size_t i = 0; i < n; ++i) y_[i] += length * step_[i];
            for (std::size_t i = 0; i < equal_.size(); ++i) equal_[i].force += length * step_[n + i];
            for (Cone& c : cones_)
                for (int i = 0; i < c.size; ++i) c.s[i] += length * c.ds[i], c.z[i] += length * c.dz[i];
        }
    }
    /// How far the present point is from a solution, as a share of where the path starts; directions of friction count less.
    double quality(double gap) const {
        double worst = gap / (speed_ * force_), largest = 1e-3 * force_, turned = 0;
        for (const Cone& c : cones_) largest = larger(largest, c.z[0]);
        for (const Cone& c : cones_) {
            for (int i = 0; i < c.size; ++i) worst = larger(worst, std::fabs(c.left[i]) / speed_);
            if (c.size == 1) continue;
            const double slip = larger(1e-300, norm(c.s[1], c.s[2]));
            turned = larger(turned, norm(c.z[1] + c.z[0] * c.s[1] / slip, c.z[2] + c.z[0] * c.s[2] / slip) * smaller(1.0, slip / slow));
        }
        for (const double e : equal_left_) worst = larger(worst, std::fabs(e) / speed_);
        return larger(worst, 1e-4 * turned / largest);
    }
    void keep() {
        kept_.clear();
        for (const Cone& c : cones_) kept_.insert(kept_.end(), c.z, c.z + 3);
        for (const Equal& e : equal_) kept_.push_back(e.force);
    }
    void restore() {
        const double* z = kept_.data();
        for (Cone& c : cones_) std::copy(z, z + 3, c.z), z += 3;
        for (Equal& e : equal_) e.force = *z++;
    }
    /// What the equations still lack at (y, s, z); returns the mean product of force and motion.
    double residuals(const RowSystem& rows, bool newton) {
        for (At& at : at_) spread(rows, at, y_.data(), at.u), std::fill(at.w, at.w + 6, 0.0);
        double gap = 0;
        for (Cone& c : cones_) {
            At& at = at_[static_cast<std::size_t>(c.at)];
            double u[6];
            for (int r = 0; r < at.group->rows; ++r) u[r] = at.u[r] + at.u_free[r];
            motion_of(c, u, c.left);
            c.left[0] += c.size == 1 ? c.shift[0] : c.shift[0] / c.mu;
            if (c.size == 3) {
                c.left[1] += c.shift[1], c.left[2] += c.shift[2];
                const double slip = norm(c.s[1], c.s[2]);
                c.left[0] += slip;
                c.tx = newton && slip > 0 ? c.s[1] / slip : 0.0, c.ty = newton && slip > 0 ? c.s[2] / slip : 0.0;
            }
            for (int i = 0; i < c.size; ++i) c.left[i] -= c.s[i], gap += c.s[i] * c.z[i];
            add_wrench(c, c.z, at.w);
        }
        for (std::size_t i = 0; i < equal_.size(); ++i) {
            At& at = at_[static_cast<std::size_t>(equal_[i].at)];
            equal_left_[i] = at.u[equal_[i].row] + at.u_free[equal_[i].row] - equal_[i].target;
            at.w[equal_[i].row] += equal_[i].force;
        }
        for (std::size_t i = 0; i < y_.size(); ++i) rest_[i] = -y_[i];
        for (const At& at : at_) gather(rows, at, at.w, rest_.data());
        return cones_.empty() ? 0.0 : gap / static_cast<double>(cones_.size());
    }
    /// u = Y^T y of a group; y += Y w.
    void spread(const RowSystem& rows, const At& at, const double* y, double* u) const {
        const Group& g = *at.group;
        const double* Y = rows.Y.data() + g.store;
        for (int r = 0; r < g.rows; ++r) u[r] = 0;
        for (int d = 0; d < g.dofs_end - g.dofs; ++d)
            for (int r = 0; r < g.rows; ++r) u[r] += Y[d * g.rows + r] * y[places_[static_cast<std::size_t>(at.places + d)]];
    }
    void gather(const RowSystem& rows, const At& at, const double* w, double* y) const {
        const Group& g = *at.group;
        const double* Y = rows.Y.data() + g.store;
        for (int d = 0; d < g.dofs_end - g.dofs; ++d) {
            double s = 0;
            for (int r = 0; r < g.rows; ++r) s += Y[d * g.rows + r] * w[r];
            y[places_[static_cast<std::size_t>(at.places + d)]] += s;
        }
    }
    /// Scaling in which force and motion are the same.
    bool scale() {
        for (Cone& c : cones_) {
            if (c.size == 1) {
                c.W[0] = std::sqrt(c.s[0] / c.z[0]), c.Wi[0] = 1 / c.W[0], c.lambda[0] = std::sqrt(c.s[0] * c.z[0]);
                if (!(c.W[0] > 0) || !std::isfinite(c.Wi[0])) return false;
                continue;
            }
            const double ds2 = determinant(c.s), dz2 = determinant(c.z);
            if (!(ds2 > 0) || !(dz2 > 0)) return false;
            const double ds = std::sqrt(ds2), dz = std::sqrt(dz2), beta = std::sqrt(ds / dz);
            double product = 1;
            for (int i = 0; i < 3; ++i) product += c.s[i] / ds * c.z[i] / dz;
            const double half = 1 / (2 * std::sqrt(0.5 * product));
            double v[3] = {(c.s[0] / ds + c.z[0] / dz) * half, (c.s[1] / ds - c.z[1] / dz) * half, (c.s[2] / ds - c.z[2] / dz) * half};
            const double norm = 1 / std::sqrt(2 * (v[0] + 1));
            v[0] += 1;
            for (double& x : v) x *= norm;
            for (int i = 0; i < 3; ++i)
                for (int j = 0; j < 3; ++j) {
                    const double J = i != j ? 0.0 : i == 0 ? 1.0 : -1.0, flip = (i == 0) == (j == 0) ? 1.0 : -1.0;
                    c.W[3 * i + j] = beta * (2 * v[i] * v[j] - J), c.Wi[3 * i + j] = (2 * flip * v[i] * v[j] - J) / beta;
                }
            times(c.Wi, c.s, c.lambda);
        }
        return true;
    }
    static double determinant(const double* x) {
        const double t = norm(x[1], x[2]);
        return (x[0] - t) * (x[0] + t);
    }
    static void times(const double* A, const double* x, double* y) {
        for (int i = 0; i < 3; ++i) y[i] = A[3 * i] * x[0] + A[3 * i + 1] * x[1] + A[3 * i + 2] * x[2];
    }
    /// K = 1 + sum Y T^T W^-2 N T Y^T, bordered by the equal rows.
    void assemble(const RowSystem& rows) {
        const int n = freedoms_, all = n + static_cast<int>(equal_.size());
        K_.assign(static_cast<std::size_t>(all) * static_cast<std::size_t>(all), 0.0);
        for (int i = 0; i < n; ++i) K_[static_cast<std::size_t>(i * all + i)] = 1;
        std::size_t cone = 0;
        for (std::size_t a = 0; a < at_.size(); ++a) {
            double G[36] = {};
            bool any = false;
            for (; cone < cones_.size() && cones_[cone].at == static_cast<int>(a); ++cone) add_stiffness(cones_[cone], G), any = true;
            if (!any) continue;
            const At& at = at_[a];
            const Group& g = *at.group;
            const int m = g.rows, count = g.dofs_end - g.dofs;
            const double* Y = rows.Y.data() + g.store;
            for (int d = 0; d < count; ++d) {
                double t[6] = {};
                for (int r = 0; r < m; ++r)
                    for (int c = 0; c < m; ++c) t[c] += Y[d * m + r] * G[6 * r + c];
                double* row = K_.data() + places_[static_cast<std::size_t>(at.places + d)] * all;
                for (int e = 0; e < count; ++e) {
                    double s = 0;
                    for (int c = 0; c < m; ++c) s += t[c] * Y[e * m + c];
                    row[places_[static_cast<std::size_t>(at.places + e)]] += s;
                }
            }
        }
        for (std::size_t i = 0; i < equal_.size(); ++i) {
            const At& at = at_[static_cast<std::size_t>(equal_[i].at)];
            const Group& g = *at.group;
            const double* Y = rows.Y.data() + g.store;
            const int row = n + static_cast<int>(i);
            for (int d = 0; d < g.dofs_end - g.dofs; ++d) {
                const double y = Y[d * g.rows + equal_[i].row];
                const int place = places_[static_cast<std::size_t>(at.places + d)];
                K_[static_cast<std::size_t>(place * all + row)] -= y, K_[static_cast<std::size_t>(row * all + place)] += y;
            }
            K_[static_cast<std::size_t>(row * all + row)] += redundant * speed_ / force_;  // redundant rows share; it vanishes with the steps
        }
    }
    static constexpr double redundant = 1e-10;
    static void add_stiffness(const Cone& c, double* G) {
        if (c.stop) {
            G[0] += c.Wi[0] * c.Wi[0];
            return;
        }
        // rows of T: the point's normal and slip, out of the six of its patch
        const double T[3][6] = {{0, 0, 1, c.y, -c.x, 0}, {1, 0, 0, 0, 0, -c.y}, {0, 1, 0, 0, 0, c.x}};
        double Q[9] = {c.size == 1 ? c.Wi[0] * c.Wi[0] : 0.0};
        if (c.size == 3) {
            for (int i = 0; i < 3; ++i)
                for (int j = 0; j < 3; ++j)
                    for (int k = 0; k < 3; ++k) Q[3 * i + j] += c.Wi[3 * i + k] * c.Wi[3 * k + j];
            for (int i = 0; i < 3; ++i) Q[3 * i + 1] += Q[3 * i] * c.tx, Q[3 * i + 2] += Q[3 * i] * c.ty;  // N
            for (int i = 0; i < 3; ++i) Q[i] /= c.mu, Q[3 * i] /= c.mu;
        }
        for (int i = 0; i < c.size; ++i)
            for (int r = 0; r < 6; ++r) {
                if (T[i][r] == 0) continue;
                for (int j = 0; j < c.size; ++j)
                    for (int s = 0; s < 6; ++s) G[6 * r + s] += T[i][r] * Q[3 * i + j] * T[j][s];
            }
    }
    /// Where the scaled product of force and motion is to go: `centre`, less its value and (corrector) what the first step misses.
    static void aim(Cone& c, double centre, bool correct) {
        if (c.size == 1) {
            c.aim[0] = (centre - c.s[0] * c.z[0] - (correct ? c.ds[0] * c.dz[0] : 0.0)) / c.lambda[0];
            return;
        }
        const double* l = c.lambda;
        double product[3];
        multiply(l, l, product);
        double d[3] = {centre - product[0], -product[1], -product[2]};
        if (correct) {
            double a[3], b[3];
            times(c.Wi, c.ds, a), times(c.W, c.dz, b);
            multiply(a, b, product);
            for (int i = 0; i < 3; ++i) d[i] -= product[i];
        }
        const double x = (l[0] * d[0] - l[1] * d[1] - l[2] * d[2]) / determinant(l);
        c.aim[0] = x, c.aim[1] = (d[1] - x * l[1]) / l[0], c.aim[2] = (d[2] - x * l[2]) / l[0];
    }
    static void multiply(const double* a, const double* b, double* c) {
        c[0] = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        c[1] = a[0] * b[1] + b[0] * a[1], c[2] = a[0] * b[2] + b[0] * a[2];
    }
    /// Steps of y, the equal forces, s and z towards the aims.
    void direction(const RowSystem& rows) {
        const auto n = static_cast<std::size_t>(freedoms_);
        std::copy(rest_.begin(), rest_.end(), step_.begin());
        for (At& at : at_) std::fill(at.w, at.w + 6, 0.0);
        for (const Cone& c : cones_) {
            double f[3];
            forward(c, c.left, f);
            add_wrench(c, f, at_[static_cast<std::size_t>(c.at)].w);
        }
        for (const At& at : at_) gather(rows, at, at.w, step_.data());
        for (std::size_t i = 0; i < equal_.size(); ++i) step_[n + i] = -equal_left_[i];
        lu_solve(K_.data(), static_cast<int>(step_.size()), pivots_, step_.data());
        for (At& at : at_) spread(rows, at, step_.data(), at.u);
        for (Cone& c : cones_) {
            motion_of(c, at_[static_cast<std::size_t>(c.at)].u, c.ds);
            for (int i = 0; i < c.size; ++i) c.ds[i] += c.left[i];
            forward(c, c.ds, c.dz);
            if (c.size == 3) c.ds[0] += c.tx * c.ds[1] + c.ty * c.ds[2];
        }
    }
    /// W^-1 (aim - W^-1 N ds)
    static void forward(const Cone& c, const double* ds, double* dz) {
        if (c.size == 1) {
            dz[0] = c.Wi[0] * (c.aim[0] - c.Wi[0] * ds[0]);
            return;
        }
        const double moved[3] = {ds[0] + c.tx * ds[1] + c.ty * ds[2], ds[1], ds[2]};
        double a[3];
        times(c.Wi, moved, a);
        for (int i = 0; i < 3; ++i) a[i] = c.aim[i] - a[i];
        times(c.Wi, a, dz);
    }
    /// How far all forces and motions may go and stay inside, at most 1.
    double longest() const {
        double length = 1;
        for (const Cone& c : cones_) length = smaller(length, 0.99 * smaller(room(c.s, c.ds, c.size), room(c.z, c.dz, c.size)));
        return length;
    }
    static double room(const double* x, const double* d, int size) {
        double best = d[0] < 0 ? -x[0] / d[0] : INFINITY;
        if (size == 1) return best;
        const double a = d[0] * d[0] - d[1] * d[1] - d[2] * d[2], b = x[0] * d[0] - x[1] * d[1] - x[2] * d[2], c = determinant(x), discriminant = b * b - a * c;
        if (discriminant < 0) return best;
        const double q = -(b + std::copysign(std::sqrt(discriminant), b));
        for (const double root : {q / a, c / q})
            if (root > 0) best = smaller(best, root);
        return best;
    }

    Vec<Cone> cones_;
    Vec<Equal> equal_;
    Vec<At> at_;
    Vec<int> places_, where_, pivots_;
    int freedoms_ = 0;
    double speed_ = 1, force_ = 1, best_ = 0;
    Vec<double> y_, step_, rest_, equal_left_, K_, kept_;

public:
    /// The problem is done: forget which freedoms it had.
    void finish(const RowSystem& rows) {
        for (const At& at : at_)
            for (int d = at.group->dofs; d < at.group->dofs_end; ++d) where_[static_cast<std::size_t>(rows.dofs[static_cast<std::size_t>(d)])] = -1;
    }
};

UKEMI_END
