// Which pairs of solids are near each other: their boxes along the axes, in the order in which they begin along x
// (sweep and prune; Baraff 1992). The order hardly changes from step to step, so that sorting costs as much as there
// are solids, and pairs are only looked at where the boxes overlap along x.
#pragma once
#include "contact_geometry.hpp"

UKEMI_BEGIN

class Sweep {
public:
    explicit Sweep(const ContactScene& scene) : boxes_(scene.solids.size()), begin_(scene.solids.size() + 1, 0) {
        for (std::size_t i = 0; i < scene.pairs.size(); ++i) {
            const SolidPair& p = scene.pairs[i];
            partners_.push_back({std::min(p.a, p.b), std::max(p.a, p.b), static_cast<int>(i)});
        }
        std::sort(partners_.begin(), partners_.end(), [](const Partner& one, const Partner& other) { return std::pair(one.first, one.second) < std::pair(other.first, other.second); });
        Vec<char> paired(scene.solids.size(), 0);
        for (const Partner& p : partners_) ++begin_[static_cast<std::size_t>(p.first) + 1], paired[static_cast<std::size_t>(p.first)] = paired[static_cast<std::size_t>(p.second)] = 1;
        for (std::size_t s = 0; s < scene.solids.size(); ++s) {
            begin_[s + 1] += begin_[s];
            if (paired[s]) order_.push_back(static_cast<int>(s));
        }
    }
    /// Solids that have partners, and the box of each.
    const Vec<int>& solids() const { return order_; }
    void set(int solid, const V3& low, const V3& high) { boxes_[static_cast<std::size_t>(solid)] = {low, high}; }

    /// Pairs whose boxes overlap, ascending.
    Vec<int> pairs;
    void find() {
        pairs.clear();
        for (std::size_t i = 1; i < order_.size(); ++i) {  // by insertion: it is almost in order
            const int solid = order_[i];
            std::size_t k = i;
            for (; k > 0 && box(order_[k - 1]).low.x > box(solid).low.x; --k) order_[k] = order_[k - 1];
            order_[k] = solid;
        }
        for (std::size_t i = 0; i < order_.size(); ++i) {
            const Box& one = box(order_[i]);
            for (std::size_t k = i + 1; k < order_.size() && box(order_[k]).low.x <= one.high.x; ++k) {
                const Box& other = box(order_[k]);
                if (one.low.y > other.high.y || other.low.y > one.high.y || one.low.z > other.high.z || other.low.z > one.high.z) continue;
                const int pair = pair_of(order_[i], order_[k]);
                if (pair >= 0) pairs.push_back(pair);
            }
        }
        std::sort(pairs.begin(), pairs.end());
    }

private:
    struct Box { V3 low, high; };
    struct Partner { int first, second, pair; };
    const Box& box(int solid) const { return boxes_[static_cast<std::size_t>(solid)]; }
    /// -1: these two may pass through each other.
    int pair_of(int a, int b) const {
        const int first = std::min(a, b), second = std::max(a, b);
        const auto end = partners_.begin() + begin_[static_cast<std::size_t>(first) + 1];
        const auto found = std::lower_bound(partners_.begin() + begin_[static_cast<std::size_t>(first)], end, second, [](const Partner& p, int x) { return p.second < x; });
        return found != end && found->second == second ? found->pair : -1;
    }

    Vec<Box> boxes_;
    Vec<Partner> partners_;  // by their solids
    Vec<int> begin_, order_;
};

UKEMI_END
