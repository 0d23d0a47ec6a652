// Closed chains for Python.
#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include "border.hpp"
#include "closed_chain.hpp"

namespace ukemi {

namespace {

constexpr int loop_numbers = 45;  // X_a (12), X_b (12), axis1 (3), axis2 (3), cosine, stiffness (6), damping (6), axial, length

Vec3<double> vec3(const double* p) { return {p[0], p[1], p[2]}; }
Mat3<double> mat3(const double* m) { return {m[0], m[1], m[2], m[3], m[4], m[5], m[6], m[7], m[8]}; }
Mat3<double> times(const Mat3<double>& a, const Mat3<double>& b) {
    return {a.xx * b.xx + a.xy * b.yx + a.xz * b.zx, a.xx * b.xy + a.xy * b.yy + a.xz * b.zy, a.xx * b.xz + a.xy * b.yz + a.xz * b.zz,
            a.yx * b.xx + a.yy * b.yx + a.yz * b.zx, a.yx * b.xy + a.yy * b.yy + a.yz * b.zy, a.yx * b.xz + a.yy * b.yz + a.yz * b.zz,
            a.zx * b.xx + a.zy * b.yx + a.zz * b.zx, a.zx * b.xy + a.zy * b.yy + a.zz * b.zy, a.zx * b.xz + a.zy * b.yz + a.zz * b.zz};
}
/// A frame given in a link (-1: the world), as a frame in the body that carries the link.
Placement<double> in_body(const Tree& tree, int link, const double* frame, int* body) {
    const Mat3<double> R = mat3(frame);
    const Vec3<double> p = vec3(frame + 9);
    *body = -1;
    if (link < 0) return {R, p};
    const Link& l = tree.links[static_cast<std::size_t>(link)];
    *body = l.body;
    return {times(l.R, R),
            {l.p.x + l.R.xx * p.x + l.R.xy * p.y + l.R.xz * p.z, l.p.y + l.R.yx * p.x + l.R.yy * p.y + l.R.yz * p.z, l.p.z + l.R.zx * p.x + l.R.zy * p.y + l.R.zz * p.z}};
}

Loops make_loops(const Tree& tree, const std::vector<int>& links_a, const std::vector<int>& links_b, const std::vector<int>& lin, const std::vector<int>& rot, const Array& numbers) {
    Loops loops;
    const int nlinks = static_cast<int>(tree.links.size());
    for (std::size_t i = 0; i < links_a.size(); ++i) {
        Loop loop{};
        if (links_a[i] < -1 || links_a[i] >= nlinks || links_b[i] < -1 || links_b[i] >= nlinks) throw InputError("InvalidInputError", "loop: link index out of range");
        const double* x = numbers.data() + loop_numbers * i;
        loop.X_a = in_body(tree, links_a[i], x, &loop.a);
        loop.X_b = in_body(tree, links_b[i], x + 12, &loop.b);
        if (loop.a == loop.b) throw InputError("InvalidInputError", "loop: both ends stand on the same body");
        for (int k = 0; k < 3; ++k) loop.lin[k] = lin[i] >> k & 1;
        loop.rot = rot[i];
        loop.axis1 = vec3(x + 24), loop.axis2 = vec3(x + 27), loop.cosine = x[30];
        for (int k = 0; k < 6; ++k) {
            loop.stiffness[k] = x[31 + k], loop.damping[k] = x[37 + k];
            loop.elastic |= loop.stiffness[k] != 0 || loop.damping[k] != 0;
        }
        loop.axial = x[43] != 0, loop.length = x[44];
        loops.items.push_back(loop);
    }
    return loops;
}

/// Adds ties: how many terms each has, the freedom (index into v; of a spherical joint the first) and the four
/// coefficients of every term, and the offsets. measures: null, or 11 numbers per term: 0 (none), 1 (twist) or 2 (swing) of a
/// spherical joint, axis, across, widest swings.
void add_ties(const Tree& tree, const std::vector<int>& counts, const std::vector<int>& freedoms, nb::handle coefficients, nb::handle offsets, nb::handle measures, Loops& loops) {
    const Array c("coefficients", coefficients.ptr()), x("offsets", offsets.ptr());
    std::size_t terms = 0;
    for (int count : counts) {
        if (count < 1) throw InputError("InvalidInputError", "tie: expected at least one term");
        terms += static_cast<std::size_t>(count);
    }
    if (freedoms.size() != terms || c.ndim() != 2 || c.dim(0) != static_cast<npy_intp>(terms) || c.dim(1) != 4 || x.ndim() != 1 || x.dim(0) != static_cast<npy_intp>(counts.size()))
        throw InputError("InvalidInputError", "ties: lists of different lengths");
    c.require_finite(), x.require_finite();
    Array m;
    if (!measures.is_none()) {
        m = Array("measures", measures.ptr());
        if (m.ndim() != 2 || m.dim(0) != static_cast<npy_intp>(terms) || m.dim(1) != 11) throw InputError("InvalidInputError", "ties: lists of different lengths");
        m.require_finite();
    }
    for (std::size_t t = 0; t < terms; ++t) {
        const double* k = c.data() + 4 * t;
        const auto body = std::find_if(tree.bodies.begin(), tree.bodies.end(), [&](const Body& b) { return b.iv <= freedoms[t] && freedoms[t] < b.iv + b.nv; });
        if (body == tree.bodies.end()) throw InputError("InvalidInputError", "tie: freedom out of range");
        const int d = freedoms[t] - body->iv;
        const bool angle = body->kind == JointKind::spherical;
        if (body->kind == JointKind::free || (angle && d > 0))
            throw InputError("InvalidInputError", "tie: joint '" + tree.joint_names[static_cast<std::size_t>(body - tree.bodies.begin())] + "' has no such coordinate");
        loops.terms.push_back({static_cast<int>(body - tree.bodies.begin()), body->iq + d, body->iv + d, angle, {k[0], k[1], k[2], k[3]}, 0});
        const double* w = measures.is_none() ? nullptr : m.data() + 11 * t;
        if (!w || w[0] == 0) continue;
        if (!angle) throw InputError("InvalidInputError", "tie: only spherical joints have swing and twist");
        loops.terms.back().measure = static_cast<int>(loops.measures.size());
        loops.measures.push_back({w[0] == 2, vec3(w + 1), vec3(w + 4), {w[7], w[8], w[9], w[10]}});
    }
    int term = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        loops.ties.push_back({term, term + counts[i], x.data()[i]});
        term += counts[i];
    }
}

/// One state (not a batch), checked.
struct State {
    Array q, v;
    State(const Tree& tree, nb::handle q_in, nb::handle v_in) : q("q", q_in.ptr()), v("v", v_in.ptr()) {
        for (const auto& [a, n] : {std::pair<const Array*, int>{&q, tree.nq}, {&v, tree.nv}}) {
            if (a->ndim() != 1 || a->dim(0) != n) throw InputError("InvalidInputError", std::string(a->name()) + ": expected shape (" + std::to_string(n) + ",), got " + a->shape_text());
            a->require_finite();
        }
        require_unit_quaternions(tree, q);
    }
};

struct PyClosed {
    nb::object owner;
    const Tree* tree;
    std::vector<int> links_a;
    ClosedChain chain;

