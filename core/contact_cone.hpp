// Contact with Coulomb friction as one problem over cones, solved by an interior-point method: where trial and error finds
// no valid set of conditions, or forces are not unique.
//
// A point's force (mu f_n, f_t) and its motion (u_n / mu + |u_t|, u_t) (De Saxce and Feng 1998) lie in the same
// round cone and are perpendicular. Both follow a central path by Newton's steps (scaling of Nesterov and Todd 1997, corrector of
// Mehrotra 1992) in the matrix of contact_points.hpp. Newton's steps take |u_t| along; where that path breaks off, |u_t|
// is kept from step to step until the solution is near (a convex problem each; Acary et al. 2011 go on so to the end).
#pragma once
#include "contact_points.hpp"

UKEMI_BEGIN

class ConeSolver {
    using Point = ContactPoints::Point;

public:
    explicit ConeSolver(ContactPoints& contacts) : contacts_(contacts), points_(contacts.points) {}

    static constexpr std::size_t all_paths = 7;
    /// Finds forces of the points, as well as they can be found, or until they are `valid()`, which is asked whenever they are ten times nearer to a
    /// solution: true. `paths`: how many are tried; those of `all_paths` with |u_t| kept at first, too.
    template <class Valid> bool solve(std::size_t paths, Valid valid) {
        cones_.assign(points_.size(), {});
        best_ = INFINITY;
        keep();
        static constexpr double far[all_paths] = {1.0, 30.0, 0.03, 5.0, 0.2, 300.0, 3e-3}, near[] = {INFINITY, 1e-3, 1e-4, 1e-2, 1e-1};
        for (std::size_t i = 0; i < paths; ++i)
            for (std::size_t j = 0; j < (paths == all_paths ? std::size(near) : 1) && best_ >= tolerable; ++j)
                if (follow_path(far[i], near[j], valid)) return true;
        restore();
        return false;
    }
    /// The best forces that were found.
    void restore() {
        const double* f = kept_.data();
        for (Point& p : points_) std::copy(f, f + 3, p.f), f += 3;
    }

private:
    struct Cone {
        double s[3], z[3], ds[3], dz[3];   // motion and force, on the cone's own scale; their steps
        double W[9], Wi[9], lambda[3];     // scaling: lambda = W z = W^-1 s
        double left[3], moved[3], aim[3];  // what the motion still lacks, and with the step of y; where the products go
        double tx, ty;                     // direction of slip while Newton's steps take |u_t| along, else 0
    };
    static constexpr int most_steps = 90, patience = 12;  // a path with |u_t| kept goes slowly
    static constexpr double short_step = 0.02;
    static constexpr int most_short_steps = 3;  // on end: the path has broken off
    static constexpr double slow = 1e-3;      // [m/s]: directions of slower slip count less
    static constexpr double enough = 1e-13, tolerable = 1e-10;  // ends the path; is a solution
    static constexpr double stiff = 1e8;      // of what is equal, times its own response; it gives way less with each step

    static double mu_of(const Point& p) { return p.rows == 3 ? p.mu : 1.0; }

