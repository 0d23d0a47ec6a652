// The frictional contact problem as plain data: what the bindings and every instruction-set level share.
//
// Find impulses r in K with u = W r + q and, contact by contact, De Saxce's complementarity (De Saxce and Feng 1998):
//     K* contains u^ = u + mu |u_t| e_n,   r . u^ = 0.
// K is a product of Coulomb cones {r_n >= 0, |r_t| <= mu r_n} (three rows: normal, tangent, tangent), half-lines
// r >= 0 (unilateral rows: joint limits) and lines (bilateral rows: loops, ties, actuated joints).
#pragma once
#include <cstddef>

namespace ukemi {

enum class NcpKind : int { contact, unilateral, bilateral };
/// What holds at a block: no force; no motion; friction at its bound. Bilateral rows stick.
enum class NcpLabel : int { off, stick, slip };
/// Which of the inner methods ended a pass, in the order in which they are tried.
enum class NcpMethod : int { newton, interior, admm };

/// Consecutive rows of one contact, joint limit or bilateral row.
struct NcpBlock {
    NcpKind kind;
    int row, rows;  // the first of them, and how many: 3 of a contact, else 1
    double mu;      // coefficient of friction, 0 for what has none
};

/// Every number of the method. Forces and motions are scaled so that a block's own response has unit mean diagonal and
/// the largest |q| is 1; numbers without a unit mean that. Sources: [N] a study with prototypes on the problems of
/// Siconos and on our own (bench/contact_corpus; chosen on these, checked on others), [M] the same corpus, this code.
struct NcpOptions {
    double tolerance = 1e-6;          // of the residual, a share of max |q|: 1e-8 m/s at rest with steps of 1 ms [N]
    double eta = 1e-4;                // proximal term of the first pass, a share of the own response: above the noise
                                      // of gap / h, so that forces which motion leaves open stay as they were [N]
    double eta_cut = 0.01;            // of eta where one more pass with it would not reach the tolerance: a fixed eta
                                      // leaves mass ratios of 1e4 unsolved [N]
    double last_cut = 0.7;            // where Newton does not follow a cut, its square root is tried, up to this: slabs
                                      // of 1 : 1e6 that slide need 0.3 to 0.6; 0.5 leaves 3 % of them [M]
    double stalled = 0.999;           // a pass with less eta that leaves more of the residual is the last: what is left
                                      // are rows that contradict each other; mass ratios of 1e6 leave 0.98 [M]
    int passes = 30;                  // of the proximal loop, tries of a cut included: 2 are usual; slabs of 1 : 1e6
                                      // that slide need up to 25 [M]
    int fall_backs = 4;               // passes that may ask interior point and ADMM: bounds the time of a problem
    double inner_share = 0.01;        // of the tolerance, for the problem of a pass [N]
    double growth = 2.0;              // a pass whose forces grow more than this must halve the residual: rows that
                                      // contradict each other let forces grow by 1 / eta_cut a pass without that [N]
    int newton = 16;                  // steps of a pass: 8 are enough for 85 % of warm-started problems [N], but leave
                                      // 3 % of cold ones of slabs of 1 : 1e4 and make others slower [M]
    int interior = 40;                // steps: 25 at the 90th percentile of cold problems [N]
    double interior_start = 3.0;      // force and motion of every cone at the start of the path [N]
    double interior_step = 0.95;      // share of the way to the border of a cone [N]
    double interior_centre = 0.01;    // least centring parameter of Mehrotra's rule [N]
    double interior_correct = 0.3;    // the predictor must reach so far for its second order to help: without, paths of
                                      // heavy on light break off [M]
    double interior_smooth[2] = {0.3, 10.0};  // |u_t| is rounded off by min(a sqrt(m), b m), m: complementarity [N]
    int admm = 200;                   // iterations; more than 1000 gain little [N]
    double admm_rho = 0.1;            // penalty at the start [N]
    double admm_relaxation = 1.6;     // over-relaxation (Boyd et al. 2011 3.4.3: 1.5 to 1.8)
    int admm_balance = 10;            // iterations between changes of rho by sqrt(primal / dual residual) [N]
};

/// W (n x n, row-major, symmetric positive semidefinite), q (n); `start` (n) may be null: no last forces are known.
struct NcpProblem {
    int n, blocks;
    const NcpBlock* block;
    const double *W, *q, *start;
};

/// Written by the solver: r and u have n entries, labels one per block.
struct NcpSolution {
    double *r, *u;
    NcpLabel* label;
    double residual;   // max_i D_i |r_i - P_K(r_i - u^_i / D_i)| / max |q|, D_i: mean diagonal of W_ii
    double bilateral;  // max |u| of bilateral rows / max |q|: the part of the residual that loops have
    double growth;     // max D_i |r_i| / max(max |q|, max D_i |start_i|): large where rows contradict each other
    int iterations;    // Newton and interior-point steps and ADMM iterations of all islands
    int passes;        // the most of an island
    int islands;
    NcpMethod method;  // the last resort that an island needed
};

}  // namespace ukemi
