// States at the border: checked once, broadcast over their batch axes, handed to a kernel.
#pragma once
#include "arrays.hpp"

#include <nanobind/nanobind.h>

#include "kernels.hpp"
#include "workers.hpp"

namespace ukemi {

namespace nb = nanobind;

/// Wrenches on links (nlinks x 6, link coordinates) as wrenches on the bodies that carry them (cleared by the caller).
inline void wrenches_on_bodies(const Tree& tree, const double* on_links, double* on_bodies) {
    for (std::size_t i = 0; i < tree.links.size(); ++i, on_links += 6) {
        const Link& l = tree.links[i];
        if (l.body < 0) continue;
        const double* w = on_links;
        const double f[3] = {l.R.xx * w[0] + l.R.xy * w[1] + l.R.xz * w[2], l.R.yx * w[0] + l.R.yy * w[1] + l.R.yz * w[2], l.R.zx * w[0] + l.R.zy * w[1] + l.R.zz * w[2]};
        const double n[3] = {l.R.xx * w[3] + l.R.xy * w[4] + l.R.xz * w[5], l.R.yx * w[3] + l.R.yy * w[4] + l.R.yz * w[5], l.R.zx * w[3] + l.R.zy * w[4] + l.R.zz * w[5]};
        double* out = on_bodies + 6 * static_cast<std::size_t>(l.body);
        for (int k = 0; k < 3; ++k) out[k] += f[k];
        out[3] += n[0] + l.p.y * f[2] - l.p.z * f[1];
        out[4] += n[1] + l.p.z * f[0] - l.p.x * f[2];
        out[5] += n[2] + l.p.x * f[1] - l.p.y * f[0];
    }
}

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
        batch.out_stride = 1;
        if (is_single()) {
            nb::object result = nb::steal(new_array(tail, cleared, &batch.out));
            for (int i = 0; i < used_; ++i) *slots_[i] = {arrays_[i].data(), 0};
            move_wrenches(1);
            run_here(kernel, batch, 0, 1);
            return result;
        }
        std::vector<npy_intp> shape = broadcast();
        std::ptrdiff_t count = 1;
        for (npy_intp d : shape) count *= d;
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

    /// For functions of one state: no batch axes.
    void require_single() {
        if (!is_single()) throw InputError("InvalidInputError", std::string(arrays_[0].name()) + ": expected one state, got shape " + arrays_[0].shape_text());
        for (int i = 0; i < used_; ++i) *slots_[i] = {arrays_[i].data(), 0};
        move_wrenches(1);
    }

private:
    bool is_single() const {
        bool single = true;
        for (int i = 0; i < used_; ++i) single &= arrays_[i].ndim() == tails_[i];
        return single;
    }
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
        for (std::size_t s = 0; s < states; ++s) wrenches_on_bodies(tree, batch.external.data + 6 * s * tree.links.size(), wrenches_.data() + s * width);
        batch.external = {wrenches_.data(), batch.external.stride ? static_cast<std::ptrdiff_t>(width) : 0};
    }

    static constexpr int capacity = 4;
    Array arrays_[capacity];
    Batch::Array* slots_[capacity] = {};
    int tails_[capacity] = {}, used_ = 0;
    std::vector<nb::object> kept_;
    std::vector<double> wrenches_;
};

}  // namespace ukemi
