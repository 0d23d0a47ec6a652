// Distances between convex solids: the nearest points of two hulls, the best separating axis, and the points where faces
// and edges meet.
#pragma once
#include <algorithm>
#include <cmath>
#include <numbers>

#include "contact_scene.hpp"
#include "level_vector.hpp"
#include "manifold.hpp"

UKEMI_BEGIN

using V3 = Vec3<double>;
inline double norm(const V3& a) { return std::sqrt(dot(a, a)); }
inline V3 place(const Placement<double>& X, const V3& p) { return X.p + X.R * p; }

/// Corners of a solid in the world.
inline void corners_in_world(const Solid& s, const Placement<double>& X, Vec<V3>& out) {
    out.resize(s.core.size());
    for (std::size_t i = 0; i < s.core.size(); ++i) out[i] = place(X, s.core[i]);
}

/// A cylinder is the hull of two polygons in its rims, which may stand at any angle about its axis: here with a corner
/// farthest along d, so that what lies or leans on something does so with its round side. Where it almost stands the
/// polygons stay as they are and the two places on its rims are more corners.
inline void turn_corners(const Solid& s, const Placement<double>& X, const V3& d, Vec<V3>& corners) {
    if (s.rim_radius <= 0) return;
    const V3 first = place(X, s.rim[0]), last = place(X, s.rim[1]), along = last - first, axis = along * (1 / norm(along));
    const V3 out = d - axis * dot(d, axis);
    const double length = norm(out);
    if (!(length > 0.4 * norm(d))) corners_in_world(s, X, corners);
    if (!(length > 1e-3 * norm(d))) return;
    const V3 e = out * (s.rim_radius / length), f = cross(axis, e);
    if (length > 0.4 * norm(d)) {
        const std::size_t n = s.core.size() / 2;
        corners.resize(2 * n);
        for (std::size_t i = 0; i < n; ++i) {
            const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n);
            const V3 r = e * std::cos(angle) + f * std::sin(angle);
            corners[i] = first + r, corners[n + i] = last + r;
        }
    } else {
        corners.push_back(first + e), corners.push_back(last + e);
    }
}
/// How far a solid reaches along the unit vector d; a cylinder, whatever its corners, as round as it is.
struct Range { double low, high; };
inline Range range_along(const Solid& s, const Placement<double>& X, const Vec<V3>& corners, const V3& d) {
    Range range{INFINITY, -INFINITY};
    if (s.rim_radius > 0) {
        const V3 axis = X.R * (s.rim[1] - s.rim[0]);
        const double along = dot(d, axis), round = s.rim_radius * std::sqrt(larger(0.0, 1 - along * along / dot(axis, axis)));
        const double first = dot(d, place(X, s.rim[0]));
        return {smaller(first, first + along) - round, larger(first, first + along) + round};
    }
    for (const V3& p : corners) range = {smaller(range.low, dot(p, d)), larger(range.high, dot(p, d))};
    return range;
}

inline int farthest(const Vec<V3>& points, const V3& d) {
    int best = 0;
    double most = -INFINITY;
    for (std::size_t i = 0; i < points.size(); ++i) {
        const double s = dot(points[i], d);
        if (s > most) most = s, best = static_cast<int>(i);
    }
    return best;
}

/// The flat through m + 1 points, where it is nearest to the origin: weights of the points; false if they span less than it.
template <int m> bool nearest_of_flat(const V3* const* p, double* w) {
    // minimise |p0 + sum x_j e_j|: Gram matrix of the edges, solved by elimination
    double G[m][m + 1];
    V3 edge[m];
    for (int i = 0; i < m; ++i) edge[i] = *p[i + 1] - *p[0];
    for (int i = 0; i < m; ++i) {
        for (int j = 0; j < m; ++j) G[i][j] = dot(edge[i], edge[j]);
        G[i][m] = -dot(edge[i], *p[0]);
    }
    for (int c = 0; c < m; ++c) {
        if (!(std::fabs(G[c][c]) > 1e-30)) return false;
        for (int r = 0; r < m; ++r) {
            if (r == c) continue;
            const double f = G[r][c] / G[c][c];
            for (int j = c; j <= m; ++j) G[r][j] -= f * G[c][j];
        }
    }
    w[0] = 1;
    for (int i = 0; i < m; ++i) w[i + 1] = G[i][m] / G[i][i], w[0] -= w[i + 1];
    return true;
}
/// Up to four points, and the place in their hull that is nearest to the origin; each bears it with its weight.
struct Simplex {
    V3 point[4], nearest{0, 0, 0};
    int from_a[4], from_b[4], n = 0;  // whose corners made each
    double weight[4];

