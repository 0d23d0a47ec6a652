// Algebra of 3-vectors, rotations and spatial inertias, for any scalar and for mixtures of constants (double) and packs.
#pragma once
#include "level.hpp"
#include "pack.hpp"
#include "types.hpp"

UKEMI_BEGIN

template <class A, class B> using Product = decltype(A{} * B{});

// --- numbers -------------------------------------------------------------------------------------------------------
/// What std::fmax, std::fmin and std::hypot give for finite numbers far from the ends of their range, without a call.
UKEMI_INLINE double larger(double a, double b) { return a > b ? a : b; }
UKEMI_INLINE double smaller(double a, double b) { return a < b ? a : b; }
UKEMI_INLINE double norm(double x, double y) { return std::sqrt(x * x + y * y); }

// --- 3-vectors -----------------------------------------------------------------------------------------------------
template <class T> UKEMI_INLINE Vec3<T> zero3() { return {T{}, T{}, T{}}; }
template <class A, class B> UKEMI_INLINE auto operator+(const Vec3<A>& a, const Vec3<B>& b) -> Vec3<Product<A, B>> {
    return {a.x + b.x, a.y + b.y, a.z + b.z};
}
template <class A, class B> UKEMI_INLINE auto operator-(const Vec3<A>& a, const Vec3<B>& b) -> Vec3<Product<A, B>> {
    return {a.x - b.x, a.y - b.y, a.z - b.z};
}
template <class T> UKEMI_INLINE Vec3<T> operator-(const Vec3<T>& a) { return {-a.x, -a.y, -a.z}; }
template <class A, class S> UKEMI_INLINE auto operator*(const Vec3<A>& a, const S& s) -> Vec3<Product<A, S>> {
    return {a.x * s, a.y * s, a.z * s};
}
template <class T, class B> UKEMI_INLINE void operator+=(Vec3<T>& a, const Vec3<B>& b) { a.x += b.x, a.y += b.y, a.z += b.z; }
template <class T, class B> UKEMI_INLINE void operator-=(Vec3<T>& a, const Vec3<B>& b) { a.x -= b.x, a.y -= b.y, a.z -= b.z; }
template <class A, class B> UKEMI_INLINE auto dot(const Vec3<A>& a, const Vec3<B>& b) -> Product<A, B> {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
template <class A, class B> UKEMI_INLINE auto cross(const Vec3<A>& a, const Vec3<B>& b) -> Vec3<Product<A, B>> {
    return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
template <class T> UKEMI_INLINE Vec3<T> load3(const In<T>& x, int i) { return {x[i], x[i + 1], x[i + 2]}; }
template <class T> UKEMI_INLINE void store3(const Out<T>& out, std::ptrdiff_t i, const Vec3<T>& a) {
    out.set(i, a.x), out.set(i + 1, a.y), out.set(i + 2, a.z);
}

// --- matrices ------------------------------------------------------------------------------------------------------
template <class A, class B> UKEMI_INLINE auto operator*(const Mat3<A>& m, const Vec3<B>& v) -> Vec3<Product<A, B>> {
    return {m.xx * v.x + m.xy * v.y + m.xz * v.z, m.yx * v.x + m.yy * v.y + m.yz * v.z, m.zx * v.x + m.zy * v.y + m.zz * v.z};
}
/// m^T v
template <class A, class B> UKEMI_INLINE auto tmul(const Mat3<A>& m, const Vec3<B>& v) -> Vec3<Product<A, B>> {
    return {m.xx * v.x + m.yx * v.y + m.zx * v.z, m.xy * v.x + m.yy * v.y + m.zy * v.z, m.xz * v.x + m.yz * v.y + m.zz * v.z};
}
template <class A, class B> UKEMI_INLINE auto operator*(const Mat3<A>& a, const Mat3<B>& b) -> Mat3<Product<A, B>> {
    return {a.xx * b.xx + a.xy * b.yx + a.xz * b.zx, a.xx * b.xy + a.xy * b.yy + a.xz * b.zy, a.xx * b.xz + a.xy * b.yz + a.xz * b.zz,
            a.yx * b.xx + a.yy * b.yx + a.yz * b.zx, a.yx * b.xy + a.yy * b.yy + a.yz * b.zy, a.yx * b.xz + a.yy * b.yz + a.yz * b.zz,
            a.zx * b.xx + a.zy * b.yx + a.zz * b.zx, a.zx * b.xy + a.zy * b.yy + a.zz * b.zy, a.zx * b.xz + a.zy * b.yz + a.zz * b.zz};
}
template <class A, class B> UKEMI_INLINE auto operator*(const Sym3<A>& s, const Vec3<B>& v) -> Vec3<Product<A, B>> {
    return {s.xx * v.x + s.xy * v.y + s.xz * v.z, s.xy * v.x + s.yy * v.y + s.yz * v.z, s.xz * v.x + s.yz * v.y + s.zz * v.z};
}
template <class A, class B> UKEMI_INLINE auto operator*(const Mat3<A>& a, const Sym3<B>& b) -> Mat3<Product<A, B>> {
    return {a.xx * b.xx + a.xy * b.xy + a.xz * b.xz, a.xx * b.xy + a.xy * b.yy + a.xz * b.yz, a.xx * b.xz + a.xy * b.yz + a.xz * b.zz,
            a.yx * b.xx + a.yy * b.xy + a.yz * b.xz, a.yx * b.xy + a.yy * b.yy + a.yz * b.yz, a.yx * b.xz + a.yy * b.yz + a.yz * b.zz,
            a.zx * b.xx + a.zy * b.xy + a.zz * b.xz, a.zx * b.xy + a.zy * b.yy + a.zz * b.yz, a.zx * b.xz + a.zy * b.yz + a.zz * b.zz};
}
/// a b^T where the product is known to be symmetric
template <class A, class B> UKEMI_INLINE auto symmetric_product(const Mat3<A>& a, const Mat3<B>& b) -> Sym3<Product<A, B>> {
    return {a.xx * b.xx + a.xy * b.xy + a.xz * b.xz, a.xx * b.yx + a.xy * b.yy + a.xz * b.yz, a.xx * b.zx + a.xy * b.zy + a.xz * b.zz,
            a.yx * b.yx + a.yy * b.yy + a.yz * b.yz, a.yx * b.zx + a.yy * b.zy + a.yz * b.zz, a.zx * b.zx + a.zy * b.zy + a.zz * b.zz};
}
/// a b^T
template <class A, class B> UKEMI_INLINE auto mult(const Mat3<A>& a, const Mat3<B>& b) -> Mat3<Product<A, B>> {
    return {a.xx * b.xx + a.xy * b.xy + a.xz * b.xz, a.xx * b.yx + a.xy * b.yy + a.xz * b.yz, a.xx * b.zx + a.xy * b.zy + a.xz * b.zz,
            a.yx * b.xx + a.yy * b.xy + a.yz * b.xz, a.yx * b.yx + a.yy * b.yy + a.yz * b.yz, a.yx * b.zx + a.yy * b.zy + a.yz * b.zz,
            a.zx * b.xx + a.zy * b.xy + a.zz * b.xz, a.zx * b.yx + a.zy * b.yy + a.zz * b.yz, a.zx * b.zx + a.zy * b.zy + a.zz * b.zz};
}
/// R s R^T
template <class A, class B> UKEMI_INLINE auto rotate(const Mat3<A>& R, const Sym3<B>& s) -> Sym3<Product<A, B>> {
    return symmetric_product(R * s, R);
}
template <class T, class B> UKEMI_INLINE void operator+=(Sym3<T>& a, const Sym3<B>& b) {
    a.xx += b.xx, a.xy += b.xy, a.xz += b.xz, a.yy += b.yy, a.yz += b.yz, a.zz += b.zz;
}
template <class T, class B> UKEMI_INLINE void operator-=(Sym3<T>& a, const Sym3<B>& b) {
    a.xx -= b.xx, a.xy -= b.xy, a.xz -= b.xz, a.yy -= b.yy, a.yz -= b.yz, a.zz -= b.zz;
}
template <class T, class B> UKEMI_INLINE void operator+=(Mat3<T>& a, const Mat3<B>& b) {
    a.xx += b.xx, a.xy += b.xy, a.xz += b.xz, a.yx += b.yx, a.yy += b.yy, a.yz += b.yz, a.zx += b.zx, a.zy += b.zy, a.zz += b.zz;
}
template <class T, class B> UKEMI_INLINE void operator-=(Mat3<T>& a, const Mat3<B>& b) {
    a.xx -= b.xx, a.xy -= b.xy, a.xz -= b.xz, a.yx -= b.yx, a.yy -= b.yy, a.yz -= b.yz, a.zx -= b.zx, a.zy -= b.zy, a.zz -= b.zz;
}
/// m [p]x
template <class A, class B> UKEMI_INLINE auto times_cross(const Mat3<A>& m, const Vec3<B>& p) -> Mat3<Product<A, B>> {
    return {m.xy * p.z - m.xz * p.y, m.xz * p.x - m.xx * p.z, m.xx * p.y - m.xy * p.x,
            m.yy * p.z - m.yz * p.y, m.yz * p.x - m.yx * p.z, m.yx * p.y - m.yy * p.x,
            m.zy * p.z - m.zz * p.y, m.zz * p.x - m.zx * p.z, m.zx * p.y - m.zy * p.x};
}
template <class A, class B> UKEMI_INLINE auto times_cross(const Sym3<A>& s, const Vec3<B>& p) -> Mat3<Product<A, B>> {
    return times_cross(Mat3<A>{s.xx, s.xy, s.xz, s.xy, s.yy, s.yz, s.xz, s.yz, s.zz}, p);
}
/// [p]x m where the product is known to be symmetric
template <class A, class B> UKEMI_INLINE auto symmetric_cross(const Vec3<A>& p, const Mat3<B>& m) -> Sym3<Product<A, B>> {
    return {p.y * m.zx - p.z * m.yx, p.y * m.zy - p.z * m.yy, p.y * m.zz - p.z * m.yz,
            p.z * m.xy - p.x * m.zy, p.z * m.xz - p.x * m.zz, p.x * m.yz - p.y * m.xz};
}
/// [p]x m
template <class A, class B> UKEMI_INLINE auto cross_times(const Vec3<A>& p, const Mat3<B>& m) -> Mat3<Product<A, B>> {
    return {p.y * m.zx - p.z * m.yx, p.y * m.zy - p.z * m.yy, p.y * m.zz - p.z * m.yz,
            p.z * m.xx - p.x * m.zx, p.z * m.xy - p.x * m.zy, p.z * m.xz - p.x * m.zz,
            p.x * m.yx - p.y * m.xx, p.x * m.yy - p.y * m.xy, p.x * m.yz - p.y * m.xz};
}
template <class T> UKEMI_INLINE Sym3<T> inverse(const Sym3<T>& s) {
    const T a = s.yy * s.zz - s.yz * s.yz, b = s.xz * s.yz - s.xy * s.zz, c = s.xy * s.yz - s.xz * s.yy;
    const T d = 1.0 / (s.xx * a + s.xy * b + s.xz * c);
    return {a * d, b * d, c * d, (s.xx * s.zz - s.xz * s.xz) * d, (s.xy * s.xz - s.xx * s.yz) * d, (s.xx * s.yy - s.xy * s.xy) * d};
}
/// Inertia of a point mass m at p about the origin: m (|p|^2 1 - p p^T), from h = m p.
template <class T> UKEMI_INLINE Sym3<T> point_inertia(const Vec3<T>& h, const Vec3<T>& p) {
    return {h.y * p.y + h.z * p.z, -h.x * p.y, -h.x * p.z, h.x * p.x + h.z * p.z, -h.y * p.z, h.x * p.x + h.y * p.y};
}

// --- rotations -----------------------------------------------------------------------------------------------------
/// Rotation of a quaternion (w, x, y, z). Its square may differ from 1 by a small e: the factor 2 / |q|^2 is taken
/// as 2 (1 - e), exact to e^2; the border refuses quaternions with |e| > 1e-6.
template <class T> UKEMI_INLINE Mat3<T> rotation(const T& w, const T& x, const T& y, const T& z) {
    const T s = 4.0 - 2.0 * (w * w + x * x + y * y + z * z);
    const T X = s * x, Y = s * y, Z = s * z;
    return {1.0 - (Y * y + Z * z), X * y - Z * w, X * z + Y * w,
            X * y + Z * w, 1.0 - (X * x + Z * z), Y * z - X * w,
            X * z - Y * w, Y * z + X * w, 1.0 - (X * x + Y * y)};
}
/// Rotation about a unit axis (Rodrigues; [SV00] eq. 39).
template <class T> UKEMI_INLINE Mat3<T> rotation(const Vec3<double>& a, const SinCos<T>& angle) {
    const T s = angle.sin, c = angle.cos, d = 1.0 - c;
    const T dx = d * a.x, dy = d * a.y, sx = s * a.x, sy = s * a.y, sz = s * a.z;
    return {c + dx * a.x, dx * a.y - sz, dx * a.z + sy,
            dx * a.y + sz, c + dy * a.y, dy * a.z - sx,
            dx * a.z - sy, dy * a.z + sx, c + d * (a.z * a.z)};
}

UKEMI_END
