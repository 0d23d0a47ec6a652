// What a closed chain is made of, as Python holds it: joints of loops, loops, ties. Values that never change; a chain is
// built from lists of them whenever the structure changes.
#pragma once
#include <nanobind/nanobind.h>

#include "border.hpp"
#include "frames.hpp"

namespace ukemi {

/// The joint of a loop: which directions are fixed, springs of the others, in frames turned by R from the connection's.
struct LoopJoint {
    Mat3<double> R;
    Loop loop;  ///< its ends are not set

    /// R (9), axis1 (3), axis2 (3), stiffness (6), damping (6), and the slack length of a spring along the line between the
    /// origins (negative: none).
    static constexpr int size = 28;
    LoopJoint(int lin, int rot, nb::handle numbers) : loop{} {
        const Array x("numbers", numbers.ptr());
        if (x.ndim() != 1 || x.dim(0) != size || lin < 0 || lin > 7 || rot < 0 || rot > 3) throw InputError("InvalidInputError", "loop joint: numbers out of range");
        x.require_finite();
        const double* p = x.data();
        R = mat3(p);
        for (int k = 0; k < 3; ++k) loop.lin[k] = lin >> k & 1;
        loop.rot = rot;
        loop.axis1 = vec3(p + 9), loop.axis2 = vec3(p + 12);
        loop.cosine = loop.axis1.x * loop.axis2.x + loop.axis1.y * loop.axis2.y + loop.axis1.z * loop.axis2.z;
        for (int k = 0; k < 6; ++k) {
            loop.stiffness[k] = p[15 + k], loop.damping[k] = p[21 + k];
            loop.elastic |= loop.stiffness[k] != 0 || loop.damping[k] != 0;
        }
        loop.axial = p[27] >= 0, loop.length = p[27];
    }
};

/// A joint between frame A on link a and frame B on link b (-1: the world).
struct PyLoop {
    int link_a, link_b;
    Placement<double> frame_a, frame_b;  ///< in their links
    Loop loop;

    /// Frames are (4, 4) in their links, None where they are the link's own. With q the joint stands at the pose `at` in
    /// the world or, if None, at frame a (frame b if a is the bare world), and holds both links as they are there;
    /// without q both frames are as given.
    PyLoop(const Tree& tree, const LoopJoint& joint, int a, nb::handle X_a, int b, nb::handle X_b, nb::handle q, nb::handle at)
        : link_a(a), link_b(b), frame_a(frame("frame_a", X_a)), frame_b(frame("frame_b", X_b)), loop(joint.loop) {
        const int nlinks = static_cast<int>(tree.links.size());
        if (a < -1 || a >= nlinks || b < -1 || b >= nlinks) throw InputError("InvalidInputError", "loop: link index out of range");
        if (!q.is_none()) {
            const Array Q("q", q.ptr());
            if (Q.ndim() != 1) throw InputError("InvalidInputError", "q: expected shape (" + std::to_string(tree.nq) + ",), got " + Q.shape_text());
            Q.require_tail({tree.nq}, "(nq)");
            Q.require_finite();
            static thread_local std::vector<double> poses;
            poses.resize(16 * tree.links.size());
            Batch batch;
            batch.tree = &tree, batch.q.data = Q.data(), batch.out = poses.data();
            run_here(kernels().link_poses, batch, 0, 1);
            const Placement<double> X_Wa = a < 0 ? no_shift : from_matrix(poses.data() + 16 * a), X_Wb = b < 0 ? no_shift : from_matrix(poses.data() + 16 * b);
            const bool at_b = a < 0 && X_a.is_none();
            if (!at.is_none()) {
                const Placement<double> X = frame("at", at);
                frame_a = seen_from(X_Wa, X), frame_b = seen_from(X_Wb, X);
            } else if (at_b) {
                frame_a = seen_from(X_Wa, placed(X_Wb, frame_b));
            } else {
                frame_b = seen_from(X_Wb, placed(X_Wa, frame_a));
            }
        }
        loop.a = on_body(tree, a, frame_a, joint.R, loop.X_a), loop.b = on_body(tree, b, frame_b, joint.R, loop.X_b);
        if (loop.a == loop.b) throw InputError("InvalidInputError", "loop: both ends stand on the same body");
    }
    nb::object matrix(const Placement<double>& X) const {
        double* out;
        nb::object result = nb::steal(new_array({4, 4}, false, &out));
        to_matrix(X, out);
        return result;
    }

private:
    static Placement<double> frame(const char* name, nb::handle X) {
        if (X.is_none()) return no_shift;
        const Array m(name, X.ptr());
        if (m.ndim() != 2 || m.dim(0) != 4 || m.dim(1) != 4) throw InputError("InvalidInputError", std::string(name) + ": expected shape (4, 4), got " + m.shape_text());
        m.require_finite();
        return from_matrix(m.data());
    }
    /// The body that carries a link, and the turned frame in it.
    static int on_body(const Tree& tree, int link, const Placement<double>& frame, const Mat3<double>& R, Placement<double>& X) {
        X = {turned(frame.R, R), frame.p};
        if (link < 0) return -1;
        const Link& l = tree.links[static_cast<std::size_t>(link)];
        X = placed({l.R, l.p}, X);
        return l.body;
    }
};

/// A constraint on joint coordinates: the sum of polynomials of them, plus the offset, is zero.
struct PyTie {
    std::vector<TieTerm> terms;
    std::vector<JointMeasure> measures;
    double offset;

