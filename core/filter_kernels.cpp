// The dynamics filter of one instruction-set level.
#include <algorithm>

#include "filter.hpp"
#include "plan.hpp"

UKEMI_BEGIN

std::size_t filter_bytes() { return (std::max({sizeof(BodyMotion), sizeof(CrbaBody<double>), sizeof(RneaBody<double>)}) + 63) / 64 * 64; }
void run_filter_step(FilterData& data, const FilterInput& input) { filter_step(data, input); }
int run_plan(PlanData& data) { return plan_solve(data); }

UKEMI_END
