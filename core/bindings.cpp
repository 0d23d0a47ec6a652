// Arrays in, arrays out: no algorithm here.
#define UKEMI_IMPORTS_NUMPY
#include "arrays.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>

#include "integrators.hpp"
#include "kernels.hpp"
#include "workers.hpp"

namespace nb = nanobind;

namespace ukemi {
namespace {

// --- building the tree ---------------------------------------------------------------------------------------------

constexpr int joint_nq[] = {1, 1, 2, 4, 3, 7}, joint_nv[] = {1, 1, 2, 3, 3, 6};

Vec3<double> vec3(const double* p) { return {p[0], p[1], p[2]}; }
Mat3<double> mat3(const double* m) { return {m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8]}; }

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
        b.elastic = -1;
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
            tree.dof_parent.push_back(k > 0 ? b.iv + k - 1 : above);
        }
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
        Body& b = tree.bodies[static_cast<std::size_t>(e.body)];
        const double* x = E.data() + 79 * i;
        std::copy(x, x + 36, e.stiffness), std::copy(x + 36, x + 72, e.damping), std::copy(x + 72, x + 79, e.rest);
        b.elastic = static_cast<int>(i);
        tree.elastic.push_back(e);
    }
    return tree;
}

// --- states at the border --------------------------------------------------------------------------------------------

/// Arguments with common batch axes: the same leading shape, or none, or anything NumPy can broadcast.
class Border {
public:
    explicit Border(const Tree& tree) { batch.tree = &tree; }
    Batch batch;

    const Array& take(Batch::Array& slot, const char* name, nb::handle object, std::initializer_list<npy_intp> tail, const char* meaning) {
        Array& a = arrays_[used_];
        a = Array(name, object.ptr());
        a.require_tail(tail, meaning);
        a.require_finite();
        slots_[used_] = &slot;
        tails_[used_] = static_cast<int>(tail.size());
        return arrays_[used_++];
    }
    void coordinates(Batch::Array& slot, const char* name, nb::handle object) {
        require_unit_quaternions(*batch.tree, take(slot, name, object, {batch.tree->nq}, "(nq)"));
    }
    void velocities(Batch::Array& slot, const char* name, nb::handle object) { take(slot, name, object, {batch.tree->nv}, "(nv)"); }

    /// Gravity of any direction [m/s^2]; None is the default.
    void gravity(nb::handle object) {
        if (object.is_none()) {
            batch.gravity[2] = -9.81;
            return;
        }
        const Array g("gravity", object.ptr());
        if (g.ndim() != 1 || g.dim(0) != 3) throw InputError("InvalidInputError", "gravity: expected shape (3,), got " + g.shape_text());
        g.require_finite();
        std::copy(g.data(), g.data() + 3, batch.gravity);
    }
    /// Wrenches on links, in link coordinates; moved onto the bodies that carry the links.
    void external(nb::handle object) {
        if (object.is_none()) return;
        const auto links = static_cast<npy_intp>(batch.tree->links.size());
        take(batch.external, "external", object, {links, 6}, "(nlinks, 6: force and moment in link coordinates)");
    }
    void link(int index, nb::handle point) {
        if (index < 0 || index >= static_cast<int>(batch.tree->links.size())) throw InputError("InvalidInputError", "link: index out of range");
        batch.link = index;
        const Array p("point", point.ptr());
        if (p.ndim() != 1 || p.dim(0) != 3) throw InputError("InvalidInputError", "point: expected shape (3,), got " + p.shape_text());
        p.require_finite();
        std::copy(p.data(), p.data() + 3, batch.point);
    }