    /// Takes one more point, and drops those that do not bear the nearest place; false if it comes no nearer. Faces with
    /// the new point are tried, the smallest first, until no other point is farther towards the origin than the face.
    bool add(const V3& p, int a = 0, int b = 0) {
        point[n] = p, from_a[n] = a, from_b[n] = b;
        double best = n > 0 ? dot(nearest, nearest) : INFINITY;
        int kept = 0, index[4];
        for (int set = 0; set < 1 << n; ++set) {
            const V3* corner[4];
            int at[4], k = 0;
            for (int i = 0; i < n; ++i)
                if (set >> i & 1) at[k] = i, corner[k++] = point + i;
            at[k] = n, corner[k++] = point + n;
            double w[4] = {1};
            if (k == 2 ? !nearest_of_flat<1>(corner, w) : k == 3 ? !nearest_of_flat<2>(corner, w) : k == 4 && !nearest_of_flat<3>(corner, w)) continue;
            bool inside = true;
            V3 x{0, 0, 0};
            for (int i = 0; i < k; ++i) inside &= w[i] >= 0 && w[i] <= 1, x += *corner[i] * w[i];
            const double d = dot(x, x);
            if (!inside || !(d < best)) continue;
            best = d, nearest = x, kept = 0;
            for (int i = 0; i < k; ++i)
                if (w[i] > 0) index[kept] = at[i], weight[kept++] = w[i];
            bool last = true;
            for (int i = 0; i < n; ++i) last &= (set >> i & 1) || dot(x, point[i]) >= d;
            if (last) break;
        }
        for (int i = 0; i < kept; ++i) point[i] = point[index[i]], from_a[i] = from_a[index[i]], from_b[i] = from_b[index[i]];
        if (kept > 0) n = kept;
        return kept > 0;
    }
};

struct Nearest { double distance; V3 on_a, on_b; };
/// Of the segments from a to a + u and from b to b + v, which may be points or parallel: along both lines, then along each
/// from the place on the other.
inline Nearest nearest_of_segments(const V3& a, const V3& u, const V3& b, const V3& v) {
    const V3 w = a - b;
    const double uu = dot(u, u), uv = dot(u, v), vv = dot(v, v), uw = dot(u, w), vw = dot(v, w);
    auto share = [](double part, double whole) { return whole > 0 ? smaller(1, larger(0, part / whole)) : 0.0; };
    double s = share(uv * vw - vv * uw, uu * vv - uv * uv);
    const double t = share(uv * s + vw, vv);
    s = share(uv * t - uw, uu);
    const V3 on_a = a + u * s, on_b = b + v * t;
    return {norm(on_a - on_b), on_a, on_b};
}
/// Gilbert, Johnson and Keerthi: nearest points of two hulls; distance 0 when they overlap.
inline Nearest nearest_points(const Vec<V3>& A, const Vec<V3>& B) {
    if (A.size() <= 2 && B.size() <= 2) return nearest_of_segments(A[0], A.back() - A[0], B[0], B.back() - B[0]);
    Simplex simplex;
    const V3 between = A[0] + A.back() - B[0] - B.back();  // about from one middle to the other
    const int first_a = farthest(A, -between), first_b = farthest(B, between);
    simplex.add(A[static_cast<std::size_t>(first_a)] - B[static_cast<std::size_t>(first_b)], first_a, first_b);
    for (int iteration = 0; iteration < 64; ++iteration) {
        const V3 x = simplex.nearest;
        const double d2 = dot(x, x);
        if (d2 < 1e-24 || simplex.n == 4) return {0, A[0], A[0]};
        const int a = farthest(A, -x), b = farthest(B, x);
        const V3 s = A[static_cast<std::size_t>(a)] - B[static_cast<std::size_t>(b)];
        if (d2 - dot(x, s) <= 1e-12 * d2) break;  // no corner is nearer along x
        bool known = false;
        for (int i = 0; i < simplex.n; ++i) known |= simplex.from_a[i] == a && simplex.from_b[i] == b;
        if (known || !simplex.add(s, a, b)) break;
    }
    Nearest r{norm(simplex.nearest), {0, 0, 0}, {0, 0, 0}};
    for (int i = 0; i < simplex.n; ++i)
        r.on_a += A[static_cast<std::size_t>(simplex.from_a[i])] * simplex.weight[i], r.on_b += B[static_cast<std::size_t>(simplex.from_b[i])] * simplex.weight[i];
    return r;
}

