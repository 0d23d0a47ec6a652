"""Bad input gets a clear error, and nothing is half done; the JSON form says where it is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ukemi.errors import FileFormatError, InvalidInputError, SimulationError, SingularError, UnknownNameError
from ukemi.particles import BouncyFloor, ParticleSystem, SoftFloor, SpringFloor, Uneven
from ukemi.particles.walker import eight_particle_human


def pair(**settings: Any) -> ParticleSystem:
    system = ParticleSystem(**settings)
    system.add((0, 0, 0), name="top"), system.add((1, 0, 0))
    return system


def test_coincident_particles() -> None:
    system = pair()
    system.add((1, 0, 0))
    with pytest.raises(InvalidInputError, match="1 and 2 stand at the same place"):
        system.link(1, 2)
    with pytest.raises(InvalidInputError, match="same place"):
        system.link(0, 0)
    assert system.links == ()


@pytest.mark.parametrize("mass", [0.0, -1.0, np.nan, np.inf])
def test_masses_that_cannot_be(mass: float) -> None:
    system = pair()
    with pytest.raises(InvalidInputError, match="mass"):
        system.add((0, 0, 1), mass)
    with pytest.raises(InvalidInputError, match=r"mass\[1\]"):
        system.add_many(np.eye(3), [1, mass, 1])
    assert len(system.x) == 2


@pytest.mark.parametrize("particle", [2, -1, 1.0, True, None])
def test_unknown_numbers(particle: Any) -> None:
    with pytest.raises(InvalidInputError, match="there are 2"):
        pair().link(0, particle)


def test_unknown_names_say_which_there_are() -> None:
    with pytest.raises(UnknownNameError, match="top"):
        pair().fix("tpo")


def test_a_step_too_large_says_which_would_do() -> None:
    system = pair()
    system.link(0, 1)
    stable = system.stable_step()
    with pytest.raises(InvalidInputError, match=f"{stable:.3g} s would do"):
        system.advance(1.0, 2 * stable)
    assert system.time == 0
    system.advance(1.0, 0.99 * stable)
    system.advance(1.0, 20 * stable, method="implicit")


def test_the_stable_step_is_stable_and_not_far_from_the_largest() -> None:
    # two masses on a spring: omega^2 = K (1/m + 1/m) exactly, h = 2 / omega
    system = pair(gravity=(0, 0, 0), ratio=0.0)
    system.link(0, 1, stiffness=100.0)
    assert system.stable_step() == pytest.approx(2 / np.sqrt(200.0))
    # random nets with hinges, dampers and all: energy does not grow at 0.99 of the bound
    rng = np.random.default_rng(9)
    for _ in range(5):
        net = ParticleSystem((0, 0, 0), load=10.0, ratio=0.3)
        net.add_many(rng.normal(size=(8, 3)), rng.uniform(0.2, 2, 8), 0.01 * rng.normal(size=(8, 3)))
        for i in range(8):
            for j in range(i):
                net.link(i, j)
        net.hinge(0, 1, 2, friction=0.5, kp=3.0, kd=0.2)
        net.target[0] = net.angles()[0, 0]
        start = net.energy()
        net.advance(3000 * net.stable_step() * 0.99, 0.99 * net.stable_step())
        assert net.energy() <= start


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"normal": (1, 0, 0)}, "along the normal"),
        ({}, "span no plane"),
        ({"normal": (0, 0, 0)}, "zero vector"),
        ({"normal": (0, 1, 0), "friction": -1}, "friction"),
        ({"normal": (0, 1, 0), "kp": np.nan}, "kp"),
    ],
)
def test_hinges_that_cannot_be(arguments: dict[str, Any], word: str) -> None:
    system = pair()
    system.add((2, 0, 0))
    with pytest.raises(InvalidInputError, match=word):
        system.hinge(0, 1, 2, **arguments)
    assert system.hinges == ()


def test_hinges_of_the_same_particle_twice_and_of_oblique_planes() -> None:
    system = pair()
    system.add((1, 0, 1))
    with pytest.raises(InvalidInputError, match="different particles"):
        system.hinge(0, 1, 0)
    system.hinge(0, 1, 2, normal=(0, 1, 0))
    with pytest.raises(InvalidInputError, match="neither parallel nor perpendicular"):
        system.hinge(0, 1, 2, normal=(0, 1, 1))


@pytest.mark.parametrize("name", ["x", "v", "force", "torque"])
def test_states_that_cannot_be(name: str) -> None:
    system = pair()
    system.add((1, 0, 1))
    system.hinge(0, 1, 2)
    setattr(system, name, np.zeros((7, 3)))
    with pytest.raises(InvalidInputError, match=name):
        system.advance(0.1)
    system = pair()
    system.x[0, 1] = np.nan
    with pytest.raises(InvalidInputError, match="x: expected finite"):
        system.run(0.1)


def test_stretch_without_gravity_needs_a_load() -> None:
    system = pair(gravity=(0, 0, 0))
    system.link(0, 1)
    with pytest.raises(InvalidInputError, match="load"):
        system.stable_step()
    with pytest.raises(InvalidInputError, match="load"):
        pair(gravity=(0, 0, 0), floor=SpringFloor()).stable_step()


def test_other_settings() -> None:
    for settings in ({"gravity": (0, 0)}, {"stretch": 0}, {"ratio": -1}, {"load": 0}):
        with pytest.raises(InvalidInputError, match=next(iter(settings))):
            ParticleSystem(**settings)
    system = pair()
    for duration in (0, -1, np.nan):
        with pytest.raises(InvalidInputError, match="duration"):
            system.run(duration)
    with pytest.raises(InvalidInputError, match="method"):
        system.advance(1.0, method="magic")
    with pytest.raises(InvalidInputError, match="no particles"):
        ParticleSystem().advance(1.0)
    with pytest.raises(InvalidInputError, match="no such link"):
        pair().cut(system.link(0, 1))


def test_a_run_that_leaves_the_finite_numbers_keeps_the_last_good_state() -> None:
    system = pair()
    system.link(0, 1)

    def control(t: float, system: ParticleSystem) -> None:
        if t > 0.05:
            system.force[:] = 1e308

    with pytest.raises(SimulationError, match="last good state") as caught:
        system.run(0.2, control=control)
    assert np.isfinite(system.x).all()
    assert len(caught.value.recording.time) > 3
    assert caught.value.time == system.time


def test_an_implicit_step_that_finds_no_answer_says_so_and_changes_nothing() -> None:
    rope = ParticleSystem(stretch=1e-6)
    rope.add_many(np.c_[0.1 * np.arange(50), np.zeros((50, 2))], np.random.default_rng(0).uniform(0.1, 10, 50))
    rope.fix(0)
    for i in range(49):
        rope.link(i, i + 1)
    before = rope.x.copy()
    with pytest.raises(SingularError, match="smaller dt"):
        rope.advance(0.5, 0.05, method="implicit")
    assert np.array_equal(rope.x, before)


def test_the_json_form_comes_back_the_same(tmp_path: Path) -> None:
    walker = eight_particle_human(0.1)
    walker.add_inertia("left hip", "left knee", 0.3)
    walker.v[2] = (1, 2, 3)
    walker.fix("right toe")
    for floor in (walker.floor, BouncyFloor(0.3), SoftFloor(ground=Uneven([[0, 1], [2, 3]], (1, 2), (3, 4))), None):
        walker.floor = floor
        walker.save(tmp_path / "walker.json")
        again = ParticleSystem.load_json(tmp_path / "walker.json")
        assert again.to_json() == walker.to_json()
        walker.target = again.target = np.zeros(5)
        h = walker.stable_step() / 2
        one, other = (s.run(0.02, h, sample=0.02) for s in (walker, again))
        assert np.array_equal(one.x, other.x)


def test_json_that_is_wrong_says_where(tmp_path: Path) -> None:
    path = tmp_path / "system.json"
    both = '[{"at": [0, 0, 0], "name": "a"}, {"at": [0, 0, 1], "name": "b"}]'
    head = f'{{"format": "ukemi particles 1",\n "particles": {both},\n'
    for text, word in (
        ("{\n ]", "json:2"),
        ("[]", "format"),
        (head + '"links": [{"between": ["a", "c"]}]}', r"links\[0\].*'c'"),
        (head + '"links": [{"between": ["a", "a"]}]}', r"links\[0\].*same place"),
        (head + '"links": [{"length": 1}]}', r"links\[0\].*between"),
        (head + '"links": [{"between": ["a", "b"], "colour": 1}]}', r"links\[0\].*colour"),
        (head + '"hinges": [{"of": ["a", "b"]}]}', r"hinges\[0\]"),
        (head + '"floor": {"kind": "lava"}}', "lava"),
        (head + '"floor": {"kind": "spring", "sink": -1}}', "sink"),
        ('{"format": "ukemi particles 1", "particles": [{"at": [0, 0, 0], "mass": 0}]}', r"particles\[0\].*mass"),
        ('{"format": "ukemi particles 1", "particles": 3}', "json"),
    ):
        path.write_text(text)
        with pytest.raises(FileFormatError, match=word):
            ParticleSystem.load_json(path)
    with pytest.raises(FileFormatError, match=r"none\.json"):
        ParticleSystem.load_json(tmp_path / "none.json")
