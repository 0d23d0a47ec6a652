// The table of functions that each instruction-set level offers to the bindings.
#pragma once
#include <cstddef>

#include "contact_scene.hpp"
#include "particles_vec.hpp"
#include "types.hpp"

namespace ukemi {

struct FilterData;
struct FilterInput;
struct PlanData;
struct TrajectoryModel;
struct TrajectorySamples;
struct TrajectoryKinematics;
struct TrajectorySystem;
struct ForceProblem;
struct NcpProblem;
struct NcpOptions;
struct NcpSolution;

/// A batch of independent states: each array by its first element and the distance between states (0: shared by all).
struct Batch {
    const Tree* tree;
    struct Array { const double* data = nullptr; std::ptrdiff_t stride = 0; } q, v, x, external;
    double gravity[3] = {0, 0, 0};
    int link = 0;
    double point[3] = {0, 0, 0};
    double dt = 0;
    double* out = nullptr;
    std::ptrdiff_t out_stride = 0;
};

/// Works on states begin..end of a batch; `scratch` holds Kernels::scratch_bytes(tree) bytes, aligned to 64.
using Kernel = void (*)(const Batch&, std::ptrdiff_t begin, std::ptrdiff_t end, void* scratch);

struct Kernels {
    const char* name;
    int lanes;
    std::size_t (*scratch_bytes)(const Tree&);
    Kernel forward_dynamics, inverse_dynamics, mass_matrix, link_poses, jacobian, jacobian_rate, mechanics, integrate, difference;
    void (*factorize)(const Tree&, double* M, std::ptrdiff_t ld);
    void (*solve)(const Tree&, const double* L, std::ptrdiff_t ld, double* x);
    void (*retract)(const Tree&, const double* q0, const double* x, double* q);
    void (*semi_implicit)(const Tree&, const double* a, double dt, double* q, double* v);
    void (*chart_rate)(const Tree&, const double* x, const double* q, const double* v, double* rate);
    // see checks.hpp and aba.hpp
    bool (*all_finite)(const double* x, std::ptrdiff_t n);
    bool (*unit_quaternions)(const Tree&, const double* q, std::ptrdiff_t states);
    void (*find_leaves)(Tree&);
    // closed chains, see closed.hpp; `memory` holds closed_bytes(tree, loops) bytes, aligned to 64
    std::size_t (*closed_bytes)(const Tree&, const Loops&);
    double (*closed_dynamics)(const Tree&, const Loops&, const double* q, const double* v, const double* tau, const double* external, const double* gravity,
                            void* memory, double* a, double* lambda);
    void (*closed_prepare)(const Tree&, const Loops&, const double* q, const double* v, bool careful, void* memory);
    void (*closed_respond)(const Tree&, const Loops&, const double* q, void* memory, const double* change, double* impulse, double* dv);
    void (*closed_state)(const Tree&, const Loops&, const double* q, const double* v, void* memory, double* error, double* rate);
    void (*closed_errors)(const Tree&, const Loops&, void* memory, double* error, double* rate);
    double (*closed_wrenches)(const Tree&, const Loops&, const double* q, const double* v, const double* lambda, void* memory, double* out);
    void (*closed_prepared_wrenches)(const Tree&, const Loops&, const double* lambda, void* memory, double* out);
    void (*closed_spring_torques)(const Tree&, const Loops&, const double* q, const double* v, void* memory, double* out);
    void (*closed_jacobian)(const Tree&, const Loops&, const double* q, const double* v, void* memory, double* H, double* rate_v);
    const double* (*closed_pivots)(const Tree&, const Loops&, void* memory);
    void (*closed_least_norm)(const Tree&, const Loops&, void* memory, double* lambda);
    // the dynamics filter, see filter.hpp
    std::size_t (*filter_bytes)();  // per body, of each of the four work arrays
    void (*filter_step)(FilterData&, const FilterInput&);
    int (*plan_solve)(PlanData&);
    // the whole-clip filter, see filter/trajectory.hpp and filter/force_solve.hpp
    void (*trajectory_kinematics)(const TrajectoryModel&, const TrajectorySamples&, const TrajectoryKinematics&);
    void (*force_solve)(const ForceProblem&);
    void (*trajectory_assemble)(const TrajectoryModel&, const TrajectorySamples&, const TrajectorySystem&);
    void (*trajectory_retract)(const Tree&, int n, const double* x, const double* x1, const double* x2, double* q, double* v, double* a);
    // contacts, see contact_step.hpp; the scene must outlive the engine
    ContactEngine* (*make_contact_engine)(const Tree&, const ContactScene&);
    // the frictional contact problem itself, see contact/ncp_islands.hpp
    void (*solve_contact)(const NcpProblem&, const NcpOptions&, NcpSolution&);
    // impulses, see impulse.hpp; `memory` holds psi_bytes(tree, m) bytes, aligned to 64
    Kernel impulse_response;
    std::size_t (*psi_bytes)(const Tree&, int m);
    void (*inverse_inertia)(const Tree&, const double* q, const int* links, int m, void* memory, double* out);
    // see energies.hpp and held.hpp; `scratch` as for a batch
    void (*energies)(const Tree&, const double* q, const double* v, const double* gravity, void* scratch, double* out);
    void (*held_dynamics)(const Tree&, const char* held, const double* given, const double* q, const double* v, const double* tau, const double* external, const double* gravity,
                          void* scratch, bool placed, double* a, double* torque);
    // see nonneg.hpp
    int (*nonneg_least)(const double* Q, const double* c, int n, double* x, int* passive, double* work, int* index);
    // particles, see springs.hpp
    void (*springs)(const particles::Link*, std::size_t count, const double* x, const double* v, double* f);
    void (*kick_and_drift)(const int* which, std::size_t count, double h, const double* inverse_mass, const double* gravity, const double* steady, double* x,
                           double* v, double* f);
};

/// The best level for this processor, chosen once.
const Kernels& kernels();
/// Uses another level instead (for tests and comparisons); false if this processor cannot run it.
bool choose_level(const char* name);
/// All levels that this processor can run, the best last.
std::size_t available_levels(const Kernels** levels, std::size_t capacity);

}  // namespace ukemi
