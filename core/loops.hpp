// What closed loops depend on besides the state: paths to the world, shared freedoms, the skyline. Built once per
// structure; connecting and cutting build it anew.
#pragma once
#include <algorithm>

#include "types.hpp"

namespace ukemi {

/// Fills in rows, paths, pairs and the skyline of `loops.items` (whose joints and frames are given).
inline void compile_loops(const Tree& tree, Loops& loops) {
    loops.rows = loops.store = 0;
    loops.bodies.clear(), loops.freedoms.clear(), loops.pairs.clear(), loops.runs.clear(), loops.first.clear(), loops.offset.clear();
    for (Loop& loop : loops.items) {
        loop.row = loops.rows;
        loop.rows = loop.lin[0] + loop.lin[1] + loop.lin[2] + loop.rot;
        loops.rows += loop.rows;
        // bodies that feel the loop: all above one end or the other (children before parents)
        std::vector<int> path;
        int i = loop.a, j = loop.b;
        while (i != j) {
            int& farther = i > j ? i : j;
            path.push_back(farther);
            farther = tree.bodies[static_cast<std::size_t>(farther)].parent;
        }
        for (int k = i; k >= 0; k = tree.bodies[static_cast<std::size_t>(k)].parent) path.push_back(k);
        loop.path = static_cast<int>(loops.bodies.size());
        loop.dofs = static_cast<int>(loops.freedoms.size());
        for (int k : path) {
            const Body& b = tree.bodies[static_cast<std::size_t>(k)];
            loops.bodies.push_back(k);
            for (int d = 0; d < b.nv; ++d) loops.freedoms.push_back(b.iv + d);
        }
        loop.path_end = static_cast<int>(loops.bodies.size());
        loop.dofs_end = static_cast<int>(loops.freedoms.size());
        loop.store = loops.store;
        loops.store += (loop.rows + 3) / 4 * 4 * (loop.dofs_end - loop.dofs);
    }
    loops.touched = loops.bodies;
    std::sort(loops.touched.begin(), loops.touched.end());
    loops.touched.erase(std::unique(loops.touched.begin(), loops.touched.end()), loops.touched.end());
    // which loops share freedoms, and where: both lists run from the leaves to the root
    std::vector<int> first_loop(loops.items.size());
    std::vector<std::vector<int>> loops_of(static_cast<std::size_t>(tree.nv));  // per freedom, in order
    for (std::size_t s = 0; s < loops.items.size(); ++s) {
        const Loop& second = loops.items[s];
        first_loop[s] = static_cast<int>(s);
        std::vector<int> neighbours{static_cast<int>(s)};
        for (int k = second.dofs; k < second.dofs_end; ++k) {
            auto& users = loops_of[static_cast<std::size_t>(loops.freedoms[static_cast<std::size_t>(k)])];
            neighbours.insert(neighbours.end(), users.begin(), users.end());
            users.push_back(static_cast<int>(s));
        }
        std::sort(neighbours.begin(), neighbours.end());
        neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
        for (int f : neighbours) {
            const Loop& first = loops.items[static_cast<std::size_t>(f)];
            LoopPair pair{f, static_cast<int>(s), static_cast<int>(loops.runs.size()), 0};
            int i = first.dofs, j = second.dofs;
            while (i < first.dofs_end && j < second.dofs_end) {
                const int di = loops.freedoms[static_cast<std::size_t>(i)], dj = loops.freedoms[static_cast<std::size_t>(j)];
                if (di == dj) {
                    if (!(static_cast<int>(loops.runs.size()) > pair.runs && loops.runs.back().i + loops.runs.back().count == i - first.dofs &&
                          loops.runs.back().j + loops.runs.back().count == j - second.dofs))
                        loops.runs.push_back({i - first.dofs, j - second.dofs, 0});
                    ++loops.runs.back().count, ++i, ++j;
                } else {
                    // bodies stand farthest first and a body's freedoms upwards: compare by body, then step
                    const auto body_rank = [&](int d) { return std::upper_bound(tree.bodies.begin(), tree.bodies.end(), d, [](int x, const Body& b) { return x < b.iv; }) - tree.bodies.begin(); };
                    if (body_rank(di) > body_rank(dj)) ++i;
                    else ++j;
                }
            }
            pair.runs_end = static_cast<int>(loops.runs.size());
            loops.pairs.push_back(pair);
            first_loop[s] = std::min(first_loop[s], f);
        }
    }
    loops.envelope = 0;
    for (std::size_t s = 0; s < loops.items.size(); ++s) {
        const int first = loops.items[static_cast<std::size_t>(first_loop[s])].row;
        for (int r = loops.items[s].row; r < loops.items[s].row + loops.items[s].rows; ++r) {
            loops.first.push_back(first);
            loops.offset.push_back(loops.envelope - first);
            loops.envelope += r - first + 1;
        }
    }
}

}  // namespace ukemi
