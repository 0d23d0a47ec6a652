// Closed chains for Python.
#include <nanobind/nanobind.h>

#include "border.hpp"
#include "closed_chain.hpp"
#include "closed_parts.hpp"

namespace ukemi {

namespace {

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
    std::vector<double> forces;  // that nobody asked for

    PyClosed(nb::object t, nb::list loops, nb::list ties) : owner(t), tree(&nb::cast<const Tree&>(t)), chain(*tree, gathered(loops, ties)) {
        for (nb::handle item : loops) links_a.push_back(nb::cast<const PyLoop&>(item).link_a);
    }
    static Loops gathered(const nb::list& loops, const nb::list& ties) {
        Loops all;
        for (nb::handle item : loops) all.items.push_back(nb::cast<const PyLoop&>(item).loop);
        for (nb::handle item : ties) {
            const PyTie& tie = nb::cast<const PyTie&>(item);
            const int first = static_cast<int>(all.terms.size()), measures = static_cast<int>(all.measures.size());
            for (TieTerm term : tie.terms) {
                if (term.measure >= 0) term.measure += measures;
                all.terms.push_back(term);
            }
            all.measures.insert(all.measures.end(), tie.measures.begin(), tie.measures.end());
            all.ties.push_back({first, static_cast<int>(all.terms.size()), tie.offset});
        }
        return all;
    }
    /// Where the rows of a loop (or, counted on after the loops, of a tie) begin and end.
    nb::tuple rows_of(int block) const {
        if (block < 0 || block >= static_cast<int>(chain.loops().blocks.size())) throw InputError("InvalidInputError", "rows_of: no such loop or tie");
        const RowBlock& b = chain.loops().blocks[static_cast<std::size_t>(block)];
        return nb::make_tuple(b.row, b.row + b.rows);
    }

