// std::vector of an instruction-set level: its allocator lives in the level's namespace, so that the code of its functions
// is never merged with that of another level.
#pragma once
#include <memory>
#include <vector>

#include "level.hpp"

UKEMI_BEGIN

template <class T> struct LevelAllocator : std::allocator<T> {
    LevelAllocator() = default;
    template <class U> LevelAllocator(const LevelAllocator<U>&) {}
    template <class U> struct rebind { using other = LevelAllocator<U>; };
};
template <class T> using Vec = std::vector<T, LevelAllocator<T>>;

UKEMI_END
