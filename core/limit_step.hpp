// The implicit step (implicit.hpp), with joint limits as unilateral constraints x <= 0 at its end.
//
// What hits a limit with restitution bounces first, by impulses at the start of the step (limit_settle.hpp), which never add
// energy. Then the step must leave every row within: x + h (x_dot + h x_dd) <= 0, by forces that only push. Rows that would be
// passed become active with the acceleration that brings them just to their limit; rows that would have to pull are let go;
// until neither happens. The rows that were active in the last step are tried first, so that most steps solve once.
// Limits of several freedoms bend over a step: they push along their gradient where the step ends, which is found with them.
// Of a range without hollows such pushes only take energy; along the gradient at the start there may be no end within at all.
// Where the motion turns fast it is solved again with the velocity products of the mean velocity: those of the start alone
// add energy in every step, without end. What the step still gains where a stop acts is taken back (energy_ceiling.hpp).
// Active limits of single coordinates of a tree without loops are held freedoms (held.hpp), which cost less than free ones;
// others are rows of a closed chain.
#pragma once
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "closed_chain.hpp"
#include "energy_ceiling.hpp"
#include "implicit.hpp"
#include "limit_settle.hpp"

namespace ukemi {

class LimitStepper {
public:
    /// plain: the tree; closed: its loops and ties, or null; tree, base: the implicit ones; limits: a chain of the plain tree whose
    /// ties are all limits, or null; restitution: one per limit; outside: limits whose joints start beyond them.
    LimitStepper(const Tree& plain, ClosedChain* closed, const Tree& tree, Loops base, ClosedChain* limits, std::vector<double> restitution, const std::vector<int>& outside)
        : closed_(closed), tree_(tree), base_(std::move(base)), limits_(limits), restitution_(std::move(restitution)) {
        const auto rows = restitution_.size();
        if (limits_) settler_.emplace(plain, *limits_, restitution_), ceiling_.emplace(plain, closed_, scratch_);
        error_.resize(rows), rate_.resize(rows), error_new_.resize(rows), rate_new_.resize(rows), state_.assign(rows, within);
        for (int row : outside) state_[static_cast<std::size_t>(row)] = beyond;
        a_.resize(static_cast<std::size_t>(tree_.nv)), held_.assign(a_.size(), 0), given_.resize(a_.size()), torque_.resize(a_.size());
        const Loops all = limits_ ? limits_->loops() : Loops{};
        for (const Tie& tie : all.ties) {
            const TieTerm& term = all.terms[static_cast<std::size_t>(tie.term)];
            const bool plain = tie.term_end == tie.term + 1 && !term.angle && term.measure < 0 && std::fabs(term.c[0]) == 1 && term.c[1] == 0 && term.c[2] == 0 && term.c[3] == 0;
            freedom_.push_back(plain ? term.v : -1), coordinate_.push_back(term.q), sign_.push_back(term.c[0]), offset_.push_back(tie.offset);
            all_plain_ &= plain;
        }
        target_.resize(rows), product_.resize(rows), J_.assign(rows * a_.size(), 0.0);
        for (std::size_t r = 0; r < rows; ++r)
            if (freedom_[r] >= 0) J_[r * a_.size() + static_cast<std::size_t>(freedom_[r])] = sign_[r];
        v_.resize(a_.size()), v_first_.resize(a_.size()), v_last_.resize(a_.size()), v_mean_.resize(a_.size()), dv_.resize(a_.size()), tau_.resize(a_.size()), q_.resize(static_cast<std::size_t>(tree_.nq));
    }
    /// Limits that pushed in the last step.
    const std::vector<int>& active() const { return active_; }
    /// Limits from which something came back in the last step.
    const std::vector<int>& bounced() const { return bounced_; }
    void set_active(const std::vector<int>& rows) { active_ = rows, solved_ = false, chain_.reset(); }
    bool solved() const { return solved_; }
    /// How hard each of them pushed, in the same order.
    double force(std::size_t k) const { return -lambda_[lambda_.size() - active_.size() + k]; }
    const std::vector<char>& state() const { return state_; }