/// The corner of a solid farthest along d; of a cylinder the place on its rim.
inline V3 farthest_place(const Solid& s, const Placement<double>& X, const Vec<V3>& corners, const V3& d) {
    if (s.rim_radius <= 0) return corners[static_cast<std::size_t>(farthest(corners, d))];
    const V3 along = X.R * (s.rim[1] - s.rim[0]);
    auto across = [&](const V3& v) { return v - along * (dot(v, along) / dot(along, along)); };
    const V3 out = across(across(d));  // twice: what is left of a d along the axis is rounding, and would lead off the end
    return place(X, s.rim[dot(d, along) > 0]) + out * (s.rim_radius / larger(1e-300, norm(out)));
}
/// Nearest points of two solids, of cylinders on their axes.
inline Nearest nearest_of_axes(const Solid& a, const Placement<double>& Xa, const Vec<V3>& A, const Solid& b, const Placement<double>& Xb, const Vec<V3>& B) {
    static thread_local Vec<V3> axis_a, axis_b;
    auto axis = [](const Solid& s, const Placement<double>& X, const Vec<V3>& corners, Vec<V3>& ends) -> const Vec<V3>& {
        if (s.rim_radius <= 0) return corners;
        ends.resize(2);
        ends[0] = place(X, s.rim[0]), ends[1] = place(X, s.rim[1]);
        return ends;
    };
    return nearest_points(axis(a, Xa, A, axis_a), axis(b, Xb, B, axis_b));
}
/// The direction from b to a between their nearest places, both drawn by `share` towards their middles (so small, what just
/// overlaps is apart, and the same faces, edges and rims are nearest); zero where they still overlap.
inline V3 nearest_direction(const Solid& a, const Placement<double>& Xa, const Vec<V3>& A, const Solid& b, const Placement<double>& Xb, const Vec<V3>& B, double share) {
    const double rims = a.rim_radius + b.rim_radius;
    if (share == 0 && rims > 0) {  // where axes are nearest between their ends, so are the sides about them
        const Nearest near = nearest_of_axes(a, Xa, A, b, Xb, B);
        const V3 d = near.on_a - near.on_b;
        auto beside = [&](const Solid& s, const Placement<double>& X) { return s.rim_radius <= 0 || std::fabs(dot(d, X.R * (s.rim[1] - s.rim[0]))) <= 1e-12 * near.distance * norm(s.rim[1] - s.rim[0]); };
        if (near.distance > rims + 1e-9 && beside(a, Xa) && beside(b, Xb)) return d * (1 / near.distance);
    }
    V3 middle{0, 0, 0};
    for (const V3& p : A) middle += p * (share / static_cast<double>(A.size()));
    for (const V3& p : B) middle += p * (-share / static_cast<double>(B.size()));
    Simplex simplex;
    V3 x = A[0] - B[0];
    for (int iteration = 0; iteration < 64 && dot(x, x) > 1e-20 && simplex.n < 4; ++iteration) {
        const V3 s = (farthest_place(a, Xa, A, -x) - farthest_place(b, Xb, B, x)) * (1 - share) + middle;
        const double d2 = dot(x, x);
        if ((simplex.n > 0 && d2 - dot(x, s) <= 1e-14 * d2) || !simplex.add(s)) return x * (1 / std::sqrt(d2));
        x = simplex.nearest;
    }
    const double length = norm(x);
    return length > 1e-9 ? x * (1 / length) : V3{0, 0, 0};
}

