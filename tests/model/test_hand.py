"""The hand: the thesis's structure and tables, published lengths and masses, symmetry, on a figure."""

from __future__ import annotations

import numpy as np
import pytest

import ukemi as uk
from ukemi.model.figures.anthropometry import DE_LEVA
from ukemi.model.figures.hand import Side, thesis_pose
from ukemi.model.figures.hand_data import BONES, FINGERS, REFERENCE_LENGTH, TABLE_5_IV


def landmark(model: uk.Model, q: np.ndarray, name: str) -> np.ndarray:
    mark = model.landmarks[name]
    X: np.ndarray = uk.link_poses(model, q)[model.link_index(mark.link)] @ mark.at.matrix
    return X[:3, 3]


def test_17_joints_and_22_freedoms_as_the_thesis_numbers_them() -> None:
    model = uk.hand()
    assert (model.nlinks, model.nq, model.nv) == (17, 22, 22)
    assert {row.name for row in TABLE_5_IV} == set(model.joint_names)
    assert [row.number for row in TABLE_5_IV] == list(range(1, 18))
    universal = [link.joint_name for link in model.links if isinstance(link.joint, uk.Universal)]
    assert universal == ["wrist", *(f"{finger}_mcp" for finger in FINGERS)]


def test_joints_carry_table_5_iv() -> None:
    model = uk.hand()
    for row in TABLE_5_IV:
        joint = model.joint(row.name).joint
        assert np.array_equal(np.asarray(joint.stiffness), row.stiffness)
        assert np.array_equal(np.asarray(joint.limits), row.limits)
        assert np.array_equal(np.asarray(joint.rest), row.rest)
        assert np.array_equal(np.asarray(joint.damping), 3.0 * np.eye(joint.nv))
    q, (lower, upper) = thesis_pose(model), model.limits().T
    assert ((q >= lower) & (q <= upper)).all()


def test_the_wrist_spring_pulls_one_way() -> None:
    """Table 5-IV, joint 1: flexion pulls the wrist towards the ulna by 4 N m/rad, adduction does not flex it."""
    model = uk.hand(damping=0)
    wrist = model.joint("wrist")
    q = model.neutral()
    q[wrist.q] = np.pi / 32, 0.1
    torque = -uk.bias(model, q, np.zeros(22), (0, 0, 0))
    assert torque[wrist.v] == pytest.approx([0.4, -0.2], abs=1e-14)
    q[wrist.q] = np.pi / 32 + 0.1, 0.0
    torque = -uk.bias(model, q, np.zeros(22), (0, 0, 0))
    assert torque[wrist.v] == pytest.approx([-0.2, 0.0], abs=1e-14)


def test_only_universal_joints_take_an_unsymmetric_stiffness() -> None:
    with pytest.raises(uk.InvalidInputError, match="symmetric"):
        uk.Planar(stiffness=[[1, 2, 0], [0, 1, 0], [0, 0, 1]])
    with pytest.raises(uk.InvalidInputError, match="negative direction"):
        uk.Universal(stiffness=[[1, 4], [0, 1]])


@pytest.mark.parametrize("length", [0.16, REFERENCE_LENGTH, 0.21])
def test_length_and_mass_are_what_was_asked_for(length: float) -> None:
    model = uk.hand(length=length, mass=0.5)
    assert model.mass == pytest.approx(0.5, rel=1e-12)
    assert -landmark(model, model.neutral(), "middle_tip")[2] == pytest.approx(length, rel=1e-12)
    scale = length / REFERENCE_LENGTH
    assert uk.hand(length=length).mass == pytest.approx(0.0061 * 73 * scale**3)
    for finger in FINGERS:
        middle = model.link(f"{finger}_middle").at.position
        assert np.linalg.norm(middle) == pytest.approx(scale * BONES[finger]["proximal"])


def test_fingers_bend_as_the_published_lengths_have_it() -> None:
    """The planar finger of hand_data.json: index at 30, 45 and 20 degrees; its tip from the knuckle [m]."""
    model = uk.hand()
    q = model.neutral()
    q[model.joint("index_mcp").q] = 0, np.deg2rad(30)
    q[model.joint("index_pip").q], q[model.joint("index_dip").q] = np.deg2rad(45), np.deg2rad(20)
    knuckle = uk.link_poses(model, q)[model.link_index("index_proximal")][:3, 3]
    tip = landmark(model, q, "index_tip") - knuckle
    assert [-tip[2], tip[0]] == pytest.approx([38.52937889e-3, 61.09260776e-3], abs=1e-11)
    assert tip[1] == pytest.approx(0, abs=1e-15)


