// The coupled system of everything that touches: rows of contacts, joint stops and loops, and their common response
// B = H M^-1 H^T through the tree's sparse factor ([DF03] V-F: H A^-1 H^T is made once, hypotheses only select from it).
#pragma once
#include <algorithm>
#include <cmath>
#include <iterator>
#include <type_traits>

#include "contact_scene.hpp"
#include "factor.hpp"
#include "kinematics.hpp"
#include "level_vector.hpp"

UKEMI_BEGIN

enum class GroupKind { patch, stop, loop };
inline constexpr int most_rows = 6;  // of a group

/// Rows that belong together: the six of a contact, the one of a stop, those of a loop.
struct Group {
    GroupKind kind;
    int index;            ///< of the patch, the stop or the loop
    int rows;
    int dofs, dofs_end;   ///< its freedoms, ascending: a range of RowSystem::dofs
    int store;            ///< its H and Y: [freedom][row]
    int root;             ///< one of the trees it touches; islands join them
    int row;              ///< its first row within its island
};

class RowSystem {
public:
    explicit RowSystem(const Tree& tree) : tree_(tree), place_(static_cast<std::size_t>(tree.nv), -1), root_(tree.bodies.size()) {
        for (std::size_t i = 0; i < tree.bodies.size(); ++i) root_[i] = tree.bodies[i].parent < 0 ? static_cast<int>(i) : root_[static_cast<std::size_t>(tree.bodies[i].parent)];
        joined_.resize(tree.bodies.size());
        for (const Body& b : tree.bodies) {
            joint_rows_.insert(joint_rows_.end(), static_cast<std::size_t>(b.nv), b.nv);
            Vec<int> path = b.parent < 0 ? Vec<int>() : paths_[static_cast<std::size_t>(b.parent)];
            for (int k = 0; k < b.nv; ++k) path.push_back(b.iv + k);
            paths_.push_back(path);
        }
    }
    Vec<Group> groups;
    Vec<int> dofs;
    Vec<double> H, Y;

