// Every joint kind behind one interface: where the child is (placement), how it moves (rates), and its motion subspace.
//
// The child's frame coincides with the joint frame at q = 0. All algorithms use classical accelerations (of the
// body's origin, and angular): with p the child's origin in the parent P,
//   a_C = R^T (a_P + alpha_P x p + gamma) + S_lin qdd,   gamma = w_P x (w_P x p + 2 p_dot) + what the joint adds,
//   alpha_C = R^T alpha_P + zeta + S_ang qdd,
// so linear velocities never enter.
#pragma once
#include "spatial.hpp"

UKEMI_BEGIN

UKEMI_INLINE Vec3<double> planar_y(const Body& b) { return cross(b.axis, b.axis2); }

/// Coordinates whose sines and cosines are known.
struct Turns : In<double> {
    const double *sin, *cos;
};
template <class T> UKEMI_INLINE SinCos<T> turn_at(const In<T>& q, int i) { return sin_cos(q[i]); }
UKEMI_INLINE SinCos<double> turn_at(const Turns& q, int i) { return {q.sin[i], q.cos[i]}; }

/// R_PC and p_PC of a body's frame in its parent, from its coordinates.
template <class Q> UKEMI_INLINE auto placement(const Body& b, const Q& q) {
    using T = decltype(q[0]);
    Placement<T> X;
    Vec3<T> slide = zero3<T>();
    bool slides = false;
    switch (b.kind) {
        case JointKind::revolute: X.R = rotation(b.axis, turn_at(q, b.iq)); break;
        case JointKind::spherical: X.R = rotation(q[b.iq], q[b.iq + 1], q[b.iq + 2], q[b.iq + 3]); break;
        case JointKind::free:
            X.R = rotation(q[b.iq + 3], q[b.iq + 4], q[b.iq + 5], q[b.iq + 6]);
            slide = load3(q, b.iq), slides = true;
            break;
        case JointKind::prismatic:
            X.R = {1.0 + T{}, T{}, T{}, T{}, 1.0 + T{}, T{}, T{}, T{}, 1.0 + T{}};
            slide = b.axis * q[b.iq], slides = true;
            break;
        case JointKind::universal:
            X.R = rotation(b.axis, turn_at(q, b.iq)) * rotation(b.axis2, turn_at(q, b.iq + 1));
            break;
        case JointKind::planar:
            X.R = rotation(b.axis, turn_at(q, b.iq + 2));
            slide = b.axis2 * q[b.iq] + planar_y(b) * q[b.iq + 1], slides = true;
            break;
    }
    X.p = {b.p_tree.x + T{}, b.p_tree.y + T{}, b.p_tree.z + T{}};
    if (b.turned) X.R = b.R_tree * X.R;
    if (slides) X.p += b.turned ? b.R_tree * slide : slide;
    return X;
}

/// Rates of a joint: angular velocity of the child relative to the parent in child coordinates, velocity of the
/// child's origin in parent coordinates, and their velocity-product accelerations (in the same coordinates).
template <class T> struct Rates {
    Vec3<T> w;      ///< relative angular velocity, child coordinates
    Vec3<T> p_dot;  ///< relative velocity of the origin, parent coordinates
    Vec3<T> gamma;  ///< what the joint itself adds to the linear bias, parent coordinates
    Vec3<T> zeta;   ///< what it adds to the angular bias, child coordinates
    bool slides;    ///< p_dot may differ from zero
};

/// axis of a universal joint's first rotation, seen from the child: R2^T a1
template <class T> UKEMI_INLINE Vec3<T> universal_first(const Body& b, const In<T>& q) {
    return tmul(rotation(b.axis2, sin_cos(q[b.iq + 1])), b.axis);
}

/// The same from the child's orientation R in its parent.
template <class T> UKEMI_INLINE Vec3<T> universal_first(const Body& b, const Mat3<T>& R) { return tmul(R, b.turned ? b.R_tree * b.axis : b.axis); }

