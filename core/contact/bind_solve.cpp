// The frictional contact problem for Python: arrays in, arrays and a certificate out.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "../border.hpp"
#include "ncp_data.hpp"

namespace ukemi {
namespace {

/// Blocks of the kinds (see NcpKind), each with its coefficient of friction.
std::vector<NcpBlock> blocks_of(const std::vector<int>& kinds, const Array& mu) {
    if (mu.ndim() != 1 || mu.size() != static_cast<npy_intp>(kinds.size()))
        throw InputError("InvalidInputError", "mu: expected one of each block, got " + mu.shape_text());
    std::vector<NcpBlock> blocks;
    int row = 0;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        if (kinds[i] < 0 || kinds[i] > 2) throw InputError("InvalidInputError", "kinds: expected 0, 1 or 2");
        const auto kind = static_cast<NcpKind>(kinds[i]);
        const int rows = kind == NcpKind::contact ? 3 : 1;
        blocks.push_back({kind, row, rows, kind == NcpKind::contact ? mu.data()[i] : 0.0});
        row += rows;
    }
    return blocks;
}

nb::dict solve_contact(nb::handle W_in, nb::handle q_in, nb::handle mu_in, const std::vector<int>& kinds,
                       nb::handle start_in, double tolerance, int passes, int newton, int interior, int admm) {
    const Array q("q", q_in.ptr()), mu("mu", mu_in.ptr()), W("W", W_in.ptr());
    const std::vector<NcpBlock> blocks = blocks_of(kinds, mu);
    const npy_intp n = blocks.empty() ? 0 : blocks.back().row + blocks.back().rows;
    Array start;
    q.require_tail({n}, "of the blocks' rows"), W.require_tail({n, n}, "of the blocks' rows");
    if (q.ndim() != 1 || W.ndim() != 2)
        throw InputError("InvalidInputError", "q: expected one problem, got " + q.shape_text());
    if (!start_in.is_none()) {
        start = Array("start", start_in.ptr());
        if (start.ndim() != 1 || start.dim(0) != n)
            throw InputError("InvalidInputError", "start: expected as many numbers as q, got " + start.shape_text());
    }
    NcpOptions options;
    options.tolerance = tolerance, options.passes = passes, options.newton = newton, options.interior = interior,
    options.admm = admm;
    NcpSolution out{};
    nb::object r = nb::steal(new_array({n}, true, &out.r)), u = nb::steal(new_array({n}, true, &out.u));
    std::vector<NcpLabel> labels(blocks.size());
    out.label = labels.data();
    const NcpProblem problem{static_cast<int>(n), static_cast<int>(blocks.size()), blocks.data(), W.data(), q.data(),
                             start_in.is_none() ? nullptr : start.data()};
    {
        nb::gil_scoped_release release;
        kernels().solve_contact(problem, options, out);
    }
    nb::list names;
    for (const NcpLabel label : labels) names.append(static_cast<int>(label));
    nb::dict d;
    d["r"] = r, d["u"] = u, d["labels"] = names, d["residual"] = out.residual, d["bilateral"] = out.bilateral,
    d["growth"] = out.growth;
    d["iterations"] = out.iterations, d["passes"] = out.passes, d["islands"] = out.islands,
    d["method"] = static_cast<int>(out.method);
    return d;
}

}  // namespace

void bind_solve(nb::module_& m) {
    m.def("solve_contact", solve_contact, nb::arg("W"), nb::arg("q"), nb::arg("mu"), nb::arg("kinds"),
          nb::arg("start").none(), nb::arg("tolerance"), nb::arg("passes"), nb::arg("newton"), nb::arg("interior"),
          nb::arg("admm"));
}

}  // namespace ukemi
