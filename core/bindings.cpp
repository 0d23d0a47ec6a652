// Arrays in, arrays out: no algorithm here.
#define UKEMI_IMPORTS_NUMPY
#include "arrays.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "border.hpp"
#include "implicit.hpp"
#include "frames.hpp"
#include "kernels.hpp"

namespace nb = nanobind;

namespace ukemi {

void bind_closed(nb::module_& m);
void bind_contact(nb::module_& m);
void bind_impulse(nb::module_& m);
void bind_integrator(nb::module_& m);
void bind_limits(nb::module_& m);
void bind_particles(nb::module_& m);
void bind_solve(nb::module_& m);
void bind_filter(nb::module_& m);
void bind_trajectory(nb::module_& m);

namespace {

// --- building the tree ---------------------------------------------------------------------------------------------

constexpr int joint_nq[] = {1, 1, 2, 4, 3, 7}, joint_nv[] = {1, 1, 2, 3, 3, 6};

/// Rows of doubles with a fixed width, from Python.
Array rows(const char* name, nb::handle object, npy_intp count, npy_intp width) {
    Array a(name, object.ptr());
    if (a.ndim() != 2 || a.dim(0) != count || a.dim(1) != width)
        throw InputError("InvalidInputError", std::string(name) + ": expected shape (" + std::to_string(count) + ", " + std::to_string(width) + "), got " + a.shape_text());
    return a;
}

Tree make_tree(const std::vector<std::string>& names, const std::vector<int>& parents, const std::vector<int>& kinds, nb::handle frames,
                                nb::handle inertias, nb::handle axes, nb::handle armatures, const std::vector<int>& link_bodies, nb::handle link_frames,
                                const std::vector<int>& elastic_bodies, nb::handle elastics) {
    Tree tree;
    const auto n = static_cast<npy_intp>(names.size());
    if (parents.size() != names.size() || kinds.size() != names.size()) throw InputError("InvalidInputError", "tree: lists of different lengths");
    const Array F = rows("frames", frames, n, 12), I = rows("inertias", inertias, n, 10), A = rows("axes", axes, n, 6), R = rows("armatures", armatures, n, 6);
    for (npy_intp i = 0; i < n; ++i) {
        Body b{};
        b.parent = parents[static_cast<std::size_t>(i)];
        const int kind = kinds[static_cast<std::size_t>(i)];
        if (b.parent < -1 || b.parent >= i) throw InputError("InvalidInputError", "tree: body " + std::to_string(i) + " must come after its parent");
        if (kind < 0 || kind > 5) throw InputError("InvalidInputError", "tree: unknown joint kind " + std::to_string(kind));
        b.kind = static_cast<JointKind>(kind);
        b.nq = joint_nq[kind], b.nv = joint_nv[kind];
        b.iq = tree.nq, b.iv = tree.nv;
        const double* f = F.data() + 12 * i;
        b.R_tree = mat3(f), b.p_tree = vec3(f + 9);
        constexpr double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
        b.turned = std::memcmp(f, identity, sizeof identity) != 0;
        const double* m = I.data() + 10 * i;
        b.mass = m[0], b.h = vec3(m + 1), b.I = {m[4], m[5], m[6], m[7], m[8], m[9]};
        b.axis = vec3(A.data() + 6 * i), b.axis2 = vec3(A.data() + 6 * i + 3);
        for (int k = 0; k < b.nv; ++k) {
            b.armature[k] = R.data()[6 * i + k];
            b.armed |= b.armature[k] != 0;
            const int above = b.parent < 0 ? -1 : tree.bodies[static_cast<std::size_t>(b.parent)].iv + tree.bodies[static_cast<std::size_t>(b.parent)].nv - 1;
            const int dof = b.iv + k, up = k > 0 ? dof - 1 : above;
            tree.dof_parent.push_back(up);
            tree.dof_run.push_back(dof > 0 && up == dof - 1 ? tree.dof_run.back() : dof);
        }
        if (b.nq >= 4) tree.quaternions.push_back(b.iq + b.nq - 4);
        tree.nq += b.nq, tree.nv += b.nv;
        tree.bodies.push_back(b);
    }
    tree.joint_names = names;
    const Array L = rows("link_frames", link_frames, static_cast<npy_intp>(link_bodies.size()), 12);
    for (std::size_t i = 0; i < link_bodies.size(); ++i) {
        if (link_bodies[i] < -1 || link_bodies[i] >= n) throw InputError("InvalidInputError", "tree: link on unknown body");
        tree.links.push_back({link_bodies[i], mat3(L.data() + 12 * i), vec3(L.data() + 12 * i + 9)});
    }
    const Array E = rows("elastics", elastics, static_cast<npy_intp>(elastic_bodies.size()), 79);
    for (std::size_t i = 0; i < elastic_bodies.size(); ++i) {
        Elastic e{};
        e.body = elastic_bodies[i];
        if (e.body < 0 || e.body >= n) throw InputError("InvalidInputError", "tree: spring on unknown body");
        const double* x = E.data() + 79 * i;
        std::copy(x, x + 36, e.stiffness), std::copy(x + 36, x + 72, e.damping), std::copy(x + 72, x + 79, e.rest);
        tree.elastic.push_back(e);
    }
    kernels().find_leaves(tree);
    return tree;
}

/// Adds a spring and damper across joints, on freedoms (indices into v) whose coordinates are angles or distances.
void add_spring(Tree& tree, const std::vector<int>& freedoms, nb::handle stiffness, nb::handle damping, nb::handle rest) {
    const auto n = static_cast<npy_intp>(freedoms.size());
    const Array K = rows("stiffness", stiffness, n, n), B = rows("damping", damping, n, n);
    const Array r("rest", rest.ptr());
    if (r.ndim() != 1 || r.dim(0) != n) throw InputError("InvalidInputError", "rest: expected one number per freedom");
    CoupledSpring s;
    for (int v : freedoms) {
        const auto b = std::find_if(tree.bodies.begin(), tree.bodies.end(), [&](const Body& body) { return body.iv <= v && v < body.iv + body.nv; });
        if (b == tree.bodies.end() || b->nq != b->nv) throw InputError("InvalidInputError", "spring: freedom " + std::to_string(v) + " is no angle or distance of a joint");
        s.v.push_back(v), s.q.push_back(b->iq + v - b->iv);
    }
    s.stiffness.assign(K.data(), K.data() + n * n), s.damping.assign(B.data(), B.data() + n * n), s.rest.assign(r.data(), r.data() + n);
    tree.springs.push_back(std::move(s));
}

/// Names the joint that has nothing to accelerate, if a result is not finite.
void require_regular(const Tree& tree, const nb::object& q, const nb::object& result) {
    const auto* a = reinterpret_cast<PyArrayObject*>(result.ptr());
    const double* x = static_cast<const double*>(PyArray_DATA(const_cast<PyArrayObject*>(a)));
    const npy_intp n = PyArray_SIZE(const_cast<PyArrayObject*>(a));
    if (kernels().all_finite(x, n)) return;
    npy_intp state = 0;
    while (std::isfinite(x[state])) ++state;
    state /= tree.nv;
    // The joint whose block of the factorised inertia matrix has no size.
    Array Q("q", q.ptr());
    std::vector<double> M(static_cast<std::size_t>(tree.nv) * static_cast<std::size_t>(tree.nv), 0.0);
    Batch batch;
    batch.tree = &tree;
    batch.q = {Q.data() + (Q.ndim() > 1 && Q.size() > tree.nq * state ? tree.nq * state : 0), 0};
    batch.out = M.data();
    run_here(kernels().mass_matrix, batch, 0, 1);
    kernels().factorize(tree, M.data(), tree.nv);
    for (std::size_t i = tree.bodies.size(); i-- > 0;) {
        const Body& b = tree.bodies[i];
        for (int k = b.iv; k < b.iv + b.nv; ++k) {
            if (M[static_cast<std::size_t>(k) * static_cast<std::size_t>(tree.nv + 1)] > 1e-300) continue;
            throw InputError("SingularError", "forward dynamics: joint '" + tree.joint_names[i] + "' moves no inertia (what hangs on it has no mass about it): give it mass, inertia or armature");
        }
    }
    throw InputError("SingularError", "forward dynamics: the accelerations overflow");
}

// --- tree dynamics -----------------------------------------------------------------------------------------------------

nb::object forward_dynamics(const Tree& tree, nb::object q, nb::handle v, nb::handle tau, nb::handle external, nb::handle gravity) {
    Border border(tree);
    border.coordinates(border.batch.q, "q", q);
    border.velocities(border.batch.v, "v", v);
    border.velocities(border.batch.x, "tau", tau);
    border.external(external);
    border.gravity(gravity);
    nb::object a = border.run(kernels().forward_dynamics, {tree.nv});
    require_regular(tree, q, a);
    return a;
}
nb::object inverse_dynamics(const Tree& tree, nb::handle q, nb::handle v, nb::handle a, nb::handle external, nb::handle gravity) {
    Border border(tree);
    border.coordinates(border.batch.q, "q", q);
    border.velocities(border.batch.v, "v", v);
    if (!a.is_none()) border.velocities(border.batch.x, "a", a);
    border.external(external);
    border.gravity(gravity);
    return border.run(kernels().inverse_dynamics, {tree.nv});
}
nb::object mass_matrix(const Tree& tree, nb::handle q) {
    Border border(tree);
    border.coordinates(border.batch.q, "q", q);
    return border.run(kernels().mass_matrix, {tree.nv, tree.nv}, true);
}
nb::object link_poses(const Tree& tree, nb::handle q) {
    Border border(tree);
    border.coordinates(border.batch.q, "q", q);
    return border.run(kernels().link_poses, {static_cast<npy_intp>(tree.links.size()), 4, 4});
}
nb::object jacobian(const Tree& tree, nb::handle q, int link, nb::handle point) {
    Border border(tree);
    border.coordinates(border.batch.q, "q", q);
    border.link(link, point);
    return border.run(kernels().jacobian, {6, tree.nv}, true);
}
nb::object jacobian_rate(const Tree& tree, nb::handle q, nb::handle v, int link, nb::handle point) {
    Border border(tree);
    border.coordinates(border.batch.q, "q", q);
    border.velocities(border.batch.v, "v", v);
    border.link(link, point);
    return border.run(kernels().jacobian_rate, {6}, true);
}
nb::object mechanics(const Tree& tree, nb::handle q, nb::handle v, nb::handle gravity) {
    Border border(tree);
    border.coordinates(border.batch.q, "q", q);
    border.velocities(border.batch.v, "v", v);
    border.gravity(gravity);
    return border.run(kernels().mechanics, {11});
}
nb::object integrate(const Tree& tree, nb::handle q, nb::handle v, double dt) {
    if (!std::isfinite(dt)) throw InputError("InvalidInputError", "dt: expected a finite time step, got " + std::to_string(dt));
    Border border(tree);
    border.coordinates(border.batch.q, "q", q);
    border.velocities(border.batch.v, "v", v);
    border.batch.dt = dt;
    return border.run(kernels().integrate, {tree.nq});
}
nb::object difference(const Tree& tree, nb::handle q0, nb::handle q1) {
    Border border(tree);
    border.coordinates(border.batch.q, "q0", q0);
    border.coordinates(border.batch.v, "q1", q1);
    return border.run(kernels().difference, {tree.nv});
}

/// The factorised inertia matrix of one state.
struct InertiaFactor {
    nb::object owner;  // keeps the tree alive
    const Tree* tree;
    std::vector<double> L;