    /// Runs the kernel over the common batch and returns an array (batch axes, tail).
    nb::object run(Kernel kernel, std::initializer_list<npy_intp> tail, bool cleared = false) {
        std::vector<npy_intp> shape = broadcast();
        std::ptrdiff_t count = 1;
        for (npy_intp d : shape) count *= d;
        batch.out_stride = 1;
        for (npy_intp d : tail) shape.push_back(d), batch.out_stride *= d;
        nb::object result = nb::steal(new_array(shape, cleared, &batch.out));
        if (count == 1) {
            move_wrenches(1);
            run_here(kernel, batch, 0, 1);
        } else if (count > 1) {
            nb::gil_scoped_release release;
            move_wrenches(count);
            ukemi::run(kernel, batch, count);
        }
        return result;
    }

private:
    std::vector<npy_intp> broadcast() {
        std::vector<npy_intp> shape;
        bool uneven = false;
        for (int i = 0; i < used_; ++i) {
            const int n = arrays_[i].ndim() - tails_[i];
            if (n == 0) continue;
            std::vector<npy_intp> lead(static_cast<std::size_t>(n));
            for (int k = 0; k < n; ++k) lead[static_cast<std::size_t>(k)] = arrays_[i].dim(k);
            if (shape.empty()) shape = lead;
            else if (shape != lead) uneven = true;
        }
        if (uneven) shape = spread();
        std::ptrdiff_t tail_size;
        for (int i = 0; i < used_; ++i) {
            tail_size = 1;
            for (int k = 0; k < tails_[i]; ++k) tail_size *= arrays_[i].dim(arrays_[i].ndim() - 1 - k);
            *slots_[i] = {arrays_[i].data(), arrays_[i].ndim() == tails_[i] ? 0 : tail_size};
        }
        return shape;
    }
    /// Different leading shapes: let NumPy broadcast them, or say why not.
    std::vector<npy_intp> spread() {
        nb::module_ np = nb::module_::import_("numpy");
        nb::list leads;
        std::string text;
        for (int i = 0; i < used_; ++i) {
            nb::list lead;
            for (int k = 0; k < arrays_[i].ndim() - tails_[i]; ++k) lead.append(arrays_[i].dim(k));
            leads.append(nb::tuple(lead));
            text += (i ? ", " : "") + std::string(arrays_[i].name()) + " " + arrays_[i].shape_text();
        }
        nb::object common;
        try {
            common = np.attr("broadcast_shapes")(*leads);
        } catch (nb::python_error&) {
            throw InputError("InvalidInputError", "batch axes do not match: " + text);
        }
        std::vector<npy_intp> shape;
        for (nb::handle d : common) shape.push_back(nb::cast<npy_intp>(d));
        for (int i = 0; i < used_; ++i) {
            if (arrays_[i].ndim() == tails_[i]) continue;
            nb::list full;
            for (npy_intp d : shape) full.append(d);
            for (int k = tails_[i]; k > 0; --k) full.append(arrays_[i].dim(arrays_[i].ndim() - k));
            nb::object spread = np.attr("ascontiguousarray")(np.attr("broadcast_to")(nb::borrow(arrays_[i].object()), nb::tuple(full)));
            kept_.push_back(spread);
            arrays_[i] = Array(arrays_[i].name(), spread.ptr());
        }
        return shape;
    }
    void move_wrenches(std::ptrdiff_t count) {
        if (!batch.external.data) return;
        const Tree& tree = *batch.tree;
        const std::size_t width = 6 * tree.bodies.size(), states = batch.external.stride ? static_cast<std::size_t>(count) : 1;
        wrenches_.assign(width * states, 0.0);
        for (std::size_t s = 0; s < states; ++s) {
            for (std::size_t i = 0; i < tree.links.size(); ++i) {
                const Link& l = tree.links[i];
                if (l.body < 0) continue;
                const double* w = batch.external.data + 6 * (s * tree.links.size() + i);
                const double f[3] = {l.R.xx * w[0] + l.R.xy * w[1] + l.R.xz * w[2], l.R.yx * w[0] + l.R.yy * w[1] + l.R.yz * w[2], l.R.zx * w[0] + l.R.zy * w[1] + l.R.zz * w[2]};
                const double n[3] = {l.R.xx * w[3] + l.R.xy * w[4] + l.R.xz * w[5], l.R.yx * w[3] + l.R.yy * w[4] + l.R.yz * w[5], l.R.zx * w[3] + l.R.zy * w[4] + l.R.zz * w[5]};
                double* out = wrenches_.data() + s * width + 6 * static_cast<std::size_t>(l.body);
                for (int k = 0; k < 3; ++k) out[k] += f[k];
                out[3] += n[0] + l.p.y * f[2] - l.p.z * f[1];
                out[4] += n[1] + l.p.z * f[0] - l.p.x * f[2];
                out[5] += n[2] + l.p.x * f[1] - l.p.y * f[0];
            }
        }
        batch.external = {wrenches_.data(), batch.external.stride ? static_cast<std::ptrdiff_t>(width) : 0};
    }

    static constexpr int capacity = 4;
    Array arrays_[capacity];
    Batch::Array* slots_[capacity] = {};
    int tails_[capacity] = {}, used_ = 0;
    std::vector<nb::object> kept_;
    std::vector<double> wrenches_;
};

