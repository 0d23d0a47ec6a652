// ukemi's own kernel table, compiled with the flags of its build.
#include <cstdlib>

#include "engine.hpp"
#include "kernels.hpp"

#define BENCH_JOIN_(a, b) a##b
#define BENCH_JOIN(a, b) BENCH_JOIN_(a, b)
extern const ukemi::Kernels BENCH_JOIN(ukemi_kernels_, UKEMI_LEVEL);

namespace bench {
namespace {

const ukemi::Kernels& table = BENCH_JOIN(ukemi_kernels_, UKEMI_LEVEL);

ukemi::Tree make_tree(const std::vector<Body>& bodies) {
    ukemi::Tree tree;
    for (const Body& in : bodies) {
        ukemi::Body b{};
        b.parent = in.parent;
        b.kind = in.kind == "revolute" ? ukemi::JointKind::revolute : in.kind == "spherical" ? ukemi::JointKind::spherical : ukemi::JointKind::free;
        b.nv = in.kind == "revolute" ? 1 : in.kind == "spherical" ? 3 : 6;
        b.nq = b.nv == 1 ? 1 : b.nv + 1;
        b.iq = tree.nq, b.iv = tree.nv;
        const double *R = in.R, *c = in.com, *I = in.I, m = in.mass;
        b.R_tree = {R[0], R[1], R[2], R[3], R[4], R[5], R[6], R[7], R[8]};
        b.p_tree = {in.p[0], in.p[1], in.p[2]};
        for (int k = 0; k < 9; ++k) b.turned |= R[k] != (k % 4 == 0);
        b.mass = m, b.h = {m * c[0], m * c[1], m * c[2]};
        const double cc = c[0] * c[0] + c[1] * c[1] + c[2] * c[2];
        b.I = {I[0] + m * (cc - c[0] * c[0]), I[1] - m * c[0] * c[1], I[2] - m * c[0] * c[2],
               I[3] + m * (cc - c[1] * c[1]), I[4] - m * c[1] * c[2], I[5] + m * (cc - c[2] * c[2])};
        b.axis = {in.axis[0], in.axis[1], in.axis[2]};
        const int above = b.parent < 0 ? -1 : tree.bodies[b.parent].iv + tree.bodies[b.parent].nv - 1;
        for (int k = 0; k < b.nv; ++k) tree.dof_parent.push_back(k > 0 ? b.iv + k - 1 : above);
        if (b.nq >= 4) tree.quaternions.push_back(b.iq + b.nq - 4);
        tree.nq += b.nq, tree.nv += b.nv;
        tree.bodies.push_back(b);
    }
    table.find_leaves(tree);
    return tree;
}

class Ukemi : public Engine {
public:
    Ukemi(const std::vector<Body>& bodies, const std::vector<State>& states)
        : tree_(make_tree(bodies)), count_(static_cast<std::ptrdiff_t>(states.size())), scratch_(nullptr, std::free) {
        for (const State& s : states) {
            q_.insert(q_.end(), s.q.begin(), s.q.end());
            v_.insert(v_.end(), s.v.begin(), s.v.end());
            x_.insert(x_.end(), s.x.begin(), s.x.end());
        }
        scratch_.reset(std::aligned_alloc(64, (table.scratch_bytes(tree_) + 63) / 64 * 64));
        batch_.tree = &tree_;
        batch_.q = {q_.data(), tree_.nq}, batch_.v = {v_.data(), tree_.nv}, batch_.x = {x_.data(), tree_.nv};
        batch_.gravity[2] = gravity_z;
        vector_.resize(v_.size());
    }
    void sweep(Work work) override {
        const ukemi::Kernel kernel = prepare(work);
        if (work == Work::batch) return kernel(batch_, 0, count_, scratch_.get());
        for (std::ptrdiff_t i = 0; i < count_; ++i) kernel(batch_, i, i + 1, scratch_.get());
    }
    std::vector<double> result(Work work, std::size_t state) override {
        const ukemi::Kernel kernel = prepare(work);
        const auto i = static_cast<std::ptrdiff_t>(state);
        if (work == Work::batch) kernel(batch_, 0, count_, scratch_.get());
        else kernel(batch_, i, i + 1, scratch_.get());
        if (work == Work::inertia) return matrix_;
        return {vector_.begin() + i * tree_.nv, vector_.begin() + (i + 1) * tree_.nv};
    }

private:
    ukemi::Kernel prepare(Work work) {
        if (work == Work::inertia) {
            matrix_.resize(static_cast<std::size_t>(tree_.nv) * static_cast<std::size_t>(tree_.nv));
            batch_.out = matrix_.data(), batch_.out_stride = 0;  // one matrix, as the peers have
            return table.mass_matrix;
        }
        batch_.out = vector_.data(), batch_.out_stride = tree_.nv;
        return work == Work::inverse ? table.inverse_dynamics : table.forward_dynamics;
    }
    ukemi::Tree tree_;
    std::ptrdiff_t count_;
    std::vector<double> q_, v_, x_, vector_, matrix_;
    std::unique_ptr<void, void (*)(void*)> scratch_;
    ukemi::Batch batch_;
};

}  // namespace

std::unique_ptr<Engine> make_ukemi(const std::vector<Body>& bodies, const std::vector<State>& states) {
    return std::make_unique<Ukemi>(bodies, states);
}

}  // namespace bench
