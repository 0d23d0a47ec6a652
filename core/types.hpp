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

enum class JointKind : int { revolute, prismatic, universal, spherical, planar, free };

/// A moving body: what hangs on one movable joint, with the links fixed to it lumped together.
struct Body {
    int parent;              ///< index of the parent body, -1 for the world
    JointKind kind;
    int iq, iv, nq, nv;      ///< where its coordinates and velocities start, and how many they are
    bool turned;             ///< R_tree differs from the identity
    bool armed;              ///< some armature is not zero
    int elastic;             ///< index into Tree::elastic, -1 without springs and dampers
    Mat3<double> R_tree;     ///< orientation of the joint frame in the parent body
    Vec3<double> p_tree;     ///< its place there [m]
    double mass;             ///< [kg]
    Vec3<double> h;          ///< mass times centre of mass [kg m]
    Sym3<double> I;          ///< inertia about the body's origin [kg m^2]
    Vec3<double> axis;       ///< joint axis (revolute, prismatic), first axis (universal), normal (planar)
    Vec3<double> axis2;      ///< second axis (universal), in-plane x (planar)
    double armature[6];      ///< added to the diagonal of the inertia matrix
};

/// Spring and damper of one joint: tau = -dU/dq - damping v with U = 1/2 d^T stiffness d,
/// d = difference(rest, q).
struct Elastic {
    int body;
    double stiffness[36];    ///< nv x nv, row-major
    double damping[36];
    double rest[7];          ///< nq
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
    std::vector<Elastic> elastic;
    std::vector<Link> links;
    std::vector<int> dof_parent;           ///< the next freedom towards the root, -1 at the root
    std::vector<std::string> joint_names;  ///< one per body, for messages
};

}  // namespace ukemi
