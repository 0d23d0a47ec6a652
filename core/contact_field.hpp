// Height fields: triangles over a grid, and what of them a ball or the faces and edges of a solid come near to.
#pragma once
#include "contact_geometry.hpp"

UKEMI_BEGIN

/// Points of a field that a box over x and y covers: first and last index of each.
struct Cells { int i0, i1, j0, j1; };
inline Cells cells_under(const HeightField& f, double x0, double x1, double y0, double y1) {
    auto index = [](double at, int n) { return static_cast<int>(smaller(larger(at, 0.0), n - 1.0)); };
    return {index(std::floor((x0 - f.x0) / f.dx), f.nx), index(std::ceil((x1 - f.x0) / f.dx), f.nx), index(std::floor((y0 - f.y0) / f.dy), f.ny), index(std::ceil((y1 - f.y0) / f.dy), f.ny)};
}
inline bool in_field(const HeightField& f, int i, int j) { return i >= 0 && j >= 0 && i < f.nx && j < f.ny; }
inline Vec3<double> peak(const HeightField& f, int i, int j) { return {f.x0 + i * f.dx, f.y0 + j * f.dy, f.z[static_cast<std::size_t>(i * f.ny + j)]}; }
/// How a field falls away from a place on it, seen along d: falls (-1), level (0) or rises (1) towards w.
inline int rise(const Vec3<double>& d, const Vec3<double>& at, const Vec3<double>& w) {
    const Vec3<double> e = w - at;
    const double up = dot(d, e), level = 1e-9 * norm(d) * norm(e);
    return up > level ? 1 : up < -level ? -1 : 0;
}
/// Is the grid's point (i, j) highest of its surroundings along d? A point in the middle of a level line is not `alone`.
struct Top { bool highest, alone; };
inline Top top_along(const HeightField& f, int i, int j, const Vec3<double>& d) {
    constexpr int around[3][2] = {{1, 0}, {0, 1}, {1, -1}};
    const Vec3<double> v = peak(f, i, j);
    bool alone = true;
    for (const auto& step : around) {
        int level = 0;
        for (int sign : {1, -1}) {
            const int a = i + sign * step[0], b = j + sign * step[1];
            if (!in_field(f, a, b)) continue;
            const int r = rise(d, v, peak(f, a, b));
            if (r > 0) return {false, false};
            level += r == 0;
        }
        alone &= level < 2;
    }
    return {true, alone};
}
/// An edge between triangles, and the points that these have besides.
struct Ridge {
    Vec3<double> p, q, beside[2];
    int sides;
    Top top_along(const Vec3<double>& d) const {
        int level = 0;
        for (int k = 0; k < sides; ++k) {
            const int r = rise(d, p, beside[k]);
            if (r > 0) return {false, false};
            level += r == 0;
        }
        return {true, level < 2};
    }
};
template <class Visit>
void each_ridge(const HeightField& f, const Cells& c, const Visit& visit) {
    // from (i, j): both ends, and the points beside
    constexpr int kinds[3][4][2] = {{{0, 0}, {1, 0}, {0, 1}, {1, -1}}, {{0, 0}, {0, 1}, {1, 0}, {-1, 1}}, {{1, 0}, {0, 1}, {0, 0}, {1, 1}}};
    for (int i = c.i0; i <= c.i1; ++i) {
        for (int j = c.j0; j <= c.j1; ++j) {
            for (const auto& kind : kinds) {
                if (!in_field(f, i + kind[0][0], j + kind[0][1]) || !in_field(f, i + kind[1][0], j + kind[1][1])) continue;
                Ridge r{peak(f, i + kind[0][0], j + kind[0][1]), peak(f, i + kind[1][0], j + kind[1][1]), {}, 0};
                for (int k = 2; k < 4; ++k)
                    if (in_field(f, i + kind[k][0], j + kind[k][1])) r.beside[r.sides++] = peak(f, i + kind[k][0], j + kind[k][1]);
                visit(r);
            }
        }
    }
}
/// Height and normal of the field below a place; false outside.
inline bool height_below(const HeightField& f, const Vec3<double>& p, Vec3<double>* n, double* height) {
    const double gx = (p.x - f.x0) / f.dx, gy = (p.y - f.y0) / f.dy;
    if (!(gx >= 0 && gy >= 0 && gx <= f.nx - 1 && gy <= f.ny - 1)) return false;
    const int i = std::min(static_cast<int>(gx), f.nx - 2), j = std::min(static_cast<int>(gy), f.ny - 2);
    auto z = [&](int a, int b) { return f.z[static_cast<std::size_t>(a * f.ny + b)]; };
    const double u = gx - i, w = gy - j;
    const bool upper = u + w > 1;  // two triangles per cell
    const double sx = (upper ? z(i + 1, j + 1) - z(i, j + 1) : z(i + 1, j) - z(i, j)) / f.dx;
    const double sy = (upper ? z(i + 1, j + 1) - z(i + 1, j) : z(i, j + 1) - z(i, j)) / f.dy;
    *height = upper ? z(i + 1, j + 1) + (u - 1) * f.dx * sx + (w - 1) * f.dy * sy : z(i, j) + u * f.dx * sx + w * f.dy * sy;
    const double s = 1 / std::sqrt(sx * sx + sy * sy + 1);
    *n = {-sx * s, -sy * s, s};
    return true;
}

