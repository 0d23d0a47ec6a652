"""Worlds, runs and recordings."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from tests.trees import random_model

import ukemi as uk
from ukemi.sim.simulation import IntegratorName
from ukemi.sim.somersault import Tuck, thrown

INTEGRATORS: list[IntegratorName] = ["semi-implicit", "rk4", "adaptive"]


def run(model: uk.Model, dt: float, integrator: IntegratorName, duration: float = 0.5, seed: int = 0) -> uk.Recording:
    world = uk.World()
    q, v = model.random(np.random.default_rng(seed))
    world.add(model, q=q, v=0.3 * v)
    return uk.Simulation(world, dt, integrator, rtol=1e-12, atol=1e-14).run(duration)


@pytest.mark.parametrize(("integrator", "dt", "order"), [("semi-implicit", 2e-3, 1), ("rk4", 2.5e-2, 4)])
@pytest.mark.parametrize("kind", ["revolute", "prismatic", "universal", "spherical", "planar", "free"])
def test_every_joint_keeps_the_integrators_order(integrator: IntegratorName, dt: float, order: int, kind: str) -> None:
    model = random_model(11, 3, kinds=(kind,), elastic=True)
    exact = run(model, 2.5e-3, "adaptive").q[-1]
    errors = []
    for step in (dt, dt / 2, dt / 4):
        end = run(model, step, integrator).q[-1]
        errors.append(np.abs(uk.difference(model, exact, end)).max())
    observed = np.log2(errors[:-1] / np.array(errors[1:]))
    assert (np.abs(observed - order) < 0.6).all(), observed


@pytest.mark.parametrize("integrator", ["semi-implicit", "adaptive"])
def test_a_body_that_spins_in_flight_keeps_its_linear_momentum(integrator: IntegratorName) -> None:
    """Without gravity its centre goes straight on, however it turns and however long the steps are."""
    b = uk.Builder("brick")
    b.link("brick", joint=uk.Free(), mass=2.0, shapes=[uk.Box((0.3, 0.2, 0.1))])
    model = b.build()
    world = uk.World(gravity=(0, 0, 0))
    world.add(model, v=(1, 0.5, 0, 3, 5, -4))
    before = uk.momentum(model, world.q, world.v)
    uk.Simulation(world, 5e-3, integrator).run(1.0)
    assert uk.momentum(model, world.q, world.v)[:3] == pytest.approx(before[:3], abs=1e-9)
    assert world.q[:3] == pytest.approx(before[:3] / 2.0, abs=1e-9)


def test_free_flight_keeps_momentum_and_flies_a_parabola() -> None:
    model = uk.human(40)
    recording = run(model, 1e-3, "rk4", 0.3)
    h = uk.momentum(model, recording.q, recording.v)
    assert np.abs(h[:, 3:] - h[0, 3:]).max() < 1e-8 * (1 + np.abs(h[0, 3:]).max())
    t = recording.time[:, None]
    com = uk.center_of_mass(model, recording.q)
    assert np.abs(com - (com[0] + h[0, :3] / model.mass * t - 0.5 * np.array((0, 0, 9.81)) * t**2)).max() < 1e-9
    assert np.ptp(recording.energy) < 1e-6


def test_two_figures_in_one_world_move_as_alone() -> None:
    a, b = uk.human(16), uk.human(28)
    rng = np.random.default_rng(2)
    (qa, va), (qb, vb) = a.random(rng), b.random(rng)
    world = uk.World()
    first, second = world.add(a, name="first", q=qa, v=va), world.add(b, name="second", q=qb, v=vb)
    uk.Simulation(world, 1e-3, "rk4").run(0.05)
    alone = uk.World()
    figure = alone.add(b, q=qb, v=vb)
    uk.Simulation(alone, 1e-3, "rk4").run(0.05)
    assert np.abs(second.q - figure.q).max() < 1e-12
    assert world.model.nv == a.nv + b.nv
    assert world.model.link_names[0] == "first/trunk"
    first.v = np.zeros(a.nv)
    assert (world.v[: a.nv] == 0).all()


def test_constant_torques_equal_a_control_function() -> None:
    model = uk.human(16)
    tau = np.zeros(model.nv)
    tau[6:] = 0.5
    ends = []
    for control in (tau, lambda t, q, v: tau):
        world = uk.World()
        world.add(model)
        recording = uk.Simulation(world, 1e-3, "rk4").run(0.05, control)
        assert (recording.tau == tau).all()
        ends.append(world.q)
    assert (ends[0] == ends[1]).all()


def test_runs_repeat_bit_for_bit() -> None:
    model = uk.human(28)
    a, b = (run(model, 1e-3, "rk4", 0.1) for _ in range(2))
    assert (a.q == b.q).all()


def test_samples_are_every_nth_step_and_the_last() -> None:
    world = uk.World()
    world.add(uk.human(16))
    recording = uk.Simulation(world, 1e-3).run(0.025, every=10)
    assert np.allclose(recording.time, [0, 0.01, 0.02, 0.025], atol=1e-15)
    assert world.time == 0.025


def test_recording_round_trip(tmp_path: Path) -> None:
    recording = run(uk.human(16), 1e-2, "rk4", 0.1)
    loaded = uk.Recording.load(recording.save(tmp_path / "fall.npz"))
    for name in ("time", "q", "v", "tau", "energy"):
        assert (getattr(loaded, name) == getattr(recording, name)).all()
    assert loaded.joint_names == recording.joint_names


def test_every_damage_of_a_recording_is_told(tmp_path: Path) -> None:
    """Bytes changed and files cut anywhere: a recording, or the one error."""
    world = uk.World()
    world.add(uk.human(16))
    path = uk.Simulation(world).run(0.003).save(tmp_path / "whole.npz")
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(tmp_path / "plain.npz", **arrays)  # not compressed, so that headers can be hit
    whole = (tmp_path / "plain.npz").read_bytes()
    rng = np.random.default_rng(0)
    header = whole.index(b"{'descr'")
    bad = tmp_path / "bad.npz"
    for k in range(300):
        damaged = bytearray(whole[: rng.integers(len(whole))] if k % 3 == 0 else whole)
        places = header + rng.integers(0, 80, 2) if k % 3 == 1 else rng.integers(0, len(damaged) or 1, 3)
        for at in places:
            if at < len(damaged):
                damaged[at] = rng.integers(256)
        bad.write_bytes(bytes(damaged))
        with suppress(uk.FileFormatError):
            uk.Recording.load(bad)


def test_a_header_that_does_not_end_is_told(tmp_path: Path) -> None:
    """NumPy reads headers of old files with tokenize, whose error is no ValueError."""
    text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (3L,), "
    member = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(24)
    with ZipFile(tmp_path / "bad.npz", "w") as file:
        file.writestr("about.npy", member)
    with pytest.raises(uk.FileFormatError, match=r"bad\.npz"):
        uk.Recording.load(tmp_path / "bad.npz")


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x03\x04 broken"])
def test_damaged_recordings_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "bad.npz"
    path.write_bytes(content)
    with pytest.raises(uk.FileFormatError, match=r"bad\.npz"):
        uk.Recording.load(path)
    with pytest.raises(uk.FileFormatError, match="no such file"):
        uk.Recording.load(tmp_path / "none.npz")


def test_a_run_that_blows_up_keeps_the_last_good_state() -> None:
    b = uk.Builder()
    b.link("wheel", joint=uk.Revolute((0, 0, 1), damping=1e9), mass=1, inertia=(1, 1, 1))
    world = uk.World()
    world.add(b.build(), v=[1.0])
    with pytest.raises(uk.SimulationError, match=r"no longer finite.*wheel") as error:
        uk.Simulation(world, 1e-3).run(10.0)
    assert np.isfinite(error.value.v).all()
    assert 1 <= len(error.value.recording) < 10001
    assert np.isfinite(error.value.recording.q).all()
    assert error.value.time >= 0


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"dt": -1.0}, "dt"),
        ({"integrator": "euler"}, "'semi-implicit', 'rk4' or 'adaptive'"),
        ({"rtol": -1.0}, "rtol"),
    ],
)
def test_bad_settings_are_refused(change: dict[str, object], match: str) -> None:
    world = uk.World()
    world.add(uk.human(16))
    with pytest.raises(uk.InvalidInputError, match=match):
        uk.Simulation(world, **change)  # type: ignore[arg-type]


def test_bad_control_is_refused() -> None:
    world = uk.World()
    world.add(uk.human(16))
    sim = uk.Simulation(world)
    with pytest.raises(uk.InvalidInputError, match=r"control\(t, q, v\) returned"):
        sim.run(0.01, lambda t, q, v: [1.0])
    with pytest.raises(ZeroDivisionError):
        sim.run(0.01, lambda t, q, v: 1 / 0)
    with pytest.raises(uk.InvalidInputError, match="duration"):
        sim.run(-1)


def test_a_world_refuses_what_does_not_fit_and_stays_as_it_was() -> None:
    world = uk.World()
    world.add(uk.human(16), name="man")
    for arguments, error in (
        ({"name": "man"}, uk.ModelError),
        ({"name": "b", "q": np.zeros(3)}, uk.InvalidInputError),
        ({"name": "b", "q": np.zeros(27)}, uk.InvalidInputError),
    ):
        with pytest.raises(error):
            world.add(uk.human(16), **arguments)
    assert list(world.figures) == ["man"]
    assert world.model.nv == 22


@pytest.mark.parametrize("dof", [16, 28, 40])
def test_somersault_turns_faster_when_tucked(dof: int) -> None:
    model = uk.human(dof)
    q, v = thrown(model)
    world = uk.World()
    world.add(model, q=q, v=v)
    recording = uk.Simulation(world, 2e-3, "rk4").run(0.6, Tuck(model))
    h = uk.momentum(model, recording.q, recording.v)
    # the torques jump when the tuck begins: one step of order 1 instead of 4
    assert np.abs(h[:, 3:] - h[0, 3:]).max() < 1e-5
    assert np.abs(recording.tau[:, :6]).max() == 0
    M = uk.mass_matrix(model, recording.q)
    com = uk.center_of_mass(model, recording.q) - recording.q[:, :3]
    about_com = M[:, 4, 4] - model.mass * (com[:, 0] ** 2 + com[:, 2] ** 2)
    assert about_com[-1] < 0.55 * about_com[0]  # inertia about the somersault axis nearly halves


@pytest.mark.parametrize("terrain", [None, uk.Ground()])
def test_a_joint_that_moves_no_inertia_is_named(terrain: uk.Ground | None) -> None:
    """A thin rod on a free joint: nothing resists a turn about its axis."""
    b = uk.Builder("rod")
    b.link("rod", joint=uk.Free(), mass=1.0, com=(0, 0, 0), inertia=(0.1, 0.1, 0), shapes=[uk.Capsule(0.01, 1.0)])
    world = uk.World()
    world.terrain = terrain
    world.add(b.build(), q=(0, 0, 2, 1, 0, 0, 0))
    with pytest.raises(uk.SingularError, match="'rod/rod' moves no inertia"):
        uk.Simulation(world, 1e-3).run(0.01)
