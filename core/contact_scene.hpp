// What may touch: shapes on bodies, the terrain, joint limits; and what a contact step reports. Plain data and the
// interface that each instruction-set level implements (contact_step.hpp).
#pragma once
#include <cmath>
#include <vector>

#include "types.hpp"

namespace ukemi {

struct Material { double mu_s, mu_d, restitution; };
/// A convex solid: the hull of `core` (points in the body's coordinates) swept by a sphere of `radius`.
struct Solid {
    int body;                           ///< -1: stands in the world
    int link;                           ///< for reports; -1 - k: piece k of the terrain
    double radius;
    std::vector<Vec3<double>> core;
    std::vector<Vec3<double>> faces;    ///< unit normals of the hull's faces, outwards; empty for points and segments
    std::vector<Vec3<double>> edges;    ///< directions of its edges, each once
    Vec3<double> centre;                ///< of a ball around it
    double reach;                       ///< the ball's radius
    double rim_radius;                  ///< positive: a cylinder, whose rims are round
    Vec3<double> rim[2];                ///< centres of its rims
    bool through_ground = false;        ///< planes and height fields do not hold it
    bool own_ground = false;            ///< it touches them as `on_ground` says, not as they do
    Material on_ground{};
};
/// A half space n . x <= d that moves along itself, or a height field over x, y.
struct Plane { Vec3<double> normal; double offset; Vec3<double> velocity; Material material; };
struct HeightField {
    double x0, y0, dx, dy;
    int nx, ny;
    std::vector<double> z;              ///< nx by ny, row-major in x
    Vec3<double> velocity;
    Material material;
};
struct SolidPair { int a, b; Material material; Vec3<double> velocity; };  ///< velocity of b's surface, when b stands in the world
/// lower <= q[iq] <= upper of one freedom; restitution of its stops.
struct Stop { int iq, iv; double lower, upper, restitution; };
/// Restitution of a limit on several freedoms, a row of ContactEngine::limits that must not become positive.
struct CurvedStop { double restitution; };

struct ContactScene {
    std::vector<Solid> solids;
    std::vector<Plane> planes;
    std::vector<HeightField> fields;
    std::vector<SolidPair> pairs;
    std::vector<Stop> stops;
    std::vector<CurvedStop> curved;
};

/// Conditions of a contact ([DF03] Table I).
enum class Condition : int { face_stick = 0, line_stick = 1, pivot_stick = 2, point_stick = 3, face_slip = 4, line_slip = 5, point_slip = 6, off = 7 };
/// What a hypothesis failed ([DF03] V-E; `approach` and `direction` are ours).
enum class Check : int { none = 0, normal_force = 1, pressure = 2, friction = 3, twist = 4, approach = 5, direction = 6 };

/// A contact between a body's shapes and another's (or the terrain).
struct ContactReport {
    int link_a, link_b;          ///< b: -1 - k is piece k of the terrain
    Condition condition;
    Placement<double> frame;     ///< contact frame in the world, z along the normal that points to a
    double wrench[6];            ///< on a, in the contact frame [N, N m] (an impulse after an impact)
    Vec3<double> cop;            ///< in the world
    double slip[3];              ///< v_x, v_y, omega_z of a against b
    double gap;                  ///< least distance of its points [m]
    int points;                  ///< how many; see ContactEngine::point
};
struct TraceEntry { int solve, trial, link_a, link_b; Condition condition; Check failed; double amount; };
/// Residuals of the unilateral conditions, worst of the step; forces as shares of the largest normal force.
struct Certificate {
    double normal_force = 0;      ///< most negative normal force
    double approach = 0;          ///< fastest approach left at a contact [m/s]
    double complementarity = 0;   ///< normal force at points that part, times their speed [m/s]
    double cone = 0;              ///< friction beyond the cone
    double dissipation = 0;       ///< friction that is not opposite to the slip
    double pressure = 0;          ///< centre of pressure outside the hull [m]

    bool holds() const { return normal_force < 1e-6 && approach < 1e-6 && complementarity < 1e-6 && cone < 1e-6 && dissipation < 1e-5 && pressure < 1e-6; }
    /// The worst of both.
    void include(const Certificate& c) {
        normal_force = std::fmax(normal_force, c.normal_force), approach = std::fmax(approach, c.approach), complementarity = std::fmax(complementarity, c.complementarity);
        cone = std::fmax(cone, c.cone), dissipation = std::fmax(dissipation, c.dissipation), pressure = std::fmax(pressure, c.pressure);
    }
};
struct StepReport {
    Certificate certificate;      ///< of the motion that the step took, not of what it tried
    int solves = 0, trials = 0;   ///< contact problems; hypotheses tried
    int swept = 0, exact = 0;     ///< problems whose hypotheses came from a solution point by point; whose answer is that solution
    int impacts = 0, splits = 0;
    double restitution_kept = 1;  ///< below 1: Newton's law would have gained energy and was scaled down
    double energy_lost = 0;       ///< in impacts [J]
    double impact_time[16] = {};  ///< of the first impacts, since the step began [s]
    double penetration = 0;       ///< deepest [m]
};

struct ContactOptions {
    double accept = 1e-5;         ///< what is this near touches; a step that goes deeper is divided at the touch-down [m]
    double touch = 2e-5;          ///< what touched or does not approach touches up to here [m]
    int located = 2;              ///< touch-downs that divide a step; what else touches in it is slowed down to arrive at its end
    bool trace = false;
};

/// Rows of loops and ties that hold together with the contacts: the engine asks for them, and for loops to be closed again.
class LoopRows {
public:
    virtual ~LoopRows() = default;
    virtual int loops() const = 0;
    virtual int rows(int loop) const = 0;
    /// Bodies between its ends and the world.
    virtual const int* bodies(int loop, int* count) const = 0;
    /// H (rows x nv, row-major) and H_dot v of all rows.
    virtual void jacobian(const double* q, const double* v, double* H, double* rate) = 0;
    virtual void project(double* q, double* v) = 0;
    /// Position errors and rates of all rows.
    virtual void state(const double* q, const double* v, double* error, double* rate) = 0;
};

class ContactEngine {
public:
    virtual ~ContactEngine() = default;
    /// Moves (q, v) by h under torques and wrenches on bodies (6 per body; may be null).
    virtual void step(double h, double* q, double* v, const double* tau, const double* external, const double* gravity) = 0;
    /// Looks for contacts at q without moving: fills the contacts (without forces); returns the deepest penetration.
    virtual double look(const double* q, const double* v) = 0;
    /// Whether the inertia answers through articulated bodies or through its matrix, see inertia_response.hpp.
    virtual bool by_bodies() const = 0;
    virtual void choose_by_bodies(bool by_bodies) = 0;
    virtual int contacts() const = 0;
    virtual ContactReport contact(int i) const = 0;
    virtual Vec3<double> point(int contact, int i) const = 0;
    virtual int traced() const = 0;
    virtual TraceEntry trace(int i) const = 0;
    /// Mean force of a joint's stops over the last step, towards larger coordinates (of curved stops, which are counted on
    /// after the others, towards the inside); mean forces of the loops' rows.
    virtual double stop_force(int stop) const = 0;
    virtual double loop_force(int row) const = 0;

    ContactOptions options;
    StepReport report;
    LoopRows* loops = nullptr;
    LoopRows* limits = nullptr;  ///< one row per curved stop of the scene
};

}  // namespace ukemi
