// Several engines in one process. Usage: inside FIGURE STATES SPREAD ENGINE..., with the engines ukemi, pinocchio and
// mujoco=MJCF; then, line by line on standard input,
//   check WORK      -> one line: the largest relative difference of each engine from the first
//   rounds WORK N   -> N lines: seconds per state of each engine, one sweep after the other
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <iostream>
#include <stdexcept>

#include "figure.hpp"

namespace {

using namespace bench;

Work work_of(const std::string& name) {
    if (name == "forward") return Work::forward;
    if (name == "batch") return Work::batch;
    if (name == "inverse") return Work::inverse;
    if (name == "inertia") return Work::inertia;
    throw std::runtime_error("unknown work " + name);
}

/// max |x - reference| / max |reference|, the worst of the first states.
double difference(Engine& engine, Engine& reference, Work work, std::size_t states) {
    double worst = 0;
    for (std::size_t i = 0; i < states; ++i) {
        const std::vector<double> x = engine.result(work, i), r = reference.result(work, i);
        double error = 0, size = 0;
        for (std::size_t k = 0; k < r.size(); ++k) error = std::fmax(error, std::fabs(x[k] - r[k])), size = std::fmax(size, std::fabs(r[k]));
        worst = std::fmax(worst, x.size() == r.size() ? error / size : INFINITY);
    }
    return worst;
}

double seconds(Engine& engine, Work work) {
    const auto start = std::chrono::steady_clock::now();
    engine.sweep(work);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::unique_ptr<Engine> make_engine(const std::string& name, const std::vector<Body>& bodies, const std::vector<State>& states) {
    if (name == "ukemi") return make_ukemi(bodies, states);
#ifdef WITH_PINOCCHIO
    if (name == "pinocchio") return make_pinocchio(bodies, states);
#endif
#ifdef WITH_MUJOCO
    if (name.starts_with("mujoco=")) return make_mujoco(name.substr(7), states);
#endif
    throw std::runtime_error("no engine " + name);
}

void serve(int argc, char** argv) {
    if (argc < 5) throw std::runtime_error("usage: inside FIGURE STATES SPREAD ENGINE...");
    const std::vector<Body> bodies = read_bodies(argv[1]);
    const std::vector<State> states = random_states(bodies, std::stoul(argv[2]), std::stod(argv[3]));
    std::vector<std::unique_ptr<Engine>> engines;
    for (int i = 4; i < argc; ++i) engines.push_back(make_engine(argv[i], bodies, states));

    std::string command, work_name;
    while (std::cin >> command >> work_name) {
        const Work work = work_of(work_name);
        if (command == "check") {
            const std::size_t checked = std::min<std::size_t>(states.size(), 16);
            for (const auto& engine : engines) std::printf("%.3e ", difference(*engine, *engines[0], work, checked));
            std::printf("\n");
        } else {
            int rounds = 0;
            std::cin >> rounds;
            for (const auto& engine : engines) engine->sweep(work);  // warm up
            for (int r = 0; r < rounds; ++r) {
                for (const auto& engine : engines) std::printf("%.6e ", seconds(*engine, work) / static_cast<double>(states.size()));
                std::printf("\n");
            }
        }
        std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
    try {
        serve(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
