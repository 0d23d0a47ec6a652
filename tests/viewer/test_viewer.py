"""Pages that show motions: the triangles, the poses, what is in the file, and that a browser draws it."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import ukemi as uk
from ukemi.cli import app
from ukemi.motion.clip import Clip, Skeleton
from ukemi.motion.synthesis import walk
from ukemi.viewer.meshes import Mesh, bone_mesh, shape_mesh
from ukemi.viewer.page import write_page
from ukemi.viewer.stage import stage_of_clip, stage_of_model, stage_of_recording, stage_of_result

TILTED = uk.Pose((1.0, 2.0, 3.0), (0.5, 0.5, -0.5, 0.5))


def volume(mesh: Mesh) -> float:
    """By the divergence theorem: positive only if the triangles close and face outwards."""
    a, b, c = mesh[0].reshape(-1, 3, 3).transpose(1, 0, 2)
    return float((a * np.cross(b, c)).sum() / 6)


@pytest.mark.parametrize(
    ("shape", "exact", "share"),  # round shapes are drawn as polyhedra inside them
    [
        (uk.Box((0.1, 0.2, 0.3), at=TILTED), 0.006, 0.0),
        (uk.Sphere(0.3, at=TILTED), 4 / 3 * np.pi * 0.027, 0.03),
        (uk.Capsule(0.1, 0.4, at=TILTED), np.pi * 0.01 * 0.4 + 4 / 3 * np.pi * 0.001, 0.03),
        (uk.Cylinder(0.1, 0.4, at=TILTED), np.pi * 0.01 * 0.4, 0.02),
        (uk.ConvexMesh(np.vstack([np.eye(3), np.zeros(3)])), 1 / 6, 0.0),
    ],
)
def test_surfaces_close_and_face_outwards(shape: Any, exact: float, share: float) -> None:
    mesh = shape_mesh(shape)
    assert (1 - share) * exact - 1e-12 <= volume(mesh) <= exact + 1e-12
    np.testing.assert_allclose(np.linalg.norm(mesh[1], axis=1), 1, atol=1e-9)
    a, b, c = mesh[0].reshape(-1, 3, 3).transpose(1, 0, 2)
    facing = (np.cross(b - a, c - a) * mesh[1].reshape(-1, 3, 3).mean(axis=1)).sum(axis=1)
    assert (facing > 0).all()


def test_a_bone_reaches_from_joint_to_joint() -> None:
    tip = np.array((0.1, -0.3, 0.2))
    along = bone_mesh(tip)[0] @ tip / np.linalg.norm(tip)
    assert along.min() == pytest.approx(0, abs=1e-9)
    assert along.max() == pytest.approx(np.linalg.norm(tip))


def content(page: Path) -> dict[str, Any]:
    found = re.search(r'<script id="content" type="application/json">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found is not None
    return dict(json.loads(found[1]))


def unpacked(text: str, *shape: int) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype="<f4").reshape(shape)


def test_the_page_holds_what_the_model_does(tmp_path: Path) -> None:
    model = uk.human(16)
    rng = np.random.default_rng(1)
    q = np.stack([model.random(rng)[0] for _ in range(4)])
    page = write_page(stage_of_model(model, q, 0.1 * np.arange(4)), tmp_path / "a.html", title="<b> & </script>")
    data = content(page)
    (stage,) = data["stages"]
    assert stage["time"] == pytest.approx([0, 0.1, 0.2, 0.3])
    poses = uk.link_poses(model, q)
    for part in stage["parts"]:
        got = unpacked(part["poses"], 4, 3, 4)
        np.testing.assert_allclose(got, poses[:, model.link_index(part["name"]), :3], atol=1e-6)
    assert "<title>&lt;b&gt; &amp; &lt;/script&gt;</title>" in page.read_text()
    assert data["title"] == "<b> & </script>"
    assert "http" not in page.read_text().lower()  # nothing is fetched


def test_fast_motions_are_thinned_to_sixty_frames(tmp_path: Path) -> None:
    model = uk.human(16)
    time = 0.001 * np.arange(1001)
    stage = stage_of_model(model, np.tile(model.neutral(), (1001, 1)), time)
    assert len(stage.time) == 61
    assert stage.time[-1] == 1.0
    assert np.abs(np.diff(stage.time) - 1 / 60).max() < 0.0011


def test_forces_of_the_ground_are_arrows(tmp_path: Path) -> None:
    model = uk.Builder("box").link("body", joint=uk.Free(), mass=2.0, shapes=[uk.Box((0.4, 0.4, 0.2))]).build()
    world = uk.World()
    world.add(model, q=[0, 0, 0.1, 1, 0, 0, 0])
    world.terrain = uk.Ground()
    stage = stage_of_recording(uk.Simulation(world, dt=1e-3).run(0.2), model)
    assert len(stage.forces) == len(stage.time)
    (row,) = stage.forces[-1]
    np.testing.assert_allclose(row, (0, 0, 0, 0, 0, 2 * 9.81), atol=1e-3)
    with pytest.raises(uk.InvalidInputError, match="it is not of the model 'human16'"):
        stage_of_recording(uk.Simulation(world, dt=1e-3).run(0.01), uk.human(16))


def test_what_is_no_person_shows_its_bones() -> None:
    skeleton = Skeleton(("a", "b"), (-1, 0), np.array([(0, 0, 0), (0, 0, 0.5)]), ((1, np.array((0.2, 0, 0))),))
    clip = Clip(skeleton, 30.0, np.tile((1.0, 0, 0, 0), (3, 2, 1)), {0: np.zeros((3, 3))})
    stage = stage_of_clip(clip)
    assert [part.name for part in stage.parts] == ["a", "b"]
    np.testing.assert_allclose(stage.parts[1].poses[:, :, 3], [(0, 0, 0.5)] * 3)
    with pytest.raises(uk.InvalidInputError, match="no shapes and no bones"):
        stage_of_model(uk.Builder("empty").build())


def test_a_filtered_motion_stands_on_its_arrows() -> None:
    result = uk.filter_motion(walk(1.0), mass=70.0)
    stage = stage_of_result(result)
    assert len(stage.forces) == len(stage.time)
    total = np.array([f[:, 5].sum() for f in stage.forces])
    # over a whole step of the walk the ground carries the body; the first and last sixtieth are cut by the mean
    assert np.mean(total[2:-2]) == pytest.approx(70 * 9.81, rel=0.1)
    assert all((np.abs(f[:, 2]) < 0.02).all() for f in stage.forces)  # where the soles are: on the floor


def view(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["view", *arguments, "--json"])


def test_the_command_takes_motions_models_and_recordings(tmp_path: Path) -> None:
    uk.write_motion(walk(0.5), tmp_path / "walk.bvh")
    out = tmp_path / "page.html"
    done = view(str(tmp_path / "walk.bvh"), "human16", "--out", str(out), "--apart", "2")
    assert done.exit_code == 0, done.output
    assert [s["name"] for s in json.loads(done.stdout)["shown"]] == ["walk", "human16"]
    first, second = content(out)["stages"]
    there = unpacked(second["parts"][0]["poses"], 1, 3, 4)[0, :, 3]
    assert there[1] == pytest.approx(-2)
    assert there[2] > 0.8  # on its feet
    assert len(first["time"]) > 10
    world = uk.World()
    world.add(uk.human(16))
    uk.Simulation(world, dt=0.01).run(0.1).save(tmp_path / "run.npz")
    done = view(str(tmp_path / "run.npz"), "--model", "human16", "--out", str(out))
    assert done.exit_code == 0, done.output
    done = view(str(tmp_path / "run.npz"), "--out", str(out))
    assert "say whose with --model" in str(done.exception)
    assert isinstance(view(str(tmp_path / "none.bvh")).exception, uk.FileFormatError)


@pytest.mark.slow
def test_a_browser_draws_it(tmp_path: Path) -> None:
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("needs chromium")
    page = write_page(stage_of_clip(walk(0.5)), tmp_path / "a.html")
    options = ["--headless", "--no-sandbox", "--enable-unsafe-swiftshader", "--use-gl=angle", "--use-angle=swiftshader"]
    done = subprocess.run(
        [browser, *options, "--virtual-time-budget=3000", "--dump-dom", f"{page.as_uri()}?t=0.25"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert 'data-shown="15"' in done.stdout or 'data-shown="14"' in done.stdout
    assert "0.25 of 0.50 s" in done.stdout


def test_a_recording_of_links_whose_names_hold_strokes() -> None:
    """As those of OpenSim's knees do; both ended as 'slide', and so in one place."""
    builder = uk.Builder("pair")
    for side, y in (("left", 1.0), ("right", -1.0)):
        builder.link(f"{side}/slide", joint=uk.Prismatic((1, 0, 0)), at=uk.Pose((0, y, 0)))
        builder.link(side, f"{side}/slide", uk.Revolute((0, 1, 0)), mass=1.0, shapes=[uk.Sphere(0.1)])
    model = builder.build()
    world = uk.World()
    world.add(model, "one")
    world.add(model, "two", q=[0.5, 0, 0.5, 0])
    recording = uk.Simulation(world, dt=1e-3).run(0.01)
    stage = stage_of_recording(recording, model)
    places = {part.name: part.poses[0, :, 3] for part in stage.parts}
    np.testing.assert_allclose([places["left"], places["right"]], [(0, 1, 0), (0, -1, 0)], atol=1e-12)
    X = recording.poses[0, recording.link_names.index("one/left/slide"), :3, 3]
    np.testing.assert_allclose(X, places["left"], atol=1e-12)
