// Joint limits at events, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include "border.hpp"
#include "limit_settle.hpp"

namespace ukemi {

ClosedChain* closed_chain_of(nb::handle object);

namespace {

struct PyLimitSettler {
    nb::object owner, rows;  // keep the tree and the limits alive
    const Tree& tree;
    LimitSettler settler;

    PyLimitSettler(nb::object t, nb::object limits, const std::vector<double>& restitution)
        : owner(t), rows(limits), tree(nb::cast<const Tree&>(t)), settler(tree, checked(limits, restitution), restitution) {}
    static ClosedChain& checked(nb::handle limits, const std::vector<double>& restitution) {
        ClosedChain* chain = closed_chain_of(limits);
        if (!chain || restitution.size() != static_cast<std::size_t>(chain->rows())) throw InputError("InvalidInputError", "LimitSettler: expected limits and a restitution of each");
        return *chain;
    }
    /// New v, limits that were hit as (row, speed, impulse), and the limits that hold from now on.
    nb::tuple settle(nb::object closed, const std::vector<int>& outside, nb::handle q, nb::handle v, nb::handle tau, nb::handle gravity) {
        Border border(tree);
        Batch& b = border.batch;
        border.coordinates(b.q, "q", q);
        border.velocities(b.v, "v", v);
        border.velocities(b.x, "tau", tau);
        border.gravity(gravity);
        border.require_single();
        double* v_new;
        nb::object v_out = nb::steal(new_array({tree.nv}, false, &v_new));
        std::copy(b.v.data, b.v.data + tree.nv, v_new);
        settler.settle(closed_chain_of(closed), outside, b.q.data, v_new, b.x.data, b.gravity);
        nb::list hits;
        for (const LimitSettler::Hit& hit : settler.hits) hits.append(nb::make_tuple(hit.row, hit.speed, hit.impulse));
        return nb::make_tuple(v_out, hits, settler.pushing);
    }
};

}  // namespace

void bind_limits(nb::module_& m) {
    nb::class_<PyLimitSettler>(m, "LimitSettler", "Impacts of joint limits that touch, and which of them hold afterwards.")
        .def(nb::init<nb::object, nb::object, const std::vector<double>&>(), nb::arg("tree"), nb::arg("limits"), nb::arg("restitution"))
        .def("settle", &PyLimitSettler::settle, nb::arg("closed").none(), nb::arg("outside"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("tau").none(), nb::arg("gravity").none());
}

}  // namespace ukemi
