#include "figure.hpp"

#include <cmath>
#include <fstream>
#include <random>
#include <stdexcept>

namespace bench {

std::vector<Body> read_bodies(const std::string& path) {
    std::ifstream in(path);
    std::vector<Body> bodies;
    Body b;
    auto read = [&](auto& numbers) { for (double& x : numbers) in >> x; };
    while (in >> b.parent >> b.kind) {
        read(b.axis), read(b.R), read(b.p);
        in >> b.mass;
        read(b.com), read(b.I);
        bodies.push_back(b);
    }
    if (bodies.empty() || !in.eof()) throw std::runtime_error("figure: cannot read body " + std::to_string(bodies.size()));
    return bodies;
}

std::vector<State> random_states(const std::vector<Body>& bodies, std::size_t count, double spread) {
    std::mt19937_64 generator(2000);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<State> states(count);
    for (State& s : states) {
        auto numbers = [&](std::vector<double>& to, int n, double scale) { while (n-- > 0) to.push_back(scale * normal(generator)); };
        for (const Body& b : bodies) {
            const int nv = b.kind == "revolute" ? 1 : b.kind == "spherical" ? 3 : 6;
            if (nv == 1) s.q.push_back(spread * uniform(generator));
            if (nv == 6) numbers(s.q, 3, 1.0);
            if (nv >= 3) {
                double quaternion[4], square = 0;
                for (double& x : quaternion) x = normal(generator);
                if (spread < 1) quaternion[0] = 1 / spread;
                for (double x : quaternion) square += x * x;
                for (double x : quaternion) s.q.push_back(x / std::sqrt(square));
            }
            numbers(s.v, nv, spread);
            numbers(s.x, nv, 10.0 * spread);
        }
    }
    return states;
}

}  // namespace bench
