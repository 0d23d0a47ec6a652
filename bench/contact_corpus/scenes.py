"""Scenes of the corpus: worlds with one coefficient of friction each, and the steps at which bursts are taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.spatial.transform import Rotation
from tests.contact.tumbles import scene as tumble

import ukemi as uk


@dataclass(frozen=True)
class Scene:
    """make: the world when it begins; moments: steps at which a burst starts; reach: of contact points [m]."""

    name: str
    make: Callable[[], uk.World]
    mu: float
    moments: tuple[int, ...]
    dt: float = 1e-3
    reach: float = 2e-5


def box(edges: tuple[float, float, float], density: float = 500.0) -> uk.Model:
    return uk.Builder("box").link("box", joint=uk.Free(), shapes=[uk.Box(edges)], density=density).build()


def ground(mu: float) -> uk.World:
    world = uk.World()
    world.terrain = uk.Ground(friction=mu)
    world.surface = uk.Surface(mu)
    return world


def stand() -> uk.World:
    world = ground(0.8)
    world.add(uk.human(28), "man")
    world.separate()
    return world


def hands(seed: int) -> uk.World:
    rng = np.random.default_rng(seed)
    world = ground(0.8)
    model = uk.human(40, hands=True)
    q, v = model.neutral(), rng.normal(0, 1.0, model.nv)
    q[2] = 1.2
    world.add(model, "man", q=q, v=v)
    return world


def pile(count: int, seed: int) -> uk.World:
    """Limp figures that fall on each other."""
    rng = np.random.default_rng(seed)
    world, model = ground(0.8), uk.human(28)
    for k in range(count):
        layer, side = divmod(k, 2)
        turn, lean = (layer * np.pi / 2 + 0.1 * k, np.pi / 2) + 0.2 * rng.normal(size=2)
        q = model.neutral()
        across = (0.0, 0.6 * side - 0.3) if layer % 2 == 0 else (0.6 * side - 0.3, 0.0)
        lying = Rotation.from_euler("ZY", (turn, lean)).as_quat(scalar_first=True)
        q[:7] = *(across + 0.05 * rng.normal(size=2)), 0.3 + 0.3 * layer, *lying
        world.add(model, f"man{k}", q=q)
    world.separate()
    return world


def mixed_pile(seed: int, count: int = 14) -> uk.World:
    """Boxes, balls, capsules and cylinders that fall into each other."""
    rng = np.random.default_rng(seed)
    mu = MU_OF_PILES[seed % len(MU_OF_PILES)]
    world = ground(mu)
    shapes = (uk.Box((0.2, 0.14, 0.1)), uk.Sphere(0.1), uk.Capsule(0.06, 0.2), uk.Cylinder(0.08, 0.2))
    for i in range(count):
        model = uk.Builder("b").link("b", joint=uk.Free(), shapes=[shapes[i % 4]], density=500.0).build()
        turn = Rotation.random(random_state=int(rng.integers(2**31))).as_quat(scalar_first=True)
        world.add(model, f"b{i}", q=(*rng.uniform(-0.15, 0.15, 2), 0.3 + 0.3 * i, *turn))
    return world


def basket(seed: int) -> uk.World:
    """The same in a box without a lid, where they stay together."""
    world = mixed_pile(seed, 20)
    sides = [uk.Box((1.0, 0.2, 2.0), at=uk.Pose((0, sign * 0.45, 1.0))) for sign in (-1, 1)] + [
        uk.Box((0.2, 1.0, 2.0), at=uk.Pose((sign * 0.45, 0, 1.0))) for sign in (-1, 1)
    ]
    mu = MU_OF_PILES[seed % len(MU_OF_PILES)]
    world.terrain = [uk.Ground(friction=mu), uk.Solids(sides, uk.Surface(mu))]
    return world


#: Friction of the piles, in turn.
MU_OF_PILES = (0.3, 0.8, 1.0)


def wall(rows: int, columns: int, hit: bool) -> uk.World:
    """Bricks in bond, flush; a ball flies into it."""
    world, model = ground(0.6), box((0.2, 0.1, 0.08), 1800.0)
    for i in range(rows):
        for j in range(columns):
            world.add(model, f"b{i}_{j}", q=(0.2 * j + 0.1 * (i % 2), 0, 0.04 + 0.08 * i, 1, 0, 0, 0))
    if hit:
        ball = uk.Builder("ball").link("ball", joint=uk.Free(), mass=5.0, shapes=[uk.Sphere(0.1)]).build()
        world.add(ball, "ball", q=(0.1 * columns, -0.17, 0.04 * rows, 1, 0, 0, 0), v=(0, 6.0, 0, 0, 0, 0))
    return world


def dominoes(count: int = 30) -> uk.World:
    world = ground(0.5)
    world.surface = uk.Surface(0.2)
    for i in range(count):
        world.add(box((0.0075, 0.024, 0.048), 700.0), f"d{i}", q=(0.024 * i, 0, 0.024, 1, 0, 0, 0))
    v = np.zeros(world.model.nv)
    v[:6] = 0.05, 0, 0, 0, 8.0, 0
    world.set_state(v=v)
    return world


def chain(links: int = 20) -> uk.World:
    """A chain laid over a horizontal cylinder."""
    world = uk.World()
    world.surface = uk.Surface(0.4)
    lying = uk.Pose((0, 0, 0), (np.sqrt(0.5), np.sqrt(0.5), 0, 0))  # its axis along y
    world.terrain = uk.Solids([uk.Cylinder(0.2, 1.0, at=lying)], uk.Surface(0.4))
    b, length = uk.Builder("chain"), 0.08
    for i in range(links):
        shape = uk.Capsule(0.015, length - 0.03, at=uk.Pose((length / 2, 0, 0), (np.sqrt(0.5), 0, np.sqrt(0.5), 0)))
        joint, at = (uk.Free(), uk.Pose()) if i == 0 else (uk.Spherical(), uk.Pose((length, 0, 0)))
        b.link(f"l{i}", f"l{i - 1}" if i else "world", joint, at, shapes=[shape], density=2000.0)
    model = b.build()
    q = model.neutral()
    q[:3] = -0.45 * links * length, 0, 0.22
    world.add(model, "chain", q=q)
    return world


def slabs(ratio: float, seed: int) -> uk.World:
    """Light and heavy slabs by turns, a little turned."""
    rng = np.random.default_rng(seed)
    world = ground(0.5)
    for i in range(6):
        turn = Rotation.from_rotvec((0, 0, 0.1 * rng.normal())).as_quat(scalar_first=True)
        heavy = box((1.0, 1.0, 0.1), 10.0 * (ratio if i % 2 else 1.0))
        q = (*(0.02 * rng.normal(size=2)), 0.05 + 0.1 * i, *turn)
        world.add(heavy, f"s{i}", q=q, v=(*(0.3 * rng.normal(size=2)), 0, 0, 0, 0))
    return world


def pyramid(rows: int = 6) -> uk.World:
    world, model = ground(0.6), box((0.2, 0.2, 0.2))
    for i in range(rows):
        for j in range(rows - i):
            world.add(model, f"b{i}_{j}", q=(0.21 * j + 0.105 * i, 0, 0.1 + 0.2 * i, 1, 0, 0, 0))
    return world


def loops(seed: int, twice: bool) -> uk.World:
    """Figures that hold each other's hands and fall; ``twice``: one hand is held by two welds at once."""
    rng = np.random.default_rng(seed)
    world, model = ground(0.8), uk.human(28)
    figures = []
    for k in range(2):
        q = model.neutral()
        q[:3] = 0, 1.0 * k, 1.0
        figures.append(world.add(model, f"man{k}", q=q, v=0.5 * rng.normal(size=model.nv)))
    one, other = figures
    for side, to in (("left", "right"), ("right", "left")):
        world.connect(one[f"{side}_hand"], other[f"{to}_hand"], uk.Spherical())
    if twice:
        world.connect(one["left_hand"], other["right_hand"], uk.Fixed())
    world.separate()
    return world


