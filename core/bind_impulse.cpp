// Impulses through a tree, for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include "border.hpp"
#include "workers.hpp"

namespace ukemi {

namespace {

nb::object impulse_response(const Tree& tree, nb::handle q, nb::handle joint, nb::handle external) {
    Border border(tree);
    border.coordinates(border.batch.q, "q", q);
    if (!joint.is_none()) border.velocities(border.batch.x, "joint impulses", joint);
    border.external(external);
    return border.run(kernels().impulse_response, {tree.nv});
}

nb::object inverse_inertia(const Tree& tree, nb::handle q, const std::vector<int>& links) {
    Border border(tree);
    border.coordinates(border.batch.q, "q", q);
    border.require_single();
    for (int link : links)
        if (link < 0 || link >= static_cast<int>(tree.links.size())) throw InputError("InvalidInputError", "links: index out of range");
    const int m = static_cast<int>(links.size());
    double* out;
    nb::object result = nb::steal(new_array({6 * m, 6 * m}, true, &out));
    kernels().inverse_inertia(tree, border.batch.q.data, links.data(), m, Scratch::of_this_thread().get(kernels().psi_bytes(tree, m)), out);
    return result;
}

}  // namespace

void bind_impulse(nb::module_& m) {
    m.def("impulse_response", impulse_response, nb::arg("tree"), nb::arg("q").none(), nb::arg("joint").none(), nb::arg("external").none());
    m.def("inverse_inertia", inverse_inertia, nb::arg("tree"), nb::arg("q").none(), nb::arg("links"));
}

}  // namespace ukemi
