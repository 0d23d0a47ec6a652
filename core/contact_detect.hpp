// Which points are near what: solids against planes, height fields and each other.
#pragma once
#include "contact_field.hpp"
#include "contact_sweep.hpp"

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
    double middle = NAN;     ///< its gap where `follow` looked again,
    Vec3<double> moved{0, 0, 0};  ///< and how far its place on a had moved on [world axes]
    Vec3<double> axis_b{0, 0, 0}; ///< not zero: b is a cylinder, `local_b` a place on its axis, and the normal goes round it with a
};

/// The normal when the bodies stand at X.
inline Vec3<double> normal_at(const Found& f, const Placement<double>* X) {
    if (f.b < 0) return f.normal;
    if (dot(f.axis_b, f.axis_b) > 0) {
        const Vec3<double> axis = X[f.b].R * f.axis_b, d = place(X[f.a], f.local) - place(X[f.b], f.local_b), out = d - axis * dot(d, axis);
        const double along = dot(f.axis_b, f.normal_b), length = norm(out);
        if (length > 1e-9) return axis * along + out * (std::sqrt(1 - along * along) / length);
    }
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
    Detector(const ContactScene& scene) : scene_(scene), sweep_(scene) {
        int keys = 0;
        for (const Solid& s : scene.solids) {
            first_key_.push_back(keys);
            if (s.body >= 0) keys += static_cast<int>(scene.planes.size() + scene.fields.size()) * (static_cast<int>(s.core.size()) + 2);
        }
        pair_key_ = keys;
        gap.assign(static_cast<std::size_t>(keys) + scene.pairs.size(), INFINITY);
        touched.assign(gap.size(), 0);
        apart_.assign(scene.pairs.size(), {0, 0, 0});
        place_in_world_.resize(scene.solids.size()), moved_.resize(scene.solids.size());
        for (const HeightField& f : scene.fields) top_.push_back(*std::max_element(f.z.begin(), f.z.end()));
        over_fields_.resize(scene.solids.size());
        for (std::size_t i = 0; i < scene.solids.size() && !scene.fields.empty(); ++i)
            if (scene.solids[i].body >= 0) over_fields_[i] = SolidOverField(scene.solids[i]);
    }
    /// Least gap of every feature at the last look (where beyond the margin, at most that); which touched when the present step began.
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
            if (solid.body < 0 || surfaces == 0 || solid.through_ground) continue;
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
        const bool left = sweep_.move([&](int solid) { return box_of(solid, X, 3 * margin); });
        for (const Sweep::Partner& p : sweep_.pairs) gap[static_cast<std::size_t>(pair_key_ + p.pair)] = INFINITY;
        if (left) sweep_.find();
        for (const Sweep::Partner& p : sweep_.pairs)
            if (sweep_.near(p)) against_solid(p, X, margin);
    }

    /// Where two solids touch in one point: that point and its normal as they are at X, a little later.
    void follow(const Placement<double>* X) {
        std::fill(moved_.begin(), moved_.end(), 0);
        for (auto first = found.begin(), next = first; first != found.end(); first = next) {  // points of a pair stand together
            const int key = first->key;
            next = std::find_if(first, found.end(), [key](const Found& f) { return f.key != key; });
            auto touches = [](const Found& f) { return f.touches; };
            if (key >= pair_key_ && std::count_if(first, next, touches) == 1) follow(*std::find_if(first, next, touches), X);
        }
    }