    PyClosed(nb::object t, const std::vector<int>& links_a, const std::vector<int>& links_b, const std::vector<int>& lin, const std::vector<int>& rot, nb::handle numbers,
             const std::vector<int>& tie_counts, const std::vector<int>& tie_freedoms, nb::handle coefficients, nb::handle offsets, nb::handle measures)
        : owner(t), tree(&nb::cast<const Tree&>(t)), links_a(links_a), chain(*tree, [&] {
              Loops loops = parse(*tree, links_a, links_b, lin, rot, numbers);
              add_ties(*tree, tie_counts, tie_freedoms, coefficients, offsets, measures, loops);
              return loops;
          }()) {}

    static Loops parse(const Tree& tree, const std::vector<int>& links_a, const std::vector<int>& links_b, const std::vector<int>& lin, const std::vector<int>& rot, nb::handle numbers) {
        const Array x("numbers", numbers.ptr());
        const auto n = static_cast<npy_intp>(links_a.size());
        if (links_b.size() != links_a.size() || lin.size() != links_a.size() || rot.size() != links_a.size() || x.ndim() != 2 || x.dim(0) != n || x.dim(1) != loop_numbers)
            throw InputError("InvalidInputError", "loops: lists of different lengths");
        x.require_finite();
        return make_loops(tree, links_a, links_b, lin, rot, x);
    }

