// The dynamics filter for Python: one object holds the state and the memory; `run` takes as many steps as references are given.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "border.hpp"
#include "filter_data.hpp"
#include "plan_data.hpp"

namespace ukemi {
namespace {

constexpr int settings_count = sizeof(FilterSettings) / sizeof(double);

Array table(const char* name, nb::handle object, std::initializer_list<npy_intp> shape) {
    Array a(name, object.ptr());
    if (a.ndim() != static_cast<int>(shape.size())) throw InputError("InvalidInputError", std::string(name) + ": wrong number of axes, got " + a.shape_text());
    a.require_tail(shape, "");
    return a;
}

class PyFilter {
public:
    PyFilter(nb::object t, const std::vector<int>& links, nb::handle points, const std::vector<int>& kinds, nb::handle gains, nb::handle limits, nb::handle settings, nb::handle floor, nb::handle gravity)
        : owner_(t), tree_(nb::cast<const Tree&>(t)) {
        const Tree& tree = tree_;
        if (tree.bodies.empty() || tree.bodies[0].kind != JointKind::free || tree.bodies[0].parent >= 0)
            throw InputError("InvalidInputError", "model: expected a figure whose first joint is free");
        for (std::size_t i = 1; i < tree.bodies.size(); ++i)
            if (tree.bodies[i].parent < 0) throw InputError("InvalidInputError", "model: expected one figure, got several trees");
        const auto np = static_cast<npy_intp>(links.size());
        const Array P = table("points", points, {np, 3}), G = table("gains", gains, {3, tree.nv}), B = table("limits", limits, {3, tree.nv});
        if (kinds.size() != links.size()) throw InputError("InvalidInputError", "kinds: expected one per point");
        for (const int kind : kinds)
            if (kind < 0 || kind > 6) throw InputError("InvalidInputError", "kinds: expected 0 (sole), 1 (tip), 2 (seat), 3 (pivot), 4 (glide), 5 (toe) or 6 (hand)");
        for (npy_intp i = 0; i < np; ++i) {
            const int link = links[static_cast<std::size_t>(i)];
            if (link < 0 || link >= static_cast<int>(tree.links.size()) || tree.links[static_cast<std::size_t>(link)].body < 0)
                throw InputError("InvalidInputError", "points: a point stands on an unknown or fixed link");
            const Link& l = tree.links[static_cast<std::size_t>(link)];
            const double* x = P.data() + 3 * i;
            points_.push_back({l.body, {l.p.x + l.R.xx * x[0] + l.R.xy * x[1] + l.R.xz * x[2], l.p.y + l.R.yx * x[0] + l.R.yy * x[1] + l.R.yz * x[2],
                                        l.p.z + l.R.zx * x[0] + l.R.zy * x[1] + l.R.zz * x[2]},
                               static_cast<PointKind>(kinds[static_cast<std::size_t>(i)])});
        }
        FilterData& d = data_;
        d.tree = &tree_, d.np = static_cast<int>(np), d.points = points_.data();
        for (const Body& b : tree.bodies) d.mass += b.mass;
        Border border(tree);
        border.gravity(gravity);
        std::copy(border.batch.gravity, border.batch.gravity + 3, d.gravity);
        change(settings), ground(floor);
        allocate(G.data(), B.data());
    }

