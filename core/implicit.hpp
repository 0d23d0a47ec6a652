// Stiff joints: springs and dampers taken at the end of the step.
//
// With v' = v + h a and q' = q + h v', the joint forces -K (q' - rest) - B v' are linear in a, so that
//   (M + h B + h^2 K) a = tau - c - K (q - rest) - (B + h K) v.
// Each joint's own terms stay within its block: a tree whose joints have the inertia h B + h^2 K more and the damping
// B + h K has exactly this equation of motion, and every algorithm that reads a tree serves the implicit step.
// Only symmetric parts enter; what a one-way spring has beside them is taken from the start of the step, and so is the
// turning of a spherical joint's spring. Springs across joints become compliant ties, see below.
#pragma once
#include <cmath>

#include "types.hpp"

namespace ukemi {

/// The symmetric part of h B + h^2 K, entry (i, j) of n x n matrices.
inline double implicit_inertia(const double* K, const double* B, int n, int i, int j, double h) {
    return 0.5 * h * (B[i * n + j] + B[j * n + i] + h * (K[i * n + j] + K[j * n + i]));
}
inline double symmetric_entry(const double* K, int n, int i, int j) { return 0.5 * (K[i * n + j] + K[j * n + i]); }

/// The tree whose equation of motion is that of an implicit step h. Its energies mean nothing.
inline Tree implicit_tree(const Tree& tree, double h) {
    Tree out = tree;
    for (Elastic& e : out.elastic) {
        Body& b = out.bodies[static_cast<std::size_t>(e.body)];
        const int n = b.nv;
        JointInertia beside{};
        bool couples = false;
        double damping[36];
        for (int i = 0; i < n; ++i) {
            for (int j = 0; j < n; ++j) {
                const double more = implicit_inertia(e.stiffness, e.damping, n, i, j, h);
                if (i == j) b.armature[i] += more;
                else beside.matrix[i * n + j] = more, couples |= more != 0;
                damping[i * n + j] = e.damping[i * n + j] + h * symmetric_entry(e.stiffness, n, i, j);
            }
        }
        for (int i = 0; i < n * n; ++i) e.damping[i] = damping[i];
        b.armed = true, b.leaf = -1;  // constants of leaves hold for the plain joint
        if (couples) {
            out.joint_inertias.push_back(beside);
            b.coupled = static_cast<int>(out.joint_inertias.size());
        }
    }
    for (CoupledSpring& s : out.springs) {
        const int n = static_cast<int>(s.q.size());
        for (int i = 0; i < n; ++i)
            for (int j = 0; j < n; ++j) s.damping[static_cast<std::size_t>(i * n + j)] += h * symmetric_entry(s.stiffness.data(), n, i, j);
    }
    return out;
}

/// tau += B dv, with the dampers of all joints.
inline void add_damping(const Tree& tree, const double* dv, double* tau) {
    for (const Elastic& e : tree.elastic) {
        const Body& b = tree.bodies[static_cast<std::size_t>(e.body)];
        for (int i = 0; i < b.nv; ++i)
            for (int j = 0; j < b.nv; ++j) tau[b.iv + i] += e.damping[i * b.nv + j] * dv[b.iv + j];
    }
    for (const CoupledSpring& s : tree.springs)
        for (std::size_t i = 0, n = s.v.size(); i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) tau[s.v[i]] += s.damping[i * n + j] * dv[s.v[j]];
}

/// Springs across joints: h B + h^2 K = L L^T adds the forces -L L^T a. Each column of L is a row l^T a + lambda = 0 with the
/// force l lambda: a tie of compliance 1. `tree` is the one whose springs are meant, not its implicit tree.
inline void add_implicit_ties(const Tree& tree, double h, Loops& loops) {
    for (const CoupledSpring& s : tree.springs) {
        const int n = static_cast<int>(s.q.size());
        std::vector<double> L(s.stiffness.size());
        double scale = 0;
        for (int i = 0; i < n; ++i) scale = std::fmax(scale, implicit_inertia(s.stiffness.data(), s.damping.data(), n, i, i, h));
        for (int j = 0; j < n; ++j) {
            for (int i = j; i < n; ++i) {
                double sum = implicit_inertia(s.stiffness.data(), s.damping.data(), n, i, j, h);
                for (int k = 0; k < j; ++k) sum -= L[static_cast<std::size_t>(i * n + k)] * L[static_cast<std::size_t>(j * n + k)];
                const double pivot = L[static_cast<std::size_t>(j * n + j)];
                if (i == j) L[static_cast<std::size_t>(i * n + j)] = sum > 1e-14 * scale ? std::sqrt(sum) : 0.0;
                else L[static_cast<std::size_t>(i * n + j)] = pivot > 0 ? sum / pivot : 0.0;
            }
            if (L[static_cast<std::size_t>(j * n + j)] == 0) continue;
            const int term = static_cast<int>(loops.terms.size());
            for (int i = j; i < n; ++i) {
                const double c = L[static_cast<std::size_t>(i * n + j)];
                if (c == 0) continue;
                const int v = s.v[static_cast<std::size_t>(i)];
                int body = 0;
                while (tree.bodies[static_cast<std::size_t>(body)].iv + tree.bodies[static_cast<std::size_t>(body)].nv <= v) ++body;
                loops.terms.push_back({body, s.q[static_cast<std::size_t>(i)], v, false, {c, 0, 0, 0}, 0});
            }
            loops.ties.push_back({term, static_cast<int>(loops.terms.size()), 0.0, 1.0});
        }
    }
}

}  // namespace ukemi