/// Places of the field to which a ball's centre c, above it, is nearer than to all around them: on faces, edges and
/// peaks. The nearest few of distinct normals are kept.
struct NearBall {
    static constexpr int most_near = 4;
    static constexpr double same_normal = 0.9999;  // as in a patch
    struct { Vec3<double> normal; double gap; } at[most_near];
    int count = 0;

    NearBall(const HeightField& f, const Vec3<double>& c, double radius, double margin) {
        const double reach = radius + margin;
        auto consider = [&](const Vec3<double>& n, double distance) {
            if (!(distance < reach)) return;
            int k = 0, last = count;
            for (; k < count && at[k].gap <= distance - radius; ++k)
                if (dot(at[k].normal, n) > same_normal) return;
            for (int m = k; m < count; ++m)
                if (dot(at[m].normal, n) > same_normal) { last = m; break; }
            if (k == most_near) return;
            for (int m = std::min(last, most_near - 1); m > k; --m) at[m] = at[m - 1];
            at[k] = {n, distance - radius};
            if (last == count) count = std::min(count + 1, most_near);
        };
        auto from = [&](const Vec3<double>& p) {
            const double distance = norm(c - p);
            if (distance > 1e-12) consider((c - p) * (1 / distance), distance);
        };
        const Cells cells = cells_under(f, c.x - reach, c.x + reach, c.y - reach, c.y + reach);
        constexpr double inside = -1e-9;  // of a triangle's width
        for (int i = cells.i0; i <= cells.i1; ++i) {
            for (int j = cells.j0; j <= cells.j1; ++j) {
                const Vec3<double> v = peak(f, i, j);
                if (norm(c - v) < reach && c.z > v.z && top_along(f, i, j, c - v).highest) from(v);
                for (int upper = 0; upper < 2 && in_field(f, i + 1, j + 1); ++upper) {
                    const Vec3<double> o = peak(f, i + upper, j + upper), x = peak(f, i + 1 - upper, j + upper), y = peak(f, i + upper, j + 1 - upper);
                    Vec3<double> n = cross(x - o, y - o);
                    n = n * (1 / norm(n));
                    const double distance = dot(n, c - o);
                    const Vec3<double> foot = c - n * distance - o;
                    const double u = foot.x / (x.x - o.x), w = foot.y / (y.y - o.y);
                    if (distance >= 0 && u >= inside && w >= inside && 1 - u - w >= inside) consider(n, distance);
                }
            }
        }
        each_ridge(f, cells, [&](const Ridge& r) {
            const Vec3<double> e = r.q - r.p;
            const double s = dot(c - r.p, e) / dot(e, e);
            if (!(s > inside && s < 1 - inside)) return;
            const Vec3<double> p = r.p + e * s;
            if (norm(c - p) < reach && c.z > p.z && r.top_along(c - p).highest) from(p);
        });
    }
};

