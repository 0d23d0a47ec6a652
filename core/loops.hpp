// What closed loops depend on besides the state: paths to the world, shared freedoms, the skyline. Built once per
// structure; connecting and cutting build it anew.
#pragma once
#include <algorithm>

#include "types.hpp"

namespace ukemi {

namespace compiling {

inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Adds the bodies that feel a block whose ends are given: all from an end to the world, children before parents.
inline void add_path(const Tree& tree, Loops& loops, int* ends, int count) {
    RowBlock& block = loops.blocks.back();
    block.path = static_cast<int>(loops.bodies.size());
    block.dofs = static_cast<int>(loops.freedoms.size());
    for (;;) {
        const int farthest = *std::max_element(ends, ends + count);
        if (farthest < 0) break;
        const Body& b = tree.bodies[at(farthest)];
        loops.bodies.push_back(farthest);
        for (int d = 0; d < b.nv; ++d) loops.freedoms.push_back(b.iv + d);
        for (int k = 0; k < count; ++k)
            if (ends[k] == farthest) ends[k] = b.parent;
    }
    block.path_end = static_cast<int>(loops.bodies.size());
    block.dofs_end = static_cast<int>(loops.freedoms.size());
    block.store = loops.store;
    loops.store += block.tiles * (block.dofs_end - block.dofs);
}

/// The freedoms that two blocks share, as runs: both paths stand farthest first.
inline void add_pair(const Tree& tree, Loops& loops, int f, int s) {
    const RowBlock &first = loops.blocks[at(f)], &second = loops.blocks[at(s)];
    const int begin = static_cast<int>(loops.runs.size());
    int i = 0, j = 0;  // freedoms passed
    for (int k = first.path, l = second.path; k < first.path_end && l < second.path_end;) {
        const int a = loops.bodies[at(k)], b = loops.bodies[at(l)];
        const int na = tree.bodies[at(a)].nv, nb = tree.bodies[at(b)].nv;
        if (a == b) {
            const bool goes_on = static_cast<int>(loops.runs.size()) > begin && loops.runs.back().i + loops.runs.back().count == i && loops.runs.back().j + loops.runs.back().count == j;
            if (!goes_on) loops.runs.push_back({i, j, 0});
            loops.runs.back().count += na;
        }
        if (a >= b) i += na, ++k;
        if (b >= a) j += nb, ++l;
    }
    loops.pairs.push_back({f, s, begin, static_cast<int>(loops.runs.size())});
}

}  // namespace compiling

/// Fills in blocks, paths, pairs and the skyline of `loops.items` and `loops.ties` (whose joints, frames and terms are
/// given), for packs of so many lanes.
inline void compile_loops(const Tree& tree, int lanes, Loops& loops) {
    using compiling::at;
    loops.rows = loops.store = loops.tile_count = 0;
    loops.blocks.clear(), loops.bodies.clear(), loops.freedoms.clear(), loops.pairs.clear(), loops.runs.clear(), loops.tiles.clear();
    int tile_rows = 0;
    auto add_block = [&](int rows, int* ends, int count) {
        const int tiles = (rows + lanes - 1) / lanes;
        loops.blocks.push_back({loops.rows, rows, 0, 0, 0, 0, 0, tile_rows, tiles});
        loops.rows += rows, tile_rows += tiles;
        compiling::add_path(tree, loops, ends, count);
    };
    for (const Loop& loop : loops.items) {
        int ends[2] = {loop.a, loop.b};
        add_block(loop.lin[0] + loop.lin[1] + loop.lin[2] + loop.rot, ends, 2);
    }
    std::vector<int> ends;
    for (const Tie& tie : loops.ties) {
        ends.clear();
        for (int t = tie.term; t < tie.term_end; ++t) ends.push_back(loops.terms[at(t)].body);
        add_block(1, ends.data(), static_cast<int>(ends.size()));
        const RowBlock& block = loops.blocks.back();
        for (int t = tie.term; t < tie.term_end; ++t) {
            TieTerm& term = loops.terms[at(t)];
            const auto begin = loops.freedoms.begin() + block.dofs;
            term.freedom = static_cast<int>(std::find(begin, loops.freedoms.begin() + block.dofs_end, term.v) - begin);
        }
    }
    loops.touched = loops.bodies;
    std::sort(loops.touched.begin(), loops.touched.end());
    loops.touched.erase(std::unique(loops.touched.begin(), loops.touched.end()), loops.touched.end());

    // blocks that share a body, found through the users of each body so far (a linked list)
    struct User { int block, before; };
    std::vector<User> users;
    std::vector<int> last(tree.bodies.size(), -1);
    std::vector<int> neighbours;
    for (int s = 0; s < static_cast<int>(loops.blocks.size()); ++s) {
        const RowBlock& block = loops.blocks[at(s)];
        neighbours.assign(1, s);
        for (int k = block.path; k < block.path_end; ++k) {
            int& user = last[at(loops.bodies[at(k)])];
            for (int u = user; u >= 0; u = users[at(u)].before) neighbours.push_back(users[at(u)].block);
            users.push_back({s, user});
            user = static_cast<int>(users.size()) - 1;
        }
        std::sort(neighbours.begin(), neighbours.end());
        neighbours.erase(std::unique(neighbours.begin(), neighbours.end()), neighbours.end());
        for (int f : neighbours) compiling::add_pair(tree, loops, f, s);
        const int first = loops.blocks[at(neighbours.front())].tile;
        for (int g = 0; g < block.tiles; ++g) {
            loops.tiles.push_back({block.row + g * lanes, std::min(lanes, block.rows - g * lanes), first, loops.tile_count - first});
            loops.tile_count += block.tile + g - first + 1;
        }
    }
}

}  // namespace ukemi