    void change(nb::handle settings) {
        const Array s = table("settings", settings, {settings_count});
        s.require_finite();
        std::copy(s.data(), s.data() + settings_count, reinterpret_cast<double*>(&data_.s));
        if (!(data_.s.dt > 0) || !(data_.s.mu > 0)) throw InputError("InvalidInputError", "settings: expected a positive step and positive friction");
    }
    /// floor: rows n, t1, t2, velocity, (offset, 0, 0); then boxes as rows of six (x0, x1, y0, y1, z, 0)
    void ground(nb::handle floor) {
        const Array f("floor", floor.ptr());
        if (f.ndim() != 1 || f.size() < 13 || (f.size() - 13) % 5) throw InputError("InvalidInputError", "floor: expected 13 numbers and five per box, got " + f.shape_text());
        f.require_finite();
        const double* x = f.data();
        auto vec = [&](int i) { return Vec3<double>{x[i], x[i + 1], x[i + 2]}; };
        boxes_.assign(x + 13, x + f.size());
        data_.floor = {vec(0), vec(3), vec(6), vec(9), x[12], static_cast<int>(boxes_.size() / 5), boxes_.data()};
    }
    void reset(nb::handle q, nb::handle v) {
        Border border(tree_);
        border.coordinates(border.batch.q, "q", q), border.velocities(border.batch.v, "v", v);
        border.require_single();
        std::copy(border.batch.q.data, border.batch.q.data + tree_.nq, data_.q);
        std::copy(border.batch.v.data, border.batch.v.data + tree_.nv, data_.v);
        std::fill(data_.down, data_.down + data_.np, 0);
        std::fill(data_.passive, data_.passive + 4 * data_.np, 0);
        data_.active_limits = 0;
    }
    /// As many steps as rows; stops early, and says how many steps were taken, when the state leaves the finite numbers.
    nb::dict run(nb::handle q, nb::handle v, nb::handle a, nb::handle share, nb::handle shift, nb::handle centroid, nb::object external) {
        const Array Q("q", q.ptr());
        const npy_intp n = Q.ndim() == 2 ? Q.dim(0) : -1, np = data_.np, nv = tree_.nv;
        const Array Qs = table("q", q, {n, tree_.nq}), V = table("v", v, {n, nv}), A = table("a", a, {n, nv}), H = table("share", share, {n, np});
        const Array D = table("shift", shift, {n, np, 6}), C = table("centroid", centroid, {n, 15});
        for (const Array* x : {&Qs, &V, &A, &H, &D, &C}) x->require_finite();
        Array E;
        const auto links = static_cast<npy_intp>(tree_.links.size());
        if (!external.is_none()) E = table("external", external, {n, links, 6}), E.require_finite();
        nb::dict out;
        auto make = [&](const char* name, std::vector<npy_intp> shape) {
            double* data;
            out[name] = nb::steal(new_array(shape, true, &data));
            return data;
        };
        double *oq = make("q", {n, tree_.nq}), *ov = make("v", {n, nv}), *oa = make("a", {n, nv}), *ot = make("tau", {n, nv}), *of = make("force", {n, np, 3});
        double *oi = make("impulse", {n, np, 3}), *od = make("down", {n, np}), *op = make("place", {n, np, 3}), *oc = make("centroid", {n, 9}), *ou = make("v_before", {n, nv}), *oqb = make("q_before", {n, tree_.nq});
        npy_intp done = 0;
        {
            nb::gil_scoped_release release;
            for (; done < n; ++done) {
                FilterInput in{Qs.data() + done * tree_.nq, V.data() + done * nv, A.data() + done * nv, H.data() + done * np, D.data() + done * np * 6, C.data() + done * 15, nullptr};
                if (!external.is_none()) {
                    std::fill(wrenches_.begin(), wrenches_.end(), 0.0);
                    wrenches_on_bodies(tree_, E.data() + done * links * 6, wrenches_.data());
                    in.external = wrenches_.data();
                }
                std::copy(data_.v, data_.v + nv, ou + done * nv), std::copy(data_.q, data_.q + tree_.nq, oqb + done * tree_.nq);
                kernels().filter_step(data_, in);
                std::copy(data_.q, data_.q + tree_.nq, oq + done * tree_.nq), std::copy(data_.v, data_.v + nv, ov + done * nv);
                std::copy(data_.a, data_.a + nv, oa + done * nv), std::copy(data_.tau, data_.tau + nv, ot + done * nv);
                std::copy(data_.force, data_.force + 3 * np, of + done * 3 * np), std::copy(data_.impulse, data_.impulse + 3 * np, oi + done * 3 * np);
                std::copy(data_.place, data_.place + 3 * np, op + done * 3 * np);
                for (npy_intp p = 0; p < np; ++p) od[done * np + p] = data_.down[p];
                std::copy(data_.com, data_.com + 3, oc + done * 9), std::copy(data_.com_velocity, data_.com_velocity + 3, oc + done * 9 + 3);
                std::copy(data_.spin, data_.spin + 3, oc + done * 9 + 6);
                if (!kernels().all_finite(data_.v, nv) || !kernels().all_finite(data_.q, tree_.nq)) break;
            }
        }
        out["steps"] = done;
        return out;
    }
    nb::tuple state() const {
        double *q, *v;
        nb::object a = nb::steal(new_array({tree_.nq}, false, &q)), b = nb::steal(new_array({tree_.nv}, false, &v));
        std::copy(data_.q, data_.q + tree_.nq, q), std::copy(data_.v, data_.v + tree_.nv, v);
        return nb::make_tuple(a, b);
    }
    nb::object down() const {
        double* x;
        nb::object a = nb::steal(new_array({data_.np}, false, &x));
        for (int i = 0; i < data_.np; ++i) x[i] = data_.down[i];
        return a;
    }
    int iterations() const { return data_.iterations; }
    int active_limits() const { return data_.active_limits; }

private:
    void allocate(const double* gains, const double* limits) {
        FilterData& d = data_;
        const std::size_t nv = static_cast<std::size_t>(tree_.nv), np = points_.size(), edges = 4 * np;
        const std::size_t stride = (nv + 3) / 4 * 4, rows = 3 * np + 32 + 6;
        d.stride = static_cast<int>(stride), d.max_rows = static_cast<int>(rows);
        wrenches_.resize(6 * tree_.bodies.size());
        std::size_t total = 0;
        auto plan = [&](double** slot, std::size_t count) { pieces_.push_back({slot, total}), total += (count + 7) / 8 * 8; };
        double *kp, *kd, *weight, *lower, *upper, *effort;
        for (double** p : {&kp, &kd, &weight, &lower, &upper, &effort, &d.v, &d.a, &d.tau, &d.bias, &d.goal, &d.inverse, &d.v_new}) plan(p, stride);
        plan(&d.q, static_cast<std::size_t>(tree_.nq));
        for (double** p : {&d.anchor, &d.force, &d.impulse, &d.place, &d.velocity, &d.drift, &d.ref_place, &d.ref_velocity, &d.ref_acceleration}) plan(p, 3 * np + 1);
        plan(&d.M, nv * nv), plan(&d.factor, nv * nv), plan(&d.rows, rows * stride), plan(&d.scaled, rows * stride), plan(&d.S, rows * rows);
        for (double** p : {&d.rhs, &d.slack, &d.y, &d.lambda}) plan(p, rows);
        plan(&d.grasp, edges * std::max(rows, stride) + 8), plan(&d.reduced, edges * rows + 8), plan(&d.response, edges * stride + 8);
        plan(&d.Q, edges * edges + 8), plan(&d.c, edges + 8), plan(&d.edge, 3 * edges + 8), plan(&d.nn_work, edges * edges + 6 * edges + stride + 8), plan(&d.slide, np + 1);
        numbers_.assign(total, 0.0);
        for (auto& [slot, at] : pieces_) *slot = numbers_.data() + at;
        for (std::size_t j = 0; j < nv; ++j) {
            kp[j] = gains[j], kd[j] = gains[nv + j], weight[j] = gains[2 * nv + j];
            if (!(weight[j] > 0)) throw InputError("InvalidInputError", "gains: expected positive weights");
            d.inverse[j] = 1 / weight[j];
            lower[j] = limits[j], upper[j] = limits[nv + j], effort[j] = limits[2 * nv + j];
        }
        d.kp = kp, d.kd = kd, d.weight = weight, d.lower = lower, d.upper = upper, d.effort = effort;
        integers_.assign(np + 4 * np + 64 + 8 * np + np + 8, 0);
        d.down = integers_.data(), d.passive = d.down + np, d.limit_rows = d.passive + 4 * np, d.nn_index = d.limit_rows + 64, d.set = d.nn_index + 8 * np;
        const std::size_t each = kernels().filter_bytes() * tree_.bodies.size();
        auto* memory = static_cast<char*>(scratch_.get(4 * each));
        d.bodies = memory, d.reference = memory + each, d.crba = memory + 2 * each, d.rnea = memory + 3 * each;
    }