struct Separation { double distance; V3 normal; };  // normal from B to A
/// The axis, of all face normals and products of edges, along which two hulls are farthest apart (or overlap least).
inline Separation best_axis(const Solid& a, const Placement<double>& Xa, const Vec<V3>& A, const Solid& b, const Placement<double>& Xb, const Vec<V3>& B) {
    Separation best{-INFINITY, {0, 0, 1}};
    auto consider = [&](V3 d, double favour) {
        const Range in_a = range_along(a, Xa, A, d), in_b = range_along(b, Xb, B, d);
        const bool below = in_b.low - in_a.high > in_a.low - in_b.high;
        const double gap = below ? in_b.low - in_a.high : in_a.low - in_b.high;
        if (below) d = -d;
        if (gap > best.distance + favour) best = {gap, d};
    };
    for (const V3& n : b.faces) consider(Xb.R * n, 0);
    for (const V3& n : a.faces) consider(Xa.R * n, 1e-9);
    const bool rims = a.rim_radius > 0 || b.rim_radius > 0;
    if (rims) {  // the round side of a cylinder, from its axis
        const Nearest near = nearest_of_axes(a, Xa, A, b, Xb, B);
        if (near.distance > 1e-9) consider((near.on_a - near.on_b) * (1 / near.distance), 1e-9);
    }
    auto many_edges = [](const Solid& s) { return !s.faces.empty() && s.edges.empty(); };
    for (const double share : {0.0, 1e-3, 3e-3, 0.01, 0.04}) {  // places that are nearest, or would be if both were a little smaller
        if (!rims && !many_edges(a) && !many_edges(b)) break;
        const V3 d = nearest_direction(a, Xa, A, b, Xb, B, share);
        if (dot(d, d) > 0) consider(d, 1e-9);
        if (best.distance > 0) break;
    }
    if (rims) return best;
    for (const V3& ea : a.edges) {
        for (const V3& eb : b.edges) {
            const V3 d = cross(Xa.R * ea, Xb.R * eb);
            const double length = norm(d);
            if (length > 1e-6) consider(d * (1 / length), 1e-7);  // faces first: they give better contact points
        }
    }
    return best;
}