template <class T> UKEMI_INLINE Rates<T> rates(const Body& b, const Mat3<T>& R, const In<T>& v) {
    const Vec3<T> none = zero3<T>();
    Rates<T> r{none, none, none, none, false};
    switch (b.kind) {
        case JointKind::revolute: r.w = b.axis * v[b.iv]; break;
        case JointKind::spherical: r.w = load3(v, b.iv); break;
        case JointKind::free: {
            const Vec3<T> lin = load3(v, b.iv);
            r.w = load3(v, b.iv + 3);
            r.p_dot = R * lin;
            r.gamma = R * cross(r.w, lin);
            r.slides = true;
            break;
        }
        case JointKind::prismatic:
            r.p_dot = b.axis * v[b.iv];
            if (b.turned) r.p_dot = b.R_tree * r.p_dot;
            r.slides = true;
            break;
        case JointKind::universal: {
            const Vec3<T> first = universal_first(b, R) * v[b.iv], second = b.axis2 * v[b.iv + 1];
            r.w = first + second;
            r.zeta = cross(first, second);  // d/dt (R2^T a1) = (R2^T a1) x a2 v2
            break;
        }
        case JointKind::planar:
            r.w = b.axis * v[b.iv + 2];
            r.p_dot = b.axis2 * v[b.iv] + planar_y(b) * v[b.iv + 1];
            if (b.turned) r.p_dot = b.R_tree * r.p_dot;
            r.slides = true;
            break;
    }
    return r;
}

/// Motion subspace: column k of S in child coordinates.
template <class T> UKEMI_INLINE Motion<T> subspace(const Body& b, const Mat3<T>& R, const In<T>& q, int k) {
    const Vec3<T> none = zero3<T>();
    auto constant = [](const Vec3<double>& a) { return Vec3<T>{a.x + T{}, a.y + T{}, a.z + T{}}; };
    auto unit = [](int i) { return Vec3<T>{(i == 0) + T{}, (i == 1) + T{}, (i == 2) + T{}}; };
    switch (b.kind) {
        case JointKind::revolute: return {none, constant(b.axis)};
        case JointKind::prismatic: return {constant(b.axis), none};
        case JointKind::spherical: return {none, unit(k)};
        case JointKind::free: return k < 3 ? Motion<T>{unit(k), none} : Motion<T>{none, unit(k - 3)};
        case JointKind::universal: return {none, k == 0 ? universal_first(b, q) : constant(b.axis2)};
        case JointKind::planar: {
            if (k == 2) return {none, constant(b.axis)};
            const Vec3<double> e = k == 0 ? b.axis2 : planar_y(b);
            return {tmul(R, b.turned ? b.R_tree * e : e), none};
        }
    }
    return {none, none};
}

/// S^T F: the generalized force of a wrench on the child, into `out(k, value)`.
template <class T, class F> UKEMI_INLINE void project(const Body& b, const Mat3<T>& R, const In<T>& q, const Force<T>& w, F&& out) {
    switch (b.kind) {
        case JointKind::revolute: out(0, dot(b.axis, w.n)); break;
        case JointKind::prismatic: out(0, dot(b.axis, w.f)); break;
        case JointKind::spherical: out(0, w.n.x), out(1, w.n.y), out(2, w.n.z); break;
        case JointKind::free:
            out(0, w.f.x), out(1, w.f.y), out(2, w.f.z), out(3, w.n.x), out(4, w.n.y), out(5, w.n.z);
            break;
        default:
            for (int k = 0; k < b.nv; ++k) {
                const Motion<T> s = subspace(b, R, q, k);
                out(k, dot(s.lin, w.f) + dot(s.ang, w.n));
            }
    }
}

/// S qdd: linear and angular acceleration that the joint adds, in child coordinates.
template <class T> UKEMI_INLINE Motion<T> joint_motion(const Body& b, const Mat3<T>& R, const In<T>& q, const In<T>& v) {
    const Vec3<T> none = zero3<T>();
    switch (b.kind) {
        case JointKind::revolute: return {none, b.axis * v[b.iv]};
        case JointKind::prismatic: return {b.axis * v[b.iv], none};
        case JointKind::spherical: return {none, load3(v, b.iv)};
        case JointKind::free: return {load3(v, b.iv), load3(v, b.iv + 3)};
        default: {
            Motion<T> m{none, none};
            for (int k = 0; k < b.nv; ++k) {
                const Motion<T> s = subspace(b, R, q, k);
                m.lin += s.lin * v[b.iv + k];
                m.ang += s.ang * v[b.iv + k];
            }
            return m;
        }
    }
}

UKEMI_END
