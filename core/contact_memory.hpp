// What contacts, joint stops and loops did in the last step: the first hypotheses of the next one, and the forces it starts from.
#pragma once
#include "contact_island.hpp"

UKEMI_BEGIN

class ContactMemory {
public:
    /// A contact: its hypothesis, its points (`count` of `points`) and its wrench in the world; `place`: see `place_of`.
    struct Contact {
        Grip grip;
        Shape2 kind;
        int i, j, pivot;
        bool example;
        int count;
        std::size_t first;
        Vec3<double> at, place, force, moment;
    };
    struct Stop { int stop; double sign, w; };

    void keep(const IslandSystem& system, double duration) {
        contacts_.clear(), pairs_.clear(), of_.clear(), stops_.clear(), points_.clear();
        for (std::size_t i = 0; i < system.patch_count; ++i) {
            const Patch& p = system.patches[i];
            of_.push_back(static_cast<int>(i)), pairs_.push_back(pair(p));
            contacts_.push_back({p.grip, p.kind, p.i, p.j, p.pivot, p.example && p.grip == Grip::stick, static_cast<int>(p.points.size()), points_.size(), p.frame.p, place_of(p),
                                 p.frame.R * Vec3<double>{p.w[0], p.w[1], p.w[2]}, p.frame.R * Vec3<double>{p.w[3], p.w[4], p.w[5]}});
            points_.insert(points_.end(), p.points.begin(), p.points.end());
        }
        for (const StopState& s : system.stops) stops_.push_back({s.stop, s.sign, s.w});
        loops_ = system.loop_w;
        duration_ = duration;
    }
    /// Impulses as they would be over a step of another duration.
    void scale_to(double duration) {
        const double scale = duration / duration_;
        if (scale == 1) return;
        for (Contact& c : contacts_) c.force = c.force * scale, c.moment = c.moment * scale;
        for (PatchPoint& c : points_) c.fx *= scale, c.fy *= scale, c.pressure *= scale;
        for (Stop& s : stops_) s.w *= scale;
        for (double& w : loops_) w *= scale;
        duration_ = duration;
    }

    /// Which of the contacts the patches go on with: of one pair of links each goes on as the patch that is nearest now.
    void match(const IslandSystem& system) {
        of_.assign(system.patch_count, -1), now_.clear();
        for (std::size_t i = 0; i < system.patch_count; ++i) now_.push_back(pair(system.patches[i]));
        for (std::size_t k = 0; k < contacts_.size(); ++k) {
            int nearest = -1;
            double least = INFINITY;
            for (auto at = now_.begin(); (at = std::find(at, now_.end(), pairs_[k])) != now_.end(); ++at) {
                const auto i = at - now_.begin();
                const double d = distance(static_cast<int>(k), system.patches[static_cast<std::size_t>(i)]);
                if (d < least) least = d, nearest = static_cast<int>(i);
            }
            if (nearest < 0) continue;
            int& of = of_[static_cast<std::size_t>(nearest)];
            if (of < 0 || least < distance(of, system.patches[static_cast<std::size_t>(nearest)])) of = static_cast<int>(k);
        }
    }
    /// Of the patch with this index; nullptr: it did not touch, or what did goes on as another.
    const Contact* of(int patch) const {
        const int k = of_[static_cast<std::size_t>(patch)];
        return k < 0 ? nullptr : &contacts_[static_cast<std::size_t>(k)];
    }
    const Stop* of(const StopState& state) const {
        for (const Stop& s : stops_)
            if (s.stop == state.stop && s.sign == state.sign) return &s;
        return nullptr;
    }
    const PatchPoint& point(const Contact& c, std::size_t i) const { return points_[c.first + i]; }
    const Vec<double>& loops() const { return loops_; }

private:
    static std::uint64_t pair(const Patch& p) { return static_cast<std::uint64_t>(static_cast<std::uint32_t>(p.link_a)) << 32 | static_cast<std::uint32_t>(p.link_b); }
    /// Tells patches of one pair apart: where it is, and, a little above, what it faces.
    static Vec3<double> place_of(const Patch& p) { return p.frame.p + Vec3<double>{p.frame.R.xz, p.frame.R.yz, p.frame.R.zz} * 0.05; }
    double distance(int k, const Patch& p) const {
        const Vec3<double> d = contacts_[static_cast<std::size_t>(k)].place - place_of(p);
        return dot(d, d);
    }
    Vec<std::uint64_t> pairs_, now_;  // whose contacts these are, and whose the patches are
    Vec<int> of_;                     // of each patch: its contact, -1: none
    Vec<Contact> contacts_;
    Vec<Stop> stops_;
    Vec<PatchPoint> points_;
    Vec<double> loops_;
    double duration_ = 1;
};

UKEMI_END
