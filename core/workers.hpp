// Scratch memory per thread, and batches shared out among threads.
#pragma once
#include <atomic>
#include <cstdlib>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "kernels.hpp"

namespace ukemi {

/// Memory that only grows, one piece per thread: nothing is allocated once a model has been used.
class Scratch {
public:
    void* get(std::size_t bytes) {
        if (bytes > size_) {
            ::operator delete(memory_, std::align_val_t(64));
            memory_ = nullptr, size_ = 0;
            memory_ = ::operator new(bytes, std::align_val_t(64));
            size_ = bytes;
        }
        return memory_;
    }
    ~Scratch() { ::operator delete(memory_, std::align_val_t(64)); }
    static Scratch& of_this_thread() {
        thread_local Scratch scratch;
        return scratch;
    }

private:
    void* memory_ = nullptr;
    std::size_t size_ = 0;
};

inline std::atomic<int>& thread_count() {
    static std::atomic<int> count{static_cast<int>(std::thread::hardware_concurrency())};
    return count;
}

inline void run_here(Kernel kernel, const Batch& batch, std::ptrdiff_t begin, std::ptrdiff_t end) {
    kernel(batch, begin, end, Scratch::of_this_thread().get(kernels().scratch_bytes(*batch.tree)));
}

/// Bodies times states below which starting a thread costs more than it brings (a guess, not measured).
inline constexpr std::ptrdiff_t worth_a_thread = 4000;

/// Runs a kernel over `count` states. Shares are whole packs, so results do not depend on the number of threads.
inline void run(Kernel kernel, const Batch& batch, std::ptrdiff_t count) {
    const auto bodies = static_cast<std::ptrdiff_t>(batch.tree->bodies.size()) + 1;
    const std::ptrdiff_t threads = std::min<std::ptrdiff_t>(thread_count(), count * bodies / worth_a_thread);
    if (threads <= 1) return run_here(kernel, batch, 0, count);
    const std::ptrdiff_t lanes = kernels().lanes, packs = count / lanes;
    std::vector<std::thread> others;
    auto edge = [&](std::ptrdiff_t i) { return i == threads ? count : packs * i / threads * lanes; };
    others.reserve(static_cast<std::size_t>(threads));
    std::ptrdiff_t started = 1;
    try {
        for (; started < threads; ++started) others.emplace_back(run_here, kernel, std::cref(batch), edge(started), edge(started + 1));
    } catch (const std::system_error&) {
        // no more threads to be had: what is left is done here
    }
    run_here(kernel, batch, 0, edge(1));
    if (started < threads) run_here(kernel, batch, edge(started), count);
    for (std::thread& t : others) t.join();
}

}  // namespace ukemi
