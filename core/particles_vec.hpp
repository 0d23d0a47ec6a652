// Vectors of particles, and the link as the time loop reads it.
#pragma once
#include <cmath>
#include <cstddef>

namespace ukemi::particles {

/// A vector in a row of four doubles, one register; the last is zero.
struct alignas(32) Vec {
    double x, y, z, zero = 0;
};

struct Link {
    int a, b;
    double length, stiffness, damping;
};

inline Vec operator+(const Vec& a, const Vec& b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Vec operator-(const Vec& a, const Vec& b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Vec operator-(const Vec& a) { return {-a.x, -a.y, -a.z}; }
inline Vec operator*(const Vec& a, double s) { return {a.x * s, a.y * s, a.z * s}; }
inline void operator+=(Vec& a, const Vec& b) { a.x += b.x, a.y += b.y, a.z += b.z; }
inline void operator-=(Vec& a, const Vec& b) { a.x -= b.x, a.y -= b.y, a.z -= b.z; }
inline double dot(const Vec& a, const Vec& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }
inline Vec cross(const Vec& a, const Vec& b) { return {a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x}; }
inline double norm(const Vec& a) { return std::sqrt(dot(a, a)); }

}  // namespace ukemi::particles
