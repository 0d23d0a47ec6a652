"""Random mechanisms: branching trees with every joint kind, turned joints, springs, dampers, armature, fixed links."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import ukemi as uk
from ukemi.model.arrays import Array
from ukemi.model.joints import Joint

KINDS = ("revolute", "prismatic", "universal", "spherical", "planar", "free", "fixed")


def random_pose(rng: np.random.Generator, size: float = 0.5) -> uk.Pose:
    return uk.Pose(rng.uniform(-size, size, 3), rng.standard_normal(4))


def random_joint(kind: str, rng: np.random.Generator, elastic: bool) -> Joint:
    nv = {"revolute": 1, "prismatic": 1, "universal": 2, "spherical": 3, "planar": 3, "free": 6, "fixed": 0}[kind]
    extras: dict[str, object] = {}
    if elastic and nv:
        half = rng.standard_normal((nv, nv))
        extras = {
            "stiffness": half @ half.T,
            "damping": rng.uniform(0.1, 1) * np.eye(nv),
            "armature": rng.uniform(0, 0.1, nv),
        }
    axis, other = rng.standard_normal(3), rng.standard_normal(3)
    match kind:
        case "revolute":
            return uk.Revolute(axis, **extras)  # type: ignore[arg-type]
        case "prismatic":
            return uk.Prismatic(axis, **extras)  # type: ignore[arg-type]
        case "universal":
            return uk.Universal(axis, other, **extras)  # type: ignore[arg-type]
        case "spherical":
            return uk.Spherical(**extras)  # type: ignore[arg-type]
        case "planar":
            return uk.Planar(axis, other, **extras)  # type: ignore[arg-type]
        case "free":
            return uk.Free(**extras)  # type: ignore[arg-type]
        case _:
            return uk.Fixed()


def random_inertia(rng: np.random.Generator, mass: float) -> Array:
    """Of a random cloud of points: always a body that can be."""
    points = rng.uniform(-0.2, 0.2, (8, 3))
    points -= points.mean(axis=0)
    second = mass * points.T @ points / len(points)
    return np.trace(second) * np.eye(3) - second


def random_model(seed: int, links: int, *, kinds: tuple[str, ...] = KINDS, elastic: bool = False) -> uk.Model:
    """A tree whose links hang on random earlier ones; some joints turned, some straight."""
    rng = np.random.default_rng(seed)
    b = uk.Builder(f"random{seed}")
    for i in range(links):
        parent = "world" if i == 0 else f"link{rng.integers(max(0, i - 4), i)}"
        kind = kinds[rng.integers(len(kinds))]
        at = random_pose(rng) if rng.uniform() < 0.7 else uk.Pose(rng.uniform(-0.5, 0.5, 3))
        mass = rng.uniform(0.5, 5)
        b.link(
            f"link{i}",
            parent,
            random_joint(kind, rng, elastic and rng.uniform() < 0.6),
            at,
            mass=mass,
            com=rng.uniform(-0.3, 0.3, 3),
            inertia=random_inertia(rng, mass),
        )
    return b.build()


#: hypothesis: models of 1 to 12 links
models = st.builds(random_model, st.integers(0, 10**6), st.integers(1, 12), elastic=st.booleans())


def random_state(model: uk.Model, seed: int) -> tuple[Array, Array, Array]:
    """q, v, and accelerations or torques."""
    rng = np.random.default_rng(seed)
    q, v = model.random(rng)
    return q, v, rng.standard_normal(model.nv)
