// Patches and rows of what touches: contacts, joint stops, limits on several freedoms and loops.
#pragma once
#include "closed_rows.hpp"
#include "contact_solver.hpp"
#include "contact_touch.hpp"

UKEMI_BEGIN

class ContactRows : public TouchDown {
protected:
    ContactRows(const Tree& tree, const ContactScene& scene) : TouchDown(tree, scene), rows_(tree), body_of_(nv_), curved_product_(scene.curved.size()), curved_H_(scene.curved.size() * nv_) {
        for (std::size_t i = 0; i < tree.bodies.size(); ++i)
            for (int k = 0; k < tree.bodies[i].nv; ++k) body_of_[static_cast<std::size_t>(tree.bodies[i].iv + k)] = static_cast<int>(i);
    }

    /// Patches of what touches, at the bodies' poses X: points of one pair of bodies with one normal; those that are still to land apart, as
    /// what they may do is no linear continuation of what the others do.
    void gather(const Placement<double>* X) {
        solver_.patch_count = 0, bodies_.clear();
        for (const Found& f : detector_.found) {
            if (!f.touches) continue;
            const Vec3<double> n = normal_at(f, X), at = surface_point(f, n, X);
            Patch* patch = nullptr;
            const std::pair bodies(f.a, f.b >= 0 ? f.b : f.link_b);  // pieces of the terrain are negative
            for (std::size_t i = 0; i < solver_.patch_count && !patch; ++i) {
                if (bodies_[i] != bodies) continue;
                Patch& p = solver_.patches[i];
                const Vec3<double> z = {p.frame.R.xz, p.frame.R.yz, p.frame.R.zz};
                if ((f.b >= 0) == (p.b >= 0) && dot(z, n) > 0.9999 && lands(p.points[0].gap) == lands(f.gap)) patch = &p;
            }
            if (!patch) {
                if (solver_.patch_count == solver_.patches.size()) solver_.patches.emplace_back();
                patch = &solver_.patches[solver_.patch_count++];
                bodies_.push_back(bodies);
                patch->a = f.a, patch->b = f.b, patch->middle = f.middle, patch->moved = f.moved, patch->link_a = f.link_a, patch->link_b = f.link_b, patch->material = f.material;
                const Vec3<double> t = across(n), s = cross(n, t);
                patch->frame = {{t.x, s.x, n.x, t.y, s.y, n.y, t.z, s.z, n.z}, at};
                patch->surface = f.b < 0 ? tmul(patch->frame.R, f.velocity) : Vec3<double>{0, 0, 0};
                patch->points.clear();
                std::fill(patch->w, patch->w + 6, 0.0);
            }
            const Vec3<double> r = tmul(patch->frame.R, at - patch->frame.p);
            bool known = false;
            for (const PatchPoint& c : patch->points) known |= norm(c.x - r.x, c.y - r.y) < 1e-6;
            if (!known) patch->points.push_back({r.x, r.y, f.gap, f.radius > 0 ? f.radius : f.rim_radius, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, {0, 0, 0}});
        }
        for (std::size_t i = 0; i < solver_.patch_count; ++i) {  // the origin among the points
            Patch& p = solver_.patches[i];
            double x = 0, y = 0;
            for (const PatchPoint& c : p.points) x += c.x, y += c.y;
            x /= static_cast<double>(p.points.size()), y /= static_cast<double>(p.points.size());
            for (PatchPoint& c : p.points) c.x -= x, c.y -= y;
            p.frame.p += p.frame.R * Vec3<double>{x, y, 0};
            shape_patch(p);
        }
    }
    bool lands(double gap) const { return gap > options.touch; }
    /// Rows of all contacts, stops and loops at the poses in B; u0 of each.
    void make_rows(const double* q, const double* v, const BodyMotion* B, const Placement<double>* X) {
        rows_.clear();
        for (std::size_t i = 0; i < solver_.patch_count; ++i) {
            Patch& p = solver_.patches[i];
            rows_.add_patch(static_cast<int>(i), p.a, p.b, p.frame.p, p.frame.R, q, X);
            rows_.velocity(rows_.groups.back(), v, p.u0);
            p.u0[0] -= p.surface.x, p.u0[1] -= p.surface.y, p.u0[2] -= p.surface.z;
            // what velocity products add to the relative acceleration, of the centres of round surfaces
            const double radius = p.points[0].radius;
            Vec3<double> lin{0, 0, 0}, ang{0, 0, 0};
            const Vec3<double> n = {p.frame.R.xz, p.frame.R.yz, p.frame.R.zz}, at = p.frame.p + n * radius;
            for (int end : {p.a, p.b}) {
                if (end < 0) continue;
                const BodyMotion& m = B[end];
                const double sign = end == p.a ? 1.0 : -1.0;
                const Vec3<double> w = X[end].R * m.w, alpha = X[end].R * m.alpha, arm = at - X[end].p;
                lin += (X[end].R * m.a + cross(alpha, arm) + cross(w, cross(w, arm))) * sign;
                ang += alpha * sign;
            }
            lin += cross(n, ang) * radius;  // of the point below the centre
            if (p.b >= 0) {  // seen from b, which turns
                const Vec3<double> w = X[p.b].R * B[p.b].w, w_a = X[p.a].R * B[p.a].w, u = p.frame.R * Vec3<double>{p.u0[0], p.u0[1], p.u0[2]};
                const Vec3<double> w_n = cross(w, n);
                lin -= cross(w, u) * 2.0 + (cross(w, cross(w_a, n)) + cross(w_a, w_n) - cross(w, w_n) * 2.0) * radius;  // the point of a round surface goes round it
            }
            const Vec3<double> l = tmul(p.frame.R, lin), a = tmul(p.frame.R, ang);
            p.bias[0] = l.x, p.bias[1] = l.y, p.bias[2] = l.z, p.bias[3] = a.x, p.bias[4] = a.y, p.bias[5] = a.z;
        }
        solver_.stops.clear();
        for (std::size_t i = 0; i < scene_.stops.size(); ++i) {
            const Stop& s = scene_.stops[i];
            for (int side = 0; side < 2; ++side) {
                if (!stop_touched_[2 * i + static_cast<std::size_t>(side)]) continue;
                const double sign = side ? -1.0 : 1.0;
                rows_.add_stop(static_cast<int>(solver_.stops.size()), body_of_[static_cast<std::size_t>(s.iv)], s.iv, sign);
                solver_.stops.push_back({static_cast<int>(i), sign, 0, sign * v[s.iv], false, 0, 0});
            }
        }
        add_curved_stops(q, v);
        if (!loops) return;
        loops->jacobian(q, v, loop_H_.data(), loop_rate_.data());
        for (int l = 0; l < loops->loops(); ++l) {
            int count;
            const int* bodies = loops->bodies(l, &count);
            if (loops->rows(l) > 0) rows_.add_rows(l, loops->rows(l), bodies, count, loop_H_.data() + static_cast<std::size_t>(solver_.loop_row[static_cast<std::size_t>(l)]) * nv_);
        }
    }
    /// Limits on several freedoms that touch: rows that point inside.
    void add_curved_stops(const double* q, const double* v) {
        if (!std::any_of(curved_touched_.begin(), curved_touched_.end(), [](char touched) { return touched; })) return;
        limits->jacobian(q, v, curved_H_.data(), curved_product_.data());
        for (double& h : curved_H_) h = -h;
        for (std::size_t i = 0; i < curved_touched_.size(); ++i) {
            if (!curved_touched_[i]) continue;
            int count;
            const int* bodies = limits->bodies(static_cast<int>(i), &count);
            rows_.add_rows(0, 1, bodies, count, curved_H_.data() + i * nv_);
            Group& g = rows_.groups.back();
            g.kind = GroupKind::stop, g.index = static_cast<int>(solver_.stops.size());
            double u0[most_rows];
            rows_.velocity(g, v, u0);
            solver_.stops.push_back({static_cast<int>(scene_.stops.size() + i), 1.0, 0, u0[0], false, 0, 0});
        }
    }
    void prepare_loops() {
        solver_.loop_row.clear();
        int n = 0;
        for (int l = 0; l < loops->loops(); ++l) solver_.loop_row.push_back(n), n += loops->rows(l);
        const auto rows = static_cast<std::size_t>(n);
        loop_H_.resize(rows * nv_), loop_rate_.resize(rows);
        solver_.loop_target.resize(rows), solver_.loop_w.assign(rows, 0.0);
    }

    RowSystem rows_;
    ContactSolver solver_;
    Vec<int> body_of_;
    Vec<std::pair<int, int>> bodies_;  // of each patch
    Vec<double> curved_product_, curved_H_;
    Vec<double> loop_H_, loop_rate_;
};

UKEMI_END