    /// freedoms: indices into v (of a spherical joint the first: its angle); coefficients (terms, 4) of x to x^4. given: null,
    /// or 11 numbers per term: 0 (none), 1 (twist) or 2 (swing) of a spherical joint, axis, across, widest swings.
    PyTie(const Tree& tree, nb::handle freedoms, nb::handle coefficients, double offset, nb::handle given) : offset(offset) {
        const Array c("coefficients", coefficients.ptr());
        const auto count = static_cast<npy_intp>(nb::len(freedoms));
        if (count < 1 || c.ndim() != 2 || c.dim(0) != count || c.dim(1) != 4) throw InputError("InvalidInputError", "tie: expected a term for every freedom");
        c.require_finite();
        if (!std::isfinite(offset)) throw InputError("InvalidInputError", "tie: expected a finite offset");
        Array m;
        if (!given.is_none()) {
            m = Array("measures", given.ptr());
            if (m.ndim() != 2 || m.dim(0) != count || m.dim(1) != 11) throw InputError("InvalidInputError", "tie: expected 11 numbers for every measure");
            m.require_finite();
        }
        const double *k = c.data(), *w = given.is_none() ? nullptr : m.data();
        for (nb::handle item : freedoms) {
            const int v = nb::cast<int>(item);
            std::size_t i = 0;
            while (i < tree.bodies.size() && !(tree.bodies[i].iv <= v && v < tree.bodies[i].iv + tree.bodies[i].nv)) ++i;
            if (i == tree.bodies.size()) throw InputError("InvalidInputError", "tie: freedom out of range");
            const Body& b = tree.bodies[i];
            const bool angle = b.kind == JointKind::spherical;
            if (b.kind == JointKind::free || (angle && v > b.iv)) throw InputError("InvalidInputError", "tie: joint '" + tree.joint_names[i] + "' has no such coordinate");
            terms.push_back({static_cast<int>(i), b.iq + v - b.iv, v, angle, {k[0], k[1], k[2], k[3]}, 0});
            k += 4;
            if (w && w[0] != 0) {
                if (!angle) throw InputError("InvalidInputError", "tie: only spherical joints have swing and twist");
                terms.back().measure = static_cast<int>(measures.size());
                measures.push_back({w[0] == 2, {w[1], w[2], w[3]}, {w[4], w[5], w[6]}, {w[7], w[8], w[9], w[10]}});
            }
            if (w) w += 11;
        }
    }
};

}  // namespace ukemi