    InertiaFactor(nb::object t, nb::handle q) : owner(t), tree(&nb::cast<const Tree&>(t)), L(static_cast<std::size_t>(tree->nv) * static_cast<std::size_t>(tree->nv), 0.0) {
        Array Q("q", q.ptr());
        if (Q.ndim() != 1) throw InputError("InvalidInputError", "q: expected shape (" + std::to_string(tree->nq) + ",), got " + Q.shape_text());
        Q.require_tail({tree->nq}, "(nq)");
        Q.require_finite();
        require_unit_quaternions(*tree, Q);
        Batch batch;
        batch.tree = tree;
        batch.q.data = Q.data();
        batch.out = L.data();
        run_here(kernels().mass_matrix, batch, 0, 1);
        kernels().factorize(*tree, L.data(), tree->nv);
        for (std::size_t k = 0; k < static_cast<std::size_t>(tree->nv); ++k) {
            if (!(L[k * static_cast<std::size_t>(tree->nv + 1)] > 0)) throw InputError("SingularError", "the inertia matrix is singular at freedom " + std::to_string(k));
        }
    }
    nb::object solve(nb::handle rhs) const {
        Array b("rhs", rhs.ptr());
        b.require_tail({tree->nv}, "(nv)");
        b.require_finite();
        std::vector<npy_intp> shape;
        for (int i = 0; i < b.ndim(); ++i) shape.push_back(b.dim(i));
        double* out;
        nb::object result = nb::steal(new_array(shape, false, &out));
        std::copy(b.data(), b.data() + b.size(), out);
        for (npy_intp i = 0; i + tree->nv <= b.size() && tree->nv; i += tree->nv) kernels().solve(*tree, L.data(), tree->nv, out + i);
        return result;
    }
};

}  // namespace
}  // namespace ukemi

