// Memory and constants of the closed-chain algorithms.
#pragma once
#include "aba.hpp"
#include "manifold.hpp"

UKEMI_BEGIN

/// A pivot below this share of its diagonal means that the row depends on those before it: rounding of 1e-15 in the rows
/// is then 1e-6 in the forces. A pose 3e-5 rad away from a singular one has such a pivot.
inline constexpr double dependent = 1e-9;
/// The same when loops are closed: rows that are nearly dependent wait for a better pose, or rounding errors of 1e-13
/// would move the chain by that over the small singular value.
inline constexpr double nearly_dependent = 1e-5;
/// A row that its joints cannot follow moves less than this share of what it would in the best direction: 1e-6 rad away
/// from a singular pose. Nearer, rounding of 1e-15 in the state is divided by the square of that angle.
inline constexpr double immovable = 1e-12;

/// With pivots below this share of their diagonal the forces are refined by what the rows still lack: B squares the
/// condition of the rows, and one more solution gives the lost digits back.
inline constexpr double ill_conditioned = 1e-2;

/// Rows travel side by side, as many as a pack holds.
inline constexpr int side_by_side = lanes<Pack>;
template <class P> UKEMI_INLINE void set_lane(P& p, int l, double value) {
    if constexpr (side_by_side == 1) p = value;
    else p[l] = value;
}
template <class P> UKEMI_INLINE double get_lane(const P& p, int l) {
    if constexpr (side_by_side == 1) return p;
    else return p[l];
}
/// A lane of a pack in memory: read as a number, it is broadcast without shuffles.
template <class P> UKEMI_INLINE double lane_in_memory(const P& p, int l) { return reinterpret_cast<const double*>(&p)[l]; }
template <class P> UKEMI_INLINE double sum_of_lanes(const P& p) {
    double sum = 0;
    for (int l = 0; l < side_by_side; ++l) sum += get_lane(p, l);
    return sum;
}
/// A square piece of a matrix: its columns, rows as lanes.
struct Tile { Pack column[side_by_side]; };

/// Unit wrenches of rows, at each body's origin in its coordinates.
struct RowWrenches { Force<Pack> on_a, on_b; };

/// Relative motion of frame B seen from frame A.
struct Relative {
    Placement<double> X_A;       // frame A in the world
    Vec3<double> at;             // origin of B in the world
    Mat3<double> R;              // R_AB
    Vec3<double> p, p_dot, w;    // place, velocity and angular velocity of B in A, A's axes
    Vec3<double> w_a;            // angular velocity of A, world axes
};

struct ClosedWork {
    AbaWork<double> aba;
    Placement<double>* X;        // of bodies, in the world
    Motion<double>* V;           // velocity of the origin and angular velocity, world axes
    Force<Pack>* carried;        // per body: the wrenches on their way
    double* external;            // 6 per body: given wrenches and those of elastic loops
    Relative* relative;          // per loop
    RowWrenches* wrench;         // per group of rows, six groups' room per loop
    double* coefficient;         // of ties: three per term, d(tie)/d(freedom)
    double* product;             // per tie: velocity-product part of its acceleration
    Pack *u, *y;                 // per group of rows and freedom of its path: S^T F and D^-1 S^T F
    double *error, *rate, *rhs;  // per row: H_C's position error, velocity, right-hand side
    double* bound;               // per row: what B's diagonal could be in the best direction
    Tile* L;                     // factor of B in its skyline of tiles
    Pack* inverse;               // per row of tiles: of the pivots, 0 where a row is dropped
    double* pivot;               // per row; 0: dropped
    Pack* x;                     // per row of tiles: the last solution
    double* drive;               // per freedom
    double* scratch;             // per row
    double* qdd;                 // per freedom
};

struct Carver {  // cuts the work memory into its arrays; null counts bytes
    char* base;
    std::size_t used = 0;
    template <class T> T* take(std::size_t n) {
        used = (used + 63) / 64 * 64;
        T* p = base ? reinterpret_cast<T*>(base + used) : nullptr;
        used += n * sizeof(T);
        return p;
    }
};
inline ClosedWork carve(const Tree& tree, const Loops& loops, Carver& c) {
    const std::size_t n = tree.bodies.size(), nv = static_cast<std::size_t>(tree.nv), rows = static_cast<std::size_t>(loops.rows);
    ClosedWork w;
    w.aba = {c.take<AbaBody<double>>(n), c.take<double>(gain_size * nv), c.take<double>(nv), c.take<double>(nv)};
    w.X = c.take<Placement<double>>(n), w.V = c.take<Motion<double>>(n), w.carried = c.take<Force<Pack>>(n);
    w.external = c.take<double>(6 * n);
    w.relative = c.take<Relative>(loops.items.size()), w.wrench = c.take<RowWrenches>(6 * loops.items.size());
    w.coefficient = c.take<double>(3 * loops.terms.size()), w.product = c.take<double>(loops.ties.size());
    w.u = c.take<Pack>(static_cast<std::size_t>(loops.store)), w.y = c.take<Pack>(static_cast<std::size_t>(loops.store));
    w.error = c.take<double>(rows), w.rate = c.take<double>(rows), w.rhs = c.take<double>(rows), w.bound = c.take<double>(rows);
    w.L = c.take<Tile>(static_cast<std::size_t>(loops.tile_count)), w.pivot = c.take<double>(rows);
    w.inverse = c.take<Pack>(loops.tiles.size()), w.x = c.take<Pack>(loops.tiles.size());
    w.drive = c.take<double>(nv), w.scratch = c.take<double>(2 * rows), w.qdd = c.take<double>(nv);
    return w;
}
inline std::size_t closed_bytes(const Tree& tree, const Loops& loops) {
    Carver c{nullptr};
    carve(tree, loops, c);
    return c.used + 64;
}
inline ClosedWork closed_work(const Tree& tree, const Loops& loops, void* memory) {
    Carver c{static_cast<char*>(memory)};
    return carve(tree, loops, c);
}

UKEMI_END