    void clear() {
        groups.clear(), dofs.clear(), H.clear(), Y.clear();
        for (std::size_t i = 0; i < joined_.size(); ++i) joined_[i] = static_cast<int>(i);
    }
    /// Relative velocity of body a against body b (-1: the world) in the frame (origin O, axes R), six rows.
    void add_patch(int index, int a, int b, const Vec3<double>& O, const Mat3<double>& R, const double* q, const Placement<double>* X) {
        Group& g = begin(GroupKind::patch, index, 6);
        for (int end : {a, b}) add_path(end);
        finish(g);
        for (int end : {a, b}) {
            const double sign = end == a ? 1.0 : -1.0;
            if (end >= 0) g.root = join(g.root, root_[static_cast<std::size_t>(end)]);
            for (int i = end; i >= 0; i = tree_.bodies[static_cast<std::size_t>(i)].parent) {
                const Body& body = tree_.bodies[static_cast<std::size_t>(i)];
                const Placement<double>& XI = X[i];
                const Vec3<double> arm = tmul(R, O - XI.p);
                const Mat3<double> T = tmul(R, XI.R);  // the body's axes in the frame
                double* column = H.data() + g.store + 6 * place_[static_cast<std::size_t>(body.iv)];
                auto put = [&](const Vec3<double>& push, const Vec3<double>& turn) {
                    const Vec3<double> lin = push + cross(turn, arm);
                    column[0] += sign * lin.x, column[1] += sign * lin.y, column[2] += sign * lin.z;
                    column[3] += sign * turn.x, column[4] += sign * turn.y, column[5] += sign * turn.z;
                    column += 6;
                };
                const Vec3<double> none{0, 0, 0}, axes[3] = {{T.xx, T.yx, T.zx}, {T.xy, T.yy, T.zy}, {T.xz, T.yz, T.zz}};
                if (body.kind == JointKind::spherical || body.kind == JointKind::free) {  // their subspace are the body's axes
                    for (int k = 0; k < 3 && body.kind == JointKind::free; ++k) put(axes[k], none);
                    for (int k = 0; k < 3; ++k) put(none, axes[k]);
                    continue;
                }
                const Mat3<double> R_local = body.kind == JointKind::planar ? placement(body, In<double>{q, 0}).R : XI.R;
                for (int k = 0; k < body.nv; ++k) {
                    const Motion<double> S = subspace(body, R_local, In<double>{q, 0}, k);
                    put(T * S.lin, T * S.ang);
                }
            }
        }
        groups.push_back(g);
    }
    /// A row on one freedom, with a sign.
    void add_stop(int index, int body, int iv, double sign) {
        Group& g = begin(GroupKind::stop, index, 1);
        add_path(body);
        finish(g);
        g.root = root_[static_cast<std::size_t>(body)];
        H[static_cast<std::size_t>(g.store + place_[static_cast<std::size_t>(iv)])] = sign;
        groups.push_back(g);
    }
    /// Given rows (dense, nv wide) that feel some bodies.
    void add_rows(int index, int rows, const int* bodies, int count, const double* dense) {
        Group& g = begin(GroupKind::loop, index, rows);
        for (int i = 0; i < count; ++i) {
            add_path(bodies[i]);
            g.root = join(g.root, root_[static_cast<std::size_t>(bodies[i])]);
        }
        finish(g);
        for (int d = g.dofs; d < g.dofs_end; ++d)
            for (int r = 0; r < rows; ++r) H[static_cast<std::size_t>(g.store + (d - g.dofs) * rows + r)] = dense[static_cast<std::size_t>(r) * static_cast<std::size_t>(tree_.nv) + static_cast<std::size_t>(dofs[static_cast<std::size_t>(d)])];
        groups.push_back(g);
    }
    /// Y = D^-1/2 L^-T H^T, with M = L^T D L (factor.hpp).
    void respond(const double* L, std::ptrdiff_t ld) {
        Y = H;
        scale_.resize(static_cast<std::size_t>(tree_.nv));
        for (int k = 0; k < tree_.nv; ++k) scale_[static_cast<std::size_t>(k)] = 1.0 / std::sqrt(L[k * ld + k]);
        for (const Group& g : groups) {
            number(g);
            with_rows(g.rows, [&](auto rows) {
                for (int i = g.dofs_end - g.dofs - 1, width; i >= 0; i -= width) {
                    width = joint_rows_[static_cast<std::size_t>(dofs[static_cast<std::size_t>(g.dofs + i)])] == 3 ? 3 : 1;
                    if (width == 3) respond_joint<3>(g, rows, L, ld, i - 2);
                    else respond_joint<1>(g, rows, L, ld, i);
                }
            });
        }
    }
    /// The block of B between two groups, into rows x columns of `out` with leading dimension ld.
    void block(const Group& a, const Group& b, double* out, int ld) const {
        with_rows(a.rows, [&](auto rows) {
            with_rows(b.rows, [&](auto columns) {
                double sum[most_rows * most_rows] = {};
                int i = a.dofs, j = b.dofs;
                while (i < a.dofs_end && j < b.dofs_end) {
                    const int da = dofs[static_cast<std::size_t>(i)], db = dofs[static_cast<std::size_t>(j)];
                    if (da == db) {
                        const double *ya = Y.data() + a.store + (i - a.dofs) * rows, *yb = Y.data() + b.store + (j - b.dofs) * columns;
                        for (int r = 0; r < rows; ++r)
                            for (int c = 0; c < columns; ++c) sum[r * columns + c] += ya[r] * yb[c];
                    }
                    i += da <= db, j += db <= da;
                }
                for (int r = 0; r < rows; ++r)
                    for (int c = 0; c < columns; ++c) out[r * ld + c] = sum[r * columns + c];
            });
        });
    }
    /// What a row of a group feels of its own force.
    double own_response(const Group& g, int row) const {
        double s = 0;
        for (int d = 0; d < g.dofs_end - g.dofs; ++d) s += Y[static_cast<std::size_t>(g.store + d * g.rows + row)] * Y[static_cast<std::size_t>(g.store + d * g.rows + row)];
        return s;
    }
    int freedoms() const { return tree_.nv; }
    /// u = H v; u = Y^T x
    void velocity(const Group& g, const double* v, double* u) const { along(H, g, v, u); }
    void motion(const Group& g, const double* x, double* u) const { along(Y, g, x, u); }
    /// x += Y w; when all are there, M^-1 H^T w = L^-1 D^-1/2 x.
    void add_response(const Group& g, const double* w, double* x) const {
        with_rows(g.rows, [&](auto rows) {
            for (int d = g.dofs; d < g.dofs_end; ++d) {
                const double* y = Y.data() + g.store + (d - g.dofs) * rows;
                double s = 0;
                for (int r = 0; r < rows; ++r) s += y[r] * w[r];
                x[dofs[static_cast<std::size_t>(d)]] += s;
            }
        });
    }
    void finish_response(const double* L, std::ptrdiff_t ld, double* x) const {
        for (int k = 0; k < tree_.nv; ++k) x[k] *= scale_[static_cast<std::size_t>(k)];
        solve_lower(tree_, L, ld, x);
    }
    int island(const Group& g) { return find(g.root); }
    int joint_freedoms(int dof) const { return joint_rows_[static_cast<std::size_t>(dof)]; }
    int parent(int dof) const { return tree_.dof_parent[static_cast<std::size_t>(dof)]; }