def test_left_mirrors_right() -> None:
    left, right = uk.hand("left"), uk.hand("right")
    rng = np.random.default_rng(4)
    q, v = right.random(rng)
    X, Y = uk.link_poses(left, q), uk.link_poses(right, q)
    mirror = np.diag((1.0, -1, 1))
    assert np.allclose(X[:, :3, 3] @ mirror, Y[:, :3, 3], atol=1e-15)
    assert uk.kinetic_energy(left, q, v) == pytest.approx(uk.kinetic_energy(right, q, v), rel=1e-12)
    assert left.joint("wrist").name == "hand"


@pytest.mark.parametrize("side", ["left", "right"])
def test_positive_angles_bend_towards_palm_and_little_finger(side: Side) -> None:
    model = uk.hand(side)
    start = model.neutral()

    def moved(joint: str, freedom: int, tip: str) -> np.ndarray:
        q = start.copy()
        q[model.joint(joint).q.start + freedom] = 0.3
        return landmark(model, q, tip) - landmark(model, start, tip)

    radial = landmark(model, start, "index_tip") - landmark(model, start, "little_tip")
    for joint in ("wrist", "ring_mcp"):
        assert moved(joint, 0, "ring_tip") @ radial < 0  # adduction
        assert moved(joint, 1, "ring_tip")[0] > 0  # flexion
    assert moved("ring_pip", 0, "ring_tip")[0] > 0
    assert moved("ring_dip", 0, "ring_tip")[0] > 0
    q = start.copy()
    q[model.joint("thumb_cmc2").q] = 1.0
    away = landmark(model, q, "thumb_tip")
    assert (away - landmark(model, start, "thumb_tip")) @ radial > 0
    q[model.joint("thumb_cmc1").q] = 0.5
    assert landmark(model, q, "thumb_tip")[0] > away[0]  # opposition: out of the palm


def test_mass_lies_where_de_leva_found_it() -> None:
    """Centre of mass and radii of gyration of the relaxed hand, within a fifth: our flesh is an estimate."""
    model = uk.hand()
    q = thesis_pose(model)
    q[model.joint("wrist").q] = 0
    for finger in FINGERS:
        q[model.joint(f"{finger}_mcp").q][1] = q[model.joint(f"{finger}_pip").q][0] = 0.4
    row = DE_LEVA["male"].segments["hand"]
    assert -uk.center_of_mass(model, q)[2] == pytest.approx(row.com * row.length, rel=0.2)
    M = uk.mass_matrix(model, q)[:2, :2]  # about the wrist: adduction (sagittal axis), flexion (transverse)
    about = model.mass * row.length**2 * (np.array((row.k_sagittal, row.k_transverse)) ** 2 + row.com**2)
    assert np.diag(M) == pytest.approx(about, rel=0.2)


def test_a_figure_with_hands_has_80_joint_freedoms() -> None:
    """40 + 2 x 22 - 2 x 2: the hands' universal wrists take the place of two of the three wrist freedoms."""
    plain, model = uk.human(40), uk.human(40, hands=True)
    assert model.nv == 6 + 80
    assert model.mass == pytest.approx(plain.mass, rel=1e-12)
    for side in ("left", "right"):
        assert f"{side}_hand" in model.link_names
        assert {f"{side}_palm", f"{side}_grip", f"{side}_index_tip"} <= set(model.landmarks)
        wrist = uk.link_poses(model, model.neutral())[model.link_index(f"{side}_hand")]
        there = uk.link_poses(plain, plain.neutral())[plain.link_index(f"{side}_hand")]
        assert np.allclose(wrist, there, atol=1e-15)
    with pytest.raises(uk.InvalidInputError, match="hands need the wrists"):
        uk.human(28, hands=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"side": "both"}, "side"), ({"length": -1}, "length"), ({"limits": "none"}, "limits"), ({"mass": 0}, "mass")],
)
def test_bad_arguments_are_named(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(uk.InvalidInputError, match=message):
        uk.hand(**arguments)  # type: ignore[arg-type]
