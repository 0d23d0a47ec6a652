// The whole-clip filter of one instruction-set level.
#include "force_solve.hpp"
#include "trajectory.hpp"

UKEMI_BEGIN

void run_trajectory_kinematics(const TrajectoryModel& model, const TrajectorySamples& s, const TrajectoryKinematics& out) { trajectory_kinematics(model, s, out); }
void run_force_solve(const ForceProblem& problem) {
    Vec<LivePoint> live(static_cast<std::size_t>(max_live));
    for (int k = 0; k < problem.n; ++k) solve_forces(problem, k, live.data());
}
void run_trajectory_assemble(const TrajectoryModel& model, const TrajectorySamples& s, const TrajectorySystem& system) { trajectory_assemble(model, s, system); }
void run_trajectory_retract(const Tree& tree, int n, const double* x, const double* x1, const double* x2, double* q, double* v, double* a) {
    trajectory_retract(tree, n, x, x1, x2, q, v, a);
}

UKEMI_END
