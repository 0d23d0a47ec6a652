// One instruction-set level: the algorithms instantiated for one state and for a pack of states.
#include "kernels.hpp"

#include <algorithm>
#include <cstdint>

#include "aba.hpp"
#include "checks.hpp"
#include "closed.hpp"
#include "crba.hpp"
#include "energies.hpp"
#include "factor.hpp"
#include "held.hpp"
#include "impulse.hpp"
#include "kinematics.hpp"
#include "nonneg.hpp"
#include "rnea.hpp"
#include "springs.hpp"

UKEMI_BEGIN

ContactEngine* make_contact_engine(const Tree&, const ContactScene&);  // contact_kernels.cpp
void run_solve_contact(const NcpProblem&, const NcpOptions&, NcpSolution&);  // contact/solve_kernels.cpp
std::size_t filter_bytes();  // filter_kernels.cpp
void run_filter_step(FilterData&, const FilterInput&);
int run_plan(PlanData&);
void run_trajectory_kinematics(const TrajectoryModel&, const TrajectorySamples&, const TrajectoryKinematics&);  // filter/trajectory_kernels.cpp
void run_force_solve(const ForceProblem&);
void run_trajectory_assemble(const TrajectoryModel&, const TrajectorySamples&, const TrajectorySystem&);
void run_trajectory_retract(const Tree&, int n, const double* x, const double* x1, const double* x2, double* q, double* v, double* a);