/// A solid with the planes of its faces and its edges (corners that share two faces), to lie on peaks and ridges of a field.
class SolidOverField {
public:
    SolidOverField() = default;
    explicit SolidOverField(const Solid& s) {
        for (const Vec3<double>& n : s.faces) {
            double offset = -INFINITY;
            for (const Vec3<double>& p : s.core) offset = larger(offset, dot(n, p));
            face_offset_.push_back(offset);
        }
        if (s.faces.empty() && s.core.size() == 2) edge_ends_.push_back({0, 1});
        for (std::size_t i = 0; i < s.core.size(); ++i) {
            for (std::size_t j = i + 1; j < s.core.size(); ++j) {
                int shared = 0;
                for (std::size_t k = 0; k < s.faces.size(); ++k)
                    shared += smaller(dot(s.faces[k], s.core[i]), dot(s.faces[k], s.core[j])) > face_offset_[k] - 1e-9 * s.reach;
                if (shared >= 2) edge_ends_.push_back({i, j});
            }
        }
    }
    /// Peaks of the field that a solid's faces, or a rod between its ends, are near: all that are highest along the normal.
    template <class Add>
    void peaks(const Solid& s, const Placement<double>& P, const Vec<Vec3<double>>& C, const HeightField& f, double margin, const Add& add_point) const {
        const double reach = s.radius + margin;
        double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY, low = INFINITY;
        for (const Vec3<double>& c : C) x0 = smaller(x0, c.x), x1 = larger(x1, c.x), y0 = smaller(y0, c.y), y1 = larger(y1, c.y), low = smaller(low, c.z);
        const Cells cells = cells_under(f, x0 - reach, x1 + reach, y0 - reach, y1 + reach);
        for (int i = cells.i0; i <= cells.i1; ++i) {
            for (int j = cells.j0; j <= cells.j1; ++j) {
                const Vec3<double> v = peak(f, i, j);
                if (v.z < low - reach) continue;
                if (s.faces.empty()) {
                    const Vec3<double> e = C[1] - C[0];
                    const double at = dot(v - C[0], e) / dot(e, e);
                    const Vec3<double> d = C[0] + e * at - v;
                    const double distance = norm(d);
                    if (at > 0 && at < 1 && d.z > 0 && distance < reach && distance > 1e-12 && top_along(f, i, j, d).highest)
                        add_point(s.core[0] + (s.core[1] - s.core[0]) * at, d * (1 / distance), distance - s.radius);
                    continue;
                }
                const Vec3<double> local = tmul(P.R, v - P.p);
                double outside = -INFINITY;
                std::size_t face = 0;
                for (std::size_t k = 0; k < s.faces.size() && outside < margin; ++k) {
                    const double g = dot(s.faces[k], local) - face_offset_[k];
                    if (g > outside) outside = g, face = k;
                }
                if (outside >= margin) continue;
                const Vec3<double> n = -(P.R * s.faces[face]);
                if (n.z <= 0) continue;
                const Top top = top_along(f, i, j, n);
                if (top.highest && top.alone) add_point(local - s.faces[face] * outside, n, outside);
            }
        }
    }
    /// Edges of the field that cross edges of a solid, or a rod between its ends.
    template <class Add>
    void ridges(const Solid& s, const Placement<double>& P, const Vec<Vec3<double>>& C, const HeightField& f, double margin, const Add& add_point) const {
        const double reach = s.radius + margin;
        for (const auto& [first, second] : edge_ends_) {
            const Vec3<double>&a = C[first], &b = C[second], e = b - a;
            const double low = smaller(a.z, b.z) - reach;
            const Cells cells = cells_under(f, smaller(a.x, b.x) - reach, larger(a.x, b.x) + reach, smaller(a.y, b.y) - reach, larger(a.y, b.y) + reach);
            each_ridge(f, cells, [&](const Ridge& r) {
                if (r.p.z < low && r.q.z < low) return;
                const Vec3<double> w = r.q - r.p;
                Vec3<double> n = cross(e, w);
                const double area = norm(n);
                if (area < 1e-4 * norm(e) * norm(w)) return;  // side by side: ends and peaks tell
                n = n * ((n.z < 0 ? -1 : 1) / area);
                const double g = dot(n, a - r.p) - s.radius;
                if (!(g < margin)) return;
                const Vec3<double> t = a - r.p;  // where the lines pass each other
                const double on_solid = dot(cross(w, n), t) / dot(cross(n, w), e), on_field = dot(cross(e, n), t) / dot(cross(e, n), w);
                if (!(on_solid >= 0 && on_solid <= 1 && on_field >= 0 && on_field <= 1)) return;
                const Top top = r.top_along(n);
                if (!top.highest || !top.alone) return;
                for (const Vec3<double>& c : C)
                    if (dot(n, c - a) < -1e-9 * s.reach) return;  // the solid is not above this edge
                const Vec3<double> p = a + e * on_solid;
                const double depth = -dot(n, t);
                if (depth > hardly_crossed && !overlap(s, P, f, r, p, depth)) return;
                add_point(tmul(P.R, p - P.p), n, g);
            });
        }
    }

private:
    static constexpr double hardly_crossed = 1e-4;  // [m]: edges so near touch, whatever else is there
    /// Where edges are past each other by `depth`, is there an overlap about as deep? Then the place p of the solid is in the
    /// field, or the ridge goes through the solid. A solid that hovers over the field can be past its border, or a far hill, too.
    bool overlap(const Solid& s, const Placement<double>& P, const HeightField& f, const Ridge& r, const Vec3<double>& p, double depth) const {
        const double deep = 0.1 * depth;  // under both faces of an edge: depth sin(half their angle), here of 12 degrees
        Vec3<double> n;
        double height;
        if (height_below(f, p, &n, &height) && (height - p.z) * n.z > deep) return true;
        const Vec3<double> start = tmul(P.R, r.p - P.p), along = tmul(P.R, r.q - r.p);
        double from = 0, to = s.faces.empty() ? 0 : 1;  // the part of the ridge that is so deep under every face
        for (std::size_t k = 0; k < s.faces.size(); ++k) {
            const double rest = face_offset_[k] - deep - dot(s.faces[k], start), slope = dot(s.faces[k], along);
            if (slope > 0) to = smaller(to, rest / slope);
            else if (slope < 0) from = larger(from, rest / slope);
            else if (rest < 0) return false;
        }
        return from < to;
    }
    Vec<double> face_offset_;
    Vec<std::pair<std::size_t, std::size_t>> edge_ends_;
};

UKEMI_END
