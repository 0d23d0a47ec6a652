// The figure from its text, and random states for it.
#pragma once
#include <string>
#include <vector>

#include "engine.hpp"

namespace bench {

std::vector<Body> read_bodies(const std::string& path);
/// Angles and rates are drawn from +-spread; with spread 1 quaternions are spread over all rotations, else near the identity.
std::vector<State> random_states(const std::vector<Body>& bodies, std::size_t count, double spread);

}  // namespace bench
