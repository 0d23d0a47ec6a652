// Forces and motions of everything that touches, by hypothesis and check ([DF03] V-B, [CC00] 4.3); where trial and error
// finds no valid set of conditions, as one problem over cones (contact_cone.hpp); in heaps point by point (contact_newton.hpp).
//
// Unknowns are impulses over a step (or of an impact). Sticking means no motion at the end of the step. Slipping friction
// opposes the slip at the end, which always has a solution and never gains energy; where the slip is fast, so that it cannot
// end within the step, it opposes the mean slip over the step, which is exact to second order.
#pragma once
#include <cstdint>

#include "contact_cone.hpp"
#include "contact_island.hpp"
#include "contact_newton.hpp"
#include "inertia_response.hpp"

UKEMI_BEGIN

class ContactSolver : public IslandSystem {
public:
    bool impact = false;
    double duration = 1;      // of the step whose impulses are asked for
    bool thorough = true;     // else a heap for which Newton's steps find nothing valid is left at that: part of the step is another problem
    Certificate certificate;  // of the last solution

    /// Keeps what every contact did, as the first hypothesis of the next step.
    void remember() {
        memory_.clear(), stop_memory_.clear(), points_.clear();
        for (std::size_t i = 0; i < patch_count; ++i) {
            const Patch& p = patches[i];
            memory_.push_back({p.link_a, p.link_b, p.grip, p.kind, p.i, p.j, p.pivot, p.example && p.grip == Grip::stick, static_cast<int>(p.points.size()), points_.size(), p.frame.p,
                               p.frame.R * Vec3<double>{p.w[0], p.w[1], p.w[2]}, p.frame.R * Vec3<double>{p.w[3], p.w[4], p.w[5]}});
            points_.insert(points_.end(), p.points.begin(), p.points.end());
        }
        for (const StopState& s : stops) stop_memory_.push_back({s.stop, s.sign, s.w});
        loop_memory_ = loop_w;
        remembered_duration_ = duration;
    }

