// Time integration for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "border.hpp"
#include "closed_chain.hpp"
#include "implicit.hpp"
#include "integrators.hpp"
#include "limit_guard.hpp"
#include "limit_step.hpp"

namespace ukemi {

ClosedChain* closed_chain_of(nb::handle object);

namespace {

/// Near a singular pose errors of the state (which is not projected along nearly dependent rows) reach the accelerations
/// divided by the share that is left of the weakest row's response. Nearer than `singular` (about 1e-4 rad) a step is better
/// tried anew with another length.
constexpr double state_error = 1e-12, nearly_singular = 1e-6, singular = 1e-8;

struct PyIntegrator {
    nb::object owner, closed;  // keep the tree and the loops alive
    const Tree* tree;
    ClosedChain* chain;
    Integrator integrator;
    double gravity[3] = {0, 0, -9.81};
    std::vector<double> lambda;

    PyIntegrator(nb::object t, const std::string& method, nb::handle g, double rtol, double atol, nb::object loops)
        : owner(t), closed(loops), tree(&nb::cast<const Tree&>(t)), chain(closed_chain_of(loops)), integrator(*tree, method_of(method), rtol, atol) {
        if (chain) lambda.resize(static_cast<std::size_t>(chain->rows()));
        if (!(rtol > 0) || !(atol > 0)) throw InputError("InvalidInputError", "rtol and atol: expected positive tolerances");
        Border border(*tree);
        border.gravity(g);
        std::copy(border.batch.gravity, border.batch.gravity + 3, gravity);
    }
    /// What an implicit step of this length reads instead of the tree.
    struct Implicit {
        double dt;
        Tree tree;
        Loops loops;
        std::unique_ptr<LimitStepper> stepper;
        Implicit(const Tree& t, const ClosedChain* closed, double h) : dt(h), tree(implicit_tree(t, h)), loops(closed ? closed->loops() : Loops{}) {
            add_implicit_ties(t, h, loops);
        }
    };
    std::unique_ptr<Implicit> implicit;
    nb::object watched;                // keeps the limits of the stepper alive
    std::vector<double> restitution;   // of the limits, for implicit steps
    std::vector<int> active;           // limits that push, of implicit steps
    struct Change { double time; int limit; bool reached; };
    std::vector<Change> changes;       // since they were last asked for

    void note_changes(double time) {
        const std::vector<int>&now = implicit->stepper->active(), &bounced = implicit->stepper->bounced();
        auto among = [](const std::vector<int>& rows, int row) { return std::find(rows.begin(), rows.end(), row) != rows.end(); };
        for (int row : bounced) {
            if (!among(active, row)) changes.push_back({time, row, true});
            if (!among(active, row) && !among(now, row)) changes.push_back({time, row, false});
        }
        if (now == active) return;
        for (int row : active)
            if (!among(now, row)) changes.push_back({time, row, false});
        for (int row : now)
            if (!among(active, row) && !among(bounced, row)) changes.push_back({time, row, true});
        active = now;
    }
    /// (time, limit, reached) of implicit steps since the last call.
    nb::list take_changes() {
        nb::list out;
        for (const Change& c : changes) out.append(nb::make_tuple(c.time, c.limit, c.reached));
        changes.clear();
        return out;
    }

    /// {limit: force} of the limits that pushed in the last implicit step.
    nb::dict pushes() const {
        nb::dict out;
        if (implicit && implicit->stepper)
            for (std::size_t k = 0; k < active.size() && implicit->stepper->solved(); ++k) out[nb::int_(active[k])] = implicit->stepper->force(k);
        return out;
    }

    static Method method_of(const std::string& name) {
        if (name == "semi-implicit") return Method::semi_implicit;
        if (name == "implicit") return Method::implicit;
        if (name == "rk4") return Method::rk4;
        if (name == "adaptive") return Method::adaptive;
        throw InputError("InvalidInputError", "integrator: expected 'implicit', 'semi-implicit', 'rk4' or 'adaptive', got '" + name + "'");
    }