/// Where two solids meet along the normal n (from B to A): points on A's surface with their distances from B.
struct Meeting { V3 at; double gap; };
class Meetings {
public:
    Vec<Meeting> found;
    /// Of corners, and the radii of the balls about them; those within `depth` of the first along n belong to what meets.
    void find(const Vec<V3>& A, double ra, const Vec<V3>& B, double rb, const V3& n, double depth) {
        found.clear();
        feature(A, n, depth, fa_), feature(B, -n, depth, fb_);
        double top = -INFINITY, bottom = INFINITY;
        for (const V3& p : fb_) top = larger(top, dot(p, n));
        for (const V3& p : fa_) bottom = smaller(bottom, dot(p, n));
        top += rb, bottom -= ra;
        auto add = [&](const V3& p, double gap) { found.push_back({p, gap}); };
        if (fb_.size() >= 3) {
            shared_ = fa_;
            clip(shared_, fb_, n);
            for (const V3& p : shared_) add(p - n * ra, dot(p, n) - ra - top);
            if (!shared_.empty()) return;
        }
        if (fa_.size() >= 3) {
            shared_ = fb_;
            clip(shared_, fa_, n);
            for (const V3& p : shared_) add(p + n * (rb + bottom - dot(p, n) - rb), bottom - dot(p, n) - rb);
            if (!shared_.empty()) return;
        }
        if (fa_.size() == 2 && fb_.size() == 2) {
            const V3 ea = fa_[1] - fa_[0], eb = fb_[1] - fb_[0];
            const V3 across_n = cross(ea, eb);
            const double sine = norm(across_n) / larger(1e-300, norm(ea) * norm(eb));
            if (sine < 0.05) {  // side by side: the ends of what they share
                const double la = dot(ea, ea);
                double s0 = dot(fb_[0] - fa_[0], ea) / la, s1 = dot(fb_[1] - fa_[0], ea) / la;
                if (s0 > s1) std::swap(s0, s1);
                s0 = larger(0, s0), s1 = smaller(1, s1);
                if (s0 <= s1) {
                    for (double s : {s0, s1}) {
                        const V3 p = fa_[0] + ea * s, c = fb_[0] + eb * smaller(1, larger(0, dot(p - fb_[0], eb) / dot(eb, eb)));
                        add(p - n * ra, dot(p - c, n) - ra - rb);
                    }
                    return;
                }
            }
        }
        if (fa_.size() == 2 && fb_.size() == 2) {  // edges that cross: where their lines pass each other, seen along n
            const V3 ea = fa_[1] - fa_[0], eb = fb_[1] - fb_[0], side = cross(eb, n);
            const double s = dot(fb_[0] - fa_[0], side) / dot(ea, side);
            add(fa_[0] + ea * smaller(1, larger(0, s)) - n * ra, bottom - top);
            return;
        }
        if (fa_.empty() || fb_.empty()) return;  // places that are no numbers: the step says so
        const Nearest near = nearest_points(fa_, fb_);
        const V3 p = near.distance > 0 ? near.on_a : fa_[0];
        add(p - n * ra, bottom - top);
    }

private:
    /// Corners within `depth` of the lowest along d, ordered as a polygon about d (or the two ends of an edge, or one).
    void feature(const Vec<V3>& P, const V3& d, double depth, Vec<V3>& out) {
        double low = INFINITY;
        for (const V3& p : P) low = smaller(low, dot(p, d));
        out.clear();
        for (const V3& p : P)
            if (dot(p, d) <= low + depth) out.push_back(p);
        if (out.size() < 3) return;
        const V3 e = std::fabs(d.x) < 0.6 ? V3{1, 0, 0} : V3{0, 1, 0};
        V3 t = cross(d, e);
        t = t * (1 / norm(t));
        const V3 u = cross(d, t);
        // convex hull in the plane across d (Andrew's monotone chain)
        flat_.clear();
        for (const V3& p : out) flat_.push_back({dot(p, t), dot(p, u), p});
        std::sort(flat_.begin(), flat_.end(), [](const Flat& a, const Flat& b) { return a.x < b.x || (a.x == b.x && a.y < b.y); });
        hull_.resize(2 * flat_.size());
        std::size_t k = 0;
        auto turn = [](const Flat& o, const Flat& a, const Flat& b) { return (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x); };
        for (std::size_t i = 0; i < flat_.size(); ++i) {
            while (k >= 2 && turn(hull_[k - 2], hull_[k - 1], flat_[i]) <= 1e-12) --k;
            hull_[k++] = flat_[i];
        }
        const std::size_t lower = k + 1;
        for (std::size_t i = flat_.size() - 1; i-- > 0;) {
            while (k >= lower && turn(hull_[k - 2], hull_[k - 1], flat_[i]) <= 1e-12) --k;
            hull_[k++] = flat_[i];
        }
        out.clear();
        for (std::size_t i = 0; i + 1 < k; ++i) out.push_back(hull_[i].corner);
    }
    /// Cuts the polygon (or segment, or point) `subject` by the sides of the polygon `window`, both seen along n.
    void clip(Vec<V3>& subject, const Vec<V3>& window, const V3& n) {
        double area = 0;
        for (std::size_t i = 0; i < window.size(); ++i) area += dot(n, cross(window[i], window[(i + 1) % window.size()]));
        const double sign = area < 0 ? -1 : 1;
        for (std::size_t i = 0; i < window.size() && !subject.empty(); ++i) {
            const V3 a = window[i], edge = window[(i + 1) % window.size()] - a;
            const V3 inward = cross(n, edge) * (sign / larger(1e-300, norm(edge)));
            cut_.clear();
            const std::size_t m = subject.size();
            for (std::size_t j = 0; j < m; ++j) {
                const V3 &p = subject[j], &q = subject[(j + 1) % m];
                const double dp = dot(inward, p - a), dq = dot(inward, q - a);
                if (dp >= -1e-9) cut_.push_back(p);
                if (m > 1 && !(m == 2 && j == 1) && ((dp > 1e-9 && dq < -1e-9) || (dp < -1e-9 && dq > 1e-9))) cut_.push_back(p + (q - p) * (dp / (dp - dq)));
            }
            std::swap(subject, cut_);
        }
    }

    struct Flat { double x, y; V3 corner; };
    Vec<Flat> flat_, hull_;
    Vec<V3> fa_, fb_, shared_, cut_;
};

UKEMI_END
