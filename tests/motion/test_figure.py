"""The figure made from a clip's skeleton: the same motion, a person's masses, soles on the floor."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ukemi as uk
from ukemi.model.figures.anthropometry import DE_LEVA
from ukemi.motion.body import body_parts, side_of
from ukemi.motion.clip import Skeleton
from ukemi.motion.footfalls import sole_points
from ukemi.motion.rotations import angle_between, matrices
from ukemi.motion.synthesis import walk

#: sums of a dozen rotations
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def clip() -> uk.Clip:
    return walk(1.2)


@pytest.fixture(scope="module")
def figure(clip: uk.Clip) -> uk.ClipFigure:
    return uk.figure_from_clip(clip, mass=70.0)


def renamed(clip: uk.Clip, names: dict[str, str]) -> uk.Clip:
    s = clip.skeleton
    return replace(clip, skeleton=Skeleton(tuple(names.get(n, n) for n in s.names), s.parents, s.offsets, s.ends))


def test_every_link_is_where_its_joint_is(clip: uk.Clip, figure: uk.ClipFigure) -> None:
    X = uk.link_poses(figure.model, figure.q())
    for k, link in enumerate(figure.model.link_names):
        j = figure.joints[link]
        assert np.abs(X[:, k, :3, :3] - matrices(clip.world_rotations[:, j])).max() < ROUNDING
        # no bone between kept joints bends here except the neck, whose joint is merged; toes turn about the ball
        if link.endswith("toes"):
            sole = figure.soles[link.removesuffix("_toes")]
            assert figure.model.link(link).at.position == pytest.approx(sole.points[2:].mean(axis=0), abs=ROUNDING)
        elif link != "head":
            assert np.abs(X[:, k, :3, 3] + (0, 0, figure.floor) - clip.positions[:, j]).max() < ROUNDING, link


def test_the_way_back_is_exact(clip: uk.Clip, figure: uk.ClipFigure) -> None:
    back = figure.to_clip(figure.q())
    assert angle_between(back.rotations, clip.rotations).max() < ROUNDING
    assert np.abs(back.positions - clip.positions).max() < ROUNDING


def test_the_way_back_at_another_rate(clip: uk.Clip, figure: uk.ClipFigure) -> None:
    back = figure.to_clip(figure.q()[::2], fps=60)
    assert back.fps == 60
    assert np.abs(back.positions - clip.positions[::2]).max() < ROUNDING
    with pytest.raises(uk.InvalidInputError, match="fps"):
        figure.to_clip(figure.q()[::2])
    with pytest.raises(uk.InvalidInputError, match="expected q"):
        figure.to_clip(figure.q()[:, 1:])


def test_a_changed_state_changes_the_clip_alike(figure: uk.ClipFigure) -> None:
    rng = np.random.default_rng(0)
    q = uk.integrate(figure.model, figure.q(), 0.1 * rng.standard_normal((len(figure.clip), figure.model.nv)), 1.0)
    assert np.abs(uk.difference(figure.model, figure.q(figure.to_clip(q)), q)).max() < ROUNDING


def test_masses_are_de_levas(figure: uk.ClipFigure) -> None:
    model = figure.model
    assert model.mass == pytest.approx(70.0, rel=1e-12)
    segments = DE_LEVA["male"].segments
    whole = 1.0001  # the table's rounded fractions
    for link, segment in (
        ("left_thigh", "thigh"),
        ("right_shank", "shank"),
        ("head", "head"),
        ("pelvis", "lower_trunk"),
    ):
        got = model.link(link).mass_properties.mass / 70
        assert got == pytest.approx(segments[segment].mass / whole, abs=2e-5), link
    foot = sum(model.link(f"left_{part}").mass_properties.mass for part in ("foot", "toes"))
    assert foot / 70 == pytest.approx(segments["foot"].mass, rel=1e-3)


def test_the_figure_weighs_and_balances_like_the_human_of_the_package(figure: uk.ClipFigure) -> None:
    """The made walk has de Leva's proportions: in the zero pose the centre of mass is that of human(40), but for the
    mass of waist and ribs, 3 % of the height behind the line on which de Leva has it."""
    human = uk.human(40, height=1.75, mass=70)
    q = figure.model.neutral()
    mine, theirs = uk.center_of_mass(figure.model, q), uk.center_of_mass(human, human.neutral())
    behind = 0.03 * 1.75 * (0.1633 + 0.1596)
    # feet and hands lie differently along their bones, clavicles are drawn apart
    assert np.abs(mine - theirs + (behind, 0.0, 0.0)).max() < 0.012
    for link in ("left_thigh", "left_shank", "left_forearm"):
        a, b = (m.link(link).mass_properties for m in (figure.model, human))
        assert np.abs(a.com - b.com).max() < 1e-3
        assert np.abs(np.sort(np.linalg.eigvalsh(a.inertia)) - np.sort(np.linalg.eigvalsh(b.inertia))).max() < 1e-3


def test_height_and_mass_come_from_the_bones_unless_they_are_given(clip: uk.Clip) -> None:
    grown = uk.figure_from_clip(clip)
    assert grown.height == pytest.approx(1.75, rel=1e-9)
    assert grown.mass == pytest.approx(73 * (1.75 / 1.741) ** 2, rel=1e-9)
    given = uk.figure_from_clip(clip, mass=55, height=1.6, sex="female")
    assert given.model.mass == pytest.approx(55)
    for bad in ({"mass": -1}, {"height": 0}, {"sex": "x"}, {"parts": {"tail": "Hips"}}, {"parts": {"head": "Tail"}}):
        with pytest.raises(uk.UkemiError):
            uk.figure_from_clip(clip, **bad)


def test_soles_are_flat_and_under_the_standing_foot(clip: uk.Clip, figure: uk.ClipFigure) -> None:
    clean = walk(1.5, skate=0.0, floating=0.0)
    figure = uk.figure_from_clip(clean)
    points = sole_points(figure.model, figure.soles.values(), figure.q())
    # the walk rolls over a ball 8 mm below the estimated sole (its toe joint stands 2 cm high, 1.2 cm are assumed): the
    # estimated one dips by 3 mm before toe-off
    lowest = points[..., 2].min(axis=(0, 2))
    assert np.abs(lowest).max() < 4e-3
    for sole in figure.soles.values():
        assert np.abs(np.linalg.svd(sole.points - sole.points.mean(axis=0))[1][2]) < 1e-12
        assert sole.normal @ (0, 0, 1) > 0.9999
        assert sole.link in figure.model.link_names
    assert figure.model.landmarks["left_sole"].link == "left_foot"


def test_without_toes_they_are_part_of_the_foot(clip: uk.Clip) -> None:
    figure = uk.figure_from_clip(clip, mass=70, toes=False)
    assert figure.model.nv == 6 + 3 * 15
    assert figure.model.mass == pytest.approx(70)


@pytest.mark.parametrize(
    ("name", "side"),
    [
        ("LeftUpLeg", "left"), ("mixamorig:RightFoot", "right"), ("Foot_L", "left"), ("lfoot", "left"),
        ("rwrist", "right"),
        ("R_Ankle", "right"), ("LHipJoint", "left"), ("RThumb", "right"), ("Hips", None), ("Root", None), ("Leg", None),
        ("left_foot", "left"), ("FootR", "right"), ("Lumbar", None), ("bip01 L Foot", "left"),
    ],
)  # fmt: skip
def test_sides_are_read_from_names(name: str, side: str | None) -> None:
    assert side_of(name) == side


def test_other_dialects_of_names_find_the_same_body(clip: uk.Clip) -> None:
    wanted = body_parts(clip.skeleton)
    sides = {"Left": "L", "Right": "R"}
    smpl: dict[str, str] = {}
    for long, short in sides.items():
        smpl |= {f"{long}UpLeg": f"{short}_Hip", f"{long}Leg": f"{short}_Knee", f"{long}Foot": f"{short}_Ankle"}
        smpl |= {
            f"{long}ToeBase": f"{short}_Foot",
            f"{long}Arm": f"{short}_Shoulder",
            f"{long}ForeArm": f"{short}_Elbow",
        }
        smpl |= {f"{long}Hand": f"{short}_Wrist"}
    assert body_parts(renamed(clip, smpl).skeleton) == wanted
    strange = renamed(clip, {"LeftFoot": "Bone23"})
    with pytest.raises(uk.InvalidInputError, match="left foot"):
        body_parts(strange.skeleton)
    assert body_parts(strange.skeleton, {"left_foot": "Bone23"}) == wanted


def test_every_real_capture_gives_a_figure(shared: Path) -> None:
    for file in sorted((shared / "motions").rglob("*.bvh"))[::2]:
        clip = uk.read_motion(file)
        figure = uk.figure_from_clip(clip)
        assert 1.45 < figure.height < 1.85, file
        q = figure.q()
        X = uk.link_poses(figure.model, q)
        for link in ("left_foot", "right_foot", "left_shank"):  # legs are exact: nothing in them is merged
            places = X[:, figure.model.link_index(link), :3, 3] + (0, 0, figure.floor)
            assert np.abs(places - clip.positions[:, figure.joints[link]]).max() < 1e-3, (file, link)
        back = figure.to_clip(q)
        assert angle_between(back.rotations, clip.rotations).max() < ROUNDING
        assert np.abs(back.positions - clip.positions).max() < ROUNDING
        # an ankle is 2.5 to 10 cm above its sole
        heights = [-sole.at.position @ sole.normal for sole in figure.soles.values()]
        assert 0.025 < min(heights) <= max(heights) < 0.1, file