    Array per_row(const char* name, nb::handle object) const {
        Array x(name, object.ptr());
        if (x.ndim() != 1 || x.dim(0) != chain.rows()) throw InputError("InvalidInputError", std::string(name) + ": expected one number per row, got shape " + x.shape_text());
        x.require_finite();
        return x;
    }
    nb::tuple dynamics(nb::handle q, nb::handle v, nb::handle tau, nb::handle external, nb::handle gravity) {
        Border border(*tree);
        Batch& b = border.batch;
        border.coordinates(b.q, "q", q);
        border.velocities(b.v, "v", v);
        border.velocities(b.x, "tau", tau);
        border.external(external);
        border.gravity(gravity);
        border.require_single();
        double *a, *lambda;
        nb::object a_out = nb::steal(new_array({tree->nv}, false, &a)), l_out = nb::steal(new_array({chain.rows()}, false, &lambda));
        chain.dynamics(b.q.data, b.v.data, b.x.data, b.external.data, b.gravity, a, lambda);
        for (int i = 0; i < tree->nv; ++i)
            if (!std::isfinite(a[i])) throw InputError("SingularError", "forward dynamics of the closed chain: accelerations are not determined (a joint without inertia?)");
        return nb::make_tuple(a_out, l_out);
    }
    nb::tuple jacobian(nb::handle q, nb::handle v) {
        const State s(*tree, q, v);
        double *H, *rate;
        nb::object H_out = nb::steal(new_array({chain.rows(), tree->nv}, true, &H)), r_out = nb::steal(new_array({chain.rows()}, false, &rate));
        chain.jacobian(s.q.data(), s.v.data(), H, rate);
        return nb::make_tuple(H_out, r_out);
    }
    nb::tuple state(nb::handle q, nb::handle v) {
        const State s(*tree, q, v);
        double *error, *rate;
        nb::object e_out = nb::steal(new_array({chain.rows()}, false, &error)), r_out = nb::steal(new_array({chain.rows()}, false, &rate));
        chain.state(s.q.data(), s.v.data(), error, rate);
        return nb::make_tuple(e_out, r_out);
    }
    /// Turns wrenches from the coordinates of body a into those of link a, which may be fixed to it.
    void in_links(double* on_a) const {
        for (std::size_t i = 0; i < links_a.size(); ++i, on_a += 6) {
            if (links_a[i] < 0) continue;
            const Mat3<double>& R = tree->links[static_cast<std::size_t>(links_a[i])].R;
            for (double* w : {on_a, on_a + 3}) {
                const double x = w[0], y = w[1], z = w[2];
                w[0] = R.xx * x + R.yx * y + R.zx * z, w[1] = R.xy * x + R.yy * y + R.zy * z, w[2] = R.xz * x + R.yz * y + R.zz * z;
            }
        }
    }
    /// Energy in the springs, and what acts on each link a: (loops, 6) in its coordinates, at the connection.
    nb::tuple wrenches(nb::handle q, nb::handle v, nb::handle lambda) {
        const State s(*tree, q, v);
        const Array l = per_row("lambda", lambda);
        double* out;
        nb::object w_out = nb::steal(new_array({static_cast<npy_intp>(links_a.size()), 6}, false, &out));
        const double energy = chain.wrenches(s.q.data(), s.v.data(), l.data(), true, out);
        in_links(out);
        return nb::make_tuple(energy, w_out);
    }
    nb::tuple respond(nb::handle q, nb::handle v, nb::handle change) {
        const State s(*tree, q, v);
        const Array c = per_row("change", change);
        double *impulse, *dv;
        nb::object i_out = nb::steal(new_array({chain.rows()}, false, &impulse)), d_out = nb::steal(new_array({tree->nv}, false, &dv));
        chain.respond(s.q.data(), s.v.data(), c.data(), impulse, dv);
        return nb::make_tuple(i_out, d_out);
    }
    /// New v, position error, energy lost, what the impulses do to each link a: (loops, 6) in its coordinates, and the
    /// impulses along the rows.
    nb::tuple jump(nb::handle q, nb::handle v, nb::handle restitution) {
        const State s(*tree, q, v);
        const Array e = per_row("restitution", restitution);
        double *v_new, *on_a;
        nb::object v_out = nb::steal(new_array({tree->nv}, false, &v_new)), w_out = nb::steal(new_array({static_cast<npy_intp>(links_a.size()), 6}, false, &on_a));
        std::copy(s.v.data(), s.v.data() + tree->nv, v_new);
        double* impulse;
        nb::object i_out = nb::steal(new_array({chain.rows()}, false, &impulse));
        const double before = kinetic(s.q.data(), s.v.data());
        const double gap = chain.jump(s.q.data(), v_new, e.data(), impulse, on_a);
        in_links(on_a);
        return nb::make_tuple(v_out, gap, before - kinetic(s.q.data(), v_new), w_out, i_out);
    }
    double kinetic(const double* q, const double* v) const {
        double out[11];
        Batch b;
        b.tree = tree, b.q.data = q, b.v.data = v, b.out = out;
        run_here(kernels().mechanics, b, 0, 1);
        return out[9];
    }
    nb::tuple project(nb::handle q, nb::handle v) {
        const State s(*tree, q, v);
        double *q_new, *v_new;
        nb::object q_out = nb::steal(new_array({tree->nq}, false, &q_new)), v_out = nb::steal(new_array({tree->nv}, false, &v_new));
        std::copy(s.q.data(), s.q.data() + tree->nq, q_new), std::copy(s.v.data(), s.v.data() + tree->nv, v_new);
        const double left = chain.project(q_new, v_new);
        return nb::make_tuple(q_out, v_out, left);
    }
    nb::object spring_torques(nb::handle q, nb::handle v) {
        const State s(*tree, q, v);
        double* out;
        nb::object result = nb::steal(new_array({tree->nv}, false, &out));
        chain.spring_torques(s.q.data(), s.v.data(), out);
        return result;
    }
    nb::object least_norm(nb::handle lambda) {
        const Array l = per_row("lambda", lambda);
        double* out;
        nb::object result = nb::steal(new_array({chain.rows()}, false, &out));
        std::copy(l.data(), l.data() + chain.rows(), out);
        chain.least_norm(out);
        return result;
    }
};

}  // namespace

