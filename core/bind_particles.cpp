// Particle systems for Python.
#include <nanobind/nanobind.h>

#include "arrays.hpp"
#include "particles_step.hpp"

namespace nb = nanobind;

namespace ukemi {
namespace {

using particles::Vec;

/// Rows of numbers; indices among them were checked in Python.
struct Rows {
    Array array;
    npy_intp count, width;
    Rows(const char* name, nb::handle object, npy_intp columns) : array(name, object.ptr()) {
        if (array.ndim() != 2 || array.dim(1) != columns)
            throw InputError("InvalidInputError", std::string(name) + ": expected shape (n, " + std::to_string(columns) + "), got " + array.shape_text());
        count = array.dim(0), width = columns;
    }
    const double* operator[](npy_intp i) const { return array.data() + i * width; }
};

int index_of(double number, std::size_t size) {
    if (!(number >= 0) || number >= static_cast<double>(size)) throw InputError("InvalidInputError", "particle " + std::to_string(number) + ": there are " + std::to_string(size));
    return static_cast<int>(number);
}
Vec vec(const double* p) { return {p[0], p[1], p[2]}; }
void read(const double* rows, std::vector<Vec>& out) {
    for (Vec& r : out) r = vec(rows), rows += 3;
}
void write(const std::vector<Vec>& rows, double* out) {
    for (const Vec& r : rows) *out++ = r.x, *out++ = r.y, *out++ = r.z;
}

/// An array (n, 3) that may be changed in place.
double* state(const char* name, nb::handle object, std::size_t n) {
    auto* a = reinterpret_cast<PyArrayObject*>(object.ptr());
    if (!PyArray_Check(object.ptr()) || PyArray_TYPE(a) != NPY_DOUBLE || !PyArray_ISCARRAY(a) || PyArray_NDIM(a) != 2 || PyArray_DIM(a, 0) != static_cast<npy_intp>(n) || PyArray_DIM(a, 1) != 3)
        throw InputError("InvalidInputError", std::string(name) + ": expected a writable array of float64 of shape (" + std::to_string(n) + ", 3)");
    return static_cast<double*>(PyArray_DATA(a));
}

class PyParticles {
public:
    /// particles: mass, weight, fixed; links: a, b, length, stiffness, damping; hinges: a, b, c, d, normal, held, friction,
    /// kp, kd; members: plane, particle, in the order of planes; planes: normal; floor: kind, restitution, stiffness,
    /// exponent, damping, sink, drag, friction, normal, offset, x0, y0, dx, dy; heights (nx, ny), empty for a plane.
    PyParticles(nb::handle particle_rows, nb::handle link_rows, nb::handle hinge_rows, nb::handle member_rows, nb::handle plane_rows, nb::handle floor, nb::handle heights, nb::handle gravity)
        : stepper_(make(Rows("particles", particle_rows, 3), Rows("links", link_rows, 5), Rows("hinges", hinge_rows, 11), Rows("members", member_rows, 2), Rows("planes", plane_rows, 3),
                        Array("floor", floor.ptr()), Array("heights", heights.ptr()), Array("gravity", gravity.ptr()))) {
        for (auto* a : {&x_, &v_, &good_x_, &good_v_}) a->resize(size());
    }

    double stable_step(nb::handle x, nb::handle v) {
        take(x, v);
        return stepper_.system.stable_step(x_.data(), v_.data());
    }

    /// Steps in place; returns how many went well: fewer than asked for when the state left the finite numbers, and then
    /// x and v hold the last good state.
    long advance(nb::handle x_array, nb::handle v_array, nb::handle external, nb::handle drives, double dt, long steps, bool implicit) {
        double *x_out = state("x", x_array, size()), *v_out = state("v", v_array, size());
        take(x_array, v_array);
        Vec *x = x_.data(), *v = v_.data();
        read(state("force", external, size()), stepper_.external);
        const Rows drive("drives", drives, 3);
        if (drive.count != static_cast<npy_intp>(stepper_.system.hinges.size())) throw InputError("InvalidInputError", "drives: expected one row per hinge");
        for (npy_intp i = 0; i < drive.count; ++i) {
            particles::Hinge& hinge = stepper_.system.hinges[static_cast<std::size_t>(i)];
            hinge.torque = drive[i][0], hinge.target = drive[i][1], hinge.rate = drive[i][2];
        }
        stepper_.clear();
        long done = 0;
        while (done < steps) {
            const long some = std::min<long>(steps - done, 256);
            const double time = static_cast<double>(done) * dt;
            if (implicit) {
                for (long i = 0; i < some; ++i) stepper_.implicit(x, v, dt, time + static_cast<double>(i) * dt);
            } else {
                stepper_.semi_implicit(x, v, dt, some, time);
            }
            if (!stepper_.converged) {
                stepper_.converged = true;
                throw InputError("SingularError", "implicit step: conjugate gradients found no velocities in " + std::to_string(stepper_.iterations) +
                                                      " iterations; take a smaller dt, or masses and stiffnesses that differ less");
            }
            if (!finite()) {
                if (done > 0) write(good_x_, x_out), write(good_v_, v_out);  // else the arrays still hold what came
                return done;
            }
            done += some;
            if (done < steps) good_x_ = x_, good_v_ = v_;
            if (PyErr_CheckSignals() != 0) throw nb::python_error();
        }
        write(x_, x_out), write(v_, v_out);
        return done;
    }
    /// (hinges, 3): angle, its rate, torque of the drive at the last step.
    nb::object hinge_state(nb::handle x, nb::handle v) {
        auto& hinges = stepper_.system.hinges;
        double* out;
        nb::object result = nb::steal(new_array({static_cast<npy_intp>(hinges.size()), 3}, false, &out));
        take(x, v);
        for (auto& hinge : hinges) {
            hinge.measure(x_.data(), v_.data());
            *out++ = hinge.angle, *out++ = hinge.angle_rate, *out++ = hinge.applied;
        }
        return result;
    }
    /// (n, 3): impulse of the floor on each particle during the last `advance` [N s].
    nb::object floor_impulse() const {
        double* out;
        nb::object result = nb::steal(new_array({static_cast<npy_intp>(size()), 3}, false, &out));
        write(stepper_.impulse, out);
        return result;
    }
    long iterations() const { return stepper_.iterations; }

private:
    particles::Stepper stepper_;
    std::vector<Vec> x_, v_, good_x_, good_v_;

