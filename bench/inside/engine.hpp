// What an engine offers to the benchmark: sweeps over the same states, and its results in ukemi's layout to compare.
#pragma once
#include <memory>
#include <string>
#include <vector>

namespace bench {

/// One line of the figure's text: a moving body, the joint above it, and its mass properties about the centre of mass.
struct Body {
    int parent;
    std::string kind;  // revolute, spherical or free
    double axis[3], R[9], p[3], mass, com[3], I[6];  // I: xx xy xz yy yz zz
};

/// q (quaternions w, x, y, z) and v as ukemi has them; x: the torques of forward, the accelerations of inverse dynamics.
struct State { std::vector<double> q, v, x; };

enum class Work { forward, batch, inverse, inertia };

constexpr double gravity_z = -9.81;

class Engine {
public:
    virtual ~Engine() = default;
    /// The work of every state, once.
    virtual void sweep(Work work) = 0;
    /// The work of one state: nv numbers, or nv x nv for the inertia matrix, in ukemi's layout.
    virtual std::vector<double> result(Work work, std::size_t state) = 0;
};

std::unique_ptr<Engine> make_ukemi(const std::vector<Body>& bodies, const std::vector<State>& states);
std::unique_ptr<Engine> make_pinocchio(const std::vector<Body>& bodies, const std::vector<State>& states);
std::unique_ptr<Engine> make_mujoco(const std::string& mjcf_path, const std::vector<State>& states);

}  // namespace bench
