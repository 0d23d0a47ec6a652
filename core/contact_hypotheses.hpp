// Hypotheses about contacts: the first one, what is wrong with it, and the next ([DF03] V-D to V-F, Table II; [CC00] 4.3, 4.4).
#pragma once
#include <cstdint>

#include "contact_memory.hpp"

UKEMI_BEGIN

class Hypotheses : public IslandSystem {
public:
    bool impact = false;

protected:
    /// All constraints that the motion allows ([DF03] V-D): what parts on its own is off, what slides on slides. In a heap it may stop at any time.
    void first_hypothesis(const RowSystem& rows, const Group& g, bool heap) {
        const double* free = u_free_.data() + g.row;
        if (g.kind == GroupKind::stop) {
            StopState& s = stops[static_cast<std::size_t>(g.index)];
            const ContactMemory::Stop* memory = impact ? nullptr : memory_.of(s);
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
        for (PatchPoint& c : p.points) c.share = !impact && !heap && norm(slip_x(p.u0, c), slip_y(p.u0, c)) > p.stops_below ? 0.5 : 0.0;
        p.free_twist = own_response(rows, g, 5) * p.size * p.size < 1e-10 * (own_response(rows, g, 0) + own_response(rows, g, 1) + own_response(rows, g, 2));
        p.kind = p.shape;
        if (p.kind == Shape2::line) p.i = p.hull[0], p.j = p.hull[1];
        p.bearing.assign(p.points.size(), 1);
        p.stuck = p.slid = p.slid_again = p.pivoted = false;
        start_slip(p);
        const ContactMemory::Contact* memory = memory_.of(g.index);
        const bool same = memory && memory->count == static_cast<int>(p.points.size());
        p.example = same && memory->example;
        for (std::size_t k = 0; k < p.points.size() && p.example; ++k) {
            const PatchPoint& c = memory_.point(*memory, k);
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
            const PatchPoint& before = memory_.point(*memory, k);
            PatchPoint& c = p.points[k];
            c.pressure = larger(0.0, before.pressure), c.speed = larger(1e-9, before.speed);
            if (c.share == 0) c.dx = before.dx, c.dy = before.dy;
        }
    }
    /// The forces of the last step, from which hypotheses correct: what they leave open stays as it was.
    void start_from_memory(RowSystem& rows) {
        base_.assign(static_cast<std::size_t>(n_), 0.0);
        for (std::size_t m = 0; m < members_.size() && !impact; ++m) {
            const Group& g = group(rows, m);
            double* w = base_.data() + g.row;
            if (g.kind == GroupKind::loop && memory_.loops().size() == loop_w.size()) std::copy_n(memory_.loops().begin() + loop_row[static_cast<std::size_t>(g.index)], g.rows, w);
            if (g.kind == GroupKind::stop) {
                const ContactMemory::Stop* k = memory_.of(stops[static_cast<std::size_t>(g.index)]);
                if (k) w[0] = k->w;
            }
            if (g.kind != GroupKind::patch) continue;
            const Patch& p = patches[static_cast<std::size_t>(g.index)];
            const ContactMemory::Contact* k = memory_.of(g.index);
            if (!k) continue;
            const Vec3<double> f = tmul(p.frame.R, k->force), n = tmul(p.frame.R, k->moment + cross(k->at - p.frame.p, k->force));
            w[0] = f.x, w[1] = f.y, w[2] = f.z, w[3] = n.x, w[4] = n.y, w[5] = n.z;
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

    ContactMemory memory_;
    double least_force_ = 0;  // what would stop the lightest thing that is slow
    static constexpr double most_friction = 1e4;         // of the cone problem: more holds whatever comes
    static constexpr double slow = 1e-3;                 // [m/s]: of slower slip the power of its friction is judged, not the direction
    static constexpr double velocity_tolerance = 1e-9;   // [m/s]: far below what a step at rest leaves
    static constexpr double force_tolerance = 1e-9;      // share of the largest normal force
    Vec<std::uint64_t> tried_;

private:
    static constexpr double bearing_tolerance = 1e-7;    // [m/s]: what redundant points that bear may differ
    static constexpr double friction_tolerance = 1e-8;   // share of mu: so far the cone may be passed
    static constexpr double pressure_tolerance = 1e-9;   // [m]
    struct Failure { std::size_t member; Check check; double amount; int point; };

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
                    if (use.share > mu && !(p.kind == Shape2::line && std::isfinite(use.share) && share_along_line(p, mu)) && !(p.example && share_by_example(p, mu))) {
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
        for (std::size_t i = 0; i < p.points.size(); ++i) {  // what bears keeps its height, unless others that bear the same differ; without a force it may rise
            const double off = normal_velocity(u, p.points[i]) - p.points[i].target;
            if (std::fabs(off) < bearing_tolerance || !bears(p, static_cast<int>(i)) || (off > 0 && !(w[2] > force_tolerance * force_scale_))) continue;
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
        double turn = p.kind == Shape2::point ? 0.0 : friction_turn(p, cop), along = 1;
        if (std::isinf(turn)) along = 0, turn = std::copysign(1.0, turn);
        for (PatchPoint& c : p.points) {
            const double x = -along * p.w[0] + turn * (c.y - cop.y), y = -along * p.w[1] - turn * (c.x - cop.x), length = norm(x, y);
            if (length > 0) c.dx = x / length, c.dy = y / length;
            c.speed = larger(1e-6, 0.5 * norm(slip_x(p.u0, c), slip_y(p.u0, c)));
            c.pressure = larger(0.0, c.pressure);
        }
    }

    double force_scale_ = 1;
    Vec<Failure> failures_;
};

UKEMI_END
