// Which points are near what: solids against planes, height fields and each other, with a broad phase of balls.
#pragma once
#include "contact_geometry.hpp"

UKEMI_BEGIN

/// A point of body a near a surface of b.
struct Found {
    int key;                 ///< names the feature, to compare gaps between moments
    int a, b, link_a, link_b;
    int surface;             ///< plane, field or pair: contacts of one surface and one normal are one patch
    Vec3<double> local;      ///< the centre of a's round surface there (or the corner), in a's coordinates
    double radius;
    double rim_radius;       ///< positive: `local` is the centre of a rim, and `rim_axis` its axis
    Vec3<double> rim_axis;
    Vec3<double> normal;     ///< towards a, world axes
    Vec3<double> local_b, normal_b;  ///< b's point and the normal in b's coordinates, when b moves
    bool round;              ///< both surfaces are round there: the normal goes from centre to centre
    double gap;
    Material material;
    Vec3<double> velocity;   ///< of b's surface, when b stands in the world
    bool touches;
    double middle = NAN;     ///< its gap where `follow` looked again
};

/// The normal when the bodies stand at X.
inline Vec3<double> normal_at(const Found& f, const Placement<double>* X) {
    if (f.b < 0) return f.normal;
    if (f.round) {
        const Vec3<double> d = place(X[f.a], f.local) - place(X[f.b], f.local_b);
        const double length = norm(d);
        if (length > 1e-9) return d * (1 / length);
    }
    return X[f.b].R * f.normal_b;
}

/// The point of a's surface that is nearest to b along the normal n, when the bodies stand at X.
inline Vec3<double> surface_point(const Found& f, const Vec3<double>& n, const Placement<double>* X) {
    const Placement<double>& P = X[f.a];
    const Vec3<double> at = place(P, f.local) - n * f.radius;
    if (f.rim_radius <= 0) return at;
    const Vec3<double> axis = P.R * f.rim_axis, down = axis * dot(n, axis) - n;  // within the rim's plane
    return at + down * (f.rim_radius / larger(1e-12, norm(down)));
}

/// How high that point stands over b's, along the normal: the gap, but for a constant.
inline double height_over(const Found& f, const Placement<double>* X) {
    const Vec3<double> n = normal_at(f, X);
    return dot(n, surface_point(f, n, X) - (f.b < 0 ? f.local_b : place(X[f.b], f.local_b)));
}

class Detector {
public:
    Detector(const ContactScene& scene) : scene_(scene) {
        int keys = 0;
        for (const Solid& s : scene.solids) {
            first_key_.push_back(keys);
            if (s.body >= 0) keys += static_cast<int>(scene.planes.size() + scene.fields.size()) * (static_cast<int>(s.core.size()) + 2);
        }
        pair_key_ = keys;
        gap.assign(static_cast<std::size_t>(keys) + scene.pairs.size(), INFINITY);
        touched.assign(gap.size(), 0);
        place_in_world_.resize(scene.solids.size()), moved_.resize(scene.solids.size());
        for (const HeightField& f : scene.fields) top_.push_back(*std::max_element(f.z.begin(), f.z.end()));
        face_offset_.resize(scene.solids.size()), edge_ends_.resize(scene.solids.size());
        for (std::size_t s = 0; s < scene.solids.size() && !scene.fields.empty(); ++s) {
            const Solid& solid = scene.solids[s];
            if (solid.body < 0) continue;
            for (const Vec3<double>& n : solid.faces) {
                double offset = -INFINITY;
                for (const Vec3<double>& p : solid.core) offset = larger(offset, dot(n, p));
                face_offset_[s].push_back(offset);
            }
            find_edges(solid, face_offset_[s], edge_ends_[s]);
        }
    }
    /// Least gap of every feature at the last look; which touched when the present step began.
    Vec<double> gap;
    Vec<char> touched;
    Vec<Found> found;

