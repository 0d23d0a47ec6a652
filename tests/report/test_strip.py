"""Pictures of motions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ukemi as uk
from ukemi.report.strip import LEFT, RIGHT, VIEWS, draw_strip, surface_points
from ukemi.report.strip import _axis as axis_of
from ukemi.report.strip import _outlines as outlines_of


def test_a_strip_shows_every_pose(tmp_path: Path) -> None:
    from matplotlib.image import imread

    model = uk.human(28)
    path = draw_strip(model, np.tile(model.neutral(), (5, 1)), tmp_path / "strip.png", time=np.arange(5.0), poses=3)
    picture = imread(path)[..., :3]
    dark = (picture.min(axis=2) < 0.75).any(axis=0)  # columns with paint
    starts = np.flatnonzero(dark[1:] & ~dark[:-1])
    assert picture.shape[1] > 300
    assert len(starts) >= 1
    assert dark.mean() > 0.1


@pytest.mark.parametrize(("view", "first", "nearest"), [("front", "right", "nose"), ("back", "left", "pack")])
def test_front_and_back_show_what_is_there(view: str, first: str, nearest: str) -> None:
    """Who stands before a figure sees its right hand on the left, and its nose."""
    b = uk.Builder("man")
    b.link("head", joint=uk.Free(), mass=1, shapes=[uk.Sphere(0.1)])
    for name, x, y in (("nose", 0.1, 0.0), ("pack", -0.1, 0.0), ("left_hand", 0.0, 0.5), ("right_hand", 0.0, -0.5)):
        b.link(name, "head", uk.Fixed(), uk.Pose((x, y, 0)), mass=1, shapes=[uk.Sphere(0.02)])
    model = b.build()
    right, up = (axis_of(a) for a in VIEWS[view])
    outlines = outlines_of(model, uk.link_poses(model, model.neutral()), right, up)
    place = {colour: float(points[:, 0].mean()) for _, points, colour in outlines}
    assert place[{"left": LEFT, "right": RIGHT}[first]] < 0
    X = dict(zip(model.link_names, uk.link_poses(model, model.neutral()), strict=True))
    towards = np.cross(right, up)
    assert max(X, key=lambda name: float(X[name][:3, 3] @ towards)) == nearest


def test_nothing_to_draw_is_said(tmp_path: Path) -> None:
    b = uk.Builder("bare")
    b.link("a", joint=uk.Free(), mass=1, inertia=(1, 1, 1))
    model = b.build()
    with pytest.raises(uk.InvalidInputError, match="'bare' has no shapes"):
        draw_strip(model, model.neutral(), tmp_path / "strip.png")
    with pytest.raises(uk.InvalidInputError, match="view"):
        draw_strip(uk.human(16), uk.human(16).neutral(), tmp_path / "strip.png", view="inside")


@pytest.mark.parametrize("shape", [uk.Box((1, 2, 3)), uk.Sphere(1), uk.Capsule(0.5, 1), uk.Cylinder(0.5, 1)])
def test_surface_points_span_the_shape(shape: uk.Box) -> None:
    points = surface_points(shape)
    hull = uk.ConvexMesh(points)
    assert hull.volume == pytest.approx(shape.volume, rel=0.06)  # 24-sided rounds