    /// v: velocity without these forces; on return with them. inertia: at this pose, scratch: nv numbers.
    /// `again`: the same rows with another v; hypotheses start from those that held.
    void solve(const Tree& tree, RowSystem& rows, InertiaResponse& inertia, bool again, double* v, double* scratch, StepReport& report, Vec<TraceEntry>* trace) {
        certificate = {};
        if (rows.groups.empty()) return;
        ++report.solves;
        if (again) {
            remember();
        } else {
            if (!impact) scale_memory();
            inertia.respond(rows);
            make_islands(rows);
            cones_.reserve(tree.nv), point_newton_.reserve(tree.nv);
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
    /// A contact of the last step: its hypothesis, its points (`count` of points_) and its wrench in the world.
    struct Memory {
        int a, b;
        Grip grip;
        Shape2 kind;
        int i, j, pivot;
        bool example;
        int count;
        std::size_t points;
        Vec3<double> at, force, moment;
    };
    struct StopMemory { int stop; double sign, w; };

    void solve_island(RowSystem& rows, bool again, StepReport& report, Vec<TraceEntry>* trace) {
        double lightest = 1e-300;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            if (g.kind != GroupKind::loop) lightest = larger(lightest, own_response(rows, g, normal_row(g)));
        }
        least_force_ = slow / lightest;
        start_from_memory(rows);
        for (std::size_t m = 0; m < members_.size() && !again; ++m) first_hypothesis(rows, group(rows, m));
        const bool heap = members_.size() >= large;
        bool by_hypothesis = !heap && trial_and_error(rows, 8 + static_cast<int>(members_.size()), report, trace);
        if (!by_hypothesis) {
            ++report.swept;
            const bool found = heap && solve_points(rows, again, report);
            if (!found && (!heap || thorough)) {
                by_hypothesis = solve_cones(rows, report, trace);
                if (!by_hypothesis && !heap && !certificate_of(rows).holds() && !solve_points(rows, again, report)) read_forces(rows, cones_);
            }
            report.exact += !by_hypothesis;
        }
        store(rows);
        certificate.include(certificate_of(rows));
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

    /// All constraints that the motion allows ([DF03] V-D): what parts on its own is off, what slides on slides.
    void first_hypothesis(const RowSystem& rows, const Group& g) {
        const double* free = u_free_.data() + g.row;
        if (g.kind == GroupKind::stop) {
            StopState& s = stops[static_cast<std::size_t>(g.index)];
            const StopMemory* memory = impact ? nullptr : remembered(s);
            s.on = memory ? memory->w > 0 : free[0] < s.target;
        }
        if (g.kind != GroupKind::patch) return;
        Patch& p = patches[static_cast<std::size_t>(g.index)];
        bool approaches = false;
        double fastest = 0;
        for (PatchPoint& c : p.points) {
            approaches |= normal_velocity(free, c) < c.target;
            fastest = larger(fastest, norm(slip_x(p.u0, c), slip_y(p.u0, c)));
        }
        for (PatchPoint& c : p.points) c.share = !impact && norm(slip_x(p.u0, c), slip_y(p.u0, c)) > p.stops_below ? 0.5 : 0.0;
        p.free_twist = own_response(rows, g, 5) * p.size * p.size < 1e-10 * (own_response(rows, g, 0) + own_response(rows, g, 1) + own_response(rows, g, 2));
        p.kind = p.shape;
        if (p.kind == Shape2::line) p.i = p.hull[0], p.j = p.hull[1];
        p.bearing.assign(p.points.size(), 1);
        p.stuck = p.slid = p.slid_again = p.pivoted = false;
        start_slip(p);
        const Memory* memory = remembered(p);
        const bool same = memory && memory->count == static_cast<int>(p.points.size());
        p.example = same && memory->example;
        for (std::size_t k = 0; k < p.points.size() && p.example; ++k) {
            const PatchPoint& c = points_[memory->points + k];
            p.points[k].example = {c.fx, c.fy, c.pressure};
        }
        const Grip last = memory ? memory->grip : Grip::stick;  // a new contact sticks
        if (!approaches || (last == Grip::off && !impact)) {
            p.grip = Grip::off;
        } else if (p.material.mu_s <= 0) {
            p.grip = Grip::slip;
        } else {
            p.grip = !impact && (fastest > p.stops_below || last == Grip::slip) ? Grip::slip : Grip::stick;
        }
        if (impact || !same || p.grip == Grip::off || last == Grip::off) return;
        p.kind = memory->kind, p.i = memory->i, p.j = memory->j;  // as it was
        if (last == Grip::pivot && p.grip == Grip::stick) p.grip = Grip::pivot, p.pivot = memory->pivot, p.pivoted = true;
        for (std::size_t k = 0; k < p.points.size() && p.grip != Grip::stick; ++k) {
            const PatchPoint& before = points_[memory->points + k];
            PatchPoint& c = p.points[k];
            c.pressure = larger(0.0, before.pressure), c.speed = larger(1e-9, before.speed);
            if (c.share == 0) c.dx = before.dx, c.dy = before.dy;
        }
    }
    /// Impulses of the last step as they would be over this one.
    void scale_memory() {
        const double scale = duration / remembered_duration_;
        if (scale == 1) return;
        for (Memory& m : memory_) m.force = m.force * scale, m.moment = m.moment * scale;
        for (PatchPoint& c : points_) c.fx *= scale, c.fy *= scale, c.pressure *= scale;
        for (StopMemory& m : stop_memory_) m.w *= scale;
        for (double& w : loop_memory_) w *= scale;
        remembered_duration_ = duration;
    }
    /// What this contact did in the last step.
    const Memory* remembered(const Patch& p) const {
        for (const Memory& m : memory_)
            if (m.a == p.link_a && m.b == p.link_b) return &m;
        return nullptr;
    }
    const StopMemory* remembered(const StopState& s) const {
        for (const StopMemory& m : stop_memory_)
            if (m.stop == s.stop && m.sign == s.sign) return &m;
        return nullptr;
    }
    /// The forces of the last step, from which hypotheses correct: what they leave open stays as it was.
    void start_from_memory(RowSystem& rows) {
        base_.assign(static_cast<std::size_t>(n_), 0.0);
        for (std::size_t m = 0; m < members_.size() && !impact; ++m) {
            const Group& g = group(rows, m);
            double* w = base_.data() + g.row;
            if (g.kind == GroupKind::loop && loop_memory_.size() == loop_w.size()) std::copy_n(loop_memory_.begin() + loop_row[static_cast<std::size_t>(g.index)], g.rows, w);
            if (g.kind == GroupKind::stop) {
                const StopMemory* k = remembered(stops[static_cast<std::size_t>(g.index)]);
                if (k) w[0] = k->w;
            }
            if (g.kind != GroupKind::patch) continue;
            const Patch& p = patches[static_cast<std::size_t>(g.index)];
            const Memory* k = remembered(p);
            if (!k) continue;
            const Vec3<double> f = tmul(p.frame.R, k->force), n = tmul(p.frame.R, k->moment + cross(k->at - p.frame.p, k->force));
            w[0] = f.x, w[1] = f.y, w[2] = f.z, w[3] = n.x, w[4] = n.y, w[5] = n.z;
        }
    }
    /// Slip along the motion; where there is none, against the friction that stuck.
    static void start_slip(Patch& p) {
        p.slid_again = true;
        const double f = norm(p.w[0], p.w[1]);
        for (PatchPoint& c : p.points) {
            const double x = slip_x(p.u0, c), y = slip_y(p.u0, c), speed = norm(x, y);
            if (speed > 1e-9) c.dx = x / speed, c.dy = y / speed;
            else if (f > 0) c.dx = -p.w[0] / f, c.dy = -p.w[1] / f;
            else c.dx = 1, c.dy = 0;
            c.pressure = 0, c.speed = 1;
        }
    }
    /// Slip against the friction that stuck ([DF03] eq. 21), point by point as `friction_use` shares it.
    static void start_slip_against_friction(Patch& p) {
        p.slid = true;
        share_pressure(p);
        const Cop cop = cop_of(p.w);
        const double turn = p.kind == Shape2::point ? 0.0 : friction_turn(p, cop);
        for (PatchPoint& c : p.points) {
            const double x = -p.w[0] + turn * (c.y - cop.y), y = -p.w[1] - turn * (c.x - cop.x), length = norm(x, y);
            if (length > 0) c.dx = x / length, c.dy = y / length;
            c.speed = larger(1e-6, 0.5 * norm(slip_x(p.u0, c), slip_y(p.u0, c)));
            c.pressure = larger(0.0, c.pressure);
        }
    }

    /// Checks every contact and changes what fails ([DF03] V-E, V-F); true if something did. `together`: all that fail
    /// change at once; otherwise only the worst.
    bool check_all(RowSystem& rows, int solve, int trial, bool together, Vec<TraceEntry>* trace) {
        force_scale_ = largest_force(rows);
        Vec<Failure>& failures = failures_;
        failures.clear();
        for (std::size_t m = 0; m < members_.size(); ++m) {
            double amount = 0;
            int point = -1;
            const Check failed = check(group(rows, m), &amount, &point);
            if (trace && group(rows, m).kind == GroupKind::patch) {
                const Patch& p = patches[static_cast<std::size_t>(group(rows, m).index)];
                trace->push_back({solve, trial, p.link_a, p.link_b, p.condition(), failed, amount});
            }
            if (failed != Check::none) failures.push_back({m, failed, amount, point});
        }
        if (failures.empty()) return false;
        // Slip that has not settled spoils all other checks; friction is judged when the normal forces stand.
        auto rank = [](Check c) { return c == Check::direction ? 2 : c == Check::friction || c == Check::twist ? 0 : 1; };
        std::size_t worst = 0;
        for (std::size_t i = 1; i < failures.size(); ++i)
            if (std::pair(rank(failures[i].check), failures[i].amount) > std::pair(rank(failures[worst].check), failures[worst].amount)) worst = i;
        const int first = rank(failures[worst].check);
        for (std::size_t i = 0; i < failures.size(); ++i)
            if (i == worst || (together && first < 2 && rank(failures[i].check) == first)) change(group(rows, failures[i].member), failures[i].check, failures[i].point);
        return true;
    }

    /// What forces are measured by: the largest of the island, or what would stop the lightest thing that is slow.
    double largest_force(RowSystem& rows) {
        double largest = least_force_;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            if (g.kind != GroupKind::loop) largest = larger(largest, std::fabs(w_[static_cast<std::size_t>(g.row + normal_row(g))]));
        }
        return largest;
    }
    static int normal_row(const Group& g) { return g.kind == GroupKind::patch ? 2 : 0; }
    static constexpr double most_friction = 1e4;         // of the cone problem: more holds whatever comes
    static constexpr double slow = 1e-3;                 // [m/s]: of slower slip the power of its friction is judged, not the direction
    static constexpr double velocity_tolerance = 1e-9;   // [m/s]: far below what a step at rest leaves
    static constexpr double bearing_tolerance = 1e-7;    // [m/s]: what redundant points that bear may differ
    static constexpr double force_tolerance = 1e-9;      // share of the largest normal force
    static constexpr double friction_tolerance = 1e-8;   // share of mu: so far the cone may be passed
    static constexpr double pressure_tolerance = 1e-9;   // [m]

    /// The first check that fails, how badly (comparable between contacts), and the point that approaches.
    Check check(const Group& g, double* amount, int* point) {
        const double *w = w_.data() + g.row, *u = u_.data() + g.row;
        if (g.kind == GroupKind::loop) return Check::none;
        if (g.kind == GroupKind::stop) {
            const StopState& s = stops[static_cast<std::size_t>(g.index)];
            if (s.on && w[0] < -force_tolerance * force_scale_) return *amount = -w[0] / force_scale_, Check::normal_force;
            if (!s.on && u[0] < s.target - velocity_tolerance) return *amount = s.target - u[0], Check::approach;
            return Check::none;
        }
        Patch& p = patches[static_cast<std::size_t>(g.index)];
        std::copy(w, w + 6, p.w);
        if (p.grip != Grip::off) {
            if (!(w[2] >= -force_tolerance * force_scale_)) return *amount = -w[2] / force_scale_, Check::normal_force;
            if (w[2] > force_tolerance * force_scale_) {
                if (p.kind != Shape2::point) {
                    const Cop c = cop_of(w);
                    const double distance = p.kind == Shape2::face ? outside_hull(p, c).distance : outside_line(p, c);
                    if (distance > pressure_tolerance + 1e-7 * p.size) return *amount = distance * w[2] / (p.size * force_scale_), Check::pressure;
                }
                if (p.grip == Grip::stick) {
                    const double mu = p.material.mu_s * (1 + friction_tolerance);
                    const FrictionUse use = friction_use(p);
                    if (use.share > mu && !(p.kind == Shape2::line && share_along_line(p, mu)) && !(p.example && share_by_example(p, mu))) {
                        *amount = (use.share - p.material.mu_s) * w[2] / force_scale_;
                        return use.twisted ? Check::twist : Check::friction;
                    }
                    double moves = 0;  // held by others that go on: its own friction does not decide
                    for (const PatchPoint& c : p.points)
                        if (c.pressure > 0) moves = larger(moves, creep(p, c, u));
                    if (moves > 0) return *amount = moves, Check::friction;
                } else if (p.material.mu_d > 0 && p.turned > 1e-7) {
                    return *amount = p.turned * w[2] / force_scale_, Check::direction;
                }
                if (p.grip == Grip::pivot) {
                    const PatchPoint& c = p.points[static_cast<std::size_t>(p.pivot)];
                    const double over = norm(c.fx, c.fy) - p.material.mu_s * (1 + friction_tolerance) * c.pressure;
                    if (over > force_tolerance * force_scale_) return *amount = over / force_scale_, Check::friction;
                    if (creep(p, c, u) > 0) return *amount = creep(p, c, u), Check::friction;
                }
            } else {  // what bears nothing holds nothing: neither by moments nor by friction
                const double size = larger(p.size, 1e-6), nothing = 1e-6 * force_scale_;
                const double moment = p.kind == Shape2::point ? 0.0 : norm(w[3], w[4]) / size, twist = p.free_twist || p.kind == Shape2::point ? 0.0 : w[5] / size;
                if (moment > nothing) return p.w[2] = force_tolerance * force_scale_, *amount = moment / force_scale_, Check::pressure;
                if (norm(norm(w[0], w[1]), twist) > nothing) return p.w[2] = force_tolerance * force_scale_, *amount = norm(w[0], w[1]) / force_scale_, p.grip == Grip::slip ? Check::normal_force : Check::friction;
            }
        }
        double worst = velocity_tolerance;
        for (std::size_t i = 0; i < p.points.size(); ++i) {
            const double approach = p.points[i].target - normal_velocity(u, p.points[i]);
            if (approach > worst && !bears(p, static_cast<int>(i))) worst = approach, *point = static_cast<int>(i);
        }
        if (*point >= 0) return *amount = worst, Check::approach;
        for (std::size_t i = 0; i < p.points.size(); ++i) {  // what bears keeps its height, unless others that bear the same differ
            const double off = normal_velocity(u, p.points[i]) - p.points[i].target;
            if (std::fabs(off) < bearing_tolerance || !bears(p, static_cast<int>(i)) || !(w[2] > force_tolerance * force_scale_)) continue;
            *point = static_cast<int>(i), *amount = std::fabs(off);
            return off > 0 ? Check::normal_force : Check::approach;
        }
        return Check::none;
    }
    static bool may_slip(const Patch& p) { return p.material.mu_d <= most_friction; }
    static bool bears(const Patch& p, int i) {
        if (p.grip == Grip::off) return false;
        return p.kind == Shape2::face || i == p.i || (p.kind == Shape2::line && i == p.j);
    }
    static double outside_line(const Patch& p, const Cop& c) {
        const PatchPoint &a = p.points[static_cast<std::size_t>(p.i)], &b = p.points[static_cast<std::size_t>(p.j)];
        const double ex = b.x - a.x, ey = b.y - a.y, l = norm(ex, ey), s = ((c.x - a.x) * ex + (c.y - a.y) * ey) / l;
        return larger(0.0, larger(-s, s - l));
    }

    /// The next condition ([DF03] Table II; [CC00] 4.4 for what becomes of the pressure).
    void change(const Group& g, Check failed, int point) {
        if (g.kind == GroupKind::stop) {
            stops[static_cast<std::size_t>(g.index)].on = failed == Check::approach;
            return;
        }
        Patch& p = patches[static_cast<std::size_t>(g.index)];
        p.stuck |= p.grip == Grip::stick;
        switch (failed) {
            case Check::normal_force:  // [DF03] Table II: it may push when it slips; then it parts
                if (p.material.mu_s > 0 && !p.slid_again && may_slip(p)) p.grip = Grip::slip, start_slip(p);
                else p.grip = Grip::off;
                break;
            case Check::pressure: {  // [CC00] 4.4 (2): the nearest corner or side of the hull bears
                const Cop c = cop_of(p.w);
                if (p.kind == Shape2::face) {
                    const Outside o = outside_hull(p, c);
                    p.i = o.i, p.j = o.j < 0 ? o.i : o.j;
                    p.kind = o.j < 0 ? Shape2::point : Shape2::line;
                } else {
                    const PatchPoint &a = p.points[static_cast<std::size_t>(p.i)], &b = p.points[static_cast<std::size_t>(p.j)];
                    if (norm(c.x - b.x, c.y - b.y) < norm(c.x - a.x, c.y - a.y)) p.i = p.j;
                    p.kind = Shape2::point;
                }
                if (p.grip == Grip::pivot) p.grip = Grip::slip;
                p.stuck = p.slid = p.slid_again = p.pivoted = false;
                break;
            }
            case Check::friction:
            case Check::twist:
                if (p.grip == Grip::pivot) {
                    p.grip = Grip::slip;
                    start_slip(p);
                    break;
                }
                p.grip = Grip::slip;
                if (!p.slid) start_slip_against_friction(p);
                else start_slip(p);
                break;
            case Check::direction:  // Newton's steps did not settle: from the motion, or at rest
                if (p.kind != Shape2::point && !p.pivoted) {  // about the slowest point that bears
                    double slowest = INFINITY;
                    for (std::size_t i = 0; i < p.points.size(); ++i)
                        if (p.points[i].pressure > 0 && p.points[i].speed < slowest) slowest = p.points[i].speed, p.pivot = static_cast<int>(i);
                    p.grip = Grip::pivot, p.pivoted = true;
                } else if (!p.slid_again) {
                    p.grip = Grip::slip;
                    start_slip(p);
                } else {
                    p.grip = Grip::stick;
                }
                break;
            case Check::approach:
                if (bears(p, point)) break;
                if (p.grip == Grip::off) {
                    if (p.shape != Shape2::point) p.stuck = p.slid = p.slid_again = p.pivoted = false;  // this point alone has not been tried
                    p.grip = (p.material.mu_s > 0 && !p.stuck) || !may_slip(p) ? Grip::stick : Grip::slip;
                    p.kind = Shape2::point, p.i = point;
                } else if (p.kind == Shape2::point) {
                    p.kind = Shape2::line, p.j = point;
                } else {
                    p.kind = p.shape;
                    if (p.kind == Shape2::line) p.i = p.hull[0], p.j = p.hull[1];
                }
                if (p.grip == Grip::pivot) p.grip = Grip::slip;
                if (p.grip == Grip::slip) start_slip(p);
                break;
            case Check::none: break;
        }
    }
    /// Has this set of conditions been tried before? [DF03] V-F: none is visited twice.
    bool repeated(RowSystem& rows) {
        const std::uint64_t key = conditions(rows);
        for (std::uint64_t k : tried_)
            if (k == key) return true;
        tried_.push_back(key);
        return false;
    }
    /// A number of the conditions of all members.
    std::uint64_t conditions(RowSystem& rows) {
        std::uint64_t key = 1469598103934665603ULL;
        auto mix = [&](std::uint64_t x) { key = (key ^ x) * 1099511628211ULL; };
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            if (g.kind == GroupKind::stop) mix(stops[static_cast<std::size_t>(g.index)].on);
            if (g.kind != GroupKind::patch) continue;
            const Patch& p = patches[static_cast<std::size_t>(g.index)];
            mix(static_cast<std::uint64_t>(p.grip) + 4 * (p.grip == Grip::slip && p.slid_again)), mix(static_cast<std::uint64_t>(p.kind));
            if (p.grip == Grip::pivot) mix(static_cast<std::uint64_t>(p.pivot));
            if (p.kind != Shape2::face) mix(static_cast<std::uint64_t>(p.i)), mix(p.kind == Shape2::line ? static_cast<std::uint64_t>(p.j) : 0u);
        }
        return key;
    }

