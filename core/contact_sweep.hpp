// Which pairs of solids are near each other: their boxes along the axes, in the order in which they begin along x
// (sweep and prune; Baraff 1992). The order hardly changes from one sweep to the next, so that sorting costs as much as
// there are solids, and pairs are only looked at where the boxes overlap along x. The sweep takes boxes with room to
// move: until one leaves its own, no other pairs can be near.
#pragma once
#include <bit>
#include <cstdint>

#include "contact_geometry.hpp"

UKEMI_BEGIN

class Sweep {
public:
    explicit Sweep(const ContactScene& scene) : boxes_(scene.solids.size()), pair_of_(scene.solids.size() * scene.solids.size(), -1), found_((scene.pairs.size() + 63) / 64) {
        for (std::size_t i = 0; i < scene.pairs.size(); ++i) {
            const SolidPair& p = scene.pairs[i];
            partners_.push_back({p.a, p.b, static_cast<int>(i)});
            pair_of_[place(p.a, p.b)] = pair_of_[place(p.b, p.a)] = static_cast<int>(i);
        }
        Vec<char> paired(scene.solids.size(), 0);
        for (const Partner& p : partners_) paired[static_cast<std::size_t>(p.first)] = paired[static_cast<std::size_t>(p.second)] = 1;
        for (std::size_t s = 0; s < scene.solids.size(); ++s)
            if (paired[s]) rooms_.push_back({static_cast<int>(s), {{NAN, NAN, NAN}, {NAN, NAN, NAN}}});
    }
    /// Every pair whose boxes overlap is among `pairs`, which ascend; `near` tells which.
    struct Partner { int first, second, pair; };
    Vec<Partner> pairs;
    bool near(const Partner& p) const { return overlap(box(p.first), box(p.second)); }

    struct Box { V3 low, high; };
    /// Takes the boxes of all solids that have partners; true if one has left its room, so that `find` must be called.
    template <class BoxOf> bool move(const BoxOf& box_of) {
        bool left = false;
        for (const Room& r : rooms_) {
            const Box& b = boxes_[static_cast<std::size_t>(r.solid)] = box_of(r.solid);
            left |= !(b.low.x >= r.box.low.x && b.low.y >= r.box.low.y && b.low.z >= r.box.low.z && b.high.x <= r.box.high.x && b.high.y <= r.box.high.y && b.high.z <= r.box.high.z);
        }
        return left;
    }
    void find() {
        constexpr V3 more{room, room, room};
        for (Room& r : rooms_) r.box = {box(r.solid).low - more, box(r.solid).high + more};
        for (std::size_t i = 1; i < rooms_.size(); ++i) {  // by insertion: it is almost in order
            const Room r = rooms_[i];
            std::size_t k = i;
            for (; k > 0 && rooms_[k - 1].box.low.x > r.box.low.x; --k) rooms_[k] = rooms_[k - 1];
            rooms_[k] = r;
        }
        std::fill(found_.begin(), found_.end(), 0);
        for (std::size_t i = 0; i < rooms_.size(); ++i) {
            const Room& one = rooms_[i];
            for (std::size_t k = i + 1; k < rooms_.size() && rooms_[k].box.low.x <= one.box.high.x; ++k)
                if (const int pair = pair_of_[place(one.solid, rooms_[k].solid)]; pair >= 0 && overlap(one.box, rooms_[k].box)) found_[static_cast<std::size_t>(pair) / 64] |= std::uint64_t{1} << (pair % 64);
        }
        pairs.clear();
        for (std::size_t w = 0; w < found_.size(); ++w)
            for (std::uint64_t left = found_[w]; left; left &= left - 1) pairs.push_back(partners_[64 * w + static_cast<std::size_t>(std::countr_zero(left))]);
    }

private:
    static constexpr double room = 0.05;  // for a solid to move in before the next sweep [m]
    struct Room { int solid; Box box; };
    const Box& box(int solid) const { return boxes_[static_cast<std::size_t>(solid)]; }
    static bool overlap(const Box& one, const Box& other) {
        return !((one.low.x > other.high.x) | (other.low.x > one.high.x) | (one.low.y > other.high.y) | (other.low.y > one.high.y) | (one.low.z > other.high.z) | (other.low.z > one.high.z));
    }
    std::size_t place(int a, int b) const { return static_cast<std::size_t>(a) * boxes_.size() + static_cast<std::size_t>(b); }

    Vec<Box> boxes_;
    Vec<Partner> partners_;     // as the scene has them
    Vec<int> pair_of_;          // of every two solids: which of these they are, -1: they may pass through each other
    Vec<std::uint64_t> found_;  // a bit for each of these
    Vec<Room> rooms_;           // in the order in which they begin along x
};

UKEMI_END