namespace {

/// Runs packs over the states; the last pack overlaps the one before it, so that no state's rounding depends on how
/// many follow it. Fewer states than a pack holds run one by one.
template <class Op> void sweep(const Batch& batch, std::ptrdiff_t begin, std::ptrdiff_t end, void* scratch) {
    constexpr int width = lanes<Pack>;
    if (width == 1 || end - begin < width) {
        for (std::ptrdiff_t i = begin; i < end; ++i) Op::template run<double>(batch, i, scratch);
    } else {
        for (std::ptrdiff_t i = begin; i < end; i += width) Op::template run<Pack>(batch, std::min(i, end - width), scratch);
    }
}

template <class T> UKEMI_INLINE In<T> in(const Batch::Array& a, std::ptrdiff_t i) {
    return {a.data ? a.data + i * a.stride : nullptr, a.stride};
}
template <class T> UKEMI_INLINE Out<T> out(const Batch& b, std::ptrdiff_t i) { return {b.out + i * b.out_stride, b.out_stride}; }
UKEMI_INLINE Vec3<double> vec(const double* p) { return {p[0], p[1], p[2]}; }

/// Cuts aligned pieces off the scratch memory.
struct Arena {
    char* next;
    template <class T> T* take(std::size_t count) {
        auto address = (reinterpret_cast<std::uintptr_t>(next) + 63) / 64 * 64;
        next = reinterpret_cast<char*>(address) + count * sizeof(T);
        return reinterpret_cast<T*>(address);
    }
};

struct ForwardDynamics {
    template <class T> static AbaWork<T> work(const Tree& tree, Arena& arena) {
        const std::size_t nv = static_cast<std::size_t>(tree.nv);
        return {arena.take<AbaBody<T>>(tree.bodies.size()), arena.take<T>(gain_size * nv), arena.take<T>(nv), arena.take<T>(nv)};
    }
    template <class T> static void run(const Batch& b, std::ptrdiff_t i, void* scratch) {
        Arena arena{static_cast<char*>(scratch)};
        aba<T>(*b.tree, in<T>(b.q, i), in<T>(b.v, i), in<T>(b.x, i), in<T>(b.external, i), vec(b.gravity), work<T>(*b.tree, arena), out<T>(b, i));
    }
};
struct ImpulseResponse {
    template <class T> static void run(const Batch& b, std::ptrdiff_t i, void* scratch) {
        Arena arena{static_cast<char*>(scratch)};
        impulse_response<T>(*b.tree, in<T>(b.q, i), in<T>(b.x, i), in<T>(b.external, i), ForwardDynamics::work<T>(*b.tree, arena), out<T>(b, i));
    }
};
struct InverseDynamics {
    template <class T> static void run(const Batch& b, std::ptrdiff_t i, void* scratch) {
        Arena arena{static_cast<char*>(scratch)};
        rnea<T>(*b.tree, in<T>(b.q, i), in<T>(b.v, i), in<T>(b.x, i), in<T>(b.external, i), vec(b.gravity),
                arena.take<RneaBody<T>>(b.tree->bodies.size()), out<T>(b, i));
    }
};
struct MassMatrix {
    template <class T> static void run(const Batch& b, std::ptrdiff_t i, void* scratch) {
        Arena arena{static_cast<char*>(scratch)};
        crba<T>(*b.tree, in<T>(b.q, i), true, arena.take<CrbaBody<T>>(b.tree->bodies.size()), out<T>(b, i), b.tree->nv);
    }
};
struct LinkPoses {
    template <class T> static void run(const Batch& b, std::ptrdiff_t i, void* scratch) {
        Arena arena{static_cast<char*>(scratch)};
        link_poses<T>(*b.tree, in<T>(b.q, i), arena.take<Placement<T>>(b.tree->bodies.size()), out<T>(b, i));
    }
};

// What follows runs state by state.
template <class F> void each(const Batch& b, std::ptrdiff_t begin, std::ptrdiff_t end, F&& f) {
    for (std::ptrdiff_t i = begin; i < end; ++i) f(in<double>(b.q, i), in<double>(b.v, i), b.out + i * b.out_stride);
}
template <class T> T* first(const Tree& tree, void* scratch) { return Arena{static_cast<char*>(scratch)}.take<T>(tree.bodies.size()); }

void jacobians(const Batch& b, std::ptrdiff_t begin, std::ptrdiff_t end, void* scratch) {
    each(b, begin, end, [&](const In<double>& q, const In<double>&, double* out) {
        jacobian(*b.tree, q, b.link, vec(b.point), first<Placement<double>>(*b.tree, scratch), out);
    });
}
void jacobian_rates(const Batch& b, std::ptrdiff_t begin, std::ptrdiff_t end, void* scratch) {
    each(b, begin, end, [&](const In<double>& q, const In<double>& v, double* out) {
        jacobian_rate(*b.tree, q, v, b.link, vec(b.point), first<BodyMotion>(*b.tree, scratch), out);
    });
}
/// com (3), linear momentum (3), angular momentum about the com (3), kinetic energy, potential energy of the springs
void mechanics_all(const Batch& b, std::ptrdiff_t begin, std::ptrdiff_t end, void* scratch) {
    each(b, begin, end, [&](const In<double>& q, const In<double>& v, double* out) {
        const Mechanics m = mechanics(*b.tree, q, v, first<BodyMotion>(*b.tree, scratch));
        write3(out, m.com), write3(out + 3, m.linear), write3(out + 6, m.angular);
        out[9] = m.kinetic;
        out[10] = elastic_energy(*b.tree, q.data) - m.mass * dot(vec(b.gravity), m.com);
    });
}
void integrate_all(const Batch& b, std::ptrdiff_t begin, std::ptrdiff_t end, void*) {
    each(b, begin, end, [&](const In<double>& q, const In<double>& v, double* out) { integrate(*b.tree, q.data, v.data, b.dt, out); });
}
void difference_all(const Batch& b, std::ptrdiff_t begin, std::ptrdiff_t end, void*) {
    each(b, begin, end, [&](const In<double>& q0, const In<double>& q1, double* out) { difference(*b.tree, q0.data, q1.data, out); });
}

std::size_t scratch_bytes(const Tree& tree) {
    const std::size_t n = tree.bodies.size(), nv = static_cast<std::size_t>(tree.nv);
    const std::size_t body = std::max({sizeof(AbaBody<Pack>), sizeof(RneaBody<Pack>), sizeof(CrbaBody<Pack>), sizeof(Placement<Pack>), sizeof(BodyMotion)});
    return n * body + nv * (gain_size + 2) * sizeof(Pack) + 1024;  // gains, drive, torque; 1024: alignment of each piece
}

}  // namespace

