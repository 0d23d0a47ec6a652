// Four doubles side by side: rows of small blocks.
#pragma once
#include <cstring>

#include "level.hpp"

UKEMI_BEGIN

#if defined(__GNUC__)
using Four = double __attribute__((vector_size(32)));
#else
struct Four {
    double x[4] = {};
    Four operator+(const Four& o) const { return {{x[0] + o.x[0], x[1] + o.x[1], x[2] + o.x[2], x[3] + o.x[3]}}; }
    Four operator-(const Four& o) const { return {{x[0] - o.x[0], x[1] - o.x[1], x[2] - o.x[2], x[3] - o.x[3]}}; }
    Four operator*(const Four& o) const { return {{x[0] * o.x[0], x[1] * o.x[1], x[2] * o.x[2], x[3] * o.x[3]}}; }
    Four operator*(double s) const { return {{x[0] * s, x[1] * s, x[2] * s, x[3] * s}}; }
    Four& operator+=(const Four& o) { return *this = *this + o; }
    Four& operator-=(const Four& o) { return *this = *this - o; }
    double operator[](int i) const { return x[i]; }
};
#endif

/// From and to memory that is aligned for doubles alone.
UKEMI_INLINE void load(Four& row, const double* from) { std::memcpy(&row, from, sizeof(Four)); }
UKEMI_INLINE void store(const Four& row, double* to) { std::memcpy(to, &row, sizeof(Four)); }
UKEMI_INLINE double sum(const Four& row) { return (row[0] + row[1]) + (row[2] + row[3]); }

UKEMI_END