    Array per_row(const char* name, nb::handle object) const {
        Array x(name, object.ptr());
        if (x.ndim() != 1 || x.dim(0) != chain.rows()) throw InputError("InvalidInputError", std::string(name) + ": expected one number per row, got shape " + x.shape_text());
        x.require_finite();
        return x;
    }
    nb::tuple dynamics(nb::handle q, nb::handle v, nb::handle tau, nb::handle external, nb::handle gravity) {
        double* lambda;
        nb::object l_out = nb::steal(new_array({chain.rows()}, false, &lambda));
        return nb::make_tuple(solve(q, v, tau, external, gravity, lambda), l_out);
    }
    nb::object accelerations(nb::handle q, nb::handle v, nb::handle tau, nb::handle external, nb::handle gravity) {
        forces.resize(static_cast<std::size_t>(chain.rows()));
        return solve(q, v, tau, external, gravity, forces.data());
    }
    nb::object solve(nb::handle q, nb::handle v, nb::handle tau, nb::handle external, nb::handle gravity, double* lambda) {
        Border border(*tree);
        Batch& b = border.batch;
        border.coordinates(b.q, "q", q);
        border.velocities(b.v, "v", v);
        border.velocities(b.x, "tau", tau);
        border.external(external);
        border.gravity(gravity);
        border.require_single();
        double* a;
        nb::object a_out = nb::steal(new_array({tree->nv}, false, &a));
        chain.dynamics(b.q.data, b.v.data, b.x.data, b.external.data, b.gravity, a, lambda);
        if (!kernels().all_finite(a, tree->nv)) throw InputError("SingularError", "forward dynamics of the closed chain: accelerations are not determined (a joint without inertia?)");
        return a_out;
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
        const double energy = chain.wrenches(s.q.data(), s.v.data(), l.data(), out);
        in_links(out);
        return nb::make_tuple(energy, w_out);
    }
    /// Velocity jump with a restitution per row (None: none): new v, position error, energy lost, what the impulses do to
    /// each link a: (loops, 6) in its coordinates, the impulses along the rows, and the freedoms that are left.
    nb::tuple jump(nb::handle q, nb::handle v, nb::handle restitution) {
        const State s(*tree, q, v);
        Array e;
        if (!restitution.is_none()) e = per_row("restitution", restitution);
        double *v_new, *on_a, *impulse;
        nb::object v_out = nb::steal(new_array({tree->nv}, false, &v_new)), w_out = nb::steal(new_array({static_cast<npy_intp>(links_a.size()), 6}, false, &on_a));
        nb::object i_out = nb::steal(new_array({chain.rows()}, false, &impulse));
        std::copy(s.v.data(), s.v.data() + tree->nv, v_new);
        const Jump jump = chain.jump(s.q.data(), v_new, restitution.is_none() ? nullptr : e.data(), impulse, on_a);
        in_links(on_a);
        return nb::make_tuple(v_out, jump.gap, jump.energy_lost, w_out, i_out, tree->nv - jump.independent_rows);
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
    nb::class_<LoopJoint>(m, "LoopJoint", "The joint of a loop: fixed translations (bits), number of fixed rotations, and numbers.")
        .def(nb::init<int, int, nb::handle>(), nb::arg("lin"), nb::arg("rot"), nb::arg("numbers"));
    nb::class_<PyLoop>(m, "Loop", "A joint between two links of a tree that closes a loop.")
        .def(nb::init<const Tree&, const LoopJoint&, int, nb::handle, int, nb::handle, nb::handle, nb::handle>(), nb::arg("tree"), nb::arg("joint"), nb::arg("a"),
             nb::arg("frame_a").none(), nb::arg("b"), nb::arg("frame_b").none(), nb::arg("q").none() = nb::none(), nb::arg("at").none() = nb::none())
        .def_prop_ro("frame_a", [](const PyLoop& l) { return l.matrix(l.frame_a); })
        .def_prop_ro("frame_b", [](const PyLoop& l) { return l.matrix(l.frame_b); });
    nb::class_<PyTie>(m, "Tie", "A constraint on joint coordinates of a tree.")
        .def(nb::init<const Tree&, nb::handle, nb::handle, double, nb::handle>(), nb::arg("tree"), nb::arg("freedoms"), nb::arg("coefficients"), nb::arg("offset"),
             nb::arg("measures").none() = nb::none());
    nb::class_<PyClosed>(m, "ClosedChain", "A tree with loops closed by joints, and ties between coordinates: constraint forces, velocity jumps, projection.")
        .def(nb::init<nb::object, nb::list, nb::list>(), nb::arg("tree"), nb::arg("loops"), nb::arg("ties"))
        .def("rows_of", &PyClosed::rows_of, nb::arg("block"))
        .def_prop_ro("rows", [](const PyClosed& c) { return c.chain.rows(); })
        .def("accelerations", &PyClosed::accelerations, nb::arg("q").none(), nb::arg("v").none(), nb::arg("tau").none(), nb::arg("external").none(), nb::arg("gravity").none())
        .def("dynamics", &PyClosed::dynamics, nb::arg("q").none(), nb::arg("v").none(), nb::arg("tau").none(), nb::arg("external").none(), nb::arg("gravity").none())
        .def("jacobian", &PyClosed::jacobian, nb::arg("q").none(), nb::arg("v").none())
        .def("state", &PyClosed::state, nb::arg("q").none(), nb::arg("v").none())
        .def("wrenches", &PyClosed::wrenches, nb::arg("q").none(), nb::arg("v").none(), nb::arg("lambda_").none())
        .def("jump", &PyClosed::jump, nb::arg("q").none(), nb::arg("v").none(), nb::arg("restitution").none())
        .def("project", &PyClosed::project, nb::arg("q").none(), nb::arg("v").none())
        .def("spring_torques", &PyClosed::spring_torques, nb::arg("q").none(), nb::arg("v").none())
        .def("least_norm", &PyClosed::least_norm, nb::arg("lambda_").none());
}

}  // namespace ukemi