    /// f with the number of rows as a constant, where it is one that most groups have.
    template <class F> static void with_rows(int rows, F&& f) {
        if (rows == 6) f(std::integral_constant<int, 6>{});
        else if (rows == 1) f(std::integral_constant<int, 1>{});
        else f(rows);
    }

private:
    void along(const Vec<double>& columns, const Group& g, const double* x, double* u) const {
        with_rows(g.rows, [&](auto rows) {
            double sum[most_rows] = {};
            for (int d = g.dofs; d < g.dofs_end; ++d) {
                const double *column = columns.data() + g.store + (d - g.dofs) * rows, s = x[dofs[static_cast<std::size_t>(d)]];
                for (int r = 0; r < rows; ++r) sum[r] += column[r] * s;
            }
            std::copy(sum, sum + rows, u);
        });
    }
    /// The part of Y that `width` freedoms of one joint have, the first of them at place i of the group; takes it from those above.
    template <int width, class Rows> UKEMI_INLINE void respond_joint(const Group& g, Rows rows, const double* L, std::ptrdiff_t ld, int i) {
        const int first = dofs[static_cast<std::size_t>(g.dofs + i)];
        double *y = Y.data() + g.store, from[width][most_rows];
        const double* row[width];
        for (int k = width - 1; k >= 0; --k) {
            row[k] = L + (first + k) * ld;
            for (int r = 0; r < rows; ++r) from[k][r] = y[(i + k) * rows + r];
            for (int j = k + 1; j < width; ++j)
                for (int r = 0; r < rows; ++r) from[k][r] -= row[j][first + k] * from[j][r];
        }
        for (int j = tree_.dof_parent[static_cast<std::size_t>(first)]; j >= 0; j = tree_.dof_parent[static_cast<std::size_t>(j)]) {
            double* to = y + place_[static_cast<std::size_t>(j)] * rows;
            for (int r = 0; r < rows; ++r) {
                double sum = row[0][j] * from[0][r];
                for (int k = 1; k < width; ++k) sum += row[k][j] * from[k][r];
                to[r] -= sum;
            }
        }
        for (int k = 0; k < width; ++k)
            for (int r = 0; r < rows; ++r) y[(i + k) * rows + r] = scale_[static_cast<std::size_t>(first + k)] * from[k][r];
    }
    Group& begin(GroupKind kind, int index, int rows) {
        current_ = {kind, index, rows, static_cast<int>(dofs.size()), 0, static_cast<int>(H.size()), -1, 0};
        return current_;
    }
    void add_path(int body) {
        if (body < 0) return;
        const Vec<int>& path = paths_[static_cast<std::size_t>(body)];
        joint_path_.assign(dofs.begin() + current_.dofs, dofs.end());
        dofs.resize(static_cast<std::size_t>(current_.dofs));
        std::set_union(joint_path_.begin(), joint_path_.end(), path.begin(), path.end(), std::back_inserter(dofs));
    }
    void finish(Group& g) {
        g.dofs_end = static_cast<int>(dofs.size());
        H.resize(H.size() + static_cast<std::size_t>(g.rows * (g.dofs_end - g.dofs)), 0.0);
        number(g);
    }
    void number(const Group& g) {
        for (int d = g.dofs; d < g.dofs_end; ++d) place_[static_cast<std::size_t>(dofs[static_cast<std::size_t>(d)])] = d - g.dofs;
    }
    int find(int i) {
        while (joined_[static_cast<std::size_t>(i)] != i) i = joined_[static_cast<std::size_t>(i)];
        return i;
    }
    int join(int a, int b) {
        if (a < 0) return b;
        a = find(a), b = find(b);
        return joined_[static_cast<std::size_t>(std::max(a, b))] = std::min(a, b);
    }
    const Tree& tree_;
    Group current_{};
    Vec<int> place_, root_, joined_, joint_rows_;
    Vec<Vec<int>> paths_;  // of each body: freedoms from the root on
    Vec<int> joint_path_;  // of those added before
    Vec<double> scale_;  // D^-1/2
};

UKEMI_END
