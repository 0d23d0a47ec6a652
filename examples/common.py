"""What the examples share: where results go, torques at joint limits, the closing picture."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

import ukemi as uk
from ukemi.model.arrays import Array
from ukemi.report.strip import draw_strip
from ukemi.sim.simulation import Control


def output(about: str | None) -> Path:
    """The folder given by --out (default: out), made if needed."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the pictures")
    folder: Path = parser.parse_args().out
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Limits:
    """Torques that hold joints within their limits [SV00 VII-B], and light friction: springs beyond the limits of
    hinges, and beyond ``widest`` [rad] of ball joints."""

    def __init__(self, model: uk.Model, widest: float = 2.0, stiffness: float = 400.0, damping: float = 2.0) -> None:
        self.model, self.widest, self.stiffness, self.damping = model, widest, stiffness, damping

    def __call__(self, q: Array, v: Array) -> Array:
        tau = np.zeros(len(v))
        for link in self.model.links:
            if isinstance(link.joint, uk.Revolute) and link.joint.limits is not None:
                (lower, upper), angle = np.asarray(link.joint.limits)[0], q[link.q][0]
                tau[link.v] = -self.stiffness * (angle - np.clip(angle, lower, upper)) - self.damping * v[link.v]
            elif isinstance(link.joint, uk.Spherical):
                w, axis = q[link.q][0], q[link.q][1:]
                half = np.arctan2(np.linalg.norm(axis), abs(w))
                beyond = max(2 * half - self.widest, 0.0)
                direction = np.sign(w) * axis / max(float(np.linalg.norm(axis)), 1e-12)
                tau[link.v] = -self.stiffness * beyond * direction - self.damping * v[link.v]
        return tau


def limit_torques(*figures: uk.Figure, **settings: float) -> Control:
    """A control that holds the joints of these figures within their limits."""
    limits = {figure.name: Limits(figure.model, **settings) for figure in figures}

    def control(t: float, q: Array, v: Array) -> Array:
        tau = np.zeros(len(v))
        for figure in figures:
            tau[figure.v_index] = limits[figure.name](q[figure.q_index], v[figure.v_index])
        return tau

    return control


def tell(recording: uk.Recording) -> None:
    """Prints what happened."""
    for event in recording.events:
        print(f"{event['time']:.4f} s: {event['what']}")


def finish(
    world: uk.World, recording: uk.Recording, path: Path, title: str, poses: int = 9, spread: float | None = None
) -> None:
    """Draws the strip and says where it is."""
    draw_strip(world.model, recording.poses, path, time=recording.time, poses=poses, spread=spread, title=title)
    print(f"look at {path}")


def limp(model: uk.Model, damping: float = 2.0) -> uk.Model:
    """The model with a damper in every joint but its base: muscles that do nothing but resist [N m s/rad]."""
    links = [
        link if link.joint.nv in (0, 6) else replace(link, joint=replace(link.joint, damping=damping))
        for link in model.description.links
    ]
    return uk.Model(replace(model.description, links=links))


def with_scenery(model: uk.Model, poses: Array, solids: uk.Solids) -> tuple[uk.Model, Array]:
    """Model and link poses with what stands in the world added, for a picture."""
    scenery = uk.Builder("scenery").link("scenery", shapes=solids.shapes).description.links
    drawn = uk.Model(replace(model.description, links=[*model.description.links, *scenery]))
    still = np.broadcast_to(np.eye(4), (len(poses), 1, 4, 4))
    order = [[*model.link_names, "scenery"].index(name) for name in drawn.link_names]
    return drawn, np.concatenate([poses, still], axis=1)[:, order]


def stand(model: uk.Model, q: Array | None = None) -> Array:
    """q with the left sole at height 0."""
    return moved_to(model, model.neutral() if q is None else q, "left_sole", (0, None, 0))


def horizontal_bar(height: float) -> uk.Model:
    """A bar across y, fixed to the ground."""
    b = uk.Builder("bar")
    across = uk.Pose((0, 0, 0), (np.sqrt(0.5), np.sqrt(0.5), 0, 0))
    b.link("bar", at=uk.Pose((0, 0, height)), shapes=[uk.Cylinder(0.03, 1.2, at=across)])
    return b.build()


def arms_up(model: uk.Model) -> Array:
    """The zero pose with both arms over the head."""
    q = model.neutral()
    for side in ("left", "right"):
        q[model.joint(f"{side}_shoulder").q] = (0, 0, 1, 0)  # half a turn about y
    return q


def moved_to(model: uk.Model, q: Array, landmark: str, place: tuple[float, float | None, float]) -> Array:
    """q with the root shifted so that a landmark stands at a place (y None: left as it is)."""
    mark = model.landmarks[landmark]
    X = uk.link_poses(model, q)[model.link_index(mark.link)] @ mark.at.matrix
    shift = [0.0 if wanted is None else wanted - now for wanted, now in zip(place, X[:3, 3], strict=True)]
    q = q.copy()
    q[:3] += shift
    return q
