// How a tree answers joint forces, x -> M^-1 x, and the half of it that contact rows need: Y with Y^T Y = H M^-1 H^T.
//
// By the inertia matrix: M = L^T D L with L as sparse as the tree (factor.hpp), Y = D^-1/2 L^-T H^T; O(n d^2) for depth d.
// By articulated bodies ([HAND07] 4.1): their inward pass is the same factorisation joint by joint, never written out: a
// joint force x goes towards the root, leaves u = x - S^T F at each joint and arrives beyond it as F + U D^-1 u
// (eq. 4.13); y = D^-1/2 u. O(n), and O(d) per row. Which is quicker hangs on the depth; `prefers_bodies` chooses.
#pragma once
#include <algorithm>
#include <cmath>

#include "contact_system.hpp"
#include "crba.hpp"
#include "factor.hpp"
#include "impulse.hpp"

UKEMI_BEGIN

/// Whether articulated bodies are quicker than the matrix, whose elimination takes half the squared depth in products at each
/// freedom: beyond this mean. Steps of chains and figures in contact took the same time there (bench/cases/hand.py).
inline bool prefers_bodies(const Tree& tree) {
    constexpr double products = 330;
    double sum = 0;
    Vec<int> depth(static_cast<std::size_t>(tree.nv));
    for (std::size_t k = 0; k < depth.size(); ++k) {
        const int up = tree.dof_parent[k];
        depth[k] = up < 0 ? 1 : depth[static_cast<std::size_t>(up)] + 1;
        sum += 0.5 * depth[k] * depth[k];
    }
    return sum > products * static_cast<double>(tree.nv);
}

/// Lower factor of a small symmetric matrix, S = C C^T.
struct Half {
    double a, b, c, d, e, f;
    explicit Half(const Sym3<double>& S) {
        a = std::sqrt(S.xx), b = S.xy / a, c = S.xz / a;
        d = std::sqrt(S.yy - b * b), e = (S.yz - c * b) / d;
        f = std::sqrt(S.zz - c * c - e * e);
    }
    Vec3<double> transposed_times(const Vec3<double>& u) const { return {a * u.x + b * u.y + c * u.z, d * u.y + e * u.z, f * u.z}; }
    Vec3<double> times(const Vec3<double>& y) const { return {a * y.x, b * y.x + d * y.y, c * y.x + e * y.y + f * y.z}; }
};

class InertiaResponse {
public:
    explicit InertiaResponse(const Tree& tree) : tree_(tree), nv_(static_cast<std::size_t>(tree.nv)) { choose(prefers_bodies(tree)); }
    /// One way or the other, for comparisons.
    void choose(bool by_bodies) {
        const Tree& tree = tree_;
        const std::size_t n = tree.bodies.size();
        by_bodies_ = by_bodies;
        if (!by_bodies_) {
            crba_.resize(n), ld_ = row_length(tree), M_.assign(nv_ * static_cast<std::size_t>(ld_ + 1), 0.0);
            return;
        }
        body_of_.resize(nv_);
        for (std::size_t i = 0; i < n; ++i)
            for (int k = 0; k < tree.bodies[i].nv; ++k) body_of_[static_cast<std::size_t>(tree.bodies[i].iv + k)] = static_cast<int>(i);
        stiff_ = tree, step_ = 0;
        for (const Elastic& e : tree.elastic) {
            Body& b = stiff_.bodies[static_cast<std::size_t>(e.body)];
            stiff_.joint_inertias.push_back({});
            b.armed = true, b.leaf = -1, b.coupled = static_cast<int>(stiff_.joint_inertias.size());
        }
        bodies_.resize(n), F_.resize(most_rows * n), gain_.resize(gain_size * nv_), drive_.resize(nv_), tau_.resize(nv_), q_.resize(static_cast<std::size_t>(tree.nq));
    }
    bool by_bodies() const { return by_bodies_; }