    std::size_t size() const { return stepper_.system.size(); }
    void take(nb::handle x, nb::handle v) { read(state("x", x, size()), x_), read(state("v", v, size()), v_); }
    bool finite() const {
        const auto n = static_cast<npy_intp>(4 * size());
        return kernels().all_finite(&x_[0].x, n) && kernels().all_finite(&v_[0].x, n);
    }

    static particles::System make(const Rows& rows, const Rows& links, const Rows& hinges, const Rows& members, const Rows& planes, const Array& floor, const Array& heights, const Array& gravity) {
        particles::System s;
        for (npy_intp i = 0; i < rows.count; ++i) {
            const double* r = rows[i];
            s.mass.push_back(r[0]), s.weight.push_back(r[1]), s.inverse_mass.push_back(r[2] != 0 ? 0 : 1 / r[0]);
        }
        const std::size_t n = s.size();
        for (npy_intp i = 0; i < links.count; ++i) {
            const double* r = links[i];
            s.links.push_back({index_of(r[0], n), index_of(r[1], n), r[2], r[3], r[4]});
        }
        for (npy_intp i = 0; i < hinges.count; ++i) {
            const double* r = hinges[i];
            s.hinges.push_back({index_of(r[0], n), index_of(r[1], n), index_of(r[2], n), index_of(r[3], n), vec(r + 4), r[7] != 0, r[8], r[9], r[10]});
        }
        for (npy_intp i = 0; i < planes.count; ++i) s.planes.push_back({vec(planes[i]), {}, 0, false});
        for (npy_intp i = 0; i < members.count; ++i) {
            particles::Plane& plane = s.planes[static_cast<std::size_t>(index_of(members[i][0], s.planes.size()))];
            const int particle = index_of(members[i][1], n);
            plane.members.push_back(particle), plane.mass += s.mass[static_cast<std::size_t>(particle)];
            plane.fixed |= s.inverse_mass[static_cast<std::size_t>(particle)] == 0;
        }
        set_floor(s.floor, floor, heights);
        if (gravity.size() != 3) throw InputError("InvalidInputError", "gravity: expected shape (3,), got " + gravity.shape_text());
        s.gravity = vec(gravity.data());
        return s;
    }
    static void set_floor(particles::Floor& floor, const Array& numbers, const Array& heights) {
        if (numbers.size() != 16) throw InputError("InvalidInputError", "floor: expected 16 numbers, got " + numbers.shape_text());
        const double* r = numbers.data();
        floor.kind = static_cast<particles::Floor::Kind>(static_cast<int>(r[0]));
        floor.restitution = r[1], floor.stiffness = r[2], floor.exponent = r[3], floor.damping = r[4], floor.sink = r[5], floor.drag = r[6], floor.friction = r[7];
        particles::Ground& ground = floor.ground;
        ground.normal = vec(r + 8), ground.offset = r[11];
        if (heights.ndim() == 2 && heights.size() > 0) {
            ground.nx = static_cast<int>(heights.dim(0)), ground.ny = static_cast<int>(heights.dim(1));
            ground.x0 = r[12], ground.y0 = r[13], ground.dx = r[14], ground.dy = r[15];
            ground.heights.assign(heights.data(), heights.data() + heights.size());
        }
    }
};

}  // namespace

void bind_particles(nb::module_& m) {
    nb::class_<PyParticles>(m, "Particles", "Particles, springs between them, hinges and a floor.")
        .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle>(), nb::arg("particles"), nb::arg("links"), nb::arg("hinges"), nb::arg("members"),
             nb::arg("planes"), nb::arg("floor"), nb::arg("heights"), nb::arg("gravity"))
        .def("stable_step", &PyParticles::stable_step, nb::arg("x"), nb::arg("v"))
        .def("advance", &PyParticles::advance, nb::arg("x"), nb::arg("v"), nb::arg("force"), nb::arg("drives"), nb::arg("dt"), nb::arg("steps"), nb::arg("implicit"))
        .def("hinge_state", &PyParticles::hinge_state, nb::arg("x"), nb::arg("v"))
        .def("floor_impulse", &PyParticles::floor_impulse)
        .def_prop_ro("iterations", &PyParticles::iterations);
}

}  // namespace ukemi
