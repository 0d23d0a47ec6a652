"""Contact steps: figures that collapse on their feet and that stand, beside MuJoCo's; ten in a heap, beside one."""

from __future__ import annotations

import time
from collections.abc import Callable

import mujoco
import numpy as np
from result import Limit, Results
from scipy.spatial.transform import Rotation

import ukemi as uk
from ukemi.model.arrays import Array
from ukemi.model.layouts import to_mujoco
from ukemi.model.model import Link

DT = 2e-3
STEPS = 400
#: How many times faster than MuJoCo is wanted.
GOAL = 2.0
#: Figures that fall on each other; a step of the heap costs at most so many times that of one alone, per figure.
PILE, PILE_BOUND = 10, 2.0
#: Windows of so many steps each: while they fall and the first land, come to lie on each other, and lie.
WINDOWS, WINDOW = ("falling figures", "figures on the ground", "figures that lie on each other"), 150
#: Heaps that begin a little differently: the cost of one hangs on how its limbs come to lie.
HEAPS = 24


def run(rounds: int, results: Results) -> None:
    model = uk.human(28)
    peer = mujoco.MjModel.from_xml_string(mjcf(model))
    for name, q in (("limp collapse on the feet", bent(model)), ("standing on both feet", upright(model))):
        seconds = np.array([(our_step(model, q), peer_step(peer, model, q)) for _ in range(rounds)])
        results.add_race(f"contact step: {name}", ["ukemi", "MuJoCo"], seconds, GOAL, ("MuJoCo",))
    _pile(max(1, rounds // 25), results)


def _pile(rounds: int, results: Results) -> None:
    """Ten figures that fall on the ground and on each other, and the lowest of them alone: cost per figure and step."""
    model = uk.human(28)

    def of_heaps(run: Callable[[uk.Model, int, int], Array]) -> Array:
        """Count by window: the mean over heaps of what the run tells of each, the median of its rounds."""
        runs = [[[run(model, count, heap) for heap in range(HEAPS)] for count in (1, PILE)] for _ in range(rounds)]
        return np.asarray(np.median(runs, axis=0).mean(axis=1))

    seconds, peer = of_heaps(_fall), of_heaps(_peer_fall)
    problems = np.array([_problems(model, count) for count in (1, PILE)])
    columns = [(what, *(times[:, k] for times in (seconds, peer, problems))) for k, what in enumerate(WINDOWS)]
    whole = ("figures from the air to lying, all windows", *(times.mean(axis=1) for times in (seconds, peer, problems)))
    for what, ours, of_peer, solved in (whole, *columns):
        parts = {"one alone [us]": 1e6 * ours[0], f"of {PILE} [us]": 1e6 * ours[1]}
        parts |= {"MuJoCo, one alone [us]": 1e6 * of_peer[0], f"MuJoCo, of {PILE} [us]": 1e6 * of_peer[1]}
        parts |= {"contact problems a step, one": solved[0], f"contact problems a step, {PILE}": solved[1]}
        case = f"contact step: heap of {PILE} {what} over one alone, per figure"
        parts = {name: float(x) for name, x in parts.items()}
        results.limits.append(Limit(case, float(ours[1] / ours[0]), PILE_BOUND, "x", parts))


def _fall(model: uk.Model, count: int, heap: int) -> Array:
    """Seconds per figure and step in each window."""
    simulation = _heap(model, count, heap)
    times = [time.perf_counter()]
    for _ in WINDOWS:
        simulation.step(steps=WINDOW)
        times.append(time.perf_counter())
    return np.diff(times) / WINDOW / count


def _peer_fall(model: uk.Model, count: int, heap: int) -> Array:
    """The same figures in MuJoCo, where they touch each other and themselves too."""
    peer = mujoco.MjModel.from_xml_string(mjcf(model, count))
    data = mujoco.MjData(peer)
    single = mujoco.MjModel.from_xml_string(mjcf(model))
    rest = np.zeros(model.nv)
    data.qpos[:] = np.concatenate(
        [to_mujoco(model, single, q, rest)[0] for q in np.split(_heap(model, count, heap).world.q, count)]
    )
    times = [time.perf_counter()]
    for _ in WINDOWS:
        mujoco.mj_step(peer, data, WINDOW)
        times.append(time.perf_counter())
    return np.diff(times) / WINDOW / count


def _problems(model: uk.Model, count: int) -> Array:
    """Contact problems of a step in each window."""
    simulation = _heap(model, count)
    solves = []
    for _ in range(len(WINDOWS) * WINDOW):
        simulation.step()
        solves.append(simulation.report.solves)
    return np.mean(np.reshape(solves, (len(WINDOWS), WINDOW)), axis=1)


def _heap(model: uk.Model, count: int, heap: int = 0) -> uk.Simulation:
    """Limp figures in the air, two in a layer, lying across those below; the first heap is in order, others hardly."""
    rng = np.random.default_rng(heap)
    mess = 1.0 if heap else 0.0
    world = uk.World()
    world.terrain = uk.Ground()
    for k in range(count):
        layer, side = divmod(k, 2)
        turn, lean = (layer * np.pi / 2 + 0.1 * k, np.pi / 2) + 0.2 * mess * rng.normal(size=2)
        lying = Rotation.from_euler("ZY", (turn, lean)).as_quat(scalar_first=True)
        across = np.array((0.0, 0.6 * side - 0.3)) if layer % 2 == 0 else np.array((0.6 * side - 0.3, 0.0))
        q = model.neutral()
        q[:7] = *(across + 0.05 * mess * rng.normal(size=2)), 0.3 + 0.3 * layer, *lying
        world.add(model, f"man{k}", q=q)
    world.separate()
    return uk.Simulation(world, DT)


def upright(model: uk.Model) -> Array:
    world = uk.World()
    world.terrain = uk.Ground()
    world.add(model, "man")
    world.separate()
    return world.q.copy()


def bent(model: uk.Model) -> Array:
    """Knees and hips a little bent, so that it collapses at once."""
    q = model.neutral()
    for side in ("left", "right"):
        knee, hip = model.joint(f"{side}_knee").q, model.joint(f"{side}_hip").q
        q[knee] = 0.4 * np.sign(np.asarray(model.limits()[knee]).sum())
        angle = -0.2 * np.sign(q[knee][0])
        q[hip] = (np.cos(angle / 2), 0, np.sin(angle / 2), 0)
    world = uk.World()
    world.terrain = uk.Ground()
    world.add(model, "man", q=q)
    world.separate()
    return world.q.copy()


def our_step(model: uk.Model, q: Array) -> float:
    world = uk.World()
    world.terrain = uk.Ground()
    world.collisions = False
    world.add(model, "man", q=q)
    simulation = uk.Simulation(world, DT)
    start = time.perf_counter()
    simulation.step(steps=STEPS)
    return (time.perf_counter() - start) / STEPS


def peer_step(peer: mujoco.MjModel, model: uk.Model, q: Array) -> float:
    data = mujoco.MjData(peer)
    data.qpos[:], _ = to_mujoco(model, peer, q, np.zeros(model.nv))
    start = time.perf_counter()
    mujoco.mj_step(peer, data, STEPS)
    return (time.perf_counter() - start) / STEPS


def mjcf(model: uk.Model, heap: int = 0) -> str:
    """The figure with its shapes for MuJoCo: elliptic cones, Newton's solver; shapes touch the floor alone.

    `heap`: so many figures, whose shapes touch everything.
    """
    touching = 'contype="1" conaffinity="1"' if heap else 'contype="0" conaffinity="1"'

    def numbers(x: object) -> str:
        return " ".join(f"{v:.17g}" for v in np.ravel(np.asarray(x, dtype=float)))

    def geom(shape: object) -> str:
        at = shape.at  # type: ignore[attr-defined]
        kind = {uk.Box: "box", uk.Capsule: "capsule", uk.Sphere: "sphere", uk.Cylinder: "cylinder"}[type(shape)]
        if isinstance(shape, uk.Box):
            size = np.asarray(shape.size) / 2
        elif isinstance(shape, uk.Sphere):
            size = np.array([shape.radius])
        else:
            size = np.array([shape.radius, shape.length / 2])  # type: ignore[attr-defined]
        place = f'pos="{numbers(at.position)}" quat="{numbers(at.quaternion)}"'
        return f'<geom type="{kind}" size="{numbers(size)}" {place} {touching} mass="0"/>'

    def joint(link: Link, name: str) -> str:
        j = link.joint
        if isinstance(j, uk.Free):
            return f'<freejoint name="{name}"/>'
        if isinstance(j, uk.Spherical):
            return f'<joint name="{name}" type="ball"/>'
        assert isinstance(j, uk.Revolute)
        limits = np.asarray(j.limits)[0] if j.limits is not None else None
        held = "" if limits is None else f' limited="true" range="{numbers(limits)}"'
        return f'<joint name="{name}" axis="{numbers(j.axis)}"{held}/>'

    def body(link: Link, figure: str = "") -> str:
        m = link.mass_properties
        I = m.inertia
        full = numbers((I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]))
        inertial = f'<inertial pos="{numbers(m.com)}" mass="{m.mass:.17g}" fullinertia="{full}"/>'
        place = f'pos="{numbers(link.at.position)}" quat="{numbers(link.at.quaternion)}"'
        inside = "".join(geom(s) for s in link.shapes) + "".join(body(child, figure) for child in link.children)
        return f"<body {place}>{joint(link, figure + link.joint_name)}{inertial}{inside}</body>"

    option = (
        f'<option timestep="{DT}" cone="elliptic" solver="Newton"/><compiler angle="radian" balanceinertia="true"/>'
    )
    floor = '<geom type="plane" size="5 5 1" friction="0.8 0.005 0.0001" contype="1" conaffinity="0"/>'
    figures = "".join(body(model.links[0], f"man{k}_" if heap else "") for k in range(heap or 1))
    return f"<mujoco>{option}<worldbody>{floor}{figures}</worldbody></mujoco>"