static void* import_numpy() {
    import_array1(nullptr);
    return reinterpret_cast<void*>(1);
}

NB_MODULE(_core, m) {
    using namespace ukemi;
    if (!import_numpy()) throw nb::python_error();
    m.doc() = "The compiled core of ukemi: arrays in, arrays out.";
    nb::set_leak_warnings(false);  // models in global variables outlive the module when the interpreter ends

    nb::register_exception_translator([](const std::exception_ptr& p, void*) {
        try {
            std::rethrow_exception(p);
        } catch (const InputError& e) {
            nb::object type = nb::module_::import_("ukemi.errors").attr(e.type);
            PyErr_SetString(type.ptr(), e.what());
        } catch (const PythonError&) {
        }
    });

    nb::class_<Tree>(m, "Tree", "The frozen tree that all algorithms read.")
        .def(
            "__init__",
            [](Tree* self, const std::vector<std::string>& names, const std::vector<int>& parents, const std::vector<int>& kinds, nb::handle frames,
               nb::handle inertias, nb::handle axes, nb::handle armatures, const std::vector<int>& link_bodies, nb::handle link_frames,
               const std::vector<int>& elastic_bodies, nb::handle elastics) {
                new (self) Tree(make_tree(names, parents, kinds, frames, inertias, axes, armatures, link_bodies, link_frames, elastic_bodies, elastics));
            },
            nb::arg("names"), nb::arg("parents"), nb::arg("kinds"), nb::arg("frames"), nb::arg("inertias"), nb::arg("axes"), nb::arg("armatures"),
            nb::arg("link_bodies"), nb::arg("link_frames"), nb::arg("elastic_bodies"), nb::arg("elastics"))
        .def("add_spring", add_spring, nb::arg("freedoms"), nb::arg("stiffness"), nb::arg("damping"), nb::arg("rest"))
        .def("implicit", [](const Tree& t, double dt) { return implicit_tree(t, dt); }, nb::arg("dt"), "M + dt B + dt^2 K instead of M, and the springs' forces at q + dt v.")
        .def_ro("nq", &Tree::nq)
        .def_ro("nv", &Tree::nv);

    // Arrays may be anything that NumPy reads: .none() lets the border name what is wrong instead of nanobind.
    m.def("forward_dynamics", forward_dynamics, nb::arg("tree"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("tau").none(), nb::arg("external").none(), nb::arg("gravity").none());
    m.def("inverse_dynamics", inverse_dynamics, nb::arg("tree"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("a").none(), nb::arg("external").none(), nb::arg("gravity").none());
    m.def("mass_matrix", mass_matrix, nb::arg("tree"), nb::arg("q").none());
    m.def("link_poses", link_poses, nb::arg("tree"), nb::arg("q").none());
    m.def("jacobian", jacobian, nb::arg("tree"), nb::arg("q").none(), nb::arg("link"), nb::arg("point").none());
    m.def("jacobian_rate", jacobian_rate, nb::arg("tree"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("link"), nb::arg("point").none());
    m.def("mechanics", mechanics, nb::arg("tree"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("gravity").none());
    m.def("integrate", integrate, nb::arg("tree"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("dt"));
    m.def("difference", difference, nb::arg("tree"), nb::arg("q0").none(), nb::arg("q1").none());

    nb::class_<InertiaFactor>(m, "InertiaFactor", "M = L^T D L of one state, as sparse as the tree.")
        .def(nb::init<nb::object, nb::handle>(), nb::arg("tree"), nb::arg("q").none())
        .def("solve", &InertiaFactor::solve, nb::arg("rhs").none(), "M^-1 rhs, for rhs of shape (..., nv).");

    bind_closed(m);
    bind_contact(m);
    bind_impulse(m);
    bind_integrator(m);
    bind_limits(m);
    bind_particles(m);
    bind_solve(m);
    bind_filter(m);
    bind_trajectory(m);

    m.def("levels", [] {
        const Kernels* levels[8];
        std::vector<std::string> names;
        for (std::size_t i = 0, n = available_levels(levels, 8); i < n; ++i) names.emplace_back(levels[i]->name);
        return names;
    }, "Instruction-set levels that this processor runs, the best last.");
    m.def("level", [] { return std::string(kernels().name); });
    m.def("choose_level", [](const std::string& name) {
        if (!choose_level(name.c_str())) throw InputError("InvalidInputError", "level: this processor or build has no '" + name + "'");
    }, nb::arg("name"));
    m.def("lanes", [] { return kernels().lanes; });
    m.def("threads", [] { return thread_count().load(); });
    m.def("set_threads", [](int n) {
        if (n < 1 || n > 1024) throw InputError("InvalidInputError", "threads: expected 1 to 1024, got " + std::to_string(n));
        thread_count() = n;
    }, nb::arg("count"));
}
