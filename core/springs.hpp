// The two loops of the particle simulator that take its time, with a particle's vector in one register.
//
// Vectors are rows of four doubles of which the last is zero.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstring>

#include "level.hpp"
#include "pack.hpp"
#include "particles_vec.hpp"

UKEMI_BEGIN

#if UKEMI_HAS_PACK
using Four = double __attribute__((vector_size(32)));
#else
struct Four {
    double e[4];
    double operator[](int i) const { return e[i]; }
    Four operator+(const Four& b) const { return {e[0] + b[0], e[1] + b[1], e[2] + b[2], 0}; }
    Four operator-(const Four& b) const { return {e[0] - b[0], e[1] - b[1], e[2] - b[2], 0}; }
    Four operator*(const Four& b) const { return {e[0] * b[0], e[1] * b[1], e[2] * b[2], 0}; }
    Four operator*(double s) const { return {e[0] * s, e[1] * s, e[2] * s, 0}; }
};
#endif
UKEMI_INLINE Four row(const double* p, std::ptrdiff_t i) {
    Four r;
    std::memcpy(&r, p + 4 * i, sizeof r);
    return r;
}
UKEMI_INLINE void set_row(double* p, std::ptrdiff_t i, const Four& r) { std::memcpy(p + 4 * i, &r, sizeof r); }
UKEMI_INLINE double dot3(const Four& a, const Four& b) {
    const Four p = a * b;
    return p[0] + p[1] + p[2];
}

UKEMI_INLINE void pull(const particles::Link& link, const Four& force, double* f) {
    set_row(f, link.a, row(f, link.a) + force);
    set_row(f, link.b, row(f, link.b) - force);
}

#if UKEMI_HAS_PACK
/// The sums of four rows, as one row.
UKEMI_INLINE Four sums(const Four* p) {
    const Four a = Four{p[0][0], p[1][0], p[0][2], p[1][2]} + Four{p[0][1], p[1][1], p[0][3], p[1][3]};
    const Four b = Four{p[2][0], p[3][0], p[2][2], p[3][2]} + Four{p[2][1], p[3][1], p[2][3], p[3][3]};
    return Four{a[0], a[1], b[0], b[1]} + Four{a[2], a[3], b[2], b[3]};
}
#endif

/// f += springs and dampers along the links [PART05 eq. 7-10 with K, and a damper]; four links share a root and a division.
inline void springs(const particles::Link* links, std::size_t count, const double* x, const double* v, double* f) {
    const particles::Link *link = links, *end = links + count;
#if UKEMI_HAS_PACK
    for (; end - link >= 4; link += 4) {
        Four d[4], squares[4], closings[4], K, KL, C, root;
        for (int k = 0; k < 4; ++k) {
            const particles::Link& e = link[k];
            d[k] = row(x, e.b) - row(x, e.a);
            squares[k] = d[k] * d[k], closings[k] = d[k] * (row(v, e.b) - row(v, e.a));
            K[k] = e.stiffness, KL[k] = e.stiffness * e.length, C[k] = e.damping;
        }
        const Four square = sums(squares), closing = sums(closings);
        for (int k = 0; k < 4; ++k) root[k] = std::sqrt(square[k]);
        const Four inverse = 1 / root, tension = K - KL * inverse + C * closing * (inverse * inverse);
        for (int k = 0; k < 4; ++k) pull(link[k], d[k] * tension[k], f);
    }
#endif
    for (; link != end; ++link) {
        const Four d = row(x, link->b) - row(x, link->a), w = row(v, link->b) - row(v, link->a);
        const double inverse = 1 / std::sqrt(dot3(d, d));
        pull(*link, d * (link->stiffness - link->stiffness * link->length * inverse + link->damping * dot3(d, w) * (inverse * inverse)), f);
    }
}

/// v += f h / m, x += h v of the particles named; f starts anew from the forces that stay. Without these (null) all
/// particles that move fall alike, and there is less to read.
inline void kick_and_drift(const int* which, std::size_t count, double h, const double* inverse_mass, const double* gravity, const double* steady, double* x, double* v, double* f) {
    const Four fall = row(gravity, 0) * h, rest = row(gravity, 0) * 0.0;
    for (const int* i = which; i != which + count; ++i) {
        Four after = row(v, *i) + row(f, *i) * (h * inverse_mass[*i]);
        if (!steady && inverse_mass[*i] != 0) after = after + fall;
        set_row(v, *i, after);
        set_row(x, *i, row(x, *i) + after * h);
        set_row(f, *i, steady ? row(steady, *i) : rest);
    }
}

UKEMI_END