    /// Is it of two solids, or of a height field? These have one key, whichever of their points are near.
    bool of_pair(const Found& f) const { return f.surface >= static_cast<int>(scene_.planes.size()); }
    /// Everything nearer than `margin`.
    void look(const Placement<double>* X, double margin) {
        found.clear();
        for (std::size_t s = 0; s < scene_.solids.size(); ++s) moved_[s] = 0;
        const int surfaces = static_cast<int>(scene_.planes.size() + scene_.fields.size());
        for (std::size_t s = 0; s < scene_.solids.size(); ++s) {
            const Solid& solid = scene_.solids[s];
            if (solid.body < 0 || surfaces == 0) continue;
            const Placement<double>& P = X[solid.body];
            const Vec3<double> centre = place(P, solid.centre);
            const int features = static_cast<int>(solid.core.size()) + 2;
            for (std::size_t k = 0; k < scene_.planes.size(); ++k) {
                const Plane& plane = scene_.planes[k];
                const int key = first_key_[s] + static_cast<int>(k) * features;
                const double far = dot(plane.normal, centre) - plane.offset - solid.reach;
                if (far > margin) {
                    for (int i = 0; i < features; ++i) gap[static_cast<std::size_t>(key + i)] = far;
                    continue;
                }
                against_plane(solid, P, plane.normal, plane.offset, key, margin, static_cast<int>(k), plane.material, plane.velocity);
            }
            for (std::size_t k = 0; k < scene_.fields.size(); ++k)
                against_field(s, X, scene_.fields[k], top_[k], first_key_[s] + static_cast<int>(scene_.planes.size() + k) * features, margin, static_cast<int>(scene_.planes.size() + k));
        }
        for (std::size_t i = 0; i < scene_.pairs.size(); ++i) against_solid(i, X, margin);
    }

