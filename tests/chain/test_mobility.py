"""Mobility: the worked example of [SV00], its high bar, and structures without freedom."""

from __future__ import annotations

import numpy as np

import ukemi as uk

#: entries of order one: rounding
EXACT = 1e-12


def sv00_example() -> uk.World:
    """[SV00] Fig. 14, 18: a free base with one link, whose end is joined to the ground."""
    b = uk.Builder("chain")
    b.link("base", joint=uk.Free(), mass=1, inertia=(1, 1, 1))
    b.link("link1", "base", uk.Revolute((0, 0, 1)), uk.Pose((0, 1, 0)), mass=1, inertia=(1, 1, 1))
    world = uk.World()
    chain = world.add(b.build(), name="chain")
    world.connect(world.ground, chain["link1"], uk.Revolute((0, 0, 1)), at=uk.Pose((0, 2, 0)), name="theta8")
    return world


def test_worked_example_of_sv00() -> None:
    """Eq. 45-48, as corrected in docs/errata.md."""
    mobility = sv00_example().mobility(independent=[0, 6], actuated=[6, 7])
    J_C = np.array(
        [
            [1, 0, 0, 0, 0, -2, -1, 0],
            [0, 1, 0, 0, 0, 0, 0, 0],
            [0, 0, 1, 2, 0, 0, 0, 0],
            [0, 0, 0, 1, 0, 0, 0, 0],
            [0, 0, 0, 0, 1, 0, 0, 0],
            [0, 0, 0, 0, 0, 1, 1, -1],
        ]
    )
    assert np.abs(mobility.J_C - J_C).max() < EXACT
    assert np.abs(mobility.H - [[0, 0], [0, 0], [0, 0], [0, 0], [0.5, -0.5], [0.5, 0.5]]).max() < EXACT
    assert np.abs(mobility.W - [[1, 0], [0, 0], [0, 0], [0, 0], [0, 0], [0.5, -0.5], [0, 1]]).max() < EXACT
    assert np.abs(mobility.S - [[0, 1], [0.5, 0.5]]).max() < EXACT
    assert mobility.dof == 2


def test_mobility_in_words() -> None:
    text = sv00_example().mobility().summary()
    assert "8 - 6 = 2 freedoms" in text
    assert "The motion is described by: " in text


def test_high_bar_of_sv00() -> None:
    """24 joint freedoms with both hands on the bar, 23 with one; each pin on the bar takes five freedoms."""
    model = uk.human(16)
    world = uk.World()
    man = world.add(model, name="man")
    grips = []
    for side in ("left", "right"):
        grips.append(
            world.connect(
                world.ground, man[f"{side}_hand"], uk.Revolute((0, 1, 0)), at=uk.Pose(man[f"{side}_hand"].X_W[:3, 3])
            )
        )
    both = world.mobility()
    assert len(both.coordinates) == 24
    assert both.dof == 24 - 12 + 0 + len(both.redundant)
    world.cut(grips[1])
    one = world.mobility()
    assert len(one.coordinates) == 23
    assert one.dof == 17
    world.cut(grips[0])
    assert world.mobility().dof == 22
