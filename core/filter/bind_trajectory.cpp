// The whole-clip filter for Python: each method does one thing to all samples of a window.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include "../border.hpp"
#include "trajectory_data.hpp"

namespace ukemi {
namespace {

Array numbers(const char* name, nb::handle object, std::initializer_list<npy_intp> shape) {
    Array a(name, object.ptr());
    if (a.ndim() != static_cast<int>(shape.size())) throw InputError("InvalidInputError", std::string(name) + ": wrong number of axes, got " + a.shape_text());
    a.require_tail(shape, "");
    a.require_finite();
    return a;
}
/// An array that is written into: it must be one of doubles already.
double* writable(const char* name, nb::handle object, npy_intp size) {
    auto* a = reinterpret_cast<PyArrayObject*>(object.ptr());
    if (!PyArray_Check(object.ptr()) || PyArray_TYPE(a) != NPY_DOUBLE || !PyArray_IS_C_CONTIGUOUS(a) || !PyArray_ISWRITEABLE(a) || PyArray_SIZE(a) != size)
        throw InputError("InvalidInputError", std::string(name) + ": expected a writable array of " + std::to_string(size) + " doubles");
    return static_cast<double*>(PyArray_DATA(a));
}

class PyTrajectory {
public:
    PyTrajectory(nb::object t, const std::vector<int>& links, nb::handle gravity, double force_unit, double moment_unit) : owner_(t), tree_(nb::cast<const Tree&>(t)), links_(links) {
        if (tree_.bodies.empty() || tree_.bodies[0].kind != JointKind::free || tree_.bodies[0].parent >= 0)
            throw InputError("InvalidInputError", "model: expected a figure whose first joint is free");
        for (std::size_t i = 1; i < tree_.bodies.size(); ++i)
            if (tree_.bodies[i].parent < 0) throw InputError("InvalidInputError", "model: expected one figure, got several trees");
        for (const int link : links_) {
            if (link < 0 || link >= static_cast<int>(tree_.links.size()) || tree_.links[static_cast<std::size_t>(link)].body < 0)
                throw InputError("InvalidInputError", "links: a point stands on an unknown or fixed link");
            bodies_.push_back(tree_.links[static_cast<std::size_t>(link)].body);
        }
        if (!(force_unit > 0) || !(moment_unit > 0)) throw InputError("InvalidInputError", "units: expected a positive force and moment");
        Border border(tree_);
        border.gravity(gravity);
        model_ = {&tree_, static_cast<int>(links_.size()), bodies_.data(), {border.batch.gravity[0], border.batch.gravity[1], border.batch.gravity[2]}, force_unit, moment_unit};
    }

    /// (wrench (n, 6), points (n, np, 3), velocities (n, np, 3), accelerations (n, np, 3))
    nb::tuple kinematics(nb::handle q, nb::handle v, nb::handle a, nb::handle place) {
        const Samples s(*this, q, v, a, place);
        TrajectoryKinematics out;
        nb::object w = nb::steal(new_array({s.n, 6}, false, &out.wrench)), p = nb::steal(new_array({s.n, model_.np, 3}, false, &out.point));
        nb::object u = nb::steal(new_array({s.n, model_.np, 3}, false, &out.velocity)), du = nb::steal(new_array({s.n, model_.np, 3}, false, &out.acceleration));
        {
            nb::gil_scoped_release release;
            kernels().trajectory_kinematics(model_, s.data, out);
        }
        return nb::make_tuple(w, p, u, du);
    }

