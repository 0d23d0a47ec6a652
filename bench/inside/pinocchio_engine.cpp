// Pinocchio from its headers, so that it is compiled with the same flags as ukemi.
//
// Of its two conventions the faster is taken, as measured on this figure with 4.1: WORLD for aba (4.55 us against
// 4.88), LOCAL for crba (1.43 us against 2.44); timed once, while this was written.
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include "engine.hpp"

namespace bench {
namespace {

namespace pin = pinocchio;

/// Joints about a coordinate axis have a cheaper type of their own.
pin::JointModel revolute(const double* axis) {
    if (axis[0] == 1) return pin::JointModelRX();
    if (axis[1] == 1) return pin::JointModelRY();
    if (axis[2] == 1) return pin::JointModelRZ();
    return pin::JointModelRevoluteUnaligned(Eigen::Vector3d(axis[0], axis[1], axis[2]));
}

pin::Model make_model(const std::vector<Body>& bodies) {
    pin::Model model;
    model.gravity.linear() = Eigen::Vector3d(0, 0, gravity_z);
    for (const Body& b : bodies) {
        const pin::JointModel joint = b.kind == "free" ? pin::JointModel(pin::JointModelFreeFlyer())
                                      : b.kind == "spherical" ? pin::JointModel(pin::JointModelSpherical())
                                                              : revolute(b.axis);
        const pin::SE3 at(Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(b.R), Eigen::Map<const Eigen::Vector3d>(b.p));
        const auto i = model.addJoint(static_cast<pin::JointIndex>(b.parent + 1), joint, at, "joint" + std::to_string(model.njoints));
        Eigen::Matrix3d I;
        I << b.I[0], b.I[1], b.I[2], b.I[1], b.I[3], b.I[4], b.I[2], b.I[4], b.I[5];
        model.appendBodyToJoint(i, pin::Inertia(b.mass, Eigen::Map<const Eigen::Vector3d>(b.com), I));
    }
    return model;
}

class Pinocchio : public Engine {
public:
    Pinocchio(const std::vector<Body>& bodies, const std::vector<State>& states) : model_(make_model(bodies)), data_(model_) {
        for (const State& s : states) {
            Eigen::VectorXd q = Eigen::Map<const Eigen::VectorXd>(s.q.data(), model_.nq);
            for (const auto& joint : model_.joints) {
                if (joint.nq() < 4) continue;
                const int k = joint.idx_q() + joint.nq() - 4;  // (w, x, y, z) to (x, y, z, w)
                const double w = q[k];
                q[k] = q[k + 1], q[k + 1] = q[k + 2], q[k + 2] = q[k + 3], q[k + 3] = w;
            }
            q_.push_back(q);
            v_.push_back(Eigen::Map<const Eigen::VectorXd>(s.v.data(), model_.nv));
            x_.push_back(Eigen::Map<const Eigen::VectorXd>(s.x.data(), model_.nv));
        }
    }
    void sweep(Work work) override {
        for (std::size_t i = 0; i < q_.size(); ++i) run(work, i);
    }
    std::vector<double> result(Work work, std::size_t i) override {
        run(work, i);
        if (work == Work::inertia) {
            const Eigen::MatrixXd M = data_.M.selfadjointView<Eigen::Upper>();
            return {M.data(), M.data() + M.size()};
        }
        const Eigen::VectorXd& x = work == Work::inverse ? data_.tau : data_.ddq;
        return {x.data(), x.data() + x.size()};
    }

private:
    void run(Work work, std::size_t i) {
        if (work == Work::inverse) pin::rnea(model_, data_, q_[i], v_[i], x_[i]);
        else if (work == Work::inertia) pin::crba(model_, data_, q_[i], pin::Convention::LOCAL);
        else pin::aba(model_, data_, q_[i], v_[i], x_[i], pin::Convention::WORLD);
    }
    pin::Model model_;
    pin::Data data_;
    std::vector<Eigen::VectorXd> q_, v_, x_;
};

}  // namespace

std::unique_ptr<Engine> make_pinocchio(const std::vector<Body>& bodies, const std::vector<State>& states) {
    return std::make_unique<Pinocchio>(bodies, states);
}

}  // namespace bench
