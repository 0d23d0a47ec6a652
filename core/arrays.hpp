// Arrays at the border: NumPy arrays in and out, checked once, never copied when they already are what the core wants.
//
// NumPy's own interface is used instead of nanobind's ndarray: a view is a few pointer reads, without a capsule.
#pragma once
#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL ukemi_numpy
#ifndef UKEMI_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <Python.h>
#include <numpy/arrayobject.h>

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "kernels.hpp"

namespace ukemi {

/// An error of the caller; `type` is the name of an exception in ukemi.errors.
struct InputError : std::runtime_error {
    const char* type;
    InputError(const char* type, const std::string& message) : std::runtime_error(message), type(type) {}
};
/// A Python exception is already set.
struct PythonError {};

/// A C-contiguous float64 view of an argument; holds a reference only if it had to convert.
class Array {
public:
    Array() = default;
    Array(const char* name, PyObject* object) : name_(name) {
        if (PyArray_Check(object)) {
            auto* a = reinterpret_cast<PyArrayObject*>(object);
            if (PyArray_TYPE(a) == NPY_DOUBLE && PyArray_IS_C_CONTIGUOUS(a) && PyArray_ISALIGNED(a) && PyArray_ISNOTSWAPPED(a)) {
                array_ = a;
                return;
            }
        }
        converted_ = PyArray_FROM_OTF(object, NPY_DOUBLE, NPY_ARRAY_IN_ARRAY);
        if (!converted_) {
            PyErr_Clear();
            throw InputError("InvalidInputError", std::string(name) + ": expected an array of numbers, got " + Py_TYPE(object)->tp_name);
        }
        array_ = reinterpret_cast<PyArrayObject*>(converted_);
    }
    Array(const Array&) = delete;
    Array& operator=(const Array&) = delete;
    Array(Array&& other) noexcept { *this = std::move(other); }
    Array& operator=(Array&& other) noexcept {
        std::swap(array_, other.array_), std::swap(converted_, other.converted_), std::swap(name_, other.name_);
        return *this;
    }
    ~Array() { Py_XDECREF(converted_); }

    const double* data() const { return static_cast<const double*>(PyArray_DATA(array_)); }
    int ndim() const { return PyArray_NDIM(array_); }
    npy_intp dim(int i) const { return PyArray_DIM(array_, i); }
    npy_intp size() const { return PyArray_SIZE(array_); }
    PyObject* object() const { return reinterpret_cast<PyObject*>(array_); }
    const char* name() const { return name_; }

    std::string shape_text() const {
        std::string s = "(";
        for (int i = 0; i < ndim(); ++i) s += (i ? ", " : "") + std::to_string(dim(i));
        return s + (ndim() == 1 ? ",)" : ")");
    }
    /// The last axes must be `tail`; the rest are batch axes.
    void require_tail(std::initializer_list<npy_intp> tail, const char* meaning) const {
        const int n = static_cast<int>(tail.size());
        bool ok = ndim() >= n;
        int i = 0;
        for (npy_intp t : tail) {
            if (ok && dim(ndim() - n + i) != t) ok = false;
            ++i;
        }
        if (ok) return;
        std::string wanted = "(...";
        for (npy_intp t : tail) wanted += ", " + std::to_string(t);
        throw InputError("InvalidInputError", std::string(name_) + ": expected shape " + wanted + ") " + meaning + ", got " + shape_text());
    }
    void require_finite() const {
        const double* x = data();
        const npy_intp n = size();
        if (kernels().all_finite(x, n)) return;
        for (npy_intp i = 0; i < n; ++i) {
            if (std::isfinite(x[i])) continue;
            std::string where;
            npy_intp rest = i;
            for (int k = ndim() - 1; k >= 0; --k) {
                where = std::to_string(rest % dim(k)) + (where.empty() ? "" : ", ") + where;
                rest /= dim(k);
            }
            throw InputError("InvalidInputError", std::string(name_) + "[" + where + "] is " + (std::isnan(x[i]) ? "NaN" : "infinite") + ": expected finite numbers");
        }
    }

private:
    PyArrayObject* array_ = nullptr;
    PyObject* converted_ = nullptr;
    const char* name_ = "";
};

/// A new array of doubles, for results.
inline PyObject* new_array(const npy_intp* shape, std::size_t axes, bool cleared, double** data) {
    const int n = static_cast<int>(axes);
    auto* dims = const_cast<npy_intp*>(shape);
    PyObject* a = cleared ? PyArray_ZEROS(n, dims, NPY_DOUBLE, 0) : PyArray_SimpleNew(n, dims, NPY_DOUBLE);
    if (!a) throw PythonError{};
    *data = static_cast<double*>(PyArray_DATA(reinterpret_cast<PyArrayObject*>(a)));
    return a;
}
inline PyObject* new_array(std::initializer_list<npy_intp> shape, bool cleared, double** data) { return new_array(shape.begin(), shape.size(), cleared, data); }
inline PyObject* new_array(const std::vector<npy_intp>& shape, bool cleared, double** data) { return new_array(shape.data(), shape.size(), cleared, data); }

/// Quaternions of spherical and free joints must be unit within 1e-6 (of the square).
inline void require_unit_quaternions(const Tree& tree, const Array& q) {
    const npy_intp states = q.size() / (tree.nq ? tree.nq : 1);
    if (kernels().unit_quaternions(tree, q.data(), states)) return;
    for (npy_intp s = 0; s < states; ++s) {
        for (std::size_t i = 0; i < tree.bodies.size(); ++i) {
            const Body& b = tree.bodies[i];
            if (b.nq < 4) continue;
            const double* x = q.data() + s * tree.nq + b.iq + b.nq - 4;
            const double n2 = x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3];
            if (std::fabs(n2 - 1.0) <= 1e-6) continue;
            throw InputError("InvalidInputError", std::string(q.name()) + ": the quaternion (w, x, y, z) of joint '" + tree.joint_names[i] +
                                                      "' has length " + std::to_string(std::sqrt(n2)) + (states > 1 ? " in state " + std::to_string(s) : "") +
                                                      ", expected 1: normalise it");
        }
    }
}

}  // namespace ukemi
