// MuJoCo's C interface: only the stages that smooth dynamics needs, which is less than mj_forward does.
//
// Its free joint has the linear velocity in world axes: with R the root's rotation and v, w ukemi's velocities,
//   v_M = R v,  vdot_M = R (vdot + w x v),  f_M = R f,  and the rows and columns of M turn likewise.
#include <mujoco/mujoco.h>

#include <array>
#include <cstring>
#include <stdexcept>

#include "engine.hpp"

namespace bench {
namespace {

using Matrix = std::array<double, 9>;

Matrix rotation(const double* quaternion) {
    Matrix R;
    mju_quat2Mat(R.data(), quaternion);
    return R;
}

class Mujoco : public Engine {
public:
    Mujoco(const std::string& path, const std::vector<State>& states) : model_(nullptr, mj_deleteModel), data_(nullptr, mj_deleteData), states_(states) {
        char error[500] = "";
        model_.reset(mj_loadXML(path.c_str(), nullptr, error, sizeof error));
        if (!model_) throw std::runtime_error(std::string("MuJoCo: ") + error);
        data_.reset(mj_makeData(model_.get()));
        for (const State& s : states) {
            State forward = s;
            std::vector<double> a = s.x;
            if (is_free()) {
                const Matrix R = rotation(s.q.data() + 3);
                double turned[3];
                mju_mulMatVec3(forward.v.data(), R.data(), s.v.data());
                mju_mulMatVec3(forward.x.data(), R.data(), s.x.data());
                mju_cross(turned, s.v.data() + 3, s.v.data());
                mju_addTo3(turned, s.x.data());
                mju_mulMatVec3(a.data(), R.data(), turned);
            }
            inputs_.push_back(forward);
            accelerations_.push_back(a);
        }
    }
    void sweep(Work work) override {
        for (std::size_t i = 0; i < inputs_.size(); ++i) run(work, i);
    }
    std::vector<double> result(Work work, std::size_t i) override {
        run(work, i);
        const auto n = static_cast<std::size_t>(model_->nv);
        const Matrix R = is_free() ? rotation(states_[i].q.data() + 3) : Matrix{1, 0, 0, 0, 1, 0, 0, 0, 1};
        if (work == Work::inertia) return turned_inertia(R, n);
        const double* x = work == Work::inverse ? data_->qfrc_inverse : data_->qacc;
        std::vector<double> out(x, x + n);
        if (is_free()) {
            mju_mulMatTVec3(out.data(), R.data(), x);
            if (work != Work::inverse) {
                double wv[3];
                mju_cross(wv, states_[i].v.data() + 3, states_[i].v.data());
                mju_subFrom3(out.data(), wv);
            }
        }
        return out;
    }

private:
    bool is_free() const { return model_->njnt > 0 && model_->jnt_type[0] == mjJNT_FREE; }
    void run(Work work, std::size_t i) {
        mjModel* m = model_.get();
        mjData* d = data_.get();
        std::memcpy(d->qpos, inputs_[i].q.data(), sizeof(double) * static_cast<std::size_t>(m->nq));
        mj_kinematics(m, d);
        mj_comPos(m, d);
        if (work == Work::inertia) return mj_crb(m, d);
        std::memcpy(d->qvel, inputs_[i].v.data(), sizeof(double) * static_cast<std::size_t>(m->nv));
        if (work == Work::inverse) {
            std::memcpy(d->qacc, accelerations_[i].data(), sizeof(double) * static_cast<std::size_t>(m->nv));
            mj_comVel(m, d);
            return mj_rne(m, d, 1, d->qfrc_inverse);
        }
        mj_crb(m, d);
        mj_factorM(m, d);
        mj_comVel(m, d);
        mj_rne(m, d, 0, d->qfrc_bias);
        mju_sub(d->qfrc_smooth, inputs_[i].x.data(), d->qfrc_bias, m->nv);
        mj_solveM(m, d, d->qacc, d->qfrc_smooth, 1);
    }
    std::vector<double> turned_inertia(const Matrix& R, std::size_t n) {
        std::vector<double> M(n * n), T(n * n, 0.0), MT(n * n), out(n * n);
        mj_fullM(model_.get(), data_.get(), M.data());
        for (std::size_t k = 0; k < n; ++k) T[k * n + k] = 1;
        for (std::size_t r = 0; r < 3 && is_free(); ++r)
            for (std::size_t c = 0; c < 3; ++c) T[r * n + c] = R[3 * r + c];
        const int size = static_cast<int>(n);
        mju_mulMatMat(MT.data(), M.data(), T.data(), size, size, size);
        mju_mulMatTMat(out.data(), T.data(), MT.data(), size, size, size);
        return out;
    }
    std::unique_ptr<mjModel, void (*)(mjModel*)> model_;
    std::unique_ptr<mjData, void (*)(mjData*)> data_;
    std::vector<State> states_, inputs_;
    std::vector<std::vector<double>> accelerations_;
};

}  // namespace

std::unique_ptr<Engine> make_mujoco(const std::string& mjcf_path, const std::vector<State>& states) {
    return std::make_unique<Mujoco>(mjcf_path, states);
}

}  // namespace bench