/// Names the joint that has nothing to accelerate, if a result is not finite.
void require_regular(const Tree& tree, const nb::object& q, const nb::object& result) {
    const auto* a = reinterpret_cast<PyArrayObject*>(result.ptr());
    const double* x = static_cast<const double*>(PyArray_DATA(const_cast<PyArrayObject*>(a)));
    const npy_intp n = PyArray_SIZE(const_cast<PyArrayObject*>(a));
    bool bad = false;
    for (npy_intp i = 0; i < n; ++i) bad |= !(std::fabs(x[i]) <= 1.7976931348623157e308);
    if (!bad) return;
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
    kernels().factorize(tree, M.data());
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
        kernels().factorize(*tree, L.data());
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
        for (npy_intp i = 0; i + tree->nv <= b.size() && tree->nv; i += tree->nv) kernels().solve(*tree, L.data(), out + i);
        return result;
    }
};

// --- time integration ----------------------------------------------------------------------------------------------------

struct PyIntegrator {
    nb::object owner;  // keeps the tree alive
    const Tree* tree;
    Integrator integrator;
    double gravity[3] = {0, 0, -9.81};

    PyIntegrator(nb::object t, const std::string& method, nb::handle g, double rtol, double atol)
        : owner(t), tree(&nb::cast<const Tree&>(t)), integrator(*tree, method_of(method), rtol, atol) {
        if (!(rtol > 0) || !(atol > 0)) throw InputError("InvalidInputError", "rtol and atol: expected positive tolerances");
        Border border(*tree);
        border.gravity(g);
        std::copy(border.batch.gravity, border.batch.gravity + 3, gravity);
    }
    static Method method_of(const std::string& name) {
        if (name == "semi-implicit") return Method::semi_implicit;
        if (name == "rk4") return Method::rk4;
        if (name == "adaptive") return Method::adaptive;
        throw InputError("InvalidInputError", "integrator: expected 'semi-implicit', 'rk4' or 'adaptive', got '" + name + "'");
    }

    /// `steps` steps of dt from (t, q, v); control(t, q, v) -> tau, or constant torques, or None.
    nb::tuple advance(double t, nb::handle q0, nb::handle v0, double dt, long steps, nb::object control) {
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
        auto acceleration = [&](double time, const double* qs, const double* vs, double* a) {
            if (calls) torque = ask(control, time, qs, vs, batch);
            batch.q.data = qs, batch.v.data = vs, batch.out = a;
            run_here(kernels().forward_dynamics, batch, 0, 1);
        };
        std::vector<double> q_good(q, q + tree->nq), v_good(v, v + tree->nv);
        for (long i = 0; i < steps; ++i) {
            const double now = t + static_cast<double>(i) * dt;
            const bool ok = integrator.advance(acceleration, now, dt, q, v);
            check(ok, now, q, v, q_good, v_good);
            if (i % 256 == 255 && PyErr_CheckSignals() != 0) throw nb::python_error();
        }
        return nb::make_tuple(q_out, v_out);
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
}  // namespace ukemi

static void* import_numpy() {
    import_array1(nullptr);
    return reinterpret_cast<void*>(1);
}

NB_MODULE(_core, m) {
    using namespace ukemi;
    if (!import_numpy()) throw nb::python_error();
    m.doc() = "The compiled core of ukemi: arrays in, arrays out.";

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
        .def_ro("nq", &Tree::nq)
        .def_ro("nv", &Tree::nv)
        .def_prop_ro("nbodies", [](const Tree& t) { return t.bodies.size(); });

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

    nb::class_<PyIntegrator>(m, "Integrator", "Moves a state of a tree through time.")
        .def(nb::init<nb::object, const std::string&, nb::handle, double, double>(), nb::arg("tree"), nb::arg("method"), nb::arg("gravity").none(), nb::arg("rtol"), nb::arg("atol"))
        .def("advance", &PyIntegrator::advance, nb::arg("t"), nb::arg("q").none(), nb::arg("v").none(), nb::arg("dt"), nb::arg("steps"), nb::arg("control").none())
        .def_prop_ro("evaluations", [](const PyIntegrator& i) { return i.integrator.evaluations; })
        .def_prop_ro("rejected", [](const PyIntegrator& i) { return i.integrator.rejected; });

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
        if (n < 1) throw InputError("InvalidInputError", "threads: expected at least 1, got " + std::to_string(n));
        thread_count() = n;
    }, nb::arg("count"));
}
