// Vectors of particles, in arrays of shape (n, 3).
#pragma once
#include <cmath>
#include <cstddef>

namespace ukemi::particles {

struct Vec {
    double x, y, z;
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
