// Plain data of the core: vectors, matrices, bodies, the frozen tree.
//
// No functions here. Everything that computes lives in a namespace of its instruction-set level
// (see level.hpp), so that code compiled for one processor never leaks into another.
#pragma once
#include <string>
#include <vector>

namespace ukemi {

template <class T> struct Vec3 { T x, y, z; };

/// General 3x3 matrix, entries by row and column.
template <class T> struct Mat3 { T xx, xy, xz, yx, yy, yz, zx, zy, zz; };

/// Symmetric 3x3 matrix.
template <class T> struct Sym3 { T xx, xy, xz, yy, yz, zz; };

/// Spatial vectors, linear part first.
template <class T> struct Motion { Vec3<T> lin, ang; };
template <class T> struct Force { Vec3<T> f, n; };

/// Symmetric spatial inertia: f = M a + C alpha, n = C^T a + J alpha.
template <class T> struct Inertia { Sym3<T> M; Mat3<T> C; Sym3<T> J; };

/// Orientation and place of a frame.
template <class T> struct Placement { Mat3<T> R; Vec3<T> p; };

enum class JointKind : int { revolute, prismatic, universal, spherical, planar, free };

/// A moving body: what hangs on one movable joint, with the links fixed to it lumped together.
struct Body {
    int parent;              ///< index of the parent body, -1 for the world
    JointKind kind;
    int iq, iv, nq, nv;      ///< where its coordinates and velocities start, and how many they are
    bool turned;             ///< R_tree differs from the identity
    bool armed;              ///< some armature is not zero
    int leaf;                ///< index into Tree::leaves, -1 if something hangs on it (or its joint has no constants)
    Mat3<double> R_tree;     ///< orientation of the joint frame in the parent body
    Vec3<double> p_tree;     ///< its place there [m]
    double mass;             ///< [kg]
    Vec3<double> h;          ///< mass times centre of mass [kg m]
    Sym3<double> I;          ///< inertia about the body's origin [kg m^2]
    Vec3<double> axis;       ///< joint axis (revolute, prismatic), first axis (universal), normal (planar)
    Vec3<double> axis2;      ///< second axis (universal), in-plane x (planar)
    double armature[6];      ///< added to the diagonal of the inertia matrix
    int coupled;             ///< 0, or 1 + the index into Tree::joint_inertias of what is added beside the diagonal
};

/// What a joint adds to its block of the inertia matrix beside the diagonal: nv x nv, row-major, zeros on the diagonal.
struct JointInertia { double matrix[36]; };

/// What the articulated-body algorithm knows of a body that carries no other, whatever the state.
struct Leaf {
    Sym3<double> J_inv;      ///< spherical joint: J^-1, G = C J^-1 and, in I.M, M - G C^T
    Mat3<double> G;
    Vec3<double> gf, gn;     ///< revolute joint: U / D, 1 / D, and the inertia that the parent feels
    double d;
    Inertia<double> I;
};

/// Spring and damper of one joint: tau = -dU/dq - damping v with U = 1/2 d^T stiffness d,
/// d = difference(rest, q).
struct Elastic {
    int body;
    double stiffness[36];    ///< nv x nv, row-major
    double damping[36];
    double rest[7];          ///< nq
};

/// A spring and damper across several joints, on coordinates that are angles or distances: U = 1/2 d^T stiffness d with
/// d = q - rest.
struct CoupledSpring {
    std::vector<int> q, v;                         ///< where the coordinates and their rates stand
    std::vector<double> stiffness, damping, rest;  ///< n x n, row-major; n
};

/// A named frame on a body (or on the world): what users call a link.
struct Link {
    int body;                ///< -1: fixed to the world
    Mat3<double> R;          ///< orientation in the body
    Vec3<double> p;          ///< place in the body [m]
};

/// The frozen tree that all algorithms read. Bodies stand in depth-first order: parent[i] < i.
struct Tree {
    int nq = 0, nv = 0;
    std::vector<Body> bodies;
    std::vector<Leaf> leaves;
    std::vector<int> quaternions;          ///< where they begin in q
    std::vector<Elastic> elastic;
    std::vector<JointInertia> joint_inertias;
    std::vector<CoupledSpring> springs;
    std::vector<Link> links;
    std::vector<int> dof_parent;           ///< the next freedom towards the root, -1 at the root
    std::vector<int> dof_run;              ///< the first of the freedoms that lead to it one after the other
    std::vector<std::string> joint_names;  ///< one per body, for messages
};

/// A joint between two bodies that closes a loop: what the virtual link of [SV00] IV and [CC00] 2.1 stands for.
/// Frame A stands on body a, frame B (the virtual link's real link) on body b; -1 is the world.
struct Loop {
    int a, b;
    Placement<double> X_a, X_b;  ///< the frames in their bodies
    bool lin[3];                 ///< which translations of B along A's axes are fixed
    int rot;                     ///< how many rotations are fixed: 3, 2 (about axis1 is free), 1 (about axis1, axis2 free), 0
    Vec3<double> axis1, axis2;   ///< free axes: axis1 in A, axis2 in B (rot = 2: the same axis in B)
    double cosine;               ///< rot = 1: axis1 . axis2 at closure
    double stiffness[6], damping[6];  ///< of the directions that are not fixed, along and about A's axes
    bool elastic;
    bool axial;                  ///< a spring and damper along the line between the origins; stiffness[0], damping[0]
    double length;               ///< its slack length [m]
};

/// One term of a tie: the polynomial c[0] x + c[1] x^2 + c[2] x^3 + c[3] x^4 of a joint coordinate x, or of the angle
/// by which a spherical joint is turned.
struct TieTerm {
    int body;
    int q, v;      ///< where x and its rate stand (angle: the quaternion and the angular velocity)
    bool angle;
    double c[4];
    int freedom;   ///< where its first freedom stands in the list of the tie's block
    int measure = -1;  ///< of a spherical joint: instead of its angle, this one of Loops::measures
};
/// Other coordinates of a spherical joint, by splitting its rotation into a twist about `axis` (in the child) and a swing
/// of that axis: the twist's angle; or how far the swing is out, as a share of the widest in its direction. The widest
/// swings are quarters of ellipses: wide[0], wide[1] about -across, +across, wide[2], wide[3] about -/+ axis x across [rad].
struct JointMeasure {
    bool swing;
    Vec3<double> axis, across;
    double wide[4];
};
/// A constraint on joint coordinates: the sum of its terms (a range of Loops::terms) plus the offset is zero.
struct Tie {
    int term, term_end;
    double offset;
    double compliance = 0;  ///< 1 / stiffness against the row's acceleration; 0 is hard (see implicit.hpp)
    double target = 0;      ///< acceleration of the row that its force must give
};

/// Rows of the constraint that belong together (a loop's, or a tie's), and the freedoms that feel them.
struct RowBlock {
    int row, rows;               ///< the first row, and how many
    int path, path_end;          ///< bodies between their ends and the world, the farthest first: a range of Loops::bodies
    int dofs, dofs_end;          ///< their freedoms: a range of Loops::freedoms
    int store;                   ///< where the rows' responses begin in the work memory, in packs
    int tile, tiles;             ///< its first row of tiles, and how many
};
/// A row of tiles of the constraint matrix: as many rows of one block as a pack has lanes.
struct TileRow {
    int row, rows;   ///< its rows of the constraint
    int first;       ///< the first column of tiles in the skyline
    int offset;      ///< tile (r, c) is number offset + c
};

/// Freedoms that two blocks share: `count` of them from position i in the first's list and j in the second's.
struct SharedRun { int i, j, count; };
struct BlockPair { int first, second, runs, runs_end; };

/// All loops and ties of a structure, with everything that depends on the structure alone.
struct Loops {
    std::vector<Loop> items;
    std::vector<Tie> ties;
    std::vector<TieTerm> terms;
    std::vector<JointMeasure> measures;
    std::vector<RowBlock> blocks;      ///< of the loops, then of the ties
    int rows = 0, store = 0;
    std::vector<int> bodies, freedoms;
    std::vector<int> touched;          ///< all bodies on any path, parents before children
    std::vector<BlockPair> pairs;      ///< blocks that feel each other, first <= second
    std::vector<SharedRun> runs;
    std::vector<TileRow> tiles;        ///< the constraint matrix in its skyline
    int tile_count = 0;
};

}  // namespace ukemi
