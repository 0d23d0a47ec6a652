// Forces and motions of everything that touches, by hypothesis and check ([DF03] V-B, [CC00] 4.3); where trial and error
// finds no valid set of conditions, point by point until all conditions hold.
//
// Unknowns are impulses over a step (or of an impact). Sticking means no motion at the end of the step; slipping friction
// opposes the mean motion over the step, so that its work is never positive.
#pragma once
#include <cstdint>

#include "contact_patch.hpp"

UKEMI_BEGIN

struct StopState {
    int stop;
    double sign, gap, target, u0;
    bool on;
    double w, u;
};

class ContactSolver {
public:
    Vec<Patch> patches;
    std::size_t patch_count = 0;      // patches[0 .. patch_count): memory of the others is kept
    Vec<StopState> stops;
    Vec<double> loop_target, loop_w;  // per loop row
    Vec<int> loop_row;        // first row of each loop group
    bool impact = false;

    /// v: velocity without these forces; on return with them. L: factor of the inertia matrix, scratch: nv numbers.
    /// `again`: the same rows with another v; hypotheses start from those that held.
    void solve(const Tree& tree, RowSystem& rows, const double* L, bool again, double* v, double* scratch, StepReport& report, Vec<TraceEntry>* trace) {
        if (rows.groups.empty()) return;
        ++report.solves;
        if (!again) {
            rows.respond(L);
            make_islands(rows);
        }
        std::fill(scratch, scratch + tree.nv, 0.0);
        for (const Island& island : islands_) {
            members_.assign(order_.begin() + island.begin, order_.begin() + island.end);
            n_ = island.rows, B_ = store_.data() + island.store;
            solve_island(rows, v, again, report, trace);
            for (std::size_t m = 0; m < members_.size(); ++m) rows.add_force(group(rows, m), w_.data() + group(rows, m).row, scratch);
        }
        ukemi::UKEMI_LEVEL::solve(tree, L, scratch);
        for (int i = 0; i < tree.nv; ++i) v[i] += scratch[i];
    }

private:
    struct Island { int begin, end, rows, store; };
    Group& group(RowSystem& rows, std::size_t member) { return rows.groups[static_cast<std::size_t>(members_[member])]; }

    /// Contacts that feel each other stand together; each island gets its B.
    void make_islands(RowSystem& rows) {
        const std::size_t n = rows.groups.size();
        order_.resize(n), island_.resize(n);
        for (std::size_t i = 0; i < n; ++i) order_[i] = static_cast<int>(i), island_[i] = rows.island(rows.groups[i]);
        std::sort(order_.begin(), order_.end(), [&](int a, int b) { return std::pair(island_[static_cast<std::size_t>(a)], a) < std::pair(island_[static_cast<std::size_t>(b)], b); });
        islands_.clear();
        int size = 0;
        for (std::size_t begin = 0, end; begin < n; begin = end) {
            Island island{static_cast<int>(begin), 0, 0, size};
            for (end = begin; end < n && island_[static_cast<std::size_t>(order_[end])] == island_[static_cast<std::size_t>(order_[begin])]; ++end) {
                Group& g = rows.groups[static_cast<std::size_t>(order_[end])];
                g.row = island.rows, island.rows += g.rows;
            }
            island.end = static_cast<int>(end);
            size += island.rows * island.rows;
            islands_.push_back(island);
        }
        store_.resize(static_cast<std::size_t>(size));
        for (const Island& island : islands_) {
            const int ld = island.rows;
            double* B = store_.data() + island.store;
            for (int i = island.begin; i < island.end; ++i) {
                const Group& a = rows.groups[static_cast<std::size_t>(order_[static_cast<std::size_t>(i)])];
                for (int j = island.begin; j <= i; ++j) {
                    const Group& b = rows.groups[static_cast<std::size_t>(order_[static_cast<std::size_t>(j)])];
                    rows.block(a, b, B + a.row * ld + b.row, ld);
                    for (int r = 0; r < a.rows && i != j; ++r)
                        for (int c = 0; c < b.rows; ++c) B[(b.row + c) * ld + a.row + r] = B[(a.row + r) * ld + b.row + c];
                }
            }
        }
    }