    nb::dict forces(nb::handle wrench, nb::handle arm, nb::handle normal, nb::handle cost, nb::handle price, nb::handle target, nb::handle line, nb::handle multiplier, nb::handle stiffness, nb::handle lambda,
                    nb::handle dual, nb::handle settings) {
        const Array W("wrench", wrench.ptr());
        const npy_intp n = W.ndim() == 2 ? W.dim(0) : -1, np = model_.np;
        const Array w = numbers("wrench", wrench, {n, 6}), r = numbers("arm", arm, {n, np, 3}), N = numbers("normal", normal, {n, np, 3}), c = numbers("cost", cost, {n, np}), p = numbers("price", price, {n, np});
        const Array t = numbers("target", target, {n, np, 3}), l = numbers("line", line, {n, np, 3}), y = numbers("multiplier", multiplier, {n, 6}), d = numbers("stiffness", stiffness, {n, 6}), s = numbers("settings", settings, {4});
        ForceProblem f{};
        f.n = static_cast<int>(n), f.np = static_cast<int>(np);
        f.wrench = w.data(), f.arm = r.data(), f.normal = N.data(), f.cost = c.data(), f.price = p.data(), f.target = t.data(), f.line = l.data(), f.multiplier = y.data();
        f.line_weight = s.data()[0], f.rate_weight = s.data()[1], f.mu = s.data()[2], f.barrier = s.data()[3], f.stiffness = d.data();
        f.arm_unit = model_.moment_unit / model_.force_unit;
        f.lambda = writable("lambda", lambda, n * np * 4), f.dual = writable("dual", dual, n * np * 4);
        nb::dict out;
        auto make = [&](const char* name, std::vector<npy_intp> shape) {
            double* data;
            out[name] = nb::steal(new_array(shape, true, &data));
            return data;
        };
        f.force = make("force", {n, np, 3}), f.residual = make("residual", {n, 6}), f.pull = make("pull", {n, 6}), f.weight = make("weight", {n, 6, 6}), f.response = make("response", {n, np, 3, 6}), f.value = make("value", {n});
        std::vector<int> iterations(static_cast<std::size_t>(n));
        f.iterations = iterations.data();
        {
            nb::gil_scoped_release release;
            kernels().force_solve(f);
        }
        int all = 0;
        for (const int i : iterations) all += i;
        out["iterations"] = all;
        return out;
    }

    /// Adds one Gauss-Newton step's rows to a band (knots nv, bases nv) and a gradient (knots nv).
    void assemble(nb::handle q, nb::handle v, nb::handle a, nb::handle place, const std::vector<int>& first, nb::handle basis, nb::dict rows, nb::handle band, nb::handle gradient) {
        const Samples s(*this, q, v, a, place);
        const npy_intp n = s.n, np = model_.np, nv = tree_.nv;
        const Array B("basis", basis.ptr());
        const npy_intp bases = B.ndim() == 3 ? B.dim(2) : -1;
        const Array b = numbers("basis", basis, {n, 3, bases});
        if (static_cast<npy_intp>(first.size()) != n) throw InputError("InvalidInputError", "first: expected one per sample");
        const npy_intp knots = PyArray_Check(gradient.ptr()) ? PyArray_SIZE(reinterpret_cast<PyArrayObject*>(gradient.ptr())) / nv : 0;
        for (const int i : first)
            if (i < 0 || i + bases > knots) throw InputError("InvalidInputError", "first: a sample reaches beyond the knots");
        auto get = [&](const char* name, std::initializer_list<npy_intp> shape) { return numbers(name, rows[name], shape); };
        const Array force = get("force", {n, np, 3}), known = get("known", {n, 3}), pull = get("pull", {n, 6}), weight = get("weight", {n, 6, 6}), normal = get("normal", {n, np, 3}), gap = get("gap", {n, np}), gap_weight = get("gap_weight", {n, np});
        const Array slip = get("slip", {n, np, 3}), slip_weight = get("slip_weight", {n, np}), ahead = get("ahead", {n, np}), ahead_weight = get("ahead_weight", {n, np}), ahead_normal = get("ahead_normal", {n, np, 3}), slip_rate = get("slip_rate", {n, np, 3}), slip_rate_weight = get("slip_rate_weight", {n, np}), pose = get("pose", {n, nv}), pose_weight = get("pose_weight", {n, nv}), rate = get("rate", {n, nv});
        const Array rate_weight = get("rate_weight", {n, nv}), acceleration = get("acceleration", {n, nv}), acceleration_weight = get("acceleration_weight", {n, nv});
        const Array torque = get("torque", {n, nv}), torque_weight = get("torque_weight", {n, nv}), response = get("response", {n, np, 3, 6});
        TrajectorySystem y{};
        y.bases = static_cast<int>(bases), y.first = first.data(), y.basis = b.data(), y.force = force.data(), y.known = known.data(), y.pull = pull.data(), y.weight = weight.data(), y.normal = normal.data();
        y.gap = gap.data(), y.gap_weight = gap_weight.data(), y.slip = slip.data(), y.slip_weight = slip_weight.data(), y.ahead = ahead.data(), y.ahead_weight = ahead_weight.data(), y.ahead_normal = ahead_normal.data(), y.slip_rate = slip_rate.data(), y.slip_rate_weight = slip_rate_weight.data(), y.pose = pose.data(), y.pose_weight = pose_weight.data();
        y.rate = rate.data(), y.rate_weight = rate_weight.data(), y.acceleration = acceleration.data(), y.acceleration_weight = acceleration_weight.data();
        y.torque = torque.data(), y.torque_weight = torque_weight.data(), y.response = response.data();
        y.inertia_weight = nb::cast<double>(rows["inertia_weight"]), y.ahead_time = nb::cast<double>(rows["ahead_time"]);
        y.band = writable("band", band, knots * nv * bases * nv), y.gradient = writable("gradient", gradient, knots * nv);
        nb::gil_scoped_release release;
        kernels().trajectory_assemble(model_, s.data, y);
    }

