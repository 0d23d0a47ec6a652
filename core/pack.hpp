// A few doubles as one scalar: the algorithms are written once and run on one state or on several at a time.
//
// GCC's and Clang's vector extensions give the arithmetic; other compilers use the scalar code alone.
#pragma once
#include <cmath>
#include <cstddef>

#include "level.hpp"

UKEMI_BEGIN

#if defined(__GNUC__) && defined(UKEMI_LANES)
using Pack = double __attribute__((vector_size(8 * UKEMI_LANES)));
using PackInt = long long __attribute__((vector_size(8 * UKEMI_LANES)));
#define UKEMI_HAS_PACK 1
#else
using Pack = double;
#define UKEMI_HAS_PACK 0
#endif

template <class T> inline constexpr int lanes = 1;
#if UKEMI_HAS_PACK
template <> inline constexpr int lanes<Pack> = UKEMI_LANES;
#endif

/// Element i of `lanes` consecutive states that stand `stride` doubles apart.
template <class T> struct In {
    const double* data;
    std::ptrdiff_t stride;
    UKEMI_INLINE T operator[](int i) const {
        if constexpr (lanes<T> == 1) {
            return data[i];
        } else {
            T x;
            for (int l = 0; l < lanes<T>; ++l) x[l] = data[i + l * stride];
            return x;
        }
    }
    UKEMI_INLINE explicit operator bool() const { return data != nullptr; }
    UKEMI_INLINE In operator+(std::ptrdiff_t k) const { return {data + k, stride}; }
};

template <class T> struct Out {
    double* data;
    std::ptrdiff_t stride;
    UKEMI_INLINE void set(std::ptrdiff_t i, const T& x) const {
        if constexpr (lanes<T> == 1) {
            data[i] = x;
        } else {
            for (int l = 0; l < lanes<T>; ++l) data[i + l * stride] = x[l];
        }
    }
};

template <class T> struct SinCos { T sin, cos; };

UKEMI_INLINE SinCos<double> sin_cos(double x) { return {std::sin(x), std::cos(x)}; }

#if UKEMI_HAS_PACK
/// Sine and cosine of every lane: reduction to |r| <= pi/4 in three parts of pi/2 (Cody and Waite), then the Taylor
/// polynomials of degree 17 and 18, whose remainder at pi/4 is below 1e-19. Larger arguments go lane by lane.
inline SinCos<Pack> sin_cos(Pack x) {
    bool large = false;
    for (int l = 0; l < UKEMI_LANES; ++l) large |= !(std::fabs(x[l]) < 1e5);
    if (large) {
        SinCos<Pack> y;
        for (int l = 0; l < UKEMI_LANES; ++l) y.sin[l] = std::sin(x[l]), y.cos[l] = std::cos(x[l]);
        return y;
    }
    constexpr double to_quadrants = 0.63661977236758134308;             // 2 / pi
    constexpr double round = 6755399441055744.0;                        // 1.5 * 2^52: rounds, and leaves k in the low bits
    constexpr double half_pi_1 = 1.57079632673412561417e+00;            // first 33 bits of pi / 2
    constexpr double half_pi_2 = 6.07710050630396597660e-11;            // next 33
    constexpr double half_pi_3 = 2.02226624879595063154e-21;            // the rest
    const Pack shifted = x * to_quadrants + round;
    const PackInt quadrant = (PackInt)shifted;
    const Pack k = shifted - round;
    const Pack r = ((x - k * half_pi_1) - k * half_pi_2) - k * half_pi_3;
    const Pack r2 = r * r;
    const Pack s = r + r * r2 * (-1.0 / 6 + r2 * (1.0 / 120 + r2 * (-1.0 / 5040 + r2 * (1.0 / 362880 +
                   r2 * (-1.0 / 39916800 + r2 * (1.0 / 6227020800 + r2 * (-1.0 / 1307674368000 +
                   r2 * (1.0 / 355687428096000))))))));
    const Pack c = 1.0 - 0.5 * r2 + r2 * r2 * (1.0 / 24 + r2 * (-1.0 / 720 + r2 * (1.0 / 40320 +
                   r2 * (-1.0 / 3628800 + r2 * (1.0 / 479001600 + r2 * (-1.0 / 87178291200 +
                   r2 * (1.0 / 20922789888000 + r2 * (-1.0 / 6402373705728000))))))));
    const PackInt swapped = (quadrant & 1) != 0;
    Pack sin = swapped ? c : s, cos = swapped ? s : c;
    sin = (quadrant & 2) != 0 ? -sin : sin;
    cos = ((quadrant + 1) & 2) != 0 ? -cos : cos;
    return {sin, cos};
}
#endif
/// Of n numbers.
inline void sin_cos(const double* x, int n, double* sin, double* cos) {
    int i = 0;
#if UKEMI_HAS_PACK
    for (; i + UKEMI_LANES <= n; i += UKEMI_LANES) {
        const SinCos<Pack> y = sin_cos(In<Pack>{x, 1}[i]);
        for (int l = 0; l < UKEMI_LANES; ++l) sin[i + l] = y.sin[l], cos[i + l] = y.cos[l];
    }
#endif
    for (; i < n; ++i) sin[i] = std::sin(x[i]), cos[i] = std::cos(x[i]);
}

UKEMI_END
