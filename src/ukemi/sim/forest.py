"""The forest of a world as a description: a figure planted in it, a joint of it cut."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ukemi.dynamics.kinematics import jacobian, link_poses
from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array
from ukemi.model.description import WORLD, Description, LinkDescription
from ukemi.model.joints import Free
from ukemi.model.model import Link, Model
from ukemi.model.pose import Pose


def planted(forest: Model, model: Model, name: str) -> Model:
    """The forest with a mechanism more, whose links and joints are called ``name/...``."""
    grown = _description(forest)
    grown.links += [_renamed(link, name) for link in _description(model).links]
    grown.springs += [spring.renamed(f"{name}/") for spring in model.springs]
    grown.limits += [limit.renamed(f"{name}/") for limit in model.joint_limits]
    return Model(grown)


def freed(forest: Model, name: str, q: Array, v: Array) -> tuple[Model, Array, Array]:
    """The forest whose link ``name`` stands on a free joint, with the state that keeps all poses and velocities."""
    link = forest.link(name)
    if link.parent is None and isinstance(link.joint, Free):
        raise InvalidInputError(f"cut: {name!r} is free already")
    if not _subtree_mass(link):
        raise InvalidInputError(f"cut: {name!r} has no mass and cannot fly on its own")
    X = link_poses(forest, q)[link.index]
    twist = jacobian(forest, q, name) @ v
    R = X[:3, :3]
    q_of, v_of = {l.name: q[l.q] for l in forest.links}, {l.name: v[l.v] for l in forest.links}
    q_of[name] = np.concatenate([X[:3, 3], Pose.from_matrix(X).quaternion])
    v_of[name] = np.concatenate([R.T @ twist[:3], R.T @ twist[3:]])
    description = _description(forest)
    description.links = [
        replace(l, parent=WORLD, joint=Free(), at=Pose()) if l.name == name else l for l in description.links
    ]
    description.springs = [spring for spring in forest.springs if link.joint_name not in spring.joints()]
    description.limits = [limit for limit in forest.joint_limits if link.joint_name not in limit.joints()]
    model = Model(description)
    order = model.link_names
    return model, np.concatenate([q_of[n] for n in order]), np.concatenate([v_of[n] for n in order])


def _subtree_mass(link: Link) -> float:
    return link.mass_properties.mass + sum(_subtree_mass(child) for child in link.children)


def _description(model: Model) -> Description:
    """The model's links as a description again."""
    return Description(
        model.name,
        [
            LinkDescription(
                link.name,
                WORLD if link.parent is None else link.parent.name,
                link.joint,
                link.joint_name,
                link.at,
                link.mass_properties,
                link.shapes,
            )
            for link in model.links
        ],
        springs=list(model.springs),
        limits=list(model.joint_limits),
    )


def _renamed(link: LinkDescription, figure: str) -> LinkDescription:
    parent = WORLD if link.parent == WORLD else f"{figure}/{link.parent}"
    return replace(link, name=f"{figure}/{link.name}", parent=parent, joint_name=f"{figure}/{link.joint_name}")