    void start(double far) {
        speed_ = 1e-9;
        double response = 1e-300;
        for (const Point& p : points_) {
            if (p.equal) continue;
            speed_ = larger(speed_, std::fabs(p.u_free[0]) / mu_of(p));
            for (int r = 1; r < p.rows; ++r) speed_ = larger(speed_, std::fabs(p.u_free[r]));
            response = larger(response, p.normal);
        }
        force_ = speed_ / response;
        for (std::size_t i = 0; i < cones_.size(); ++i) {
            cones_[i] = {};
            if (points_[i].equal) points_[i].f[0] = 0;
            else cones_[i].s[0] = far * speed_, cones_[i].z[0] = far * force_;
        }
        y_.assign(contacts_.y.size(), 0.0);
    }
    /// far: how far out the path starts; near: share of the start at which |u_t| joins Newton's steps.
    template <class Valid> bool follow_path(double far, double near, Valid valid) {
        start(far);
        double reached = 1, lowest = INFINITY, ask_at = 0.1;
        for (int step = 0, best_step = 0, short_steps = 0; step < most_steps && step < best_step + (std::isinf(near) ? patience : most_steps); ++step) {
            const double gap = residuals(reached < near);
            reached = quality(gap);
            if (!std::isfinite(reached)) break;
            if (reached < lowest) lowest = reached, best_step = step;
            if (reached < best_) best_ = reached, keep();
            if (reached < ask_at) {
                ask_at = 0.1 * reached;
                if (valid()) return true;
            }
            if (reached < enough || (lowest < tolerable && reached > lowest) || !scale() || !factor()) break;
            for (std::size_t i = 0; i < cones_.size(); ++i) aim(points_[i], cones_[i], 0.0, false);
            direction(false);
            const double reach = longest();
            const double centre = (1 - reach) * (1 - reach) * (1 - reach) * gap;
            for (std::size_t i = 0; i < cones_.size(); ++i) aim(points_[i], cones_[i], centre, true);
            direction(true);
            const double length = longest();
            short_steps = length < short_step ? short_steps + 1 : 0;
            if (length < 1e-8 || (std::isinf(near) && short_steps == most_short_steps)) break;
            for (std::size_t i = 0; i < y_.size(); ++i) y_[i] += length * contacts_.y[i];
            for (std::size_t i = 0; i < cones_.size(); ++i) {
                Cone& c = cones_[i];
                if (points_[i].equal) points_[i].f[0] += length * c.dz[0];
                for (int r = 0; r < points_[i].rows && !points_[i].equal; ++r) c.s[r] += length * c.ds[r], c.z[r] += length * c.dz[r];
            }
        }
        return false;
    }
    /// How far the present point is from a solution, as a share of where the path starts; directions of friction count less, and
    /// what forces of stiff points lack by rounding, which grows towards the end.
    double quality(double gap) const {
        double worst = gap / (speed_ * force_), largest = 1e-3 * force_, turned = 0, lacks = 0, all = 1e-300;
        for (const Cone& c : cones_) largest = larger(largest, c.z[0]);
        for (std::size_t i = 0; i < cones_.size(); ++i) {
            const Cone& c = cones_[i];
            const Point& p = points_[i];
            for (int r = 0; r < p.rows; ++r) worst = larger(worst, std::fabs(c.left[r]) / speed_);
            if (p.rows == 1) continue;
            const double slip = larger(1e-300, norm(c.s[1], c.s[2]));
            turned = larger(turned, norm(c.z[1] + c.z[0] * c.s[1] / slip, c.z[2] + c.z[0] * c.s[2] / slip) * smaller(1.0, slip / slow));
        }
        for (std::size_t i = 0; i < y_.size(); ++i) lacks += rest_[i] * rest_[i], all += y_[i] * y_[i];
        return larger(larger(worst, 1e-6 * std::sqrt(lacks / all)), 1e-4 * turned / largest);
    }
    void keep() {
        kept_.clear();
        for (const Point& p : points_) kept_.insert(kept_.end(), p.f, p.f + 3);
    }
    /// Forces of the points, and what the equations still lack at (y, s, z); returns the mean product of force and motion.
    double residuals(bool newton) {
        double gap = 0;
        int count = 0;
        std::copy(y_.begin(), y_.end(), contacts_.y.begin());
        for (std::size_t i = 0; i < cones_.size(); ++i) {
            Point& p = points_[i];
            Cone& c = cones_[i];
            contacts_.find_motion(p);
            c.left[0] = p.u[0] / mu_of(p), c.left[1] = p.u[1], c.left[2] = p.u[2], c.tx = c.ty = 0;
            if (p.equal) continue;
            ++count;
            if (p.rows == 3) {
                const double slip = norm(c.s[1], c.s[2]);
                c.left[0] += slip;
                if (newton && slip > 0) c.tx = c.s[1] / slip, c.ty = c.s[2] / slip;
            }
            for (int r = 0; r < p.rows; ++r) c.left[r] -= c.s[r], gap += c.s[r] * c.z[r], p.f[r] = c.z[r];
            p.f[0] /= mu_of(p);
        }
        contacts_.find_y();
        rest_.resize(y_.size());
        for (std::size_t i = 0; i < y_.size(); ++i) rest_[i] = contacts_.y[i] - y_[i];
        return gap / larger(1, count);
    }
    /// Scaling in which force and motion are the same.
    bool scale() {
        for (std::size_t i = 0; i < cones_.size(); ++i) {
            Cone& c = cones_[i];
            if (points_[i].equal) continue;
            if (points_[i].rows == 1) {
                c.W[0] = std::sqrt(c.s[0] / c.z[0]), c.Wi[0] = 1 / c.W[0], c.lambda[0] = std::sqrt(c.s[0] * c.z[0]);
                if (!(c.W[0] > 0) || !std::isfinite(c.Wi[0])) return false;
                continue;
            }
            const double ds2 = determinant(c.s), dz2 = determinant(c.z);
            if (!(ds2 > 0) || !(dz2 > 0)) return false;
            const double ds = std::sqrt(ds2), dz = std::sqrt(dz2), beta = std::sqrt(ds / dz);
            double product = 1;
            for (int k = 0; k < 3; ++k) product += c.s[k] / ds * c.z[k] / dz;
            const double half = 1 / (2 * std::sqrt(0.5 * product));
            double v[3] = {(c.s[0] / ds + c.z[0] / dz) * half, (c.s[1] / ds - c.z[1] / dz) * half, (c.s[2] / ds - c.z[2] / dz) * half};
            const double norm = 1 / std::sqrt(2 * (v[0] + 1));
            v[0] += 1;
            for (double& x : v) x *= norm;
            for (int k = 0; k < 3; ++k)
                for (int j = 0; j < 3; ++j) {
                    const double J = k != j ? 0.0 : k == 0 ? 1.0 : -1.0, flip = (k == 0) == (j == 0) ? 1.0 : -1.0;
                    c.W[3 * k + j] = beta * (2 * v[k] * v[j] - J), c.Wi[3 * k + j] = (2 * flip * v[k] * v[j] - J) / beta;
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
    /// 1 + sum Y G Y^T with G = W^-2 N on the points' own scale.
    bool factor() {
        contacts_.set_unit();
        for (std::size_t i = 0; i < cones_.size(); ++i) {
            const Point& p = points_[i];
            const Cone& c = cones_[i];
            double G[3][3] = {};
            if (p.equal) G[0][0] = stiff / p.normal;
            else if (p.rows == 1) G[0][0] = c.Wi[0] * c.Wi[0];
            else {
                for (int r = 0; r < 3; ++r)
                    for (int j = 0; j < 3; ++j)
                        for (int k = 0; k < 3; ++k) G[r][j] += c.Wi[3 * r + k] * c.Wi[3 * k + j];
                for (int r = 0; r < 3; ++r) G[r][1] += G[r][0] * c.tx, G[r][2] += G[r][0] * c.ty;  // N
                for (int r = 0; r < 3; ++r) G[0][r] /= p.mu, G[r][0] /= p.mu;
            }
            contacts_.stiffen(p, G);
        }
        return contacts_.factor();
    }
    /// Where the scaled product of force and motion is to go: `centre`, less its value and (corrector) what the first step misses.
    static void aim(const Point& p, Cone& c, double centre, bool correct) {
        if (p.equal) return;
        if (p.rows == 1) {
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
    /// Steps of y, s and z towards the aims; that of y stands in the points' own. `again`: for what the first solution leaves, as the
    /// matrix has stiff and soft points.
    void direction(bool again) {
        std::copy(rest_.begin(), rest_.end(), contacts_.y.begin());
        for (std::size_t i = 0; i < cones_.size(); ++i) push_forward(points_[i], cones_[i], cones_[i].left);
        contacts_.solve();
        if (again) {
            step_ = contacts_.y;
            for (std::size_t i = 0; i < cones_.size(); ++i) find_step(points_[i], cones_[i]);
            for (std::size_t i = 0; i < step_.size(); ++i) contacts_.y[i] = rest_[i] - step_[i];
            for (std::size_t i = 0; i < cones_.size(); ++i) push_forward(points_[i], cones_[i], cones_[i].moved);
            contacts_.solve();
            for (std::size_t i = 0; i < step_.size(); ++i) contacts_.y[i] += step_[i];
        }
        for (std::size_t i = 0; i < cones_.size(); ++i) {
            find_step(points_[i], cones_[i]);
            forward(points_[i], cones_[i], cones_[i].moved, cones_[i].dz);
            std::copy(cones_[i].moved, cones_[i].moved + 3, cones_[i].ds);
            if (points_[i].rows == 3) cones_[i].ds[0] += cones_[i].tx * cones_[i].ds[1] + cones_[i].ty * cones_[i].ds[2];
        }
    }
    /// What is left of a point's motion after the step of y.
    void find_step(const Point& p, Cone& c) const {
        contacts_.answer(p, c.moved);
        c.moved[0] /= mu_of(p);
        for (int r = 0; r < p.rows; ++r) c.moved[r] += c.left[r];
    }
    void push_forward(const Point& p, const Cone& c, const double* moved) {
        double f[3];
        forward(p, c, moved, f);
        f[0] /= mu_of(p);
        contacts_.push(p, f);
    }
    /// W^-1 (aim - W^-1 N ds); what is equal resists the motion that is left.
    static void forward(const Point& p, const Cone& c, const double* ds, double* dz) {
        if (p.equal) {
            dz[0] = -stiff / p.normal * ds[0];
            return;
        }
        if (p.rows == 1) {
            dz[0] = c.Wi[0] * (c.aim[0] - c.Wi[0] * ds[0]);
            return;
        }
        const double turned[3] = {ds[0] + c.tx * ds[1] + c.ty * ds[2], ds[1], ds[2]};
        double a[3];
        times(c.Wi, turned, a);
        for (int i = 0; i < 3; ++i) a[i] = c.aim[i] - a[i];
        times(c.Wi, a, dz);
    }
    /// How far all forces and motions may go and stay inside, at most 1.
    double longest() const {
        double length = 1;
        for (std::size_t i = 0; i < cones_.size(); ++i) {
            const Cone& c = cones_[i];
            const int rows = points_[i].rows;
            if (!points_[i].equal) length = smaller(length, 0.99 * smaller(room(c.s, c.ds, rows), room(c.z, c.dz, rows)));
        }
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

    ContactPoints& contacts_;
    Vec<Point>& points_;
    Vec<Cone> cones_;  // of each point
    double speed_ = 1, force_ = 1, best_ = 0;
    Vec<double> y_, step_, rest_, kept_;
};

UKEMI_END