    void solve_island(RowSystem& rows, const double* v, bool again, StepReport& report, Vec<TraceEntry>* trace) {
        const auto n = static_cast<std::size_t>(n_);
        u_free_.resize(n), w_.assign(n, 0.0), u_.resize(n);
        for (std::size_t i = 0; i < members_.size(); ++i) {
            const Group& a = group(rows, i);
            rows.velocity(a, v, u_free_.data() + a.row);
            if (a.kind != GroupKind::patch) continue;
            const Vec3<double>& s = patches[static_cast<std::size_t>(a.index)].surface;
            u_free_[static_cast<std::size_t>(a.row)] -= s.x, u_free_[static_cast<std::size_t>(a.row + 1)] -= s.y, u_free_[static_cast<std::size_t>(a.row + 2)] -= s.z;
        }
        if (!again)
            for (std::size_t m = 0; m < members_.size(); ++m) first_hypothesis(group(rows, m));
        tried_.clear();
        bool valid = false;
        const int most_trials = 12 + 6 * static_cast<int>(members_.size());
        int trial = 0;
        for (; trial < most_trials && !valid; ++trial) {
            solve_hypothesis(rows);
            valid = !check_all(rows, report.solves, trial, trial < most_trials / 2, trace);
            if (!valid && repeated(rows)) break;
        }
        report.trials += trial;
        if (!valid) {
            ++report.exact;
            point_by_point(rows);
            if (trace) trace->push_back({report.solves, trial, -1, -1, Condition::off, Check::none, 0});
        }
        store(rows);
        certify(rows, report);
    }

    /// All constraints that the motion allows ([DF03] V-D): what parts on its own is off, what slides on slides.
    void first_hypothesis(const Group& g) {
        const double* free = u_free_.data() + g.row;
        if (g.kind == GroupKind::stop) {
            StopState& s = stops[static_cast<std::size_t>(g.index)];
            s.on = free[0] < s.target;
        }
        if (g.kind != GroupKind::patch) return;
        Patch& p = patches[static_cast<std::size_t>(g.index)];
        bool approaches = false;
        double fastest = 0;
        for (const PatchPoint& c : p.points) {
            approaches |= normal_velocity(free, c) < c.target;
            fastest = std::fmax(fastest, std::hypot(slip_x(p.u0, c), slip_y(p.u0, c)));
        }
        p.kind = p.shape;
        if (p.kind == Shape2::line) p.i = p.hull[0], p.j = p.hull[1];
        p.bearing.assign(p.points.size(), 1);
        start_slip(p, p.u0);
        if (!approaches) {
            p.grip = Grip::off;
        } else if (p.material.mu_s <= 0) {
            p.grip = Grip::slip;
        } else {
            p.grip = !impact && fastest > p.stops_below ? Grip::slip : Grip::stick;
        }
    }
    /// Slip along a motion; where it has none, against the friction that stuck ([DF03] eq. 21).
    static void start_slip(Patch& p, const double* u) {
        for (PatchPoint& c : p.points) {
            const double x = slip_x(u, c), y = slip_y(u, c), speed = std::hypot(x, y);
            const double f = std::hypot(p.w[0], p.w[1]);
            if (speed > 1e-9) c.dx = x / speed, c.dy = y / speed;
            else if (f > 0) c.dx = -p.w[0] / f, c.dy = -p.w[1] / f;
            else c.dx = 1, c.dy = 0;
            c.pressure = 1;
        }
    }