ClosedChain* closed_chain_of(nb::handle object) { return object.is_none() ? nullptr : &nb::cast<PyClosed&>(object).chain; }

void bind_closed(nb::module_& m) {
    nb::class_<PyClosed>(m, "ClosedChain", "A tree with loops closed by joints, and ties between coordinates: constraint forces, velocity jumps, projection.")
        .def(nb::init<nb::object, const std::vector<int>&, const std::vector<int>&, const std::vector<int>&, const std::vector<int>&, nb::handle, const std::vector<int>&,
                      const std::vector<int>&, nb::handle, nb::handle, nb::handle>(),
             nb::arg("tree"), nb::arg("links_a"), nb::arg("links_b"), nb::arg("lin"), nb::arg("rot"), nb::arg("numbers"), nb::arg("tie_counts"), nb::arg("tie_freedoms"),
             nb::arg("coefficients"), nb::arg("offsets"), nb::arg("measures").none() = nb::none())
        .def_prop_ro("rows", [](const PyClosed& c) { return c.chain.rows(); })
        .def("dynamics", &PyClosed::dynamics, nb::arg("q").none(), nb::arg("v").none(), nb::arg("tau").none(), nb::arg("external").none(), nb::arg("gravity").none())
        .def("jacobian", &PyClosed::jacobian, nb::arg("q").none(), nb::arg("v").none())
        .def("state", &PyClosed::state, nb::arg("q").none(), nb::arg("v").none())
        .def("wrenches", &PyClosed::wrenches, nb::arg("q").none(), nb::arg("v").none(), nb::arg("lambda_").none())
        .def("respond", &PyClosed::respond, nb::arg("q").none(), nb::arg("v").none(), nb::arg("change").none())
        .def("jump", &PyClosed::jump, nb::arg("q").none(), nb::arg("v").none(), nb::arg("restitution").none())
        .def("project", &PyClosed::project, nb::arg("q").none(), nb::arg("v").none())
        .def("spring_torques", &PyClosed::spring_torques, nb::arg("q").none(), nb::arg("v").none())
        .def("least_norm", &PyClosed::least_norm, nb::arg("lambda_").none())
        .def("dependent_rows", [](PyClosed& c) { return c.chain.dependent_rows(); });
}

}  // namespace ukemi