    nb::object owner_;
    const Tree& tree_;
    FilterData data_{};
    std::vector<FilterPoint> points_;
    std::vector<double> numbers_, wrenches_, boxes_;
    std::vector<int> integers_;
    std::vector<std::pair<double**, std::size_t>> pieces_;
    Scratch scratch_;
};

/// A centroidal plan; push: the reference's whole force and weights of its axes; weights: of the state (12), of forces, factor of the last state; floor: normal, two tangents.
nb::tuple centroidal_plan(nb::handle start, nb::handle h, nb::handle about, nb::handle share, nb::handle place, nb::handle spin, nb::handle push, nb::handle goal, nb::handle weights, nb::handle floor, double mu,
                          nb::handle gravity) {
    const Array H("h", h.ptr()), S("share", share.ptr());
    if (H.ndim() != 1 || S.ndim() != 2 || H.size() < 1) throw InputError("InvalidInputError", "plan: expected h (n) and share (n, points), got " + H.shape_text() + " and " + S.shape_text());
    const npy_intp n = H.size(), np = S.dim(1);
    const Array X = table("start", start, {12}), A = table("about", about, {n, 6}), Sh = table("share", share, {n, np}), P = table("place", place, {n, np, 3});
    const Array G = table("goal", goal, {n, 12}), W = table("weights", weights, {14}), Pu = table("push", push, {n, 6}), Z = table("spin", spin, {n, 3}), F = table("floor", floor, {9}), g = table("gravity", gravity, {3});
    for (const Array* a : {&H, &X, &A, &Sh, &P, &G, &W, &F, &g, &Z, &Pu}) a->require_finite();
    npy_intp edges = 0;
    for (npy_intp i = 0; i < n * np; ++i) edges += 4 * (Sh.data()[i] > 0);
    PlanData d{};
    d.intervals = static_cast<int>(n), d.np = static_cast<int>(np);
    d.h = H.data(), d.about = A.data(), d.share = Sh.data(), d.place = P.data(), d.goal = G.data(), d.spin = Z.data(), d.push = Pu.data(), d.start = X.data();
    std::copy(g.data(), g.data() + 3, d.gravity), std::copy(F.data(), F.data() + 9, d.floor), std::copy(W.data(), W.data() + 12, d.weight);
    d.mu = mu, d.force_weight = W.data()[12], d.last = W.data()[13], d.tolerance = 1e-7;
    std::vector<int> integers(static_cast<std::size_t>(n + 1 + 12 * n));
    d.first = integers.data(), d.pivot = d.first + n + 1;
    std::vector<double> numbers(static_cast<std::size_t>(20 * edges + 144 * (n + 1) + 288 * n + 24 * n + 45 * n + 64));
    double* next = numbers.data();
    auto take = [&](npy_intp count) { return std::exchange(next, next + count); };
    d.B = take(12 * edges);
    for (double** p : {&d.W, &d.D, &d.u, &d.z, &d.r, &d.du, &d.dz, &d.correct}) *p = take(edges);
    d.P = take(144 * (n + 1)), d.Y = take(144 * n), d.F = take(144 * n), d.affine = take(24 * n), d.V = take(45 * n);
    double *x, *force;
    nb::object x_out = nb::steal(new_array({n + 1, 12}, true, &x)), f_out = nb::steal(new_array({n, np, 3}, true, &force));
    d.x = x;
    int iterations;
    {
        nb::gil_scoped_release release;
        iterations = kernels().plan_solve(d);
        int e = 0;
        for (npy_intp i = 0; i < n * np; ++i) {
            if (!(d.share[i] > 0)) continue;
            const double a = d.u[e], b = d.u[e + 1], c = d.u[e + 2], f = d.u[e + 3];
            for (int k = 0; k < 3; ++k) force[3 * i + k] = (a + b + c + f) * d.floor[k] + mu * ((a - b) * d.floor[3 + k] + (c - f) * d.floor[6 + k]);
            e += 4;
        }
    }
    return nb::make_tuple(x_out, f_out, iterations);
}

}  // namespace

void bind_filter(nb::module_& m) {
    nb::class_<PyFilter>(m, "Filter", "State and memory of the dynamics filter.")
        .def(nb::init<nb::object, const std::vector<int>&, nb::handle, const std::vector<int>&, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle>(), nb::arg("tree"), nb::arg("links"),
             nb::arg("points"), nb::arg("kinds"), nb::arg("gains"), nb::arg("limits"), nb::arg("settings"), nb::arg("floor"), nb::arg("gravity").none())
        .def("change", &PyFilter::change, nb::arg("settings"))
        .def("ground", &PyFilter::ground, nb::arg("floor"))
        .def("reset", &PyFilter::reset, nb::arg("q"), nb::arg("v"))
        .def("run", &PyFilter::run, nb::arg("q"), nb::arg("v"), nb::arg("a"), nb::arg("share"), nb::arg("shift"), nb::arg("centroid"), nb::arg("external").none())
        .def("state", &PyFilter::state)
        .def("down", &PyFilter::down)
        .def_prop_ro("iterations", &PyFilter::iterations)
        .def_prop_ro("active_limits", &PyFilter::active_limits);
    m.def("centroidal_plan", centroidal_plan, nb::arg("start"), nb::arg("h"), nb::arg("about"), nb::arg("share"), nb::arg("place"), nb::arg("spin"), nb::arg("push"), nb::arg("goal"), nb::arg("weights"),
          nb::arg("floor"), nb::arg("mu"), nb::arg("gravity"));
}

}  // namespace ukemi
