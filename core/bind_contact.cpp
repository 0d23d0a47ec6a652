// Contacts for Python: the scene in, steps, reports out.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "border.hpp"
#include "closed_chain.hpp"
#include "contact_scene.hpp"

namespace ukemi {

ClosedChain* closed_chain_of(nb::handle object);

namespace {

using Vector = Vec3<double>;

/// n x 3 numbers.
std::vector<Vector> vectors(const char* name, nb::handle object) {
    const Array a(name, object.ptr());
    if (a.ndim() != 2 || a.dim(1) != 3) throw InputError("InvalidInputError", std::string(name) + ": expected (n, 3), got " + a.shape_text());
    a.require_finite();
    std::vector<Vector> out;
    for (npy_intp i = 0; i < a.dim(0); ++i) out.push_back({a.data()[3 * i], a.data()[3 * i + 1], a.data()[3 * i + 2]});
    return out;
}
Vector vector_of(const char* name, nb::handle object) {
    const Array a(name, object.ptr());
    if (a.size() != 3) throw InputError("InvalidInputError", std::string(name) + ": expected 3 numbers, got " + a.shape_text());
    return {a.data()[0], a.data()[1], a.data()[2]};
}
Vector turned(const Mat3<double>& R, const Vector& p) {
    return {R.xx * p.x + R.xy * p.y + R.xz * p.z, R.yx * p.x + R.yy * p.y + R.yz * p.z, R.zx * p.x + R.zy * p.y + R.zz * p.z};
}
Vector plus(const Vector& a, const Vector& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
Material material(nb::handle m) {
    const auto [s, d, e] = nb::cast<std::tuple<double, double, double>>(m);
    return {s, d, e};
}

/// Loops of a closed chain as the contact engine asks for them.
struct ChainRows final : LoopRows {
    ClosedChain& chain;
    const Tree& tree;
    ChainRows(ClosedChain& c, const Tree& t) : chain(c), tree(t) {}
    const RowBlock& at(int l) const { return chain.loops().blocks[static_cast<std::size_t>(l)]; }
    int loops() const override { return static_cast<int>(chain.loops().blocks.size()); }
    int rows(int l) const override { return at(l).rows; }
    const int* bodies(int l, int* count) const override {
        *count = at(l).path_end - at(l).path;
        return chain.loops().bodies.data() + at(l).path;
    }
    void jacobian(const double* q, const double* v, double* H, double* rate) override {
        std::fill(H, H + static_cast<std::ptrdiff_t>(chain.rows()) * tree.nv, 0.0);
        chain.jacobian(q, v, H, rate);
    }
    void project(double* q, double* v) override { chain.project(q, v); }
    void state(const double* q, const double* v, double* error, double* rate) override { chain.state(q, v, error, rate); }

    /// tau (may be null) and the torques of the connections' springs and dampers at the middle of a step with velocity v.
    const double* with_springs(const double* tau, const double* q, const double* v, double h) {
        const auto springy = [](const Loop& loop) { return loop.elastic; };
        if (std::none_of(chain.loops().items.begin(), chain.loops().items.end(), springy)) return tau;
        middle.resize(static_cast<std::size_t>(tree.nq)), torque.resize(static_cast<std::size_t>(tree.nv));
        Batch b;
        b.tree = &tree;
        b.q.data = q, b.v.data = v, b.dt = 0.5 * h, b.out = middle.data();
        kernels().integrate(b, 0, 1, nullptr);
        chain.spring_torques(middle.data(), v, torque.data());
        for (std::size_t i = 0; i < torque.size() && tau; ++i) torque[i] += tau[i];
        return torque.data();
    }
    std::vector<double> middle, torque;
};

struct PyContacts {
    nb::object owner, closed_owner, limits_owner;
    const Tree* tree;
    ContactScene scene;
    std::unique_ptr<ChainRows> rows, limit_rows;
    std::unique_ptr<ContactEngine> engine;

    PyContacts(nb::object t, nb::list solids, nb::list planes, nb::list fields, nb::list pairs, nb::list stops, nb::object closed, nb::object limits, const std::vector<double>& restitution, nb::list on_ground)
        : owner(t), closed_owner(closed), limits_owner(limits), tree(&nb::cast<const Tree&>(t)) {
        for (nb::handle item : solids) {
            const auto [link, report, radius, core, faces, edges, rim_radius, rim] = nb::cast<std::tuple<int, int, double, nb::object, nb::object, nb::object, double, nb::object>>(item);
            add_solid(link, report, radius, vectors("core", core), vectors("faces", faces), vectors("edges", edges), rim_radius, vectors("rim", rim));
        }
        for (nb::handle item : planes) {
            const auto [normal, offset, velocity, m] = nb::cast<std::tuple<nb::object, double, nb::object, nb::object>>(item);
            scene.planes.push_back({vector_of("normal", normal), offset, vector_of("velocity", velocity), material(m)});
        }
        for (nb::handle item : fields) {
            const auto [x0, y0, dx, dy, heights, velocity, m] = nb::cast<std::tuple<double, double, double, double, nb::object, nb::object, nb::object>>(item);
            const Array z("heights", heights.ptr());
            if (z.ndim() != 2 || z.dim(0) < 2 || z.dim(1) < 2) throw InputError("InvalidInputError", "heights: expected (nx >= 2, ny >= 2), got " + z.shape_text());
            z.require_finite();
            scene.fields.push_back({x0, y0, dx, dy, static_cast<int>(z.dim(0)), static_cast<int>(z.dim(1)), {z.data(), z.data() + z.size()}, vector_of("velocity", velocity), material(m)});
        }
        const int count = static_cast<int>(scene.solids.size());
        for (nb::handle item : on_ground) {
            const auto [i, m] = nb::cast<std::tuple<int, nb::object>>(item);
            if (i < 0 || i >= count) throw InputError("InvalidInputError", "on_ground: expected the number of a solid");
            Solid& solid = scene.solids[static_cast<std::size_t>(i)];
            if (m.is_none()) solid.through_ground = true;
            else solid.own_ground = true, solid.on_ground = material(m);
        }
        for (nb::handle item : pairs) {
            const auto [a, b, velocity, m] = nb::cast<std::tuple<int, int, nb::object, nb::object>>(item);
            if (a < 0 || b < 0 || a >= count || b >= count || scene.solids[static_cast<std::size_t>(a)].body < 0) throw InputError("InvalidInputError", "pair: expected two solids, the first on a body");
            scene.pairs.push_back({a, b, material(m), vector_of("velocity", velocity)});
        }
        for (nb::handle item : stops) {
            const auto [iq, iv, lower, upper, e] = nb::cast<std::tuple<int, int, double, double, double>>(item);
            if (iq < 0 || iq >= tree->nq || iv < 0 || iv >= tree->nv) throw InputError("InvalidInputError", "stop: index out of range");
            scene.stops.push_back({iq, iv, lower, upper, e});
        }
        if (!limits.is_none() && restitution.size() != static_cast<std::size_t>(closed_chain_of(limits)->rows())) throw InputError("InvalidInputError", "limits: expected a restitution of each");
        for (double e : restitution) scene.curved.push_back({e});
        engine.reset(kernels().make_contact_engine(*tree, scene));
        if (!limits.is_none()) {
            limit_rows = std::make_unique<ChainRows>(*closed_chain_of(limits), *tree);
            engine->limits = limit_rows.get();
        }
        if (!closed.is_none()) {
            rows = std::make_unique<ChainRows>(*closed_chain_of(closed), *tree);
            engine->loops = rows.get();
        }
    }
    void add_solid(int link, int report, double radius, std::vector<Vector> core, std::vector<Vector> faces, std::vector<Vector> edges, double rim_radius, const std::vector<Vector>& rim) {
        if (core.empty() || rim.size() != 2) throw InputError("InvalidInputError", "solid: expected points, and two rims");
        if (link >= static_cast<int>(tree->links.size())) throw InputError("InvalidInputError", "solid: link index out of range");
        Solid s{link < 0 ? -1 : tree->links[static_cast<std::size_t>(link)].body, report, radius, std::move(core), std::move(faces), std::move(edges), {0, 0, 0}, 0, rim_radius, {rim[0], rim[1]}};
        if (link >= 0) {  // from the link to the body that carries it
            const Link& l = tree->links[static_cast<std::size_t>(link)];
            for (Vector& p : s.core) p = plus(l.p, turned(l.R, p));
            for (Vector& n : s.faces) n = turned(l.R, n);
            for (Vector& e : s.edges) e = turned(l.R, e);
            for (Vector& p : s.rim) p = plus(l.p, turned(l.R, p));
        }
        Vector low = s.core[0], high = s.core[0];
        for (const Vector& p : s.core) {
            low = {std::fmin(low.x, p.x), std::fmin(low.y, p.y), std::fmin(low.z, p.z)};
            high = {std::fmax(high.x, p.x), std::fmax(high.y, p.y), std::fmax(high.z, p.z)};
        }
        s.centre = {0.5 * (low.x + high.x), 0.5 * (low.y + high.y), 0.5 * (low.z + high.z)};
        for (const Vector& p : s.core) s.reach = std::fmax(s.reach, std::sqrt(std::pow(p.x - s.centre.x, 2) + std::pow(p.y - s.centre.y, 2) + std::pow(p.z - s.centre.z, 2)));
        s.reach += radius;
        if (rim_radius > 0) s.reach *= 1.1;  // the polygon in the rim has a smaller ball
        scene.solids.push_back(std::move(s));
    }

    /// q, v after up to `steps` steps, and how many were taken before a state that is not finite.
    nb::tuple advance(nb::handle q_in, nb::handle v_in, double dt, int steps, nb::handle tau_in, nb::handle external_in, nb::handle gravity_in) {
        Border border(*tree);
        Batch& b = border.batch;
        border.coordinates(b.q, "q", q_in);
        border.velocities(b.v, "v", v_in);
        border.velocities(b.x, "tau", tau_in);
        border.external(external_in);
        border.gravity(gravity_in);
        border.require_single();
        double *q, *v;
        nb::object q_array = nb::steal(new_array({tree->nq}, false, &q)), v_array = nb::steal(new_array({tree->nv}, false, &v));
        std::copy(b.q.data, b.q.data + tree->nq, q), std::copy(b.v.data, b.v.data + tree->nv, v);
        int done = 0;
        summary = {};
        for (; done < steps; ++done) {
            std::vector<double>& before = before_;
            before.assign(q, q + tree->nq), before.insert(before.end(), v, v + tree->nv);
            engine->step(dt, q, v, rows ? rows->with_springs(b.x.data, q, v, dt) : b.x.data, b.external.data, b.gravity);
            bool finite = true;
            for (int i = 0; i < tree->nq; ++i) finite &= std::isfinite(q[i]);
            for (int i = 0; i < tree->nv; ++i) finite &= std::isfinite(v[i]);
            if (!finite) {
                std::copy(before.begin(), before.begin() + tree->nq, q), std::copy(before.begin() + tree->nq, before.end(), v);
                break;
            }
            gather_summary();
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
        }
        return nb::make_tuple(q_array, v_array, done);
    }
    double look(nb::handle q_in, nb::handle v_in) {
        Border border(*tree);
        Batch& b = border.batch;
        border.coordinates(b.q, "q", q_in);
        border.velocities(b.v, "v", v_in);
        border.require_single();
        return engine->look(b.q.data, b.v.data);
    }
    /// One tuple per contact: links, condition, frame (R, p), wrench, cop, slip, gap, points.
    nb::list contacts() const {
        nb::list out;
        for (int i = 0; i < engine->contacts(); ++i) {
            const ContactReport r = engine->contact(i);
            nb::list points;
            for (int k = 0; k < r.points; ++k) {
                const Vector p = engine->point(i, k);
                points.append(nb::make_tuple(p.x, p.y, p.z));
            }
            const Mat3<double>& R = r.frame.R;
            out.append(nb::make_tuple(r.link_a, r.link_b, static_cast<int>(r.condition), nb::make_tuple(R.xx, R.xy, R.xz, R.yx, R.yy, R.yz, R.zx, R.zy, R.zz), nb::make_tuple(r.frame.p.x, r.frame.p.y, r.frame.p.z),
                                      nb::make_tuple(r.wrench[0], r.wrench[1], r.wrench[2], r.wrench[3], r.wrench[4], r.wrench[5]), nb::make_tuple(r.cop.x, r.cop.y, r.cop.z), nb::make_tuple(r.slip[0], r.slip[1], r.slip[2]),
                                      r.gap, points));
        }
        return out;
    }
    void gather_summary() {
        const StepReport& r = engine->report;
        summary.certificate.include(r.certificate);
        summary.solves += r.solves, summary.trials += r.trials, summary.swept += r.swept, summary.exact += r.exact, summary.impacts += r.impacts, summary.splits += r.splits;
        summary.restitution_kept = std::fmin(summary.restitution_kept, r.restitution_kept), summary.energy_lost += r.energy_lost, summary.penetration = std::fmax(summary.penetration, r.penetration);
    }
    /// Of all steps of the last `advance`.
    nb::dict report() const {
        nb::dict d;
        const Certificate& c = summary.certificate;
        d["normal_force"] = c.normal_force, d["approach"] = c.approach, d["complementarity"] = c.complementarity, d["cone"] = c.cone, d["dissipation"] = c.dissipation, d["pressure"] = c.pressure;
        d["solves"] = summary.solves, d["trials"] = summary.trials, d["swept"] = summary.swept, d["exact"] = summary.exact, d["impacts"] = summary.impacts, d["splits"] = summary.splits, d["valid"] = c.holds();
        d["restitution_kept"] = summary.restitution_kept, d["energy_lost"] = summary.energy_lost;
        nb::list times;
        for (int i = 0; i < std::min(engine->report.impacts, 16); ++i) times.append(engine->report.impact_time[i]);
        d["impact_times"] = times, d["penetration"] = summary.penetration;
        return d;
    }
    nb::list trace() const {
        nb::list out;
        for (int i = 0; i < engine->traced(); ++i) {
            const TraceEntry t = engine->trace(i);
            out.append(nb::make_tuple(t.solve, t.trial, t.link_a, t.link_b, static_cast<int>(t.condition), static_cast<int>(t.failed), t.amount));
        }
        return out;
    }
    nb::list stop_forces() const {
        nb::list out;
        for (std::size_t i = 0; i < scene.stops.size() + scene.curved.size(); ++i) out.append(engine->stop_force(static_cast<int>(i)));
        return out;
    }
    nb::list loop_forces() const {
        nb::list out;
        for (int i = 0; rows && i < rows->chain.rows(); ++i) out.append(engine->loop_force(i));
        return out;
    }
    StepReport summary;
    std::vector<double> before_;
};

}  // namespace

void bind_contact(nb::module_& m) {
    nb::class_<PyContacts>(m, "Contacts", "Moves a tree that touches: contacts, impacts and joint stops.")
        .def(nb::init<nb::object, nb::list, nb::list, nb::list, nb::list, nb::list, nb::object, nb::object, const std::vector<double>&, nb::list>(), nb::arg("tree"), nb::arg("solids"), nb::arg("planes"), nb::arg("fields"), nb::arg("pairs"), nb::arg("stops"),
             nb::arg("closed").none(), nb::arg("limits").none() = nb::none(), nb::arg("restitution") = std::vector<double>(), nb::arg("on_ground") = nb::list())
        .def("advance", &PyContacts::advance, nb::arg("q").none(), nb::arg("v").none(), nb::arg("dt"), nb::arg("steps"), nb::arg("tau").none(), nb::arg("external").none(), nb::arg("gravity").none())
        .def("look", &PyContacts::look, nb::arg("q").none(), nb::arg("v").none())
        .def_prop_rw("by_bodies", [](const PyContacts& c) { return c.engine->by_bodies(); }, [](PyContacts& c, bool by_bodies) { c.engine->choose_by_bodies(by_bodies); })
        .def("contacts", &PyContacts::contacts)
        .def("report", &PyContacts::report)
        .def("trace", &PyContacts::trace)
        .def("stop_forces", &PyContacts::stop_forces)
        .def("loop_forces", &PyContacts::loop_forces)
        .def("options", [](PyContacts& c, double accept, double touch, int located, bool trace) { c.engine->options = {accept, touch, located, trace}; }, nb::arg("accept"), nb::arg("touch"), nb::arg("located"), nb::arg("trace"));
}

}  // namespace ukemi
