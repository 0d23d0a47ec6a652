"""Pictures of motions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ukemi as uk
from ukemi.report.strip import draw_strip, surface_points


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