    /// Where two solids touch in one point: that point and its normal as they are at X, a little later.
    void follow(const Placement<double>* X) {
        std::fill(moved_.begin(), moved_.end(), 0);
        for (Found& f : found) {
            const int pair = f.key - pair_key_;
            if (pair < 0 || !f.touches) continue;
            int points = 0;
            for (const Found& g : found) points += g.key == f.key && g.touches;
            if (points > 1) continue;
            const Separation s = separation(static_cast<std::size_t>(pair), X);
            meet(static_cast<std::size_t>(pair), X, s);
            const Vec3<double> n = normal_at(f, X);
            if (meetings_.size() != 1 || dot(s.normal, n) < same_normal_near || norm(meetings_[0].at - surface_point(f, n, X)) > same_point_near) continue;  // another feature
            const double start = f.gap;
            f = found_at(static_cast<std::size_t>(pair), X, s, meetings_[0]);
            f.middle = f.gap, f.gap = start, f.touches = true;
        }
    }

private:
    static constexpr double same_normal_near = 0.99, same_point_near = 0.01;  // cosine, [m]: what changes more has jumped
    static const Placement<double>& world() {
        static const Placement<double> X{{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
        return X;
    }
    void add(const Solid& solid, const Vec3<double>& local, double radius, const Vec3<double>& normal, double g, int key, double margin, int surface, const Material& m, const Vec3<double>& velocity, double rim_radius = 0, const Vec3<double>& rim_axis = {0, 0, 0}) {
        gap[static_cast<std::size_t>(key)] = g;
        if (g < margin) found.push_back({key, solid.body, -1, solid.link, -1 - surface, surface, local, radius, rim_radius, rim_axis, normal, {}, {}, false, g, m, velocity, false});
    }
    void against_plane(const Solid& s, const Placement<double>& P, const Vec3<double>& n, double d, int key, double margin, int surface, const Material& m, const Vec3<double>& velocity) {
        const Vec3<double> n_b = tmul(P.R, n);
        const double d_b = d - dot(n, P.p);
        const int corners = static_cast<int>(s.core.size());
        gap[static_cast<std::size_t>(key + corners)] = gap[static_cast<std::size_t>(key + corners + 1)] = INFINITY;
        bool round = false;
        if (s.rim_radius > 0) {
            const Vec3<double> axis = s.rim[1] - s.rim[0];
            const double along = dot(n_b, axis) / norm(axis);
            const Vec3<double> down = axis * (along / norm(axis)) - n_b;
            const double length = norm(down);
            if (length > 1e-9) {
                for (int e = 0; e < 2; ++e) {
                    const Vec3<double> p = s.rim[e] + down * (s.rim_radius / length);
                    add(s, s.rim[e], 0, n, dot(n_b, p) - d_b, key + corners + e, margin, surface, m, velocity, s.rim_radius, axis * (1 / norm(axis)));
                }
                round = std::fabs(along) < 0.9;  // lying: the corners of the polygon in the rim are not needed
            }
        }
        for (int i = 0; i < corners; ++i) {
            if (round) gap[static_cast<std::size_t>(key + i)] = INFINITY;
            else add(s, s.core[static_cast<std::size_t>(i)], s.radius, n, dot(n_b, s.core[static_cast<std::size_t>(i)]) - d_b - s.radius, key + i, margin, surface, m, velocity);
        }
    }
    /// Corners, and under the key after theirs what of the field pokes into the solid between them.
    void against_field(std::size_t index, const Placement<double>* X, const HeightField& f, double top, int key, double margin, int surface) {
        const Solid& s = scene_.solids[index];
        const Placement<double>& P = X[s.body];
        const int count = static_cast<int>(s.core.size());
        const double far = place(P, s.centre).z - s.reach - top;
        for (int i = 0; i < count + 2; ++i) gap[static_cast<std::size_t>(key + i)] = far > margin ? far : INFINITY;
        if (far > margin) return;
        const Vec<Vec3<double>>& world_corners = corners(static_cast<int>(index), X);
        for (int i = 0; i < count; ++i) {
            const Vec3<double>& local = s.core[static_cast<std::size_t>(i)];
            const Vec3<double>& p = world_corners[static_cast<std::size_t>(i)];
            Vec3<double> n{0, 0, 1};
            double height = 0;
            const bool over = below(f, p, &n, &height);
            const double g = (p.z - height) * n.z - s.radius;
            if (s.radius == 0 || (over && p.z <= height)) {  // a sharp corner, or a ball whose centre is inside
                if (over) add(s, local, s.radius, n, g, key + i, margin, surface, f.material, f.velocity);
                continue;
            }
            near_ball(f, p, s.radius, margin);
            if (over && near_count_ == 0) gap[static_cast<std::size_t>(key + i)] = larger(g, margin);
            for (int k = near_count_; k-- > 0;)  // the nearest last: its gap is the key's
                add(s, local, s.radius, near_[k].normal, near_[k].gap, key + i, margin, surface, f.material, f.velocity);
        }
        auto between = [&](const Vec3<double>& local, const Vec3<double>& normal, double g) {
            const double least = gap[static_cast<std::size_t>(key + count)];
            add(s, local, s.radius, normal, g, key + count, margin, surface, f.material, f.velocity);
            gap[static_cast<std::size_t>(key + count)] = smaller(least, g);
        };
        if (count > 1) peaks_against(s, P, world_corners, f, index, margin, between);
        if (count > 1) ridges_against(s, P, world_corners, f, index, margin, between);
        for (int i = 0; i <= count; ++i) {  // points share these: one that is hardly inside must not hide how deep another goes
            double& g = gap[static_cast<std::size_t>(key + i)];
            if (g < 0 && g > -hardly_inside) g = 0;
        }
    }

    /// Points of a field that a box over x and y covers: first and last index of each.
    struct Cells { int i0, i1, j0, j1; };
    static Cells cells_under(const HeightField& f, double x0, double x1, double y0, double y1) {
        auto index = [](double at, int n) { return static_cast<int>(smaller(larger(at, 0.0), n - 1.0)); };
        return {index(std::floor((x0 - f.x0) / f.dx), f.nx), index(std::ceil((x1 - f.x0) / f.dx), f.nx), index(std::floor((y0 - f.y0) / f.dy), f.ny), index(std::ceil((y1 - f.y0) / f.dy), f.ny)};
    }
    static bool in_field(const HeightField& f, int i, int j) { return i >= 0 && j >= 0 && i < f.nx && j < f.ny; }
    static Vec3<double> peak(const HeightField& f, int i, int j) { return {f.x0 + i * f.dx, f.y0 + j * f.dy, f.z[static_cast<std::size_t>(i * f.ny + j)]}; }
    /// How a field falls away from a place on it, seen along d: falls (-1), level (0) or rises (1) towards w.
    static int rise(const Vec3<double>& d, const Vec3<double>& at, const Vec3<double>& w) {
        const Vec3<double> e = w - at;
        const double up = dot(d, e), level = 1e-9 * norm(d) * norm(e);
        return up > level ? 1 : up < -level ? -1 : 0;
    }
    /// Is the grid's point (i, j) highest of its surroundings along d? A point in the middle of a level line is not `alone`.
    struct Top { bool highest, alone; };
    static Top top_along(const HeightField& f, int i, int j, const Vec3<double>& d) {
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
    static void each_ridge(const HeightField& f, const Cells& c, const Visit& visit) {
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

    /// Places of the field to which a ball's centre c, above it, is nearer than to all around them: on faces, edges and
    /// peaks. The nearest few of distinct normals go into near_.
    void near_ball(const HeightField& f, const Vec3<double>& c, double radius, double margin) {
        near_count_ = 0;
        const double reach = radius + margin;
        auto consider = [&](const Vec3<double>& n, double distance) {
            if (!(distance < reach)) return;
            int k = 0, last = near_count_;
            for (; k < near_count_ && near_[k].gap <= distance - radius; ++k)
                if (dot(near_[k].normal, n) > same_normal) return;
            for (int m = k; m < near_count_; ++m)
                if (dot(near_[m].normal, n) > same_normal) { last = m; break; }
            if (k == most_near) return;
            for (int m = std::min(last, most_near - 1); m > k; --m) near_[m] = near_[m - 1];
            near_[k] = {n, distance - radius};
            if (last == near_count_) near_count_ = std::min(near_count_ + 1, most_near);
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
    /// Peaks of the field that a solid's faces, or a rod between its ends, are near: all that are highest along the normal.
    template <class Add>
    void peaks_against(const Solid& s, const Placement<double>& P, const Vec<Vec3<double>>& C, const HeightField& f, std::size_t index, double margin, const Add& add_point) {
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
                    const double g = dot(s.faces[k], local) - face_offset_[index][k];
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
    void ridges_against(const Solid& s, const Placement<double>& P, const Vec<Vec3<double>>& C, const HeightField& f, std::size_t index, double margin, const Add& add_point) {
        const double reach = s.radius + margin;
        for (const auto& [first, second] : edge_ends_[index]) {
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
                add_point(tmul(P.R, a + e * on_solid - P.p), n, g);
            });
        }
    }
    /// Ends of the solid's edges: corners that share two faces.
    static void find_edges(const Solid& s, const Vec<double>& offset, Vec<std::pair<std::size_t, std::size_t>>& out) {
        if (s.faces.empty() && s.core.size() == 2) out.push_back({0, 1});
        for (std::size_t i = 0; i < s.core.size(); ++i) {
            for (std::size_t j = i + 1; j < s.core.size(); ++j) {
                int shared = 0;
                for (std::size_t k = 0; k < s.faces.size(); ++k)
                    shared += smaller(dot(s.faces[k], s.core[i]), dot(s.faces[k], s.core[j])) > offset[k] - 1e-9 * s.reach;
                if (shared >= 2) out.push_back({i, j});
            }
        }
    }
    /// Height and normal of the field below a place; false outside.
    static bool below(const HeightField& f, const Vec3<double>& p, Vec3<double>* n, double* height) {
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
    const Vec<Vec3<double>>& corners(int solid, const Placement<double>* X) {
        const auto i = static_cast<std::size_t>(solid);
        if (!moved_[i]) {
            const Solid& s = scene_.solids[i];
            corners_in_world(s, s.body < 0 ? world() : X[s.body], place_in_world_[i]);
            moved_[i] = 1;
        }
        return place_in_world_[i];
    }
    void against_solid(std::size_t index, const Placement<double>* X, double margin) {
        const SolidPair& pair = scene_.pairs[index];
        const Solid &a = scene_.solids[static_cast<std::size_t>(pair.a)], &b = scene_.solids[static_cast<std::size_t>(pair.b)];
        const std::size_t key = static_cast<std::size_t>(pair_key_) + index;
        const Vec3<double> between = place(X[a.body], a.centre) - place(place_of(b, X), b.centre);
        const double reach = a.reach + b.reach + margin, d2 = dot(between, between);
        if (d2 > reach * reach) {
            gap[key] = std::sqrt(d2) - a.reach - b.reach;
            return;
        }
        const Separation s = separation(index, X);
        gap[key] = s.distance;
        if (s.distance > margin) return;
        meet(index, X, s);
        for (const Meeting& m : meetings_)
            if (m.gap <= margin) found.push_back(found_at(index, X, s, m));
    }
    static const Placement<double>& place_of(const Solid& s, const Placement<double>* X) { return s.body < 0 ? world() : X[s.body]; }
    /// How far the surfaces of a pair are apart, and along which normal.
    Separation separation(std::size_t index, const Placement<double>* X) {
        const SolidPair& pair = scene_.pairs[index];
        const Solid &a = scene_.solids[static_cast<std::size_t>(pair.a)], &b = scene_.solids[static_cast<std::size_t>(pair.b)];
        const Vec<Vec3<double>>&A = corners(pair.a, X), &B = corners(pair.b, X);
        const double r = a.radius + b.radius;
        if (r > 0) {
            const Nearest near = nearest_points(A, B);
            if (near.distance > 1e-9) return {near.distance - r, (near.on_a - near.on_b) * (1 / near.distance)};
        }
        if (a.faces.empty() && b.faces.empty()) {  // two balls or rods through each other
            const Vec3<double> between = place(X[a.body], a.centre) - place(place_of(b, X), b.centre);
            const double length = norm(between);
            return {-r, length > 1e-9 ? between * (1 / length) : Vec3<double>{0, 0, 1}};
        }
        Separation s = best_axis(a, X[a.body], A, b, place_of(b, X), B);
        s.distance -= r;
        return s;
    }
    void meet(std::size_t index, const Placement<double>* X, const Separation& s) {
        const SolidPair& pair = scene_.pairs[index];
        meetings_.clear();
        meetings(corners(pair.a, X), scene_.solids[static_cast<std::size_t>(pair.a)].radius, corners(pair.b, X), scene_.solids[static_cast<std::size_t>(pair.b)].radius, s.normal, feature_depth, meetings_);
    }
    Found found_at(std::size_t index, const Placement<double>* X, const Separation& s, const Meeting& m) const {
        const SolidPair& pair = scene_.pairs[index];
        const Solid &a = scene_.solids[static_cast<std::size_t>(pair.a)], &b = scene_.solids[static_cast<std::size_t>(pair.b)];
        const Placement<double>&Xa = X[a.body], &Xb = place_of(b, X);
        const Vec3<double> centre = m.at + s.normal * a.radius, other = m.at - s.normal * (m.gap + b.radius);
        const int surface = static_cast<int>(scene_.planes.size() + scene_.fields.size() + index);
        return {pair_key_ + static_cast<int>(index), a.body, b.body, a.link, b.link, surface, tmul(Xa.R, centre - Xa.p), a.radius, 0, {0, 0, 0}, s.normal, tmul(Xb.R, other - Xb.p), tmul(Xb.R, s.normal),
                a.radius > 0 && b.radius > 0, m.gap, pair.material, pair.velocity, false};
    }
    /// Corners this much higher than the lowest still belong to a face or an edge that meets another [m].
    static constexpr double feature_depth = 1e-3;
    const ContactScene& scene_;
    Vec<int> first_key_;
    int pair_key_ = 0;
    Vec<Vec<Vec3<double>>> place_in_world_;
    Vec<char> moved_;
    Vec<Meeting> meetings_;
    // height fields: how high they are; planes of the solids' faces and ends of their edges; what a ball is near
    static constexpr double hardly_inside = 1e-4;  // [m]
    static constexpr int most_near = 4;
    static constexpr double same_normal = 0.9999;  // as in a patch
    Vec<double> top_;
    Vec<Vec<double>> face_offset_;
    Vec<Vec<std::pair<std::size_t, std::size_t>>> edge_ends_;
    struct { Vec3<double> normal; double gap; } near_[most_near];
    int near_count_ = 0;
};

UKEMI_END
