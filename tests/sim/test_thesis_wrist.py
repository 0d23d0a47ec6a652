"""[HAND07] 5.4.2: which masses and which readings of Table 5-IV let the wrist end as the thesis reports.

It reports that flexion saturates first, then adduction, and that both stay there; it gives no masses.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import ukemi as uk
from ukemi.model.arrays import Array
from ukemi.model.figures.hand import thesis_pose

UPRIGHT = (0, 0, 9.81)  # the hand's zero pose hangs: gravity is turned instead
STOPS = np.array((np.pi / 4, np.pi / 2))  # adduction, flexion
TABLE = np.array(((2.0, -4.0), (0.0, 2.0)))


def hand(mass: float, wrist: Array = TABLE) -> uk.Model:
    """The hand with other springs in the wrist."""
    b = uk.Builder("hand")
    for link in uk.hand(mass=mass).links:
        joint = replace(link.joint, stiffness=wrist) if link.joint_name == "wrist" else link.joint
        parent, m = link.parent.name if link.parent else "world", link.mass_properties
        given = {"mass": m.mass, "com": m.com, "inertia": m.inertia}
        b.link(link.name, parent, joint, link.at, joint_name=link.joint_name, **given)  # type: ignore[arg-type]
    return b.build()


def settled(model: uk.Model) -> tuple[Array, Array]:
    """The wrist after 20 s, and when each freedom was first at its upper stop (inf: never)."""
    world = uk.World(UPRIGHT)
    world.add(model, q=thesis_pose(model))
    recording = uk.Simulation(world, 5e-3, "implicit").run(20.0, every=10)
    wrist = recording.q[:, model.joint("wrist").q]
    there = wrist > STOPS - 1e-6
    return wrist[-1], np.where(there.any(axis=0), recording.time[there.argmax(axis=0)], np.inf)


def test_both_stops_hold_from_the_mass_whose_weight_outdoes_the_spring() -> None:
    """At its stop the flexion spring pulls back with 2 N m/rad times pi/2: 6.6 kg, fifteen times the published mass."""
    model = uk.hand(mass=1.0, elastic=False)
    q = thesis_pose(model)
    q[model.joint("wrist").q] = STOPS
    moment = -uk.bias(model, q, np.zeros(model.nv), UPRIGHT)[model.joint("wrist").v][1]  # of 1 kg
    heavy_enough = np.pi / moment
    assert heavy_enough == pytest.approx(6.61, abs=0.01)
    rest, _ = settled(uk.hand(mass=0.96 * heavy_enough))  # fingers that sag change the lever by 2 %
    assert rest[0] == pytest.approx(STOPS[0], abs=1e-9)
    assert STOPS[1] - rest[1] > 0.02
    rest, _ = settled(uk.hand(mass=1.06 * heavy_enough))
    assert rest == pytest.approx(STOPS, abs=1e-9)


@pytest.mark.parametrize("mass", [8.0, 17.0])
def test_with_the_coupling_of_the_table_adduction_is_first(mass: float) -> None:
    """Its row pulls adduction towards twice the flexion: it is at 45 degrees when flexion has not gone half its way."""
    rest, first = settled(hand(mass))
    assert rest == pytest.approx(STOPS, abs=1e-9)
    assert first[0] < first[1] < 10


@pytest.mark.parametrize("wrist", [TABLE.T, np.diag((2.0, 2.0))], ids=["transposed", "not coupled"])
def test_without_that_coupling_flexion_is_first_and_adduction_never_saturates(wrist: Array) -> None:
    for mass in (8.0, 17.0):
        rest, first = settled(hand(mass, wrist))
        assert rest[1] == pytest.approx(STOPS[1], abs=1e-9)
        assert rest[0] < 0.2
        assert first[1] < first[0] == np.inf
