// The frictional contact problem of one instruction-set level.
#include "ncp_islands.hpp"

UKEMI_BEGIN

void run_solve_contact(const NcpProblem& problem, const NcpOptions& options, NcpSolution& out) {
    ncp::Solver solver;
    solver.solve(problem, options, out);
}

UKEMI_END