    /// `steps` steps of dt from (t, q, v); control(t, q, v) -> tau, or constant torques, or None. With limits (rows that
    /// must not become positive) it stops where one is crossed, or one of the `held` rows, the last of the closed chain,
    /// would have to pull; `outside` rows wait until they are within. Returns q, v, the number of whole steps done, and the
    /// time after them at which a limit stopped it (-1: none did).
    nb::tuple advance(double t, nb::handle q0, nb::handle v0, double dt, long steps, nb::object control, nb::object limits, const std::vector<int>& held,
                      const std::vector<int>& outside) {
        Border border(*tree);
        Batch& batch = border.batch;
        border.coordinates(batch.q, "q", q0);
        border.velocities(batch.v, "v", v0);
        if (!std::isfinite(t) || !std::isfinite(dt) || dt <= 0) throw InputError("InvalidInputError", "dt: expected a positive, finite step");
        double *q, *v;
        nb::object q_out = nb::steal(new_array({tree->nq}, false, &q)), v_out = nb::steal(new_array({tree->nv}, false, &v));
        const Array Q("q", q0.ptr()), V("v", v0.ptr());
        if (Q.ndim() != 1 || V.ndim() != 1) throw InputError("InvalidInputError", "q and v: expected one state, got shapes " + Q.shape_text() + " and " + V.shape_text());
        std::copy(Q.data(), Q.data() + tree->nq, q), std::copy(V.data(), V.data() + tree->nv, v);

        const bool calls = !control.is_none() && PyCallable_Check(control.ptr());
        Array torque;
        if (!calls && !control.is_none()) {
            torque = Array("control", control.ptr());
            if (torque.ndim() != 1) throw InputError("InvalidInputError", "control: expected shape (" + std::to_string(tree->nv) + ",), got " + torque.shape_text());
            torque.require_tail({tree->nv}, "(nv)");
            torque.require_finite();
            batch.x.data = torque.data();
        }
        std::copy(gravity, gravity + 3, batch.gravity);
        if (integrator.method() != Method::implicit) implicit.reset();
        else if (!implicit || implicit->dt != dt) implicit = std::make_unique<Implicit>(*tree, chain, dt);
        auto acceleration = [&](double time, const double* qs, const double* vs, double* a) {
            if (calls) torque = ask(control, time, qs, vs, batch);
            if (chain) {
                const double share = chain->dynamics(qs, vs, batch.x.data, batch.external.data, batch.gravity, a, lambda.data());
                if (share < nearly_singular) {
                    double largest = 0;
                    for (int i = 0; i < tree->nv; ++i) largest = std::max(largest, std::fabs(a[i]));
                    integrator.noise = std::max(integrator.noise, state_error * largest / std::max(share, singular));
                }
            } else {
                batch.q.data = qs, batch.v.data = vs, batch.out = a;
                run_here(kernels().forward_dynamics, batch, 0, 1);
            }
        };
        if (chain) integrator.on_accept = [this](double* qs, double* vs) { chain->project(qs, vs); };
        std::vector<double> q_good(q, q + tree->nq), v_good(v, v + tree->nv), q_before, v_before, a(v_good.size());
        LimitStepper* stepper = nullptr;
        if (implicit) {
            if (!implicit->stepper) {
                ClosedChain* rows = closed_chain_of(limits);
                std::vector<double> e = restitution;
                e.resize(rows ? static_cast<std::size_t>(rows->rows()) : 0);
                implicit->stepper = std::make_unique<LimitStepper>(*tree, chain, implicit->tree, implicit->loops, rows, std::move(e), outside);
                implicit->stepper->set_active(active);
                watched = limits;
            }
            stepper = implicit->stepper.get();
        }
        std::optional<LimitGuard> guard;
        if (!stepper && !limits.is_none()) guard.emplace(*closed_chain_of(limits), chain, held, outside);
        auto broken = [&](double time) {
            if (guard->holds()) acceleration(time, q, v, a.data());  // forces of this state
            return guard->broken(q, v, a.data(), a.size(), lambda.data());
        };
        // moves q so that rows which closing the chain has pushed out stand at their limits again
        std::vector<int> nudged, tucked;
        std::unique_ptr<ClosedChain> tucking;
        auto tuck = [&] {
            if (!chain || !guard->nudged(q, v, nudged)) return;
            if (!tucking || nudged != tucked) {
                Loops all = chain->loops();
                append_ties(all, guard->loops(), tucked = nudged);
                tucking = std::make_unique<ClosedChain>(*tree, std::move(all));
            }
            std::copy(v, v + tree->nv, a.begin());
            tucking->project(q, a.data());
        };
        double part = guard && steps > 0 && broken(t) ? 0.0 : -1.0;
        long done = 0;
        for (long i = 0; i < steps && part < 0; ++i) {
            const double now = t + static_cast<double>(i) * dt;
            if (stepper) {
                if (calls) torque = ask(control, now, q, v, batch);
                stepper->advance(batch.x.data, batch.external.data, batch.gravity, dt, q, v, i > 0 && !chain);
                check(true, now, q, v, q_good, v_good);
                ++integrator.evaluations, ++done;
                note_changes(now + dt);
                if (i % 256 == 255 && PyErr_CheckSignals() != 0) throw nb::python_error();
                continue;
            }
            if (guard) q_before.assign(q, q + tree->nq), v_before.assign(v, v + tree->nv), guard->begin();
            const double next = integrator.next_step();
            const bool ok = integrator.advance(acceleration, now, dt, q, v);
            check(ok, now, q, v, q_good, v_good);
            if (guard) {
                auto try_step = [&](double h) {
                    std::copy(q_before.begin(), q_before.end(), q), std::copy(v_before.begin(), v_before.end(), v);
                    integrator.set_next_step(next);
                    integrator.advance(acceleration, now, h, q, v);
                    tuck();
                    return broken(now + h);
                };
                tuck();
                double until = broken(now + dt) ? dt : guard->grazes(dt);
                if (until > 0 && until < dt && !try_step(until)) try_step(dt), until = -1;  // it only came near
                if (until > 0) {
                    part = guard->locate(until, try_step);
                    try_step(part);
                    integrator.set_next_step(next);
                    break;
                }
            }
            ++done;
            if (i % 256 == 255 && PyErr_CheckSignals() != 0) throw nb::python_error();
        }
        return nb::make_tuple(q_out, v_out, done, part);
    }

private:
    Array ask(const nb::object& control, double t, const double* q, const double* v, Batch& batch) const {
        double *qa, *va;
        nb::object q_array = nb::steal(new_array({tree->nq}, false, &qa)), v_array = nb::steal(new_array({tree->nv}, false, &va));
        std::copy(q, q + tree->nq, qa), std::copy(v, v + tree->nv, va);
        nb::object answer = control(t, q_array, v_array);
        Array tau("what control(t, q, v) returned", answer.ptr());
        if (tau.ndim() != 1) throw InputError("InvalidInputError", std::string(tau.name()) + ": expected shape (" + std::to_string(tree->nv) + ",), got " + tau.shape_text());
        tau.require_tail({tree->nv}, "(nv)");
        tau.require_finite();
        held_.assign(tau.data(), tau.data() + tree->nv);
        batch.x.data = held_.data();
        return Array();
    }
    /// Stops at the first state that is not finite, with the last good one.
    void check(bool ok, double t, const double* q, const double* v, std::vector<double>& q_good, std::vector<double>& v_good) const {
        bool finite = true;
        for (int i = 0; i < tree->nq; ++i) finite &= std::isfinite(q[i]);
        for (int i = 0; i < tree->nv; ++i) finite &= std::isfinite(v[i]);
        if (ok && finite) {
            std::copy(q, q + tree->nq, q_good.begin()), std::copy(v, v + tree->nv, v_good.begin());
            return;
        }
        std::string joints;
        for (std::size_t i = 0; i < tree->bodies.size(); ++i) {
            const Body& b = tree->bodies[i];
            bool bad = false;
            for (int k = 0; k < b.nv; ++k) bad |= !std::isfinite(v[b.iv + k]);
            if (bad) joints += (joints.empty() ? "" : ", ") + tree->joint_names[i];
        }
        nb::object error = nb::module_::import_("ukemi.errors").attr("SimulationError");
        double *qa, *va;
        nb::object q_array = nb::steal(new_array({tree->nq}, false, &qa)), v_array = nb::steal(new_array({tree->nv}, false, &va));
        std::copy(q_good.begin(), q_good.end(), qa), std::copy(v_good.begin(), v_good.end(), va);
        const std::string what = ok ? "the state is no longer finite (joints: " + joints + ")" : "the step size fell to rounding";
        nb::object instance = error(nb::str(("at t = " + std::to_string(t) + " s " + what + ": take a smaller dt, or look for a stiff spring or damper").c_str()), t, q_array, v_array);
        PyErr_SetObject(error.ptr(), instance.ptr());
        throw nb::python_error();
    }
    mutable std::vector<double> held_;
};

}  // namespace

void bind_integrator(nb::module_& m) {
    nb::class_<PyIntegrator>(m, "Integrator", "Moves a state of a tree, with loops or without, through time.")
        .def(nb::init<nb::object, const std::string&, nb::handle, double, double, nb::object>(), nb::arg("tree"), nb::arg("method"), nb::arg("gravity").none(), nb::arg("rtol"),
             nb::arg("atol"), nb::arg("closed").none() = nb::none())
        .def("advance", &PyIntegrator::advance, nb::arg("t"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("dt"), nb::arg("steps"), nb::arg("control").none(), nb::arg("limits").none() = nb::none(),
             nb::arg("held") = std::vector<int>(), nb::arg("outside") = std::vector<int>())
        .def_rw("restitution", &PyIntegrator::restitution)
        .def_rw("active", &PyIntegrator::active)
        .def("take_changes", &PyIntegrator::take_changes)
        .def("pushes", &PyIntegrator::pushes)
        .def_prop_ro("evaluations", [](const PyIntegrator& i) { return i.integrator.evaluations; })
        .def_prop_ro("rough", [](const PyIntegrator& i) { return i.integrator.rough; });
}

}  // namespace ukemi
