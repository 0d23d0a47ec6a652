"""Published body data, and inverse dynamics of a leg built from them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tests.problems.conftest import Problem

import ukemi as uk
from ukemi.chain.limits import limit_chain
from ukemi.model.figures.anthropometry import DE_LEVA, WINTER
from ukemi.model.inertia import MassProperties

Load = Callable[[str], Problem]


def test_de_leva(problem: Load) -> None:
    p = problem("deleva_male")
    body = DE_LEVA["male"]
    assert body.height == p.given["height_m"]
    for name, segment in body.segments.items():
        row = p.given["segments"][name]
        assert segment.length == row["length_m"]
        assert segment.mass == row["mass_fraction"]
        assert segment.com == row["com_fraction_from_first_end"]
        assert (segment.k_sagittal, segment.k_transverse, segment.k_longitudinal) == (
            row["k_sagittal"],
            row["k_transverse"],
            row["k_longitudinal"],
        )
        if name in ("upper_trunk", "middle_trunk", "lower_trunk"):
            continue  # the answers list the whole trunk
        mass, *moments = p.answer(f"{name}: mass")
        properties = segment.properties(p.given["body_mass_kg"], 1.0, 0.0, -1.0)
        assert abs(properties.mass - mass) < 1e-9
        assert np.abs(np.diag(properties.inertia) - moments).max() < 1e-9
    trunk = [body.segments[f"{part}_trunk"] for part in ("upper", "middle", "lower")]
    ends = np.cumsum([0.0, *(s.length for s in trunk)])
    com = sum(s.mass * (e + s.com * s.length) for s, e in zip(trunk, ends[:-1], strict=True)) / sum(
        s.mass for s in trunk
    )
    assert abs(com / ends[-1] - p.answer("trunk CoM")) < 1e-12
    thigh = body.segments["thigh"].properties(73.0, 1.0, 0.0, -1.0)
    shank = body.segments["shank"].properties(73.0, 1.0, -body.segments["thigh"].length, -1.0)
    leg: MassProperties = thigh + shank
    depth, moment = p.answer("straight thigh+shank")
    assert abs(-leg.com[2] - depth) < 1e-9
    assert abs(leg.inertia[1, 1] + leg.mass * leg.com[2] ** 2 - moment) < 1e-9


def test_winter(problem: Load) -> None:
    p = problem("winter_segments")
    assert {name: list(row) for name, row in WINTER.items()} == p.given["segments"]
    whole = WINTER["head_neck"][0] + WINTER["trunk"][0] + 2 * (WINTER["total_arm"][0] + WINTER["total_leg"][0])
    assert abs(whole - p.answer("trunk+head+neck")) < 1e-12
    for name, answer in (("thigh", "radius of gyration"), ("leg", "same, leg"), ("forearm", "same, forearm")):
        _, com, gyration = WINTER[name]
        assert gyration is not None
        rod = MassProperties.of(1.0, (0, 0, -com), (gyration**2, gyration**2, 0))
        about_end = rod.inertia[1, 1] + rod.com @ rod.com
        assert abs(np.sqrt(about_end) - p.answer(answer)) < 5e-4  # the table's last digit


def test_leg_inverse_dynamics(problem: Load) -> None:
    """Thigh and shank on a hip that moves along a given path: two slides, then two hinges (x-z plane, ccw about -y)."""
    p = problem("leg_inverse_dynamics")
    g = p.given
    ccw = uk.Revolute((0, -1, 0))

    def leg(parent: str, b: uk.Builder, at: uk.Pose, name: str) -> None:
        inertia = (g[f"I_{name}"], g[f"I_{name}"], 0.0)
        b.link(name, parent, ccw, at, mass=g[f"m_{name}"], com=(0, 0, -g[f"com_{name}"]), inertia=inertia)

    whole, below = uk.Builder("leg"), uk.Builder("shank")
    for b in (whole, below):
        b.link("x", joint=uk.Prismatic((1, 0, 0)))
        b.link("z", "x", uk.Prismatic((0, 0, 1)))
    leg("z", whole, uk.Pose(), "thigh")
    leg("thigh", whole, uk.Pose((0, 0, -g["l_thigh"])), "shank")
    leg("z", below, uk.Pose(), "shank")
    model, shank = whole.build(), below.build()

    def motion(t: float) -> np.ndarray:
        """q, v, a of hip x, hip height, thigh and knee, differentiated by hand."""
        s6, c6 = np.sin(6 * t), np.cos(6 * t)
        s12, c12 = np.sin(12 * t), np.cos(12 * t)
        sb, cb = np.sin(6 * t - 1), np.cos(6 * t - 1)
        return np.array(
            [
                [0.02 * s6, 0.12 * c6, -0.72 * s6],
                [0.03 * c12 + 0.9, -0.36 * s12, -4.32 * c12],
                [0.5 * s6, 3 * c6, -18 * s6],
                [0.45 * sb - 0.5, 2.7 * cb, -16.2 * sb],
            ]
        ).T

    assert (g["hip_x"], g["hip_y"]) == ("0.02*sin(6*t)", "0.03*cos(12*t) + 0.9")
    assert (g["a"], g["b"]) == ("0.5*sin(6*t)", "0.45*sin(6*t - 1.0) - 0.5")
    quantities = ("hip force", "hip torque", "knee torque", "knee force")
    for (t, force), (_, torque), (_, knee), (_, pull) in zip(*map(p.answers, quantities), strict=True):
        q, v, a = motion(t)
        tau = uk.inverse_dynamics(model, q, v, a)
        assert np.abs(tau - [*force, torque, knee]).max() < 1e-9
        # the knee's own path moves the shank alone: what carries it is the force in the knee
        J = uk.jacobian(model, q, "shank")[[0, 2]]
        rate = uk.jacobian_rate(model, q, v, "shank")[[0, 2]]
        place = uk.link_poses(model, q)[model.link_index("shank"), [0, 2], 3]
        carried = uk.inverse_dynamics(
            shank, [*place, q[2] + q[3]], [*(J @ v), v[2] + v[3]], [*(J @ a + rate), a[2] + a[3]]
        )
        assert np.abs(carried[:2] - pull).max() < 1e-9


def test_figures_have_normal_ranges(problem: Load) -> None:
    """joint_ranges: hinges and ball joints of the figures, within the 15 degrees by which sources differ."""
    ranges = problem("joint_ranges").given["ranges_deg"]
    model = uk.human(40, hands=True, ranges=True)
    near = pytest.approx

    def hinge(joint: str, freedom: int = 0) -> list[float]:
        limits: list[float] = np.rad2deg(np.asarray(model.joint(joint).joint.limits))[freedom].tolist()
        return limits

    assert hinge("left_elbow") == near([-ranges["elbow"]["extension"], ranges["elbow"]["flexion"]])
    assert hinge("left_knee") == near([-ranges["knee"]["extension"], ranges["knee"]["flexion"]])
    assert hinge("left_wrist", 0) == near([-ranges["wrist"]["radial"], ranges["wrist"]["ulnar"]])
    assert hinge("left_wrist", 1) == near([-ranges["wrist"]["extension"], ranges["wrist"]["flexion"]])
    assert hinge("left_pronation") == near([-ranges["forearm"]["supination"], ranges["forearm"]["pronation"]])
    assert hinge("left_index_mcp", 1) == near([-ranges["finger_MCP"]["extension"], ranges["finger_MCP"]["flexion"]])
    assert hinge("left_ring_pip") == near([0, ranges["finger_PIP"]["flexion"]])
    assert hinge("left_ring_dip") == near([0, ranges["finger_DIP"]["flexion"]])
    assert hinge("left_thumb_cmc1") == near([0, ranges["thumb_CMC"]["abduction"]])
    assert hinge("left_thumb_mcp") == near([0, ranges["thumb_MCP"]["flexion"]])
    assert hinge("left_thumb_ip") == near([0, ranges["thumb_IP"]["flexion"]])

    # how far ball joints go: turn them until their limits are reached
    limits, chain = limit_chain(model)

    def reach(name: str, axis: tuple[float, float, float]) -> float:
        joint = model.joint(name)
        own = [k for k, limit in enumerate(limits) if limit.label.startswith(name)]
        for angle in range(1, 180):
            q = model.neutral()
            half = np.deg2rad(angle) / 2
            q[joint.q] = np.cos(half), *(np.sin(half) * np.array(axis))
            if chain.state(q, np.zeros(model.nv))[0][own].max() > 1e-9:
                return angle - 1
        return 179

    forwards, backwards, to_left, to_right, inwards = (0, -1, 0), (0, 1, 0), (1, 0, 0), (-1, 0, 0), (0, 0, -1)
    hip, shoulder = ranges["hip"], ranges["shoulder"]
    for side, away, towards in (("left", to_left, to_right), ("right", to_right, to_left)):
        inner = inwards if side == "left" else (0, 0, 1)
        outer = tuple(-x for x in inner)
        assert reach(f"{side}_hip", forwards) == hip["flexion"]
        assert reach(f"{side}_hip", backwards) == hip["extension"]
        assert reach(f"{side}_hip", away) == hip["abduction"]
        assert reach(f"{side}_hip", towards) == hip["adduction"]
        assert reach(f"{side}_hip", inner) == hip["internal_rotation"]
        assert reach(f"{side}_shoulder", forwards) == near(shoulder["flexion"], abs=5)
        assert reach(f"{side}_shoulder", backwards) == shoulder["extension"]
        assert reach(f"{side}_shoulder", away) == near(shoulder["abduction"], abs=5)
        assert reach(f"{side}_shoulder", inner) == shoulder["internal_rotation"]
        assert reach(f"{side}_shoulder", outer) == shoulder["external_rotation"]  # type: ignore[arg-type]
        assert reach(f"{side}_ankle", backwards) == ranges["ankle"]["plantarflexion"]
        assert reach(f"{side}_ankle", forwards) == ranges["ankle"]["dorsiflexion"]
        assert reach(f"{side}_ankle", towards) == ranges["subtalar"]["inversion"]
        assert reach(f"{side}_ankle", away) == ranges["subtalar"]["eversion"]
    assert reach("neck", backwards) == ranges["neck"]["flexion"]
    assert reach("neck", to_left) == ranges["neck"]["lateral"]