    /// Moves samples by a step with its derivatives; q, v and a are replaced.
    void retract(nb::handle x, nb::handle x1, nb::handle x2, nb::handle q, nb::object v, nb::object a) {
        const Array X("x", x.ptr());
        const npy_intp n = X.ndim() == 2 ? X.dim(0) : -1;
        const Array y = numbers("x", x, {n, tree_.nv}), y1 = numbers("x1", x1, {n, tree_.nv}), y2 = numbers("x2", x2, {n, tree_.nv});
        double* Q = writable("q", q, n * tree_.nq);
        double *V = v.is_none() ? nullptr : writable("v", v, n * tree_.nv), *A = v.is_none() ? nullptr : writable("a", a, n * tree_.nv);
        nb::gil_scoped_release release;
        kernels().trajectory_retract(tree_, static_cast<int>(n), y.data(), y1.data(), y2.data(), Q, V, A);
    }

private:
    /// Checked arrays of a window, with the points moved from their links to the bodies.
    struct Samples {
        npy_intp n;
        Array q, v, a;
        std::vector<double> place;
        TrajectorySamples data;
        Samples(const PyTrajectory& self, nb::handle q_in, nb::handle v_in, nb::handle a_in, nb::handle place_in) {
            const Array Q("q", q_in.ptr());
            n = Q.ndim() == 2 ? Q.dim(0) : -1;
            q = numbers("q", q_in, {n, self.tree_.nq}), v = numbers("v", v_in, {n, self.tree_.nv}), a = numbers("a", a_in, {n, self.tree_.nv});
            const Array p = numbers("place", place_in, {n, self.model_.np, 3});
            place.resize(static_cast<std::size_t>(p.size()));
            for (npy_intp k = 0; k < n * self.model_.np; ++k) {
                const Link& l = self.tree_.links[static_cast<std::size_t>(self.links_[static_cast<std::size_t>(k % self.model_.np)])];
                const double* x = p.data() + 3 * k;
                double* y = place.data() + 3 * k;
                y[0] = l.p.x + l.R.xx * x[0] + l.R.xy * x[1] + l.R.xz * x[2];
                y[1] = l.p.y + l.R.yx * x[0] + l.R.yy * x[1] + l.R.yz * x[2];
                y[2] = l.p.z + l.R.zx * x[0] + l.R.zy * x[1] + l.R.zz * x[2];
            }
            data = {static_cast<int>(n), q.data(), v.data(), a.data(), place.data()};
        }
    };

    nb::object owner_;
    const Tree& tree_;
    std::vector<int> links_, bodies_;
    TrajectoryModel model_;
};

}  // namespace

void bind_trajectory(nb::module_& m) {
    nb::class_<PyTrajectory>(m, "Trajectory", "Samples of a motion, their root equations, contact forces and Gauss-Newton systems.")
        .def(nb::init<nb::object, const std::vector<int>&, nb::handle, double, double>(), nb::arg("tree"), nb::arg("links"), nb::arg("gravity").none(), nb::arg("force_unit"), nb::arg("moment_unit"))
        .def("kinematics", &PyTrajectory::kinematics, nb::arg("q"), nb::arg("v"), nb::arg("a"), nb::arg("place"))
        .def("forces", &PyTrajectory::forces, nb::arg("wrench"), nb::arg("arm"), nb::arg("normal"), nb::arg("cost"), nb::arg("price"), nb::arg("target"), nb::arg("line"), nb::arg("multiplier"),
             nb::arg("stiffness"), nb::arg("lambda_"), nb::arg("dual"), nb::arg("settings"))
        .def("assemble", &PyTrajectory::assemble, nb::arg("q"), nb::arg("v"), nb::arg("a"), nb::arg("place"), nb::arg("first"), nb::arg("basis"), nb::arg("rows"), nb::arg("band"),
             nb::arg("gradient"))
        .def("retract", &PyTrajectory::retract, nb::arg("x"), nb::arg("x1"), nb::arg("x2"), nb::arg("q"), nb::arg("v").none(), nb::arg("a").none());
}

}  // namespace ukemi
