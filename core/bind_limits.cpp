// Joint limits at events, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include "border.hpp"
#include "limit_settle.hpp"

namespace ukemi {

ClosedChain* closed_chain_of(nb::handle object);

namespace {

/// New v, limits that were hit as (row, speed, impulse), and the limits that hold from now on.
nb::tuple settle_limits(const Tree& tree, nb::object closed, nb::object limits, const std::vector<double>& restitution, const std::vector<int>& outside, nb::handle q, nb::handle v,
                        nb::handle tau, nb::handle gravity) {
    Border border(tree);
    Batch& b = border.batch;
    border.coordinates(b.q, "q", q);
    border.velocities(b.v, "v", v);
    border.velocities(b.x, "tau", tau);
    border.gravity(gravity);
    border.require_single();
    ClosedChain* chain = closed_chain_of(limits);
    if (!chain || restitution.size() != static_cast<std::size_t>(chain->rows())) throw InputError("InvalidInputError", "settle_limits: expected limits and a restitution of each");
    double* v_new;
    nb::object v_out = nb::steal(new_array({tree.nv}, false, &v_new));
    std::copy(b.v.data, b.v.data + tree.nv, v_new);
    LimitSettler settler(tree, closed_chain_of(closed), *chain);
    settler.settle(restitution, outside, b.q.data, v_new, b.x.data, b.gravity);
    nb::list hits;
    for (const LimitSettler::Hit& hit : settler.hits) hits.append(nb::make_tuple(hit.row, hit.speed, hit.impulse));
    return nb::make_tuple(v_out, hits, settler.pushing);
}

}  // namespace

void bind_limits(nb::module_& m) {
    m.def("settle_limits", settle_limits, nb::arg("tree"), nb::arg("closed").none(), nb::arg("limits"), nb::arg("restitution"), nb::arg("outside"), nb::arg("q").none(),
          nb::arg("v").none(), nb::arg("tau").none(), nb::arg("gravity").none());
}

}  // namespace ukemi