    /// One step. goes_on: q and v are what the last step left.
    void advance(const double* tau, const double* external, const double* gravity, double h, double* q, double* v, bool goes_on) {
        if (goes_on) error_.swap(error_new_), rate_.swap(rate_new_);
        else measure(q, v, error_.data(), rate_.data()), placed_ = false;
        double before = goes_on ? energy_ : NAN;
        if (std::isnan(before) && any_row([&](std::size_t r) { return returns(r, h); })) before = ceiling_->energy(q, v, gravity);
        held_before_ = active_;
        bounce(h, q, v);
        tries_.assign(error_.size(), 0);
        for (int row : active_) target_[static_cast<std::size_t>(row)] = (-error_[static_cast<std::size_t>(row)] / h - rate_[static_cast<std::size_t>(row)]) / h;
        if (has_curved()) limits_->jacobian(q, v, J_.data(), product_.data());
        std::copy(v, v + v_.size(), v_last_.begin());
        find_end(q, v, v, tau, external, gravity, h);
        for (int pass = 1; pass < most_passes && turned(h); ++pass) {
            v_last_ = v_;
            for (std::size_t i = 0; i < v_.size(); ++i) dv_[i] = 0.5 * (v_[i] - v[i]), v_mean_[i] = v[i] + dv_[i], tau_[i] = tau ? tau[i] : 0.0;
            add_damping(tree_, dv_.data(), tau_.data());  // only the velocity products are those of the mean
            find_end(q, v, v_mean_.data(), tau_.data(), external, gravity, h);
        }
        if (closed_) closed_->project(q_.data(), v_.data());
        placed_ = false;
        if (active_.empty() && bounced_.empty()) energy_ = NAN;
        else keep_energy(std::isnan(before) ? ceiling_->energy(q, v, gravity) : before, q, tau, gravity, h);
        std::copy(v_.begin(), v_.end(), v), std::copy(q_.begin(), q_.end(), q);
        for (std::size_t r = 0; r < state_.size(); ++r)
            if (state_[r] == beyond && error_new_[r] <= 0) state_[r] = within;
    }

private:
    enum : char { within, beyond };
    static constexpr int most_rounds = 50;
    static constexpr double tolerance = 1e-12;   // a row is passed by more than this [rad, m]
    static constexpr double reached = 1e-9;      // a curved row that is active ends this near [rad, m]
    static constexpr double bounces = 1e-7;      // slower than this nothing comes back [rad/s, m/s]
    static constexpr double touches = 1e-9;      // a limit nearer than this feels the impacts of others [rad, m], as in limit_settle.hpp
    static constexpr int most_bounces = 20;      // between limits that are nearer to each other than a step; then they are held
    static constexpr int most_bends = 12;        // of curved rows, before less of the step is done
    static constexpr int most_passes = 4;        // of velocity products, each at the mean velocity of the last
    static constexpr double drift = 1e-5;        // of the energy in a step, that velocity products may add

