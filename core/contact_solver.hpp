// Forces and motions of everything that touches, by hypothesis and check ([DF03] V-B, [CC00] 4.3); where trial and error
// finds no valid set of conditions, as one problem over cones (contact_cone.hpp); in heaps point by point (contact_newton.hpp).
//
// Unknowns are impulses over a step (or of an impact). Sticking means no motion at the end of the step. Slipping friction
// opposes the slip at the end, which always has a solution and never gains energy; where the slip is fast, so that it cannot
// end within the step, it opposes the mean slip over the step, which is exact to second order.
#pragma once
#include "contact_cone.hpp"
#include "contact_hypotheses.hpp"
#include "contact_newton.hpp"
#include "inertia_response.hpp"

UKEMI_BEGIN

class ContactSolver : public Hypotheses {
public:
    double duration = 1;      // of the step whose impulses are asked for
    bool rough = false;       // what tells the motion of a heap is enough;
    bool roughly = false;     // the last solution is no more than that
    bool thorough = true;     // else a heap for which Newton's steps find nothing valid is left at that: part of the step is another problem
    Certificate certificate;  // of the last solution

    /// Keeps what every contact did, as the first hypothesis of the next step.
    void remember() { memory_.keep(*this, duration); }

    /// v: velocity without these forces; on return with them. inertia: at this pose, scratch: nv numbers.
    /// `again`: the same rows with another v; hypotheses start from those that held.
    void solve(const Tree& tree, RowSystem& rows, InertiaResponse& inertia, bool again, double* v, double* scratch, StepReport& report, Vec<TraceEntry>* trace) {
        certificate = {}, roughly = false;
        if (rows.groups.empty()) return;
        ++report.solves;
        if (again) {
            remember();
        } else {
            if (!impact) memory_.scale_to(duration);
            memory_.match(*this);
            inertia.respond(rows);
            make_islands(rows);
            posed_ = none;
            contacts_.reserve(tree.nv);
        }
        std::fill(scratch, scratch + tree.nv, 0.0);
        for (std::size_t i = 0; i < islands_.size(); ++i) {
            enter(rows, i, v);
            solve_island(rows, again, report, trace);
            for (std::size_t m = 0; m < members_.size(); ++m) rows.add_response(group(rows, m), w_.data() + group(rows, m).row, scratch);
        }
        inertia.finish(rows, scratch);
        for (int i = 0; i < tree.nv; ++i) v[i] += scratch[i];
    }

private:
    void solve_island(RowSystem& rows, bool again, StepReport& report, Vec<TraceEntry>* trace) {
        double lightest = 1e-300;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            if (g.kind != GroupKind::loop) lightest = larger(lightest, own_response(rows, g, normal_row(g)));
        }
        least_force_ = slow / lightest;
        start_from_memory(rows);
        const bool heap = members_.size() >= large, slides = heap && !impact && slides_somewhere(rows);
        for (std::size_t m = 0; m < members_.size(); ++m)
            if (group(rows, m).kind == GroupKind::patch) patches[static_cast<std::size_t>(group(rows, m).index)].rests_below = slides ? moving_tolerance : stick_tolerance;
        newton_.viscous = slides ? 0.9 * moving_tolerance : 0.0;
        for (std::size_t m = 0; m < members_.size() && !again; ++m) first_hypothesis(rows, group(rows, m), heap);
        bool by_hypothesis = !heap && trial_and_error(rows, 8 + static_cast<int>(members_.size()), report, trace), certified = false;
        Certificate own;
        if (!by_hypothesis) {
            ++report.swept;
            pose_points(rows, again ? Posed::again : Posed::first);
            certified = heap && solve_points(rows, again, own, report);
            if (!certified && (!heap || thorough)) by_hypothesis = solve_cones(rows, report, trace);
            report.exact += !by_hypothesis;
        }
        store(rows);
        if (roughly) return;
        if (!certified) own = certificate_of(rows);
        certificate.include(own);
        for (std::size_t m = 0; m < members_.size(); ++m)
            if (group(rows, m).kind == GroupKind::patch) patches[static_cast<std::size_t>(group(rows, m).index)].island_holds = own.holds();
    }

    /// Does a contact slide as the step begins, faster than by creeping?
    bool slides_somewhere(RowSystem& rows) {
        for (std::size_t m = 0; m < members_.size(); ++m) {
            if (group(rows, m).kind != GroupKind::patch) continue;
            const Patch& p = patches[static_cast<std::size_t>(group(rows, m).index)];
            for (const PatchPoint& c : p.points)
                if (norm(slip_x(p.u0, c), slip_y(p.u0, c)) > PointNewton::fast) return true;
        }
        return false;
    }
    /// Hypothesis, solution, check, until all hold or a set of conditions comes back; the first half of the trials
    /// changes all that fail at once, the second half one at a time.
    bool trial_and_error(RowSystem& rows, int most_trials, StepReport& report, Vec<TraceEntry>* trace) {
        tried_.clear();
        bool together = true;
        for (int trial = 0; trial < most_trials; ++trial) {
            ++report.trials;
            for (std::size_t m = 0; m < members_.size(); ++m)
                if (group(rows, m).kind == GroupKind::patch) patches[static_cast<std::size_t>(group(rows, m).index)].by_points = false;
            solve_hypothesis(rows);
            if (!check_all(rows, report.solves, trial, together && trial < most_trials / 2, trace)) return true;
            if (!repeated(rows)) continue;
            if (!together) return false;
            together = false;
            tried_.clear();
        }
        return false;
    }

    // --- point by point ------------------------------------------------------------------------------------------------
    /// Forces of all points by Newton's steps from those of the last step, of what moves from none, over cones, and by Newton's steps with patience, where no shorter
    /// step is left with more of it; false if none leads to valid ones. `own`: their certificate.
    bool solve_points(RowSystem& rows, bool again, Certificate& own, StepReport& report) {
        const PointNewton::Way& on = impact ? PointNewton::unknown : PointNewton::on;
        if ((roughly = rough)) return newton_.solve_roughly(on, &report.trials), add_forces(rows), true;
        auto valid = [&] { return read_forces(rows), (own = certificate_of(rows)).holds(); };
        auto solve = [&](const PointNewton::Way& way) { return newton_.solve(way, &report.trials, valid); };
        const bool moves = impact || newton_.viscous > 0;  // what rests keeps the forces that its motion leaves open
        if ((again && newton_.go_on(&report.trials, valid)) || solve(on) || (moves && solve(PointNewton::anew)) || cones_.solve(few_paths, valid) || solve(thorough ? PointNewton::to_the_end : PointNewton::patiently)) return true;
        return read_forces(rows), false;
    }
    /// Forces of all points by the cone problem; what it found is tried as a hypothesis, which is exact to rounding if it holds. Where
    /// not even the forces are valid, Newton's steps try from those of the last step.
    bool solve_cones(RowSystem& rows, StepReport& report, Vec<TraceEntry>* trace) {
        do {
            cones_.solve(ConeSolver::all_paths, [] { return false; });
            read_forces(rows);
        } while (came_to_rest(rows) && (pose_points(rows, Posed::rested), true));
        if (trial_and_error(rows, 3, report, trace)) return true;
        if (trace) trace->push_back({report.solves, 0, -1, -1, Condition::off, Check::none, 0});
        auto valid = [&] { return read_forces(rows), certificate_of(rows).holds(); };
        if (valid()) return false;
        pose_points(rows, Posed::first);
        if (!newton_.solve(PointNewton::patiently, &report.trials, valid)) cones_.restore(), read_forces(rows);
        return false;
    }
    /// Slip is the motion at the end less that of sticking, or with the motion at the start (twice the mean). What sticks does as its target
    /// tells, or (`rested`) as it did; forces are at first as they were in the last step, and `again` as they are.
    enum class Posed { first, again, rested };
    void pose_points(RowSystem& rows, Posed how) {
        if (posed_ == present_) contacts_.pose_again(how == Posed::again);
        else contacts_.clear(), newton_.forget(), how = how == Posed::again ? Posed::first : how;
        posed_ = present_;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            const double* u_free = u_free_.data() + g.row;
            if (g.kind == GroupKind::stop) contacts_.add_stop(g, u_free, wanted(g, 0), larger(0.0, base_[static_cast<std::size_t>(g.row)]));
            for (int r = 0; r < g.rows && g.kind == GroupKind::loop; ++r) contacts_.add_equal(g, u_free, r, wanted(g, r));
            if (g.kind != GroupKind::patch) continue;
            Patch& p = patches[static_cast<std::size_t>(g.index)];
            const ContactMemory::Contact* memory = impact || how != Posed::first ? nullptr : memory_.of(g.index);
            const bool same = memory && memory->grip != Grip::off && memory->count == static_cast<int>(p.points.size());
            for (std::size_t k = 0; k < p.points.size(); ++k) {
                PatchPoint& c = p.points[k];
                if (how != Posed::rested) c.rest_x = slip_x(p.target, c), c.rest_y = slip_y(p.target, c);
                const double x = c.share > 0 ? slip_x(p.u0, c) : -c.rest_x, y = c.share > 0 ? slip_y(p.u0, c) : -c.rest_y;
                Vec3<double> force{0, 0, 0};
                if (same) force = {memory_.point(*memory, k).fx, memory_.point(*memory, k).fy, larger(0.0, memory_.point(*memory, k).pressure)};
                contacts_.add_point(g, u_free, c.x, c.y, smaller(p.material.mu_d, most_friction), c.target, x, y, force);
            }
        }
        contacts_.arrange(rows);
    }
    /// Slip that turned back within the step has stopped in it: its end counts, not its mean. A point that only creeps is
    /// at rest, and its friction is free to be less than its bound.
    bool came_to_rest(RowSystem& rows) {
        bool any = false;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            if (g.kind != GroupKind::patch) continue;
            Patch& p = patches[static_cast<std::size_t>(g.index)];
            const double* u = u_.data() + g.row;
            for (PatchPoint& c : p.points) {
                const double x = slip_x(u, c), y = slip_y(u, c);
                if (c.share > 0) {
                    if (x * slip_x(p.u0, c) + y * slip_y(p.u0, c) < 0) c.share = 0, any = true;
                } else if (creep(p, c, u) == 0 && c.rest_x == slip_x(p.target, c) && c.rest_y == slip_y(p.target, c) && norm(x - c.rest_x, y - c.rest_y) > velocity_tolerance &&
                           norm(c.fx, c.fy) > 0.999 * p.material.mu_d * c.pressure && c.pressure > force_tolerance * least_force_) {
                    c.rest_x = x, c.rest_y = y, any = true;
                }
            }
        }
        return any;
    }
    /// Forces and motions of the points, and the hypothesis they amount to.
    void read_forces(RowSystem& rows) {
        add_forces(rows);
        respond_by_rows(rows);
        base_ = w_;
        hypothesis_of_points(rows);
    }
    /// Forces of the points, and of their groups.
    void add_forces(RowSystem& rows) {
        std::fill(w_.begin(), w_.end(), 0.0);
        forces_.clear();
        std::size_t point = 0, equal = 0;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            double* w = w_.data() + g.row;
            if (g.kind == GroupKind::stop) w[0] = contacts_.force(point++).z;
            for (int r = 0; r < g.rows && g.kind == GroupKind::loop; ++r) w[r] = contacts_.equal_force(equal++);
            if (g.kind != GroupKind::patch) continue;
            Patch& p = patches[static_cast<std::size_t>(g.index)];
            p.grip = Grip::off;
            for (PatchPoint& c : p.points) {
                const Vec3<double> f = contacts_.force(point++);
                c.pressure = f.z, c.fx = f.x, c.fy = f.y;
                if (f.z > 0) p.grip = Grip::slip;
                w[0] += f.x, w[1] += f.y, w[2] += f.z, w[3] += c.y * f.z, w[4] -= c.x * f.z, w[5] += c.x * f.y - c.y * f.x;
                forces_.push_back(f);
            }
        }
    }
    /// What the points found, as conditions of their contacts.
    void hypothesis_of_points(RowSystem& rows) {
        double scale = least_force_;
        for (const Vec3<double>& f : forces_) scale = larger(scale, f.z);
        std::size_t at = 0;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            if (g.kind == GroupKind::stop) stops[static_cast<std::size_t>(g.index)].on = w_[static_cast<std::size_t>(g.row)] > 0;
            if (g.kind != GroupKind::patch) continue;
            Patch& p = patches[static_cast<std::size_t>(g.index)];
            int bearing = 0, sticking = 0;
            p.grip = Grip::off;
            p.stuck = p.slid = p.slid_again = p.pivoted = false;
            p.by_points = p.example = true;
            for (std::size_t i = 0; i < p.points.size(); ++i) {
                PatchPoint& c = p.points[i];
                const Vec3<double>& f = forces_[at++];
                c.example = f;
                if (f.z <= 1e-9 * scale) continue;
                if (bearing++ == 0) p.i = static_cast<int>(i);
                p.j = static_cast<int>(i);
                const double friction = norm(f.x, f.y);
                if (friction > 0) c.dx = -f.x / friction, c.dy = -f.y / friction;
                const Slip s = slip_of(p, c, u_.data() + g.row);
                c.speed = larger(1e-9, norm(s.x, s.y));
                if (friction < p.material.mu_d * f.z * (1 - 1e-6) || creep(p, c, u_.data() + g.row) == 0) p.pivot = static_cast<int>(i), ++sticking;
            }
            if (bearing > 0) p.grip = sticking == bearing ? Grip::stick : sticking == 1 ? Grip::pivot : sticking == 0 ? Grip::slip : Grip::stick;
            p.kind = bearing <= 1 ? Shape2::point : bearing == 2 ? Shape2::line : p.shape;
            if (p.kind == Shape2::line && p.shape == Shape2::line) p.i = p.hull[0], p.j = p.hull[1];
            std::copy(w_.begin() + g.row, w_.begin() + g.row + 6, p.w);
        }
    }
    // --- results (of a rough pass the forces alone) ----------------------------------------------------------------------
    void store(RowSystem& rows) {
        double work = 0;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            const double *w = w_.data() + g.row, *u = u_.data() + g.row;
            if (g.kind == GroupKind::patch) {
                Patch& p = patches[static_cast<std::size_t>(g.index)];
                std::copy(w, w + 6, p.w), std::copy(u, u + 6, p.u);
                work += p.work();
            } else if (g.kind == GroupKind::stop) {
                StopState& s = stops[static_cast<std::size_t>(g.index)];
                s.w = w[0], s.u = u[0];
                work += s.work();
            } else {
                std::copy(w, w + g.rows, loop_w.begin() + loop_row[static_cast<std::size_t>(g.index)]);
            }
        }
        for (std::size_t m = 0; m < members_.size(); ++m)
            if (group(rows, m).kind == GroupKind::patch) patches[static_cast<std::size_t>(group(rows, m).index)].island_work = work;
    }
    /// Residuals of all conditions of the island, whoever found the solution.
    Certificate certificate_of(RowSystem& rows) {
        Certificate c;
        const double scale = largest_force(rows);
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            const double *w = w_.data() + g.row, *u = u_.data() + g.row;
            if (g.kind == GroupKind::stop) {
                const StopState& s = stops[static_cast<std::size_t>(g.index)];
                c.normal_force = larger(c.normal_force, -w[0] / scale);
                c.approach = larger(c.approach, s.target - u[0]);
                c.complementarity = larger(c.complementarity, w[0] / scale * std::fabs(u[0] - s.target));
            }
            if (g.kind != GroupKind::patch) continue;
            Patch& p = patches[static_cast<std::size_t>(g.index)];
            c.normal_force = larger(c.normal_force, -w[2] / scale);
            for (const PatchPoint& q : p.points) c.approach = larger(c.approach, q.target - normal_velocity(u, q));
            if (!(w[2] > 1e-9 * scale)) {  // bears nothing, and must hold nothing
                c.cone = larger(c.cone, norm(w[0], w[1]) / scale), c.pressure = larger(c.pressure, norm(w[3], w[4]) / scale);
                continue;
            }
            const double share = w[2] / scale;
            const Cop cop = cop_of(w);
            c.pressure = larger(c.pressure, share * outside_hull(p, cop).distance);
            double opening = u[2] - p.target[2] + (u[3] - p.target[3]) * cop.y - (u[4] - p.target[4]) * cop.x;  // where the force acts
            c.complementarity = larger(c.complementarity, share * std::fabs(opening));
            if (p.by_points) {
                certify_points(p, u, share / w[2], c);
                continue;
            }
            if (p.material.mu_s <= 0) continue;
            // friction of the points, and what is left of the whole when it is taken away
            double left[3] = {w[0], w[1], w[5]};
            for (PatchPoint& q : p.points) {
                const bool sticks = p.grip == Grip::stick || (p.grip == Grip::pivot && &q == &p.points[static_cast<std::size_t>(p.pivot)]);
                if (!sticks) q.fx = -p.material.mu_d * q.pressure * q.dx, q.fy = -p.material.mu_d * q.pressure * q.dy;
                add_tangential(left, q, -q.fx, -q.fy);
            }
            c.dissipation = larger(c.dissipation, share * (norm(left[0], left[1]) + (p.free_twist ? 0.0 : std::fabs(left[2]) / larger(p.size, 1e-3))) / w[2]);
            certify_points(p, u, share / w[2], c);
        }
        return c;
    }

    /// Each point: friction within the cone, at its bound where the point slips, and against the slip.
    static void certify_points(const Patch& p, const double* u, double per_force, Certificate& c) {
        for (const PatchPoint& q : p.points) {
            const double f = norm(q.fx, q.fy);
            c.cone = larger(c.cone, per_force * (f - p.material.mu_s * q.pressure) / larger(1.0, p.material.mu_s));
            const Slip m = slip_of(p, q, u);
            const double speed = larger(1e-300, norm(m.x, m.y)), limit = p.material.mu_d * larger(0.0, q.pressure);
            const double end = creep(p, q, u);
            c.dissipation = larger(c.dissipation, per_force * norm(q.fx + limit * m.x / speed, q.fy + limit * m.y / speed) * smaller(1.0, end / slow) / larger(1.0, p.material.mu_d));
        }
    }

    static constexpr std::size_t few_paths = 3;  // of the cones of a heap
    Vec<Vec3<double>> forces_;
    ContactPoints contacts_;
    ConeSolver cones_{contacts_};
    PointNewton newton_{contacts_};
    static constexpr std::size_t none = static_cast<std::size_t>(-1);
    std::size_t posed_ = none;  // the island whose points these are
};

UKEMI_END