// The name of each level's table: kernels_<level>.
#define UKEMI_JOIN_(a, b) a##b
#define UKEMI_JOIN(a, b) UKEMI_JOIN_(a, b)
#define UKEMI_TEXT_(a) #a
#define UKEMI_TEXT(a) UKEMI_TEXT_(a)

UKEMI_END

extern const ukemi::Kernels UKEMI_JOIN(ukemi_kernels_, UKEMI_LEVEL);
const ukemi::Kernels UKEMI_JOIN(ukemi_kernels_, UKEMI_LEVEL) = {
    UKEMI_TEXT(UKEMI_LEVEL),
    ukemi::UKEMI_LEVEL::lanes<ukemi::UKEMI_LEVEL::Pack>,
    ukemi::UKEMI_LEVEL::scratch_bytes,
    ukemi::UKEMI_LEVEL::sweep<ukemi::UKEMI_LEVEL::ForwardDynamics>,
    ukemi::UKEMI_LEVEL::sweep<ukemi::UKEMI_LEVEL::InverseDynamics>,
    ukemi::UKEMI_LEVEL::sweep<ukemi::UKEMI_LEVEL::MassMatrix>,
    ukemi::UKEMI_LEVEL::sweep<ukemi::UKEMI_LEVEL::LinkPoses>,
    ukemi::UKEMI_LEVEL::jacobians,
    ukemi::UKEMI_LEVEL::jacobian_rates,
    ukemi::UKEMI_LEVEL::mechanics_all,
    ukemi::UKEMI_LEVEL::integrate_all,
    ukemi::UKEMI_LEVEL::difference_all,
    ukemi::UKEMI_LEVEL::factorize,
    ukemi::UKEMI_LEVEL::solve,
    ukemi::UKEMI_LEVEL::retract,
    ukemi::UKEMI_LEVEL::semi_implicit,
    ukemi::UKEMI_LEVEL::chart_rate,
    ukemi::UKEMI_LEVEL::all_finite,
    ukemi::UKEMI_LEVEL::unit_quaternions,
    ukemi::UKEMI_LEVEL::find_leaves,
    ukemi::UKEMI_LEVEL::closed_bytes,
    ukemi::UKEMI_LEVEL::closed_dynamics,
    ukemi::UKEMI_LEVEL::closed_prepare,
    ukemi::UKEMI_LEVEL::closed_respond,
    ukemi::UKEMI_LEVEL::closed_state,
    ukemi::UKEMI_LEVEL::closed_errors,
    ukemi::UKEMI_LEVEL::closed_wrenches,
    ukemi::UKEMI_LEVEL::closed_prepared_wrenches,
    ukemi::UKEMI_LEVEL::closed_spring_torques,
    ukemi::UKEMI_LEVEL::closed_jacobian,
    ukemi::UKEMI_LEVEL::closed_pivots,
    ukemi::UKEMI_LEVEL::closed_least_norm,
    ukemi::UKEMI_LEVEL::filter_bytes,
    ukemi::UKEMI_LEVEL::run_filter_step,
    ukemi::UKEMI_LEVEL::run_plan,
    ukemi::UKEMI_LEVEL::run_trajectory_kinematics,
    ukemi::UKEMI_LEVEL::run_force_solve,
    ukemi::UKEMI_LEVEL::run_trajectory_assemble,
    ukemi::UKEMI_LEVEL::run_trajectory_retract,
    ukemi::UKEMI_LEVEL::make_contact_engine,
    ukemi::UKEMI_LEVEL::run_solve_contact,
    ukemi::UKEMI_LEVEL::sweep<ukemi::UKEMI_LEVEL::ImpulseResponse>,
    ukemi::UKEMI_LEVEL::psi_bytes,
    ukemi::UKEMI_LEVEL::inverse_inertia,
    ukemi::UKEMI_LEVEL::energies,
    ukemi::UKEMI_LEVEL::held_dynamics,
    ukemi::UKEMI_LEVEL::nonneg_least,
    ukemi::UKEMI_LEVEL::springs,
    ukemi::UKEMI_LEVEL::kick_and_drift,
};