def all_scenes(first: int = 0) -> Iterator[Scene]:
    """About 250 bursts. ``first``: of the seeds; the numbers of the solver were chosen on 0, others tell more."""
    grounds = ("plane", "slope", "stairs")
    for seed in range(first, first + 12):
        yield Scene(f"tumble/{seed}", partial(tumble, seed, grounds[seed % 3]), 0.8, (450, 550, 700, 900, 1200))
    for seed in range(first, first + 4):
        yield Scene(f"speculative/{seed}", partial(tumble, seed, "plane"), 0.8, (450, 600, 900), reach=5e-3)
        yield Scene(f"hands/{seed}", partial(hands, seed), 0.8, (350, 450, 600))
        yield Scene(f"loops/{seed}", partial(loops, seed, seed % 2 == 1), 0.8, (50, 150, 400))
        yield Scene(f"basket/{seed}", partial(basket, seed), MU_OF_PILES[seed % 3], (500, 900, 1400))
    for seed in range(first, first + 6):
        yield Scene(f"mixed_pile/{seed}", partial(mixed_pile, seed), MU_OF_PILES[seed % 3], (500, 800, 1100, 1500))
    for seed in range(first, first + 2):
        yield Scene(f"pile/{seed}", partial(pile, 6, seed), 0.8, (250, 400, 600))
        for ratio in (1e2, 1e4, 1e6):
            yield Scene(f"slabs {ratio:.0e}/{seed}", partial(slabs, ratio, seed), 0.5, (1, 50, 200))
    if first:
        return  # nothing in the others is random
    yield Scene("stand", stand, 0.8, (0, 20, 60))
    yield Scene("wall", partial(wall, 6, 6, False), 0.6, (1, 30))
    yield Scene("wall hit", partial(wall, 5, 5, True), 0.6, (12, 40))
    yield Scene("dominoes", dominoes, 0.5, (1, 150, 300, 500))
    yield Scene("chain", chain, 0.4, (100, 300, 600))
    yield Scene("pyramid", pyramid, 0.6, (2, 50))