    // --- all cones at once ---------------------------------------------------------------------------------------------
    /// Forces of all points by the cone problem; what it found is tried as a hypothesis, which is exact to rounding if it holds.
    bool solve_cones(RowSystem& rows, StepReport& report, Vec<TraceEntry>* trace) {
        for (std::size_t m = 0; m < members_.size(); ++m) {
            if (group(rows, m).kind != GroupKind::patch) continue;
            Patch& p = patches[static_cast<std::size_t>(group(rows, m).index)];
            for (PatchPoint& c : p.points) c.rest_x = slip_x(p.target, c), c.rest_y = slip_y(p.target, c);
        }
        do {
            pose_cones(rows);
            cones_.solve(rows);
            cones_.finish(rows);
            read_forces(rows, cones_);
        } while (came_to_rest(rows));
        if (trial_and_error(rows, 3, report, trace)) return true;
        if (trace) trace->push_back({report.solves, 0, -1, -1, Condition::off, Check::none, 0});
        read_forces(rows, cones_);
        return false;
    }
    /// Forces of all points by Newton's steps; false if they lead to none that are valid.
    bool solve_points(RowSystem& rows, bool again, StepReport& report) {
        point_newton_.clear();
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            const double* u_free = u_free_.data() + g.row;
            if (g.kind == GroupKind::stop) point_newton_.add_stop(g, u_free, wanted(g, 0), larger(0.0, base_[static_cast<std::size_t>(g.row)]));
            for (int r = 0; r < g.rows && g.kind == GroupKind::loop; ++r) point_newton_.add_equal(g, u_free, r, wanted(g, r));
            if (g.kind != GroupKind::patch) continue;
            const Patch& p = patches[static_cast<std::size_t>(g.index)];
            const Memory* memory = impact ? nullptr : remembered(p);
            const bool same = memory && memory->grip != Grip::off && memory->count == static_cast<int>(p.points.size());
            for (std::size_t k = 0; k < p.points.size(); ++k) {
                const PatchPoint& c = p.points[k];
                const double x = c.share > 0 ? slip_x(p.u0, c) : -slip_x(p.target, c), y = c.share > 0 ? slip_y(p.u0, c) : -slip_y(p.target, c);
                Vec3<double> force{0, 0, 0};
                if (same) force = {points_[memory->points + k].fx, points_[memory->points + k].fy, larger(0.0, points_[memory->points + k].pressure)};
                point_newton_.add_point(g, u_free, c.x, c.y, smaller(p.material.mu_d, most_friction), c.target, x, y, force);
            }
        }
        if (point_newton_.solve(rows, again, &report.trials, [&] {
                read_forces(rows, point_newton_);
                return certificate_of(rows).holds();
            }))
            return true;
        read_forces(rows, point_newton_);
        return false;
    }
    void pose_cones(RowSystem& rows) {
        cones_.clear();
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            cones_.add_group(rows, g, u_free_.data() + g.row);
            if (g.kind == GroupKind::stop) cones_.add_stop(wanted(g, 0));
            for (int r = 0; r < g.rows && g.kind == GroupKind::loop; ++r) cones_.add_equal(r, wanted(g, r));
            if (g.kind != GroupKind::patch) continue;
            const Patch& p = patches[static_cast<std::size_t>(g.index)];
            for (const PatchPoint& c : p.points) {
                // slip is the motion at the end less that of sticking, or with the motion at the start (twice the mean)
                const double x = c.share > 0 ? slip_x(p.u0, c) : -c.rest_x, y = c.share > 0 ? slip_y(p.u0, c) : -c.rest_y;
                cones_.add_point(c.x, c.y, smaller(p.material.mu_d, most_friction), c.target, x, y);
            }
        }
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
    /// Forces and motions that a solver of points found, and the hypothesis they amount to.
    template <class Solver> void read_forces(RowSystem& rows, const Solver& solver) {
        std::fill(w_.begin(), w_.end(), 0.0);
        forces_.clear();
        std::size_t cone = 0, equal = 0;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            double* w = w_.data() + g.row;
            if (g.kind == GroupKind::stop) w[0] = solver.force(cone++).z;
            for (int r = 0; r < g.rows && g.kind == GroupKind::loop; ++r) w[r] = solver.equal_force(equal++);
            if (g.kind != GroupKind::patch) continue;
            for (const PatchPoint& c : patches[static_cast<std::size_t>(g.index)].points) {
                const Vec3<double> f = solver.force(cone++);
                w[0] += f.x, w[1] += f.y, w[2] += f.z, w[3] += c.y * f.z, w[4] -= c.x * f.z, w[5] += c.x * f.y - c.y * f.x;
                forces_.push_back(f);
            }
        }
        respond_by_rows(rows);
        base_ = w_;
        hypothesis_of_points(rows);
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
                c.pressure = f.z, c.fx = f.x, c.fy = f.y, c.example = f;
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
    // --- results ---------------------------------------------------------------------------------------------------------
    void store(RowSystem& rows) {
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            const double *w = w_.data() + g.row, *u = u_.data() + g.row;
            if (g.kind == GroupKind::patch) {
                Patch& p = patches[static_cast<std::size_t>(g.index)];
                std::copy(w, w + 6, p.w), std::copy(u, u + 6, p.u);
            } else if (g.kind == GroupKind::stop) {
                stops[static_cast<std::size_t>(g.index)].w = w[0], stops[static_cast<std::size_t>(g.index)].u = u[0];
            } else {
                std::copy(w, w + g.rows, loop_w.begin() + loop_row[static_cast<std::size_t>(g.index)]);
            }
        }
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

    Vec<Memory> memory_;
    Vec<StopMemory> stop_memory_;
    Vec<PatchPoint> points_;
    Vec<double> loop_memory_;
    double remembered_duration_ = 1, force_scale_ = 1, least_force_ = 0;
    Vec<std::uint64_t> tried_;
    struct Failure { std::size_t member; Check check; double amount; int point; };
    Vec<Failure> failures_;
    Vec<Vec3<double>> forces_;
    ConeSolver cones_;
    PointNewton point_newton_;
};

UKEMI_END