private:
    void follow(Found& f, const Placement<double>* X) {
        const auto pair = static_cast<std::size_t>(f.key - pair_key_);
        const Separation s = separation(pair, X);
        meet(pair, X, s);
        const Vec<Meeting>& points = meetings_.found;
        if (points.empty()) return;
        const Vec3<double> n = normal_at(f, X), before = place(X[f.a], f.local);
        const Meeting& m = *std::min_element(points.begin(), points.end(), [](const Meeting& one, const Meeting& other) { return one.gap < other.gap; });
        const double turned = norm(s.normal - n), moved = norm(m.at - surface_point(f, n, X)), start = f.gap;
        if (turned > jumps || moved > jumps_by || (turned < stays && moved < stays)) return;
        f = found_at(pair, X, s, m);
        f.middle = f.gap, f.gap = start, f.touches = true, f.moved = place(X[f.a], f.local) - before;
    }
    static constexpr double jumps = 0.1, jumps_by = 0.05, stays = 1e-7;  // [rad], [m], both: another feature; a corner on a face
    static const Placement<double>& world() {
        static const Placement<double> X{{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
        return X;
    }
    void add(const Solid& solid, const Vec3<double>& local, double radius, const Vec3<double>& normal, double g, int key, double margin, int surface, const Material& m, const Vec3<double>& velocity, double rim_radius = 0, const Vec3<double>& rim_axis = {0, 0, 0}) {
        gap[static_cast<std::size_t>(key)] = g;
        if (g < margin) found.push_back({key, solid.body, -1, solid.link, -1 - surface, surface, local, radius, rim_radius, rim_axis, normal, {}, {}, false, g, solid.own_ground ? solid.on_ground : m, velocity, false});
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
            const bool over = height_below(f, p, &n, &height);
            const double g = (p.z - height) * n.z - s.radius;
            if (s.radius == 0 || (over && p.z <= height)) {  // a sharp corner, or a ball whose centre is inside
                if (over) add(s, local, s.radius, n, g, key + i, margin, surface, f.material, f.velocity);
                continue;
            }
            const NearBall near(f, p, s.radius, margin);
            if (over && near.count == 0) gap[static_cast<std::size_t>(key + i)] = larger(g, margin);
            for (int k = near.count; k-- > 0;)  // the nearest last: its gap is the key's
                add(s, local, s.radius, near.at[k].normal, near.at[k].gap, key + i, margin, surface, f.material, f.velocity);
        }
        auto between = [&](const Vec3<double>& local, const Vec3<double>& normal, double g) {
            const double least = gap[static_cast<std::size_t>(key + count)];
            add(s, local, s.radius, normal, g, key + count, margin, surface, f.material, f.velocity);
            gap[static_cast<std::size_t>(key + count)] = smaller(least, g);
        };
        if (count > 1) over_fields_[index].peaks(s, P, world_corners, f, margin, between);
        if (count > 1) over_fields_[index].ridges(s, P, world_corners, f, margin, between);
        for (int i = 0; i <= count; ++i) {  // points share these: one that is hardly inside must not hide how deep another goes
            double& g = gap[static_cast<std::size_t>(key + i)];
            if (g < 0 && g > -hardly_inside) g = 0;
        }
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
    /// Boxes of solids nearer than `margin` overlap; of one with many corners the box of its ball.
    Sweep::Box box_of(int solid, const Placement<double>* X, double margin) {
        constexpr std::size_t few = 8;
        const Solid& s = scene_.solids[static_cast<std::size_t>(solid)];
        Vec3<double> low, high;
        double around = 0.5 * margin;
        if (s.core.size() > few) {
            low = high = place(place_of(s, X), s.centre), around += s.reach;
        } else {
            const Vec<Vec3<double>>& points = corners(solid, X);
            low = high = points[0], around += s.radius;
            for (const Vec3<double>& p : points) low = {smaller(low.x, p.x), smaller(low.y, p.y), smaller(low.z, p.z)}, high = {larger(high.x, p.x), larger(high.y, p.y), larger(high.z, p.z)};
        }
        const Vec3<double> more{around, around, around};
        return {low - more, high + more};
    }
    void against_solid(const Sweep::Partner& pair, const Placement<double>* X, double margin) {
        const auto index = static_cast<std::size_t>(pair.pair);
        double& least = gap[static_cast<std::size_t>(pair_key_) + index];
        least = apart_along(pair.first, pair.second, X, apart_[index]);  // most pairs stay apart along the same direction: no need to know how far
        if (least > margin) return;
        const Separation s = separation(index, X);
        least = s.distance, apart_[index] = s.normal;
        if (s.distance > margin) return;
        meet(index, X, s);
        for (const Meeting& m : meetings_.found)
            if (m.gap <= margin) found.push_back(found_at(index, X, s, m));
    }
    static const Placement<double>& place_of(const Solid& s, const Placement<double>* X) { return s.body < 0 ? world() : X[s.body]; }
    /// How far the surfaces of two solids are apart along the unit vector d, from the second to the first: at most their distance.
    double apart_along(int first, int second, const Placement<double>* X, const Vec3<double>& d) {
        const Solid &a = scene_.solids[static_cast<std::size_t>(first)], &b = scene_.solids[static_cast<std::size_t>(second)];
        return range_along(a, X[a.body], corners(first, X), d).low - range_along(b, place_of(b, X), corners(second, X), d).high - (a.radius + b.radius);
    }
    /// How far the surfaces of a pair are apart, and along which normal.
    Separation separation(std::size_t index, const Placement<double>* X) {
        const SolidPair& pair = scene_.pairs[index];
        const Solid &a = scene_.solids[static_cast<std::size_t>(pair.a)], &b = scene_.solids[static_cast<std::size_t>(pair.b)];
        const Vec<Vec3<double>>&A = corners(pair.a, X), &B = corners(pair.b, X);
        const double r = a.radius + b.radius;
        if (r > 0 && (a.rim_radius > 0 || b.rim_radius > 0)) {  // not by corners, which turn: the gap would jump
            const Vec3<double> d = nearest_direction(a, X[a.body], A, b, place_of(b, X), B, 0.0);
            if (dot(d, d) > 0) return {apart_along(pair.a, pair.b, X, d), d};
        } else if (r > 0) {
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
    /// Turns the corners of cylinders towards the other solid; n goes from b to a.
    void face_each_other(const SolidPair& pair, const Placement<double>* X, const Vec3<double>& n) {
        const Solid &a = scene_.solids[static_cast<std::size_t>(pair.a)], &b = scene_.solids[static_cast<std::size_t>(pair.b)];
        turn_corners(a, X[a.body], -n, place_in_world_[static_cast<std::size_t>(pair.a)]);
        turn_corners(b, place_of(b, X), n, place_in_world_[static_cast<std::size_t>(pair.b)]);
    }
    void meet(std::size_t index, const Placement<double>* X, const Separation& s) {
        const SolidPair& pair = scene_.pairs[index];
        face_each_other(pair, X, s.normal);
        meetings_.find(corners(pair.a, X), scene_.solids[static_cast<std::size_t>(pair.a)].radius, corners(pair.b, X), scene_.solids[static_cast<std::size_t>(pair.b)].radius, s.normal, feature_depth);
    }
    Found found_at(std::size_t index, const Placement<double>* X, const Separation& s, const Meeting& m) const {
        const SolidPair& pair = scene_.pairs[index];
        const Solid &a = scene_.solids[static_cast<std::size_t>(pair.a)], &b = scene_.solids[static_cast<std::size_t>(pair.b)];
        const Placement<double>&Xa = X[a.body], &Xb = place_of(b, X);
        const Vec3<double> centre = m.at + s.normal * a.radius;
        const Vec3<double> other = m.at - s.normal * (m.gap + b.radius);
        const int surface = static_cast<int>(scene_.planes.size() + scene_.fields.size() + index);
        Found f{pair_key_ + static_cast<int>(index), a.body, b.body, a.link, b.link, surface, tmul(Xa.R, centre - Xa.p), a.radius, 0, {0, 0, 0}, s.normal, tmul(Xb.R, other - Xb.p), tmul(Xb.R, s.normal),
                a.radius > 0 && b.radius > 0, m.gap, pair.material, pair.velocity, false};
        if (a.radius > 0) go_round(f, b);
        if (a.rim_radius <= 0) return f;
        // where a cylinder's rim or side bears, it goes on round: as it does on a plane
        const Vec3<double> along = a.rim[1] - a.rim[0];
        Found rolling = f;
        rolling.rim_radius = a.rim_radius, rolling.rim_axis = along * (1 / norm(along));
        rolling.local = a.rim[0] + rolling.rim_axis * dot(rolling.rim_axis, f.local - a.rim[0]);
        if (std::fabs(dot(tmul(Xa.R, s.normal), rolling.rim_axis)) < 1e-3) go_round(rolling, b);  // it lies on b
        return norm(surface_point(rolling, s.normal, X) - m.at) < 1e-7 ? rolling : f;
    }
    /// A centre of a against the side or rim of a cylinder: its turning about its own axis takes the normal nowhere.
    static void go_round(Found& f, const Solid& b) {
        if (b.rim_radius <= 0 || b.body < 0) return;
        const Vec3<double> along = b.rim[1] - b.rim[0], axis = along * (1 / norm(along));
        if (std::fabs(dot(axis, f.normal_b)) > 1 - 1e-6) return;  // on its end
        f.axis_b = axis, f.local_b = b.rim[0] + axis * dot(axis, f.local_b - b.rim[0]);
    }
    /// Corners this much higher than the lowest still belong to a face or an edge that meets another [m].
    static constexpr double feature_depth = 1e-3;
    const ContactScene& scene_;
    Sweep sweep_;
    Vec<int> first_key_;
    int pair_key_ = 0;
    Vec<Vec<Vec3<double>>> place_in_world_;
    Vec<char> moved_;
    Vec<Vec3<double>> apart_;  // of each pair: the normal when last seen, zero before
    Meetings meetings_;
    static constexpr double hardly_inside = 1e-4;  // [m]
    Vec<double> top_;  // of each height field
    Vec<SolidOverField> over_fields_;
};

UKEMI_END
