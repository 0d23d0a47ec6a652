"""Model: a mechanism, frozen and numbered depth-first, with its compiled tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from ukemi import _core
from ukemi.errors import InvalidInputError, ModelError, UnknownNameError
from ukemi.model.across import JointLimit, JointSpring
from ukemi.model.arrays import Array
from ukemi.model.description import WORLD, Coupling, Description, Function, Landmark, LinkDescription, LoopClosure
from ukemi.model.inertia import MassProperties
from ukemi.model.joints import Joint, Spherical
from ukemi.model.kinds import of_kind
from ukemi.model.pose import Pose
from ukemi.model.shapes import Shape


@dataclass(frozen=True, eq=False)
class Link:
    """A link of a model, with the pointers of [SV00] IV: parent, child and brother."""

    model: Model
    index: int
    name: str
    joint: Joint
    joint_name: str
    at: Pose
    mass_properties: MassProperties
    shapes: tuple[Shape, ...]
    #: where the joint's coordinates and velocities stand in q and v
    q: slice
    v: slice
    _parent: int
    _children: tuple[int, ...]
    _brother: int

    @property
    def parent(self) -> Link | None:
        """The link towards the ground; None: the ground itself."""
        return None if self._parent < 0 else self.model.links[self._parent]

    @property
    def children(self) -> tuple[Link, ...]:
        return tuple(self.model.links[i] for i in self._children)

    @property
    def child(self) -> Link | None:
        """The first child."""
        return self.model.links[self._children[0]] if self._children else None

    @property
    def brother(self) -> Link | None:
        """The next link with the same parent."""
        return None if self._brother < 0 else self.model.links[self._brother]

    def __repr__(self) -> str:
        return f"<link {self.name!r}: {type(self.joint).__name__} on {self.parent.name if self.parent else WORLD}>"


class Model:
    """A mechanism that never changes. Make one with `human`, `load` or `Builder`.

    Attributes:
        name: of the mechanism.
        nq, nv, nlinks: numbers of coordinates, velocities and links.
        links: all links in depth-first order; `link_names` and `joint_names` in the same order.
        mass: total mass [kg].
        landmarks: named frames on links.
        loops, couplings: joints across branches, and joints that follow others: tree dynamics leaves them open, in a
            World they act.
        springs, joint_limits: springs across joints, and limits that depend on several coordinates.
        defaults: {joint: coordinate} that its file (OpenSim) gives where a motion says nothing; zero for all others.
        functions: {joint that follows: function of its leader} where a polynomial of ``couplings`` stands for another
            (splines of OpenSim).
        coordinates: joints that are coordinates of an OpenSim file; its other joints follow these.
        gravity: that its file asks for (MJCF, OpenSim) [m/s^2], for `World(gravity=...)` and the calls; else None.
    """

    def __init__(self, description: Description) -> None:
        self.description = description
        ordered = _depth_first(description)
        index = {link.name: i for i, link in enumerate(ordered)}
        self.name = description.name
        self.nlinks = len(ordered)
        self.links: tuple[Link, ...] = tuple(_links(self, ordered, index))
        self.link_names: tuple[str, ...] = tuple(link.name for link in ordered)
        self.joint_names: tuple[str, ...] = tuple(link.joint_name for link in ordered)
        self.mass = float(sum(link.mass_properties.mass for link in ordered))
        self.landmarks: Mapping[str, Landmark] = MappingProxyType(dict(description.landmarks))
        self.loops: tuple[LoopClosure, ...] = tuple(description.loops)
        self.couplings: tuple[Coupling, ...] = tuple(description.couplings)
        self.defaults: Mapping[str, float] = MappingProxyType(dict(description.defaults))
        self.functions: Mapping[str, Function] = MappingProxyType(dict(description.functions))
        self.coordinates: tuple[str, ...] = tuple(description.coordinates)
        self.gravity = description.gravity
        self._index = index
        self._joint_index = {name: i for i, name in enumerate(self.joint_names)}
        if len(self._joint_index) < self.nlinks:
            twice = next(name for name in self.joint_names if self.joint_names.count(name) > 1)
            raise ModelError(f"joint {twice!r}: the name is taken")
        for landmark in self.landmarks.values():
            self.link(landmark.link)
        for loop in self.loops:
            for end in (loop.a, loop.b):
                if end != WORLD:
                    self.link(end)
        for coupling in self.couplings:
            for name in (coupling.joint, coupling.master):
                if name is not None and (self.joint(name).joint.nq, self.joint(name).joint.nv) != (1, 1):
                    raise ModelError(f"coupling: joint {name!r} has not one coordinate that could follow or lead")
        self.springs: tuple[JointSpring, ...] = tuple(description.springs)
        self.joint_limits: tuple[JointLimit, ...] = tuple(description.limits)
        self.tree = _compile(self.links)
        for spring in self.springs:
            freedoms = [self.freedom(*where) for where in spring.coordinates]
            self.tree.add_spring(freedoms, spring.stiffness, spring.damping, spring.rest)
        for limit in self.joint_limits:
            for where in limit.coordinates:
                self.freedom(*where)
        self.nq, self.nv = self.tree.nq, self.tree.nv
        self._frozen = True

    def __setattr__(self, name: str, value: object) -> None:
        if getattr(self, "_frozen", False):
            raise AttributeError(f"a Model never changes: cannot set {name}")
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple[type[Model], tuple[Description]]:
        return Model, (self.description,)

    def __copy__(self) -> Model:
        return self  # it never changes

    def __deepcopy__(self, memo: object) -> Model:
        return self

    def link(self, name: str) -> Link:
        """The link of this name.

        Raises:
            UnknownNameError: with the nearest names that exist.
        """
        return self.links[self.link_index(name)]

    def link_index(self, name: str) -> int:
        try:
            return self._index[name]
        except (KeyError, TypeError):
            raise UnknownNameError("link", name, self.link_names) from None

    def joint(self, name: str) -> Link:
        """The link that hangs on the joint of this name; its ``q`` and ``v`` slices are the joint's."""
        try:
            return self.links[self._joint_index[name]]
        except (KeyError, TypeError):
            raise UnknownNameError("joint", name, self.joint_names) from None

    def freedom(self, joint: str, number: int = 0) -> int:
        """Index into v of a joint's coordinate that is an angle or a distance."""
        link = self.joint(joint)
        count = link.joint.nv if link.joint.nq == link.joint.nv else 0
        if not isinstance(number, int | np.integer) or not 0 <= number < count:
            can = f"coordinates 0 to {count - 1}" if count else "no angle or distance"
            raise ModelError(f"joint {joint!r} ({type(link.joint).__name__}): it has {can}, not number {number!r:.100}")
        return link.v.start + int(number)

    def neutral(self) -> Array:
        """q of the zero pose: zeros, and unit quaternions."""
        return np.concatenate([link.joint.neutral() for link in self.links] or [np.zeros(0)])

    def random(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """A random state q, v: joints within their limits (between -1 and 1 without), velocities standard normal."""
        of_kind("random", rng, np.random.Generator, "a NumPy generator such as numpy.random.default_rng(1)")
        q = self.neutral()
        for link in self.links:
            q[link.q] = _random_coordinates(link.joint, rng)
        return q, rng.standard_normal(self.nv)

    def limits(self) -> Array:
        """(nq, 2): lower and upper limit of every coordinate; infinite where there is none, or on quaternions."""
        pairs = np.tile((-np.inf, np.inf), (self.nq, 1))
        for link in self.links:
            if link.joint.limits is not None and link.joint.nq == link.joint.nv:
                pairs[link.q] = link.joint.limits
        return pairs

    def __repr__(self) -> str:
        return f"<model {self.name!r}: {self.nlinks} links, nq {self.nq}, nv {self.nv}, {self.mass:.4g} kg>"


def tree_of(model: Model) -> _core.Tree:
    """The compiled tree, or an error that says what came instead of a model."""
    try:
        return model.tree
    except AttributeError:
        raise InvalidInputError(f"model: expected a Model, got {model!r:.100}") from None


def _random_coordinates(joint: Joint, rng: np.random.Generator) -> Array:
    q = rng.uniform(-1, 1, joint.nq)
    limits = None if joint.limits is None else np.asarray(joint.limits, dtype=np.float64)
    if isinstance(joint, Spherical) and (joint.swing is not None or joint.twist is not None):
        return _random_swing_and_twist(joint, rng)
    if joint.nq >= 4:
        axis, angle = rng.standard_normal(3), rng.uniform(-np.pi, np.pi)
        if limits is not None:
            angle = rng.uniform(0, min(limits[0, 1], np.pi))
        q[-4:] = np.cos(angle / 2), *(np.sin(angle / 2) * axis / np.linalg.norm(axis))
    elif limits is not None:
        lower = np.where(np.isfinite(limits[:, 0]), limits[:, 0], np.minimum(limits[:, 1], 1) - 2)
        upper = np.where(np.isfinite(limits[:, 1]), limits[:, 1], np.maximum(lower, -1) + 2)
        q = lower + (upper - lower) * rng.uniform(size=joint.nq)
    return q


def _random_swing_and_twist(joint: Spherical, rng: np.random.Generator) -> Array:
    """A quaternion within the limits of swing and twist: the swing after the twist."""
    axis, across = np.asarray(joint.axis), np.asarray(joint.across)
    lower, upper = (-np.pi, np.pi) if joint.twist is None else np.asarray(joint.twist)
    wide = np.array([(-np.pi, np.pi)] * 2) if joint.swing is None else np.asarray(joint.swing)
    half = 0.5 * rng.uniform(lower, upper)
    way = rng.uniform(0, 2 * np.pi)
    a, b = np.array((np.cos(way), np.sin(way))) * np.sqrt(rng.uniform())
    swing: Array = abs(a) * wide[0, int(a > 0)] * across + abs(b) * wide[1, int(b > 0)] * np.cross(axis, across)
    angle = max(float(np.linalg.norm(swing)), 1e-12)
    w, r = np.cos(angle / 2), np.sin(angle / 2) / angle * swing
    t, s = np.cos(half), np.sin(half) * axis
    return np.concatenate([[w * t - r @ s], w * s + t * r + np.cross(r, s)])


def _depth_first(description: Description) -> list[LinkDescription]:
    """All links so that each stands after its parent and subtrees are contiguous; children in the order of building."""
    children: dict[str, list[LinkDescription]] = {WORLD: []}
    for link in description.links:
        if link.name in children:
            raise ModelError(f"link {link.name!r}: the name is taken")
        children[link.name] = []
    for link in description.links:
        if link.parent not in children:
            raise UnknownNameError("link", link.parent, list(children))
        children[link.parent].append(link)
    ordered: list[LinkDescription] = []
    pending = children[WORLD][::-1]
    while pending:
        link = pending.pop()
        ordered.append(link)
        pending.extend(children[link.name][::-1])
    if len(ordered) < len(description.links):
        reached = {link.name for link in ordered}
        lost = [link.name for link in description.links if link.name not in reached]
        raise ModelError(
            f"links {', '.join(lost[:8])} hang on each other in a cycle: every link must lead to {WORLD!r}"
        )
    return ordered


def _links(model: Model, ordered: list[LinkDescription], index: dict[str, int]) -> Iterator[Link]:
    children: list[list[int]] = [[] for _ in ordered]
    roots: list[int] = []
    for i, link in enumerate(ordered):
        (roots if link.parent == WORLD else children[index[link.parent]]).append(i)
    brother = [-1] * len(ordered)
    for family in (roots, *children):
        for older, younger in pairwise(family):
            brother[older] = younger
    iq = iv = 0
    for i, link in enumerate(ordered):
        joint = link.joint
        yield Link(
            model,
            i,
            link.name,
            joint,
            link.joint_name,
            link.at,
            link.mass_properties,
            link.shapes,
            slice(iq, iq + joint.nq),
            slice(iv, iv + joint.nv),
            index.get(link.parent, -1),
            tuple(children[i]),
            brother[i],
        )
        iq += joint.nq
        iv += joint.nv


def _compile(links: tuple[Link, ...]) -> _core.Tree:
    """The core's tree: links on fixed joints are lumped with the body that carries them."""
    body_of: list[int] = []  # per link
    pose_in_body: list[Pose] = []
    bodies: list[Link] = []
    body_parents: list[int] = []
    frames: list[Array] = []
    masses: list[MassProperties] = []
    for link in links:
        parent = link.parent
        carrier = -1 if parent is None else body_of[parent.index]
        at = link.at if parent is None else pose_in_body[parent.index] @ link.at
        if link.joint.nv == 0:
            body_of.append(carrier)
            pose_in_body.append(at)
            if carrier >= 0:
                masses[carrier] += link.mass_properties.moved(at)
        else:
            body_of.append(len(bodies))
            pose_in_body.append(Pose())
            bodies.append(link)
            body_parents.append(carrier)
            frames.append(_frame(at))
            masses.append(link.mass_properties)
    elastic = [(i, link.joint) for i, link in enumerate(bodies) if _is_elastic(link.joint)]
    return _core.Tree(
        [link.joint_name for link in bodies],
        body_parents,
        [link.joint.kind for link in bodies],
        _stack(frames, 12),
        _stack([m.spatial for m in masses], 10),
        _stack([link.joint.axes() for link in bodies], 6),
        _stack([_padded(link.joint.armature, 6) for link in bodies], 6),
        body_of,
        _stack([_frame(pose) for pose in pose_in_body], 12),
        [i for i, _ in elastic],
        _stack([_elastic(joint) for _, joint in elastic], 79),
    )


def _frame(pose: Pose) -> Array:
    return np.concatenate([pose.R.ravel(), pose.position])


def _stack(rows: list[Array], width: int) -> Array:
    return np.array(rows, dtype=np.float64).reshape(len(rows), width)


def _padded(x: object, size: int) -> Array:
    values = np.asarray(x, dtype=np.float64).ravel()
    return np.concatenate([values, np.zeros(size - values.size)])


def _is_elastic(joint: Joint) -> bool:
    return any(x is not None and np.any(np.asarray(x)) for x in (joint.stiffness, joint.damping))


def _elastic(joint: Joint) -> Array:
    """Stiffness (36), damping (36) and rest (7), each padded with zeros."""
    nothing = np.zeros((joint.nv, joint.nv))
    K = nothing if joint.stiffness is None else joint.stiffness
    B = nothing if joint.damping is None else joint.damping
    return np.concatenate([_padded(K, 36), _padded(B, 36), _padded(joint.rest, 7)])