    /// Where stops act: the energy does not rise in the step that reaches one, and while they hold never above what it was then.
    /// before: the energy at the start; q: where that was.
    void keep_energy(double before, const double* q, const double* tau, const double* gravity, double h) {
        const bool reached_now = !bounced_.empty() || std::any_of(active_.begin(), active_.end(), [&](int row) { return std::find(held_before_.begin(), held_before_.end(), row) == held_before_.end(); });
        if (reached_now || before != energy_) most_energy_ = before;  // another energy than at the last end: the state is new
        most_energy_ += ceiling_->work(q, v_.data(), tau, h);
        energy_ = ceiling_->keep(most_energy_, gravity, q_.data(), v_.data());
        if (reached_now) most_energy_ = std::fmin(most_energy_, energy_);
        placed_ = true;
        measure(q_.data(), v_.data(), error_new_.data(), rate_new_.data());
    }
    /// Velocities after the impacts of what comes back from its limit in this step, and of what touches besides.
    void bounce(double h, const double* q, double* v) {
        bounced_.clear();
        auto comes_back = [&](std::size_t r) { return returns(r, h); };
        for (int round = 0; round < most_bounces && any_row(comes_back); ++round) {
            settler_->bounce(closed_, q, v, [&](std::size_t r) { return state_[r] != beyond && (returns(r, h) || error_[r] > -touches); });
            for (const LimitSettler::Hit& hit : settler_->hits)
                if (std::find(bounced_.begin(), bounced_.end(), hit.row) == bounced_.end()) bounced_.push_back(hit.row);
            measure(q, v, error_.data(), rate_.data());
        }
        if (bounced_.empty()) return;
        const std::size_t before = active_.size();
        active_.erase(std::remove_if(active_.begin(), active_.end(), [&](int r) { return rate_[static_cast<std::size_t>(r)] < -bounces; }), active_.end());
        if (active_.size() < before) chain_.reset();
    }
    template <class F> bool any_row(F&& f) const {
        for (std::size_t r = 0; r < error_.size(); ++r)
            if (f(r)) return true;
        return false;
    }
    /// The end of the step and the rows that are active there; v_products: the velocity of the velocity products.
    void find_end(const double* q, const double* v, const double* v_products, const double* tau, const double* external, const double* gravity, double h) {
        int bends = 0;
        for (int round = 0; round < most_rounds; ++round) {
            solve(q, v, v_products, tau, external, gravity, h);
            if (release(round) || hold(h)) continue;
            if (!bent()) return;
            if (bends == 0) v_first_ = v_;
            if (++bends > most_bends) break;
            straighten(h);
        }
        if (has_curved()) retreat(q, h);
    }
    /// Whether velocity products, taken at another velocity than the mean, may still change the energy by more than `drift` of it.
    bool turned(double h) const {
        for (std::size_t i = 0; i < v_.size(); ++i)
            if (h * std::fabs(v_[i] - v_last_[i]) > drift) return true;
        return false;
    }
    /// The end of the step with the present active rows.
    void solve(const double* q, const double* v, const double* v_products, const double* tau, const double* external, const double* gravity, double h) {
        if (mark_held()) {
            for (int row : active_) given_[freedom(row)] = sign_[static_cast<std::size_t>(row)] * target_[static_cast<std::size_t>(row)];
            kernels().held_dynamics(tree_, held_.data(), given_.data(), q, v_products, tau, external, gravity, scratch_.get(kernels().scratch_bytes(tree_)), placed_, a_.data(), torque_.data());
            placed_ = true;
            lambda_.resize(active_.size());
            for (std::size_t k = 0; k < active_.size(); ++k) lambda_[k] = sign_[static_cast<std::size_t>(active_[k])] * torque_[freedom(active_[k])];
        } else {
            if (!chain_) compile();
            const int first = static_cast<int>(base_.ties.size());
            for (std::size_t k = 0; k < active_.size(); ++k) chain_->set_row(first + static_cast<int>(k), &J_[static_cast<std::size_t>(active_[k]) * a_.size()], target_[static_cast<std::size_t>(active_[k])]);
            lambda_.resize(static_cast<std::size_t>(chain_->rows()));
            chain_->dynamics(q, v_products, tau, external, gravity, a_.data(), lambda_.data());
        }
        solved_ = true;
        for (std::size_t i = 0; i < v_.size(); ++i) v_[i] = v[i] + h * a_[i];
        finish(q, h);
    }
    /// Where v_ leads.
    void finish(const double* q, double h) {
        Batch b;
        b.tree = &tree_;
        b.q.data = q, b.v.data = v_.data(), b.dt = h, b.out = q_.data();
        kernels().integrate(b, 0, 1, nullptr);
        measure(q_.data(), v_.data(), error_new_.data(), rate_new_.data());
    }
    /// How far each limit is passed, and how fast.
    void measure(const double* q, const double* v, double* error, double* rate) {
        if (!all_plain_) return limits_->state(q, v, error, rate);
        for (std::size_t r = 0; r < sign_.size(); ++r) error[r] = sign_[r] * q[coordinate_[r]] + offset_[r], rate[r] = sign_[r] * v[freedom_[r]];
    }
    /// Whether a row hits its limit in this step so fast that it comes back.
    bool returns(std::size_t r, double h) const {
        return restitution_[r] > 0 && state_[r] != beyond && rate_[r] > bounces && error_[r] + h * rate_[r] > -tolerance;
    }
    bool curved(int row) const { return freedom_[static_cast<std::size_t>(row)] < 0; }
    bool has_curved() const { return std::any_of(active_.begin(), active_.end(), [&](int row) { return curved(row); }); }
    /// Whether an active row of several freedoms does not end at its limit.
    bool bent() const {
        return std::any_of(active_.begin(), active_.end(), [&](int row) { return curved(row) && state_[static_cast<std::size_t>(row)] != beyond && std::fabs(error_new_[static_cast<std::size_t>(row)]) > reached; });
    }
    /// Active rows of several freedoms as they are at the end that was found.
    void straighten(double h) {
        limits_->jacobian(q_.data(), v_.data(), J_.data(), product_.data());
        for (int row : active_)
            if (curved(row)) aim(row, h);
    }
    /// The acceleration that brings a row from the end that was found to its limit.
    void aim(int row, double h) {
        const auto r = static_cast<std::size_t>(row), n = a_.size();
        double along = 0;
        for (std::size_t i = 0; i < n; ++i) along += J_[r * n + i] * a_[i];
        target_[r] = along - error_new_[r] / (h * h);
    }
    /// No end was found where curved rows just touch: as much of the first one's velocity as stays within.
    void retreat(const double* q, double h) {
        double low = 0, high = 1;
        for (int halving = 0; halving < 40; ++halving) {
            const double share = halving == 39 ? low : 0.5 * (low + high);
            for (std::size_t i = 0; i < v_.size(); ++i) v_[i] = share * v_first_[i];
            finish(q, h);
            bool ends_within = true;
            for (std::size_t r = 0; r < error_new_.size(); ++r) ends_within &= state_[r] == beyond || error_new_[r] <= std::fmax(reached, error_[r]);
            (ends_within ? low : high) = share;
        }
    }
    std::size_t freedom(int row) const { return static_cast<std::size_t>(freedom_[static_cast<std::size_t>(row)]); }
    /// Marks the freedoms of the active rows, where all are single coordinates, none twice, and nothing else constrains them.
    bool mark_held() {
        if (!base_.items.empty() || !base_.ties.empty()) return false;
        std::fill(held_.begin(), held_.end(), char{0});
        for (int row : active_) {
            if (freedom_[static_cast<std::size_t>(row)] < 0 || held_[freedom(row)]) return false;
            held_[freedom(row)] = 1;
        }
        return true;
    }
    /// Lets rows go that pull; those that keep coming back stay in the end.
    bool release(int round) {
        const double* force = lambda_.data() + lambda_.size() - active_.size();
        std::size_t kept = 0;
        const std::size_t count = active_.size();
        for (std::size_t k = 0; k < count; ++k) {
            const auto r = static_cast<std::size_t>(active_[k]);
            if (force[k] > 0 && tries_[r] < 3 && round < most_rounds / 2) ++tries_[r];
            else active_[kept++] = active_[k];
        }
        active_.resize(kept);
        if (kept == count) return false;
        chain_.reset();
        return true;
    }
    /// Adds rows that would be passed.
    bool hold(double h) {
        const std::size_t before = active_.size();
        for (std::size_t r = 0; r < error_new_.size(); ++r) {
            const int row = static_cast<int>(r);
            if (error_new_[r] <= tolerance || state_[r] == beyond || std::find(active_.begin(), active_.end(), row) != active_.end()) continue;
            active_.push_back(row);
            if (!curved(row)) target_[r] = (-error_[r] / h - rate_[r]) / h;
        }
        if (active_.size() == before) return false;
        if (std::any_of(active_.begin() + static_cast<std::ptrdiff_t>(before), active_.end(), [&](int row) { return curved(row); })) straighten(h);
        chain_.reset();
        return true;
    }
    /// The structure's loops and ties, and a row for each active limit on the freedoms of its terms.
    void compile() {
        Loops loops = base_;
        for (int row : active_) {
            const Loops& all = limits_->loops();
            const Tie& tie = all.ties[static_cast<std::size_t>(row)];
            const int first = static_cast<int>(loops.terms.size());
            for (int t = tie.term; t < tie.term_end; ++t) {
                const TieTerm& term = all.terms[static_cast<std::size_t>(t)];
                const int freedoms = term.angle || term.measure >= 0 ? 3 : 1;
                for (int k = 0; k < freedoms; ++k)
                    if (std::none_of(loops.terms.begin() + first, loops.terms.end(), [&](const TieTerm& other) { return other.v == term.v + k; }))
                        loops.terms.push_back({term.body, term.q, term.v + k, false, {0, 0, 0, 0}, 0});
            }
            loops.ties.push_back({first, static_cast<int>(loops.terms.size()), 0.0});
        }
        chain_ = std::make_unique<ClosedChain>(tree_, std::move(loops));
    }

    ClosedChain* closed_;
    const Tree& tree_;
    Loops base_;
    ClosedChain* limits_;
    std::optional<LimitSettler> settler_;
    std::optional<EnergyCeiling> ceiling_;
    double energy_ = NAN, most_energy_ = NAN;  // at the end of the last step, if a stop acted in it; and the most it might have been
    std::vector<double> restitution_, error_, rate_, error_new_, rate_new_, a_, v_, q_, lambda_;
    std::vector<double> sign_, offset_, target_, product_, J_;  // per limit: of single coordinates; the acceleration that is wanted when active; its gradient
    std::vector<double> given_, torque_, v_mean_, dv_, tau_, v_first_, v_last_;  // per freedom
    bool all_plain_ = true;                // each limit is one of a single coordinate
    std::vector<char> state_, held_;
    std::vector<int> active_, held_before_, bounced_, tries_, freedom_, coordinate_;
    bool solved_ = false;
    bool placed_ = false;                  // scratch_ has the bodies' placements at the start of the step
    Scratch scratch_;
    std::unique_ptr<ClosedChain> chain_;
};

}  // namespace ukemi