    /// At q, with what implicit springs and dampers add over a step h to the end of its second half: h B + h^2/2 K.
    void at(const double* q, double h) {
        if (by_bodies_) {
            stiffen(h);
            std::copy_n(q, q_.size(), q_.begin());
            impulse_inward<double>(stiff_, {q, 0}, {nullptr, 0}, {nullptr, 0}, work());
            return;
        }
        crba<double>(tree_, {q, 0}, false, crba_.data(), {M_.data(), 0}, ld_);
        for (const Elastic& e : tree_.elastic) {
            const Body& b = tree_.bodies[static_cast<std::size_t>(e.body)];
            for (int r = 0; r < b.nv && h > 0; ++r)
                for (int c = 0; c <= r; ++c) M_[static_cast<std::size_t>((b.iv + r) * ld_ + b.iv + c)] += more(e, b.nv, r, c, h);
        }
        factorize(tree_, M_.data(), ld_);
    }
    /// x := M^-1 x
    void solve(double* x) {
        if (!by_bodies_) return ukemi::UKEMI_LEVEL::solve(tree_, M_.data(), ld_, x);
        std::fill(F_.begin(), F_.end(), Force<double>{{0, 0, 0}, {0, 0, 0}});
        for (int i = static_cast<int>(bodies_.size()) - 1; i >= 0; --i) {
            const Body& b = stiff_.bodies[static_cast<std::size_t>(i)];
            double* u = drive_.data() + b.iv;
            pass(i, F_[most_rows * static_cast<std::size_t>(i)], x + b.iv, 1, u, b.parent < 0 ? nullptr : &F_[most_rows * static_cast<std::size_t>(b.parent)]);
            whole(b, gain_.data() + gain_size * b.iv, u);
        }
        outward(x);
    }
    /// M^-1 H^T w from Y w: the other half.
    void finish(const RowSystem& rows, double* y) {
        if (!by_bodies_) return rows.finish_response(M_.data(), ld_, y);
        std::copy_n(y, nv_, drive_.begin());
        for (const Body& b : stiff_.bodies) other_half(b, gain_.data() + gain_size * b.iv, drive_.data() + b.iv);
        outward(y);
    }
    /// Y of all rows.
    void respond(RowSystem& rows) {
        if (!by_bodies_) return rows.respond(M_.data(), ld_);
        rows.Y = rows.H;
        for (const Group& g : rows.groups) {
            const int* dofs = rows.dofs.data() + g.dofs;
            const int count = g.dofs_end - g.dofs;
            for (int d = 0; d < count; ++d) std::fill_n(&F_[most_rows * body(dofs[d])], g.rows, Force<double>{{0, 0, 0}, {0, 0, 0}});
            for (int d = count - 1; d >= 0; --d) {  // body by body towards the root
                const Body& b = stiff_.bodies[body(dofs[d])];
                d -= b.nv - 1;
                for (int r = 0; r < g.rows; ++r) {
                    double* y = rows.Y.data() + g.store + d * g.rows + r;
                    double u[6];
                    pass(static_cast<int>(body(b.iv)), F_[most_rows * body(b.iv) + static_cast<std::size_t>(r)], y, g.rows, u,
                         b.parent < 0 ? nullptr : &F_[most_rows * static_cast<std::size_t>(b.parent) + static_cast<std::size_t>(r)]);
                    half(b, gain_.data() + gain_size * b.iv, u);
                    for (int k = 0; k < b.nv; ++k) y[k * g.rows] = u[k];
                }
            }
        }
    }

private:
    static double more(const Elastic& e, int n, int r, int c, double h) { return h * e.damping[r * n + c] + 0.25 * h * h * e.stiffness[r * n + c]; }
    void stiffen(double h) {
        if (h == step_) return;
        step_ = h;
        for (const Elastic& e : tree_.elastic) {
            const Body& plain = tree_.bodies[static_cast<std::size_t>(e.body)];
            Body& b = stiff_.bodies[static_cast<std::size_t>(e.body)];
            for (int r = 0; r < b.nv; ++r) {
                b.armature[r] = plain.armature[r] + more(e, b.nv, r, r, h);
                for (int c = 0; c < r; ++c) {
                    double* beside = stiff_.joint_inertias[static_cast<std::size_t>(b.coupled - 1)].matrix;
                    beside[r * b.nv + c] = beside[c * b.nv + r] = more(e, b.nv, r, c, h);
                }
            }
        }
    }
    std::size_t body(int dof) const { return static_cast<std::size_t>(body_of_[static_cast<std::size_t>(dof)]); }
    AbaWork<double> work() { return {bodies_.data(), gain_.data(), drive_.data(), tau_.data()}; }
    /// One joint inwards: u = x - S^T F, and F + U D^-1 u to the parent. x: every `stride`-th number.
    void pass(int i, const Force<double>& F, const double* x, int stride, double* u, Force<double>* parent) {
        const Body& b = stiff_.bodies[static_cast<std::size_t>(i)];
        const AbaBody<double>& at = bodies_[static_cast<std::size_t>(i)];
        double* g = gain_.data() + gain_size * b.iv;
        Force<double> beyond = F;
        if (is_plain(b, JointKind::spherical)) {
            const Vec3<double> tau = {x[0], x[stride], x[2 * stride]}, left = tau - F.n;
            write3(u, left);
            beyond = {F.f + stored_mat(g) * left, tau};
        } else if (is_plain(b, JointKind::free)) {
            beyond = {{x[0], x[stride], x[2 * stride]}, {x[3 * stride], x[4 * stride], x[5 * stride]}};
            write3(u, beyond.f - F.f), write3(u + 3, beyond.n - F.n);
        } else {
            for (int k = 0; k < b.nv; ++k) {
                const Motion<double> S = subspace(b, at.X.R, In<double>{q_.data(), 0}, k);
                u[k] = x[k * stride] - dot(S.lin, F.f) - dot(S.ang, F.n);
                beyond.f += stored_vec(g + 6 * k) * u[k], beyond.n += stored_vec(g + 6 * k + 3) * u[k];
            }
        }
        if (!parent) return;
        const Force<double> there = to_parent(at.X, beyond);
        parent->f += there.f, parent->n += there.n;
    }
    /// u := D^-1 u
    static void whole(const Body& b, double* g, double* u) {
        if (is_plain(b, JointKind::spherical)) write3(u, stored_sym(g + 9) * read3(u));
        else if (is_plain(b, JointKind::free)) {
            const Motion<double> a = free_response(g, read3(u), read3(u + 3));
            write3(u, a.lin), write3(u + 3, a.ang);
        } else if (b.kind == JointKind::revolute) u[0] *= g[6];
        else small_solve(g + 6 * b.nv, b.nv, u);
    }
    /// u := y with |y|^2 = u^T D^-1 u
    static void half(const Body& b, double* g, double* u) {
        if (is_plain(b, JointKind::spherical)) write3(u, Half(stored_sym(g + 9)).transposed_times(read3(u)));
        else if (is_plain(b, JointKind::free)) {
            const Vec3<double> n = read3(u + 3);
            write3(u, Half(stored_sym(g + 15)).transposed_times(read3(u) - stored_mat(g) * n)), write3(u + 3, Half(stored_sym(g + 9)).transposed_times(n));
        } else if (b.kind == JointKind::revolute) u[0] *= std::sqrt(g[6]);
        else {
            const double* D = g + 6 * b.nv;  // L D L^T
            for (int i = 0; i < b.nv; ++i)
                for (int k = 0; k < i; ++k) u[i] -= D[i * b.nv + k] * u[k];
            for (int i = 0; i < b.nv; ++i) u[i] /= std::sqrt(D[i * b.nv + i]);
        }
    }
    /// y := D^-1 u
    static void other_half(const Body& b, double* g, double* y) {
        if (is_plain(b, JointKind::spherical)) write3(y, Half(stored_sym(g + 9)).times(read3(y)));
        else if (is_plain(b, JointKind::free)) {
            const Vec3<double> a = Half(stored_sym(g + 15)).times(read3(y));
            write3(y, a), write3(y + 3, Half(stored_sym(g + 9)).times(read3(y + 3)) - tmul(stored_mat(g), a));
        } else if (b.kind == JointKind::revolute) y[0] *= std::sqrt(g[6]);
        else {
            const double* D = g + 6 * b.nv;
            for (int i = 0; i < b.nv; ++i) y[i] /= std::sqrt(D[i * b.nv + i]);
            for (int i = b.nv - 1; i >= 0; --i)
                for (int k = i + 1; k < b.nv; ++k) y[i] -= D[k * b.nv + i] * y[k];
        }
    }
    /// Accelerations from the drives.
    void outward(double* x) {
        aba_outward<false>(stiff_, AllBodies{static_cast<int>(bodies_.size())}, In<double>{q_.data(), 0}, zero3<double>(), work(), drive_.data(), Out<double>{x, 0});
    }

    const Tree& tree_;
    std::size_t nv_;
    bool by_bodies_ = false;
    Vec<CrbaBody<double>> crba_;  // by the matrix
    Vec<double> M_;
    int ld_ = 0;                  // of its rows
    Tree stiff_;                  // by bodies: with the joint inertias of the step
    double step_ = 0;
    Vec<AbaBody<double>> bodies_;
    Vec<Force<double>> F_;        // most_rows per body
    Vec<double> gain_, drive_, tau_, q_;
    Vec<int> body_of_;
};

UKEMI_END
