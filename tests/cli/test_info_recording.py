"""`ukemi info` and the other commands on a recording of a simulation."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import ukemi as uk
from ukemi.cli import app
from ukemi.sim.recording import Recording, is_recording


def block_on_the_ground() -> Recording:
    """A block of 2 kg dropped from 5 cm, and a ball that a rope holds until 0.1 s."""
    world = uk.World()
    block = uk.Builder("block").link("body", joint=uk.Free(), mass=2.0, shapes=[uk.Box((0.2, 0.2, 0.2))]).build()
    ball = uk.Builder("ball").link("body", joint=uk.Free(), mass=3.0, inertia=(0.1, 0.1, 0.1)).build()
    world.add(block, q=[0, 0, 0.15, 1, 0, 0, 0])
    hung = world.add(ball, q=[0, 0, 5, 1, 0, 0, 0])
    rope = world.connect(world.ground, hung["body"], uk.Fixed(), name="rope")
    world.cut(rope, when=lambda w: w.time - 0.1)
    world.terrain = uk.Ground()
    return uk.Simulation(world, 1e-3).run(0.5)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return block_on_the_ground().save(tmp_path_factory.mktemp("run") / "run.npz")


def test_info_says_what_ran(saved: Path) -> None:
    done = CliRunner().invoke(app, ["info", str(saved), "--json"])
    assert done.exit_code == 0, done.output
    found, recording = json.loads(done.stdout), Recording.load(saved)
    assert found["kind"] == "recording of a simulation"
    assert (found["samples"], found["rate"], found["end"]) == (501, pytest.approx(1000), pytest.approx(0.5))
    assert found["figures"] == ["ball", "block"]
    assert found["energy"]["most"] == recording.energy.max()
    (pair,) = found["contacts"]["pairs"].items()
    assert pair[0] == "block/body on ground"
    touching = [k for k, sample in enumerate(recording.contacts) if sample]
    assert pair[1]["samples"] == found["contacts"]["samples"] == len(touching)
    assert recording.time[touching[0]] == pytest.approx(np.sqrt(2 * 0.05 / 9.81), abs=2e-3)
    assert pair[1]["largest_normal_force"] >= 2 * 9.81 * (1 - 1e-9)
    assert found["connections"] == {"rope": pytest.approx(3 * 9.81)}
    assert [event["time"] for event in found["events"]] == [pytest.approx(0.1)]


def test_info_shows_it_in_lines(saved: Path) -> None:
    text = CliRunner().invoke(app, ["info", str(saved)]).stdout
    for wanted in (
        "run: recording of a simulation, 501 samples at 1000 a second",
        "0 to 0.5 s; 2 links, nq 14, nv 12: ball, block",
        "  block/body on ground: ",
        "connection rope: up to 29.43 N",
        "1 events",
        "  0.1000 s: ",
    ):
        assert wanted in text


def test_what_wants_a_clip_says_that_it_is_a_recording(saved: Path, tmp_path: Path) -> None:
    assert is_recording(saved)
    assert not is_recording(tmp_path / "none.npz")
    with pytest.raises(uk.FileFormatError, match=r"run\.npz: a recording of a simulation, no clip"):
        uk.read_motion(saved)
    said = CliRunner().invoke(app, ["view", str(saved), "--no-open", "--out", str(tmp_path / "v.html")]).exception
    assert "a recording: say whose with --model; links are block/body, ball/body" in str(said)
    np.savez(tmp_path / "states.npz", time=np.zeros(3), q=np.zeros((3, 2)))
    with pytest.raises(uk.FileFormatError, match=r"states\.npz: no clip that ukemi wrote: it holds time, q"):
        uk.read_motion(tmp_path / "states.npz")


def test_figures_are_told_from_links_whose_names_hold_strokes(tmp_path: Path) -> None:
    world = uk.World()
    world.add(uk.Builder("leg").link("tibia/slide", joint=uk.Prismatic((1, 0, 0)), mass=1.0).build())
    saved = uk.Simulation(world, 1e-2).run(0.05).save(tmp_path / "run.npz")
    assert json.loads(CliRunner().invoke(app, ["info", str(saved), "--json"]).stdout)["figures"] == ["leg"]