    /// Impulses and motions of the present hypothesis: D B E z = D (target - u_free) ([DF03] eq. 17 with the rows of 27-30).
    void solve_hypothesis(RowSystem& rows) {
        constexpr int most_turns = 40;
        for (int turns = 0;; ++turns) {
            assemble(rows);
            solve_rows(A_.data(), rhs_.data(), k_, z_.data(), columns_);
            apply(rows);
            double change = 0;
            for (std::size_t m = 0; m < members_.size(); ++m) {
                const Group& g = group(rows, m);
                if (g.kind != GroupKind::patch) continue;
                Patch& p = patches[static_cast<std::size_t>(g.index)];
                if (p.grip != Grip::slip || p.material.mu_d <= 0) continue;
                std::copy(w_.begin() + g.row, w_.begin() + g.row + 6, p.w);
                if (!(p.w[2] > 0)) continue;
                const Vec<char>& before = (bearing_before_ = p.bearing);
                share_pressure(p);
                if (p.kind == Shape2::face && before != p.bearing && turns < most_turns / 2) change = 1;
                const double turned = turn_slip(p, u_.data() + g.row);
                change = std::fmax(change, turned);
                p.turned = turned;
            }
            if (change < 1e-11 || turns >= most_turns) break;
        }
    }
    void assemble(RowSystem& rows) {
        k_ = 0;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            if (g.kind == GroupKind::patch) {
                Patch& p = patches[static_cast<std::size_t>(g.index)];
                basis(p);
                k_ += p.k;
            } else {
                k_ += g.kind == GroupKind::loop ? g.rows : stops[static_cast<std::size_t>(g.index)].on;
            }
        }
        const auto k = static_cast<std::size_t>(k_);
        A_.resize(k * k), rhs_.resize(k), z_.resize(k), BE_.resize(static_cast<std::size_t>(n_) * k);
        int c = 0;
        for (std::size_t m = 0; m < members_.size(); ++m) {  // BE, column by column
            const Group& g = group(rows, m);
            const int count = columns_of(g);
            for (int j = 0; j < count; ++j, ++c) {
                const double* e = column_of(g, j);
                for (int r = 0; r < n_; ++r) {
                    const double* row = B_ + r * n_ + g.row;
                    double s = 0;
                    for (int i = 0; i < g.rows; ++i) s += row[i] * e[i];
                    BE_[static_cast<std::size_t>(r * k_ + c)] = s;
                }
            }
        }
        int row = 0;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            const int count = columns_of(g);
            for (int j = 0; j < count; ++j, ++row) {
                const double* d = motion_of(g, j);
                double r = 0;
                for (int i = 0; i < g.rows; ++i) r += d[i] * (wanted(g, i) - u_free_[static_cast<std::size_t>(g.row + i)]);
                rhs_[static_cast<std::size_t>(row)] = r;
                for (int col = 0; col < k_; ++col) {
                    double s = 0;
                    for (int i = 0; i < g.rows; ++i) s += d[i] * BE_[static_cast<std::size_t>((g.row + i) * k_ + col)];
                    A_[static_cast<std::size_t>(row * k_ + col)] = s;
                }
            }
        }
    }
    int columns_of(const Group& g) const {
        if (g.kind == GroupKind::patch) return patches[static_cast<std::size_t>(g.index)].k;
        return g.kind == GroupKind::loop ? g.rows : stops[static_cast<std::size_t>(g.index)].on;
    }
    static const double* unit(int j) {
        static constexpr double e[most_rows][most_rows] = {{1, 0, 0, 0, 0, 0}, {0, 1, 0, 0, 0, 0}, {0, 0, 1, 0, 0, 0}, {0, 0, 0, 1, 0, 0}, {0, 0, 0, 0, 1, 0}, {0, 0, 0, 0, 0, 1}};
        return e[j];
    }
    const double* column_of(const Group& g, int j) const { return g.kind == GroupKind::patch ? patches[static_cast<std::size_t>(g.index)].E + 6 * j : unit(j); }
    const double* motion_of(const Group& g, int j) const { return g.kind == GroupKind::patch ? patches[static_cast<std::size_t>(g.index)].D + 6 * j : unit(j); }
    double wanted(const Group& g, int i) const {
        if (g.kind == GroupKind::patch) return patches[static_cast<std::size_t>(g.index)].target[i];
        if (g.kind == GroupKind::stop) return stops[static_cast<std::size_t>(g.index)].target;
        return loop_target[static_cast<std::size_t>(loop_row[static_cast<std::size_t>(g.index)] + i)];
    }
    /// w = E z, u = u_free + B w
    void apply(RowSystem& rows) {
        int c = 0;
        std::fill(w_.begin(), w_.end(), 0.0);
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            const int count = columns_of(g);
            for (int j = 0; j < count; ++j, ++c)
                for (int r = 0; r < g.rows; ++r) w_[static_cast<std::size_t>(g.row + r)] += column_of(g, j)[r] * z_[static_cast<std::size_t>(c)];
        }
        respond_all();
    }
    void respond_all() {
        for (int r = 0; r < n_; ++r) {
            double s = u_free_[static_cast<std::size_t>(r)];
            for (int i = 0; i < n_; ++i) s += B_[r * n_ + i] * w_[static_cast<std::size_t>(i)];
            u_[static_cast<std::size_t>(r)] = s;
        }
    }

    /// Checks every contact and changes what fails ([DF03] V-E, V-F); true if something did. `together`: all that fail
    /// change at once; otherwise only the worst.
    bool check_all(RowSystem& rows, int solve, int trial, bool together, Vec<TraceEntry>* trace) {
        force_scale_ = 1e-300;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            if (g.kind == GroupKind::patch) force_scale_ = std::fmax(force_scale_, std::fabs(w_[static_cast<std::size_t>(g.row + 2)]));
            if (g.kind == GroupKind::stop) force_scale_ = std::fmax(force_scale_, std::fabs(w_[static_cast<std::size_t>(g.row)]));
        }
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
        std::size_t worst = 0;
        for (std::size_t i = 1; i < failures.size(); ++i)
            if (failures[i].amount > failures[worst].amount) worst = i;
        for (std::size_t i = 0; i < failures.size(); ++i)
            if (together || i == worst) change(group(rows, failures[i].member), failures[i].check, failures[i].point);
        return true;
    }

    static constexpr double velocity_tolerance = 1e-9;   // [m/s]: far below what a step at rest leaves
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
                    const FrictionUse use = friction_use(p);
                    if (use.share > p.material.mu_s * (1 + friction_tolerance)) {
                        *amount = (use.share - p.material.mu_s) * w[2] / force_scale_;
                        return use.twisted ? Check::twist : Check::friction;
                    }
                } else if (p.material.mu_d > 0 && p.turned > 1e-7) {
                    return *amount = p.turned * w[2] / force_scale_, Check::direction;
                }
            }
        }
        double worst = velocity_tolerance;
        for (std::size_t i = 0; i < p.points.size(); ++i) {
            const double approach = p.points[i].target - normal_velocity(u, p.points[i]);
            if (approach > worst && !bears(p, static_cast<int>(i))) worst = approach, *point = static_cast<int>(i);
        }
        if (*point >= 0) return *amount = worst, Check::approach;
        return Check::none;
    }
    static bool bears(const Patch& p, int i) {
        if (p.grip == Grip::off) return false;
        return p.kind == Shape2::face || i == p.i || (p.kind == Shape2::line && i == p.j);
    }
    static double outside_line(const Patch& p, const Cop& c) {
        const PatchPoint &a = p.points[static_cast<std::size_t>(p.i)], &b = p.points[static_cast<std::size_t>(p.j)];
        const double ex = b.x - a.x, ey = b.y - a.y, l = std::hypot(ex, ey), s = ((c.x - a.x) * ex + (c.y - a.y) * ey) / l;
        return std::fmax(0.0, std::fmax(-s, s - l));
    }

    /// The next condition ([DF03] Table II; [CC00] 4.4 for what becomes of the pressure).
    void change(const Group& g, Check failed, int point) {
        if (g.kind == GroupKind::stop) {
            stops[static_cast<std::size_t>(g.index)].on = failed == Check::approach;
            return;
        }
        Patch& p = patches[static_cast<std::size_t>(g.index)];
        switch (failed) {
            case Check::normal_force:
                p.grip = Grip::off;  // [CC00] 4.4 (1): it parts
                break;
            case Check::pressure: {  // [CC00] 4.4 (2): the nearest corner or side of the hull bears
                const Cop c = cop_of(p.w);
                if (p.kind == Shape2::face) {
                    const Outside o = outside_hull(p, c);
                    p.i = o.i, p.j = o.j < 0 ? o.i : o.j;
                    p.kind = o.j < 0 ? Shape2::point : Shape2::line;
                } else {
                    const PatchPoint &a = p.points[static_cast<std::size_t>(p.i)], &b = p.points[static_cast<std::size_t>(p.j)];
                    if (std::hypot(c.x - b.x, c.y - b.y) < std::hypot(c.x - a.x, c.y - a.y)) p.i = p.j;
                    p.kind = Shape2::point;
                }
                break;
            }
            case Check::friction:
            case Check::twist:
                p.grip = Grip::slip;
                start_slip(p, p.u0);
                break;
            case Check::direction: p.grip = Grip::stick; break;
            case Check::approach:
                if (p.grip == Grip::off) {
                    p.grip = p.material.mu_s > 0 ? Grip::stick : Grip::slip;
                    p.kind = Shape2::point, p.i = point;
                    start_slip(p, p.u0);
                } else if (p.kind == Shape2::point) {
                    p.kind = Shape2::line, p.j = point;
                } else {
                    p.kind = p.shape;
                    if (p.kind == Shape2::line) p.i = p.hull[0], p.j = p.hull[1];
                }
                if (p.grip == Grip::slip) p.grip = p.material.mu_s > 0 && moved_slowly(p) ? Grip::stick : Grip::slip;
                break;
            case Check::none: break;
        }
    }
    static bool moved_slowly(const Patch& p) {
        for (const PatchPoint& c : p.points)
            if (std::hypot(slip_x(p.u0, c), slip_y(p.u0, c)) > p.stops_below) return false;
        return true;
    }
    /// Has this set of conditions been tried before? [DF03] V-F: none is visited twice.
    bool repeated(RowSystem& rows) {
        std::uint64_t key = 1469598103934665603ULL;
        auto mix = [&](std::uint64_t x) { key = (key ^ x) * 1099511628211ULL; };
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            if (g.kind == GroupKind::stop) mix(stops[static_cast<std::size_t>(g.index)].on);
            if (g.kind != GroupKind::patch) continue;
            const Patch& p = patches[static_cast<std::size_t>(g.index)];
            mix(static_cast<std::uint64_t>(p.grip)), mix(static_cast<std::uint64_t>(p.kind));
            if (p.kind != Shape2::face) mix(static_cast<std::uint64_t>(p.i)), mix(p.kind == Shape2::line ? static_cast<std::uint64_t>(p.j) : 0u);
        }
        for (std::uint64_t k : tried_)
            if (k == key) return true;
        tried_.push_back(key);
        return false;
    }

    // --- point by point: every point's exact force in turn, until all conditions hold ---------------------------------
    struct PointSystem { double B[9]; double inverse[9]; };
    void point_by_point(RowSystem& rows) {
        // from nothing but the bilateral rows: forces of a failed hypothesis may be wild
        std::fill(w_.begin(), w_.end(), 0.0);
        u_ = u_free_;
        total_points_ = 0;
        for (std::size_t m = 0; m < members_.size(); ++m)
            if (group(rows, m).kind == GroupKind::patch) total_points_ += patches[static_cast<std::size_t>(group(rows, m).index)].points.size();
        forces_.assign(total_points_, {0, 0, 0});
        local_.resize(total_points_);
        std::size_t at = 0;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            if (g.kind != GroupKind::patch) continue;
            for (const PatchPoint& c : patches[static_cast<std::size_t>(g.index)].points) local_response(g, c, local_[at++]);
        }
        constexpr int most_sweeps = 20000;
        for (int sweep = 0; sweep < most_sweeps; ++sweep) {
            double change = 0, scale = 1e-300;
            at = 0;
            for (std::size_t m = 0; m < members_.size(); ++m) {
                const Group& g = group(rows, m);
                if (g.kind == GroupKind::patch) {
                    Patch& p = patches[static_cast<std::size_t>(g.index)];
                    for (const PatchPoint& c : p.points) {
                        Vec3<double>& f = forces_[at];
                        const Vec3<double> next = point_force(p, c, local_[at], u_.data() + g.row, f);
                        const Vec3<double> d = next - f;
                        const double dw[6] = {d.x, d.y, d.z, c.y * d.z, -c.x * d.z, c.x * d.y - c.y * d.x};
                        push(g, dw);
                        f = next, ++at;
                        change = std::fmax(change, std::fabs(d.x) + std::fabs(d.y) + std::fabs(d.z));
                        scale = std::fmax(scale, std::fabs(f.z));
                    }
                } else if (g.kind == GroupKind::stop) {
                    const StopState& s = stops[static_cast<std::size_t>(g.index)];
                    double& w = w_[static_cast<std::size_t>(g.row)];
                    const double next = std::fmax(0.0, w + (s.target - u_[static_cast<std::size_t>(g.row)]) / B_[g.row * n_ + g.row]);
                    const double d[1] = {next - w};
                    push(g, d);
                    change = std::fmax(change, std::fabs(d[0])), scale = std::fmax(scale, next);
                } else {
                    for (int r = 0; r < g.rows; ++r) {
                        const int i = g.row + r;
                        const double b = B_[i * n_ + i];
                        double d[most_rows] = {};
                        d[r] = b > 0 ? (wanted(g, r) - u_[static_cast<std::size_t>(i)]) / b : 0.0;
                        push(g, d);
                        change = std::fmax(change, std::fabs(d[r]));
                    }
                }
            }
            if (change <= 1e-13 * scale) break;
        }
        // what the points found, as conditions of their contacts
        at = 0;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            if (g.kind == GroupKind::stop) stops[static_cast<std::size_t>(g.index)].on = w_[static_cast<std::size_t>(g.row)] > 0;
            if (g.kind != GroupKind::patch) continue;
            Patch& p = patches[static_cast<std::size_t>(g.index)];
            int bearing = 0;
            p.grip = Grip::off;
            for (std::size_t i = 0; i < p.points.size(); ++i) {
                PatchPoint& c = p.points[i];
                const Vec3<double>& f = forces_[at++];
                c.pressure = f.z;
                if (f.z <= 0) continue;
                if (bearing++ == 0) p.i = static_cast<int>(i);
                p.j = static_cast<int>(i);
                const bool slips = std::hypot(f.x, f.y) > p.material.mu_d * f.z * (1 - 1e-9);
                if (p.grip != Grip::stick) p.grip = slips ? Grip::slip : Grip::stick;
            }
            p.kind = bearing <= 1 ? Shape2::point : bearing == 2 ? Shape2::line : p.shape;
            std::copy(w_.begin() + g.row, w_.begin() + g.row + 6, p.w);
        }
    }
    /// Adds an impulse to a group and what it does to all motions.
    void push(const Group& g, const double* dw) {
        for (int r = 0; r < g.rows; ++r) {
            if (dw[r] == 0) continue;
            w_[static_cast<std::size_t>(g.row + r)] += dw[r];
            const double* column = B_ + (g.row + r) * n_;
            for (int i = 0; i < n_; ++i) u_[static_cast<std::size_t>(i)] += column[i] * dw[r];
        }
    }
    /// T^T B T of one point of a patch: its own 3 x 3 response.
    void local_response(const Group& g, const PatchPoint& c, PointSystem& s) const {
        const double T[3][6] = {{1, 0, 0, 0, 0, -c.y}, {0, 1, 0, 0, 0, c.x}, {0, 0, 1, c.y, -c.x, 0}};
        for (int a = 0; a < 3; ++a)
            for (int b = 0; b < 3; ++b) {
                double x = 0;
                for (int i = 0; i < 6; ++i)
                    for (int j = 0; j < 6; ++j) x += T[a][i] * B_[(g.row + i) * n_ + g.row + j] * T[b][j];
                s.B[3 * a + b] = x;
            }
        const double* m = s.B;
        const Sym3<double> inv = inverse(Sym3<double>{m[0], m[1], m[2], m[4], m[5], m[8]});
        const double flat[9] = {inv.xx, inv.xy, inv.xz, inv.xy, inv.yy, inv.yz, inv.xz, inv.yz, inv.zz};
        std::copy(flat, flat + 9, s.inverse);
    }
    /// The force at one point that meets all its conditions while the others stay as they are.
    Vec3<double> point_force(const Patch& p, const PatchPoint& c, const PointSystem& s, const double* u, const Vec3<double>& now) const {
        const double* B = s.B;
        auto minus = [&](int r) { return B[3 * r] * now.x + B[3 * r + 1] * now.y + B[3 * r + 2] * now.z; };
        const double vx = slip_x(u, c) - minus(0), vy = slip_y(u, c) - minus(1), vz = normal_velocity(u, c) - minus(2);  // without this force
        if (vz >= c.target) return {0, 0, 0};
        const Vec3<double> want = {slip_x(p.target, c) - vx, slip_y(p.target, c) - vy, c.target - vz};
        const double* I = s.inverse;
        const Vec3<double> stick = {I[0] * want.x + I[1] * want.y + I[2] * want.z, I[3] * want.x + I[4] * want.y + I[5] * want.z, I[6] * want.x + I[7] * want.y + I[8] * want.z};
        if (stick.z >= 0 && std::hypot(stick.x, stick.y) <= p.material.mu_s * stick.z) return stick;
        // slip: f = fz (-mu d, 1) with d along the mean motion; d turns until it fits
        const double mu = p.material.mu_d, x0 = slip_x(p.u0, c), y0 = slip_y(p.u0, c);
        double dx = now.z > 0 && std::hypot(now.x, now.y) > 0 ? -now.x : -stick.x, dy = now.z > 0 && std::hypot(now.x, now.y) > 0 ? -now.y : -stick.y;
        double length = std::hypot(dx, dy);
        if (length > 0) dx /= length, dy /= length;
        double fz = 0;
        for (int turn = 0; turn < 60; ++turn) {
            const double response = B[8] - mu * (B[6] * dx + B[7] * dy);
            fz = want.z / (response > 1e-9 * B[8] ? response : 1e-9 * B[8]);
            const double fx = -mu * dx * fz, fy = -mu * dy * fz;
            const double mx = 0.5 * (x0 + vx + B[0] * fx + B[1] * fy + B[2] * fz), my = 0.5 * (y0 + vy + B[3] * fx + B[4] * fy + B[5] * fz);
            length = std::hypot(mx, my);
            if (length < 1e-14) break;
            double nx = mx / length, ny = my / length;
            const double moved = std::hypot(nx - dx, ny - dy);
            if (turn > 8) nx += dx, ny += dy, length = std::fmax(1e-300, std::hypot(nx, ny)), nx /= length, ny /= length;
            dx = nx, dy = ny;
            if (moved < 1e-14) break;
        }
        return {-mu * dx * fz, -mu * dy * fz, fz};
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
    void certify(RowSystem& rows, StepReport& report) {
        Certificate& c = report.certificate;
        double scale = 1e-300;
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            if (g.kind == GroupKind::patch) scale = std::fmax(scale, std::fabs(w_[static_cast<std::size_t>(g.row + 2)]));
            if (g.kind == GroupKind::stop) scale = std::fmax(scale, std::fabs(w_[static_cast<std::size_t>(g.row)]));
        }
        for (std::size_t m = 0; m < members_.size(); ++m) {
            const Group& g = group(rows, m);
            const double *w = w_.data() + g.row, *u = u_.data() + g.row;
            if (g.kind == GroupKind::stop) {
                const StopState& s = stops[static_cast<std::size_t>(g.index)];
                c.normal_force = std::fmax(c.normal_force, -w[0] / scale);
                c.approach = std::fmax(c.approach, s.target - u[0]);
                c.complementarity = std::fmax(c.complementarity, w[0] / scale * std::fabs(u[0] - s.target));
            }
            if (g.kind != GroupKind::patch) continue;
            Patch& p = patches[static_cast<std::size_t>(g.index)];
            c.normal_force = std::fmax(c.normal_force, -w[2] / scale);
            for (const PatchPoint& q : p.points) c.approach = std::fmax(c.approach, q.target - normal_velocity(u, q));
            if (!(w[2] > 1e-9 * scale)) continue;
            const double share = w[2] / scale;
            const Cop cop = cop_of(w);
            c.pressure = std::fmax(c.pressure, share * outside_hull(p, cop).distance);
            double opening = u[2] - p.target[2] + (u[3] - p.target[3]) * cop.y - (u[4] - p.target[4]) * cop.x;  // where the force acts
            c.complementarity = std::fmax(c.complementarity, share * std::fabs(opening));
            const double mu = p.grip == Grip::slip ? p.material.mu_d : p.material.mu_s;
            c.cone = std::fmax(c.cone, share * (std::hypot(w[0], w[1]) / w[2] - mu) / std::fmax(1.0, mu));
            if (p.grip != Grip::slip || mu <= 0) continue;
            // friction against the mean slip: what the points could dissipate at most, less what they do
            double mean[6], most = 0, done = 0, fastest = 0;
            for (int r = 0; r < 6; ++r) mean[r] = 0.5 * (p.u0[r] + u[r]);
            for (const PatchPoint& q : p.points) {
                const double speed = std::hypot(slip_x(mean, q), slip_y(mean, q));
                most += mu * std::fmax(0.0, q.pressure) * speed, fastest = std::fmax(fastest, speed);
            }
            done = -(w[0] * mean[0] + w[1] * mean[1] + w[5] * mean[5]);
            if (fastest > 1e-9) c.dissipation = std::fmax(c.dissipation, share * std::fabs(most - done) / (w[2] * std::fmax(mu, 1e-12) * fastest));
        }
        report.valid &= c.normal_force < 1e-6 && c.approach < 1e-6 && c.complementarity < 1e-6 && c.cone < 1e-6 && c.dissipation < 1e-5 && c.pressure < 1e-6;
    }

    int n_ = 0, k_ = 0;
    double force_scale_ = 1;
    Vec<int> order_, island_, members_, columns_;
    double* B_ = nullptr;
    Vec<Island> islands_;
    Vec<double> store_, u_free_, u_, w_, A_, BE_, rhs_, z_;
    Vec<char> bearing_before_;
    Vec<std::uint64_t> tried_;
    struct Failure { std::size_t member; Check check; double amount; int point; };
    Vec<Failure> failures_;
    Vec<Vec3<double>> forces_;
    Vec<PointSystem> local_;
    std::size_t total_points_ = 0;
};

UKEMI_END
