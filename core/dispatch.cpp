// Which instruction-set levels are compiled in, and which of them this processor runs.
#include "kernels.hpp"

#define UKEMI_DECLARE(level) extern const ukemi::Kernels ukemi_kernels_##level;
UKEMI_DECLARE(base)
#ifdef UKEMI_HAS_v2
UKEMI_DECLARE(v2)
#endif
#ifdef UKEMI_HAS_v3
UKEMI_DECLARE(v3)
#endif

namespace ukemi {

std::size_t available_levels(const Kernels** levels, std::size_t capacity) {
    std::size_t n = 0;
    auto add = [&](const Kernels& k) { if (n < capacity) levels[n++] = &k; };
    add(ukemi_kernels_base);
#ifdef UKEMI_HAS_v2
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt")) add(ukemi_kernels_v2);
#endif
#ifdef UKEMI_HAS_v3
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) add(ukemi_kernels_v3);
#endif
    return n;
}

namespace {
const Kernels* chosen = nullptr;
}

const Kernels& kernels() {
    if (!chosen) {
        const Kernels* levels[8];
        chosen = levels[available_levels(levels, 8) - 1];
    }
    return *chosen;
}

bool choose_level(const char* name) {
    const Kernels* levels[8];
    const std::size_t n = available_levels(levels, 8);
    for (std::size_t i = 0; i < n; ++i) {
        const char *a = levels[i]->name, *b = name;
        while (*a && *a == *b) ++a, ++b;
        if (*a == *b) return chosen = levels[i], true;
    }
    return false;
}

}  // namespace ukemi
