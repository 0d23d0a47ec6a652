"""The hand's step beside MuJoCo's, and impulses through trees that grow."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import mujoco
import numpy as np
from mechanism import random_tree
from result import Limit, Results

import ukemi as uk
from ukemi.model.figures.hand import thesis_pose
from ukemi.model.model import Link

#: The hand's step takes at most this share of MuJoCo's.
SHARE = 0.5
#: A step with joints at their stops takes at most this many free ones.
HELD = 3.0
STEPS = 200
DT = 1e-3
LINKS = (10, 30, 100, 300, 1000)
#: Flat: the dearest size costs at most this many times the cheapest, per body.
FLAT = 1.5
TOUCHES = (1, 2, 4, 8, 16, 32, 64, 128)
#: m links of 1000: cost over the fit a + b (bodies between them and the root, at most n) + c m^2.
QUADRATIC = 1.5


#: Bodies of chains that lie on the ground; the way that contact steps choose costs at most this over the better one.
CHAINS = (10, 20, 40, 80)
CHOSEN = 1.25


def run(rounds: int, results: Results) -> None:
    _hand(max(3, rounds // 5), results)
    _held(max(3, rounds // 5), results)
    _growing(max(3, rounds // 20), results)
    _chosen(max(3, rounds // 10), results)


def hand_mjcf(model: uk.Model) -> str:
    """The hand for MuJoCo: hinges with ranges, springs and dampers (the wrist's coupling is left out: it has none)."""

    def numbers(x: object) -> str:
        return " ".join(f"{v:.17g}" for v in np.ravel(np.asarray(x, dtype=float)))

    def body(link: Link) -> str:
        m = link.mass_properties
        I = m.inertia
        joint = link.joint
        axes = (joint.first, joint.second) if isinstance(joint, uk.Universal) else (joint.axis,)  # type: ignore[attr-defined]
        K, B, limits = (np.asarray(x) for x in (joint.stiffness, joint.damping, joint.limits))
        hinges = "".join(
            f'<joint name="{link.joint_name}{k}" axis="{numbers(axis)}" range="{numbers(limits[k])}" limited="true" '
            f'stiffness="{K[k, k]:.17g}" springref="{np.asarray(joint.rest)[k]:.17g}" damping="{B[k, k]:.17g}"/>'
            for k, axis in enumerate(axes)
        )
        full = numbers((I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]))
        inertial = f'<inertial pos="{numbers(m.com)}" mass="{m.mass:.17g}" fullinertia="{full}"/>'
        inside = "".join(body(child) for child in link.children)
        return f'<body pos="{numbers(link.at.position)}">{hinges}{inertial}{inside}</body>'

    option = f'<option integrator="implicitfast" timestep="{DT}"/><compiler angle="radian" balanceinertia="true"/>'
    return f"<mujoco>{option}<worldbody>{body(model.links[0])}</worldbody></mujoco>"


def _hand(rounds: int, results: Results) -> None:
    model = uk.hand()
    peer = mujoco.MjModel.from_xml_string(hand_mjcf(model))
    data = mujoco.MjData(peer)
    world = uk.World()
    world.add(model, q=thesis_pose(model))
    sim = uk.Simulation(world, DT, "implicit")
    data.qpos[:] = thesis_pose(model)
    times = np.array(
        [
            [_seconds(lambda: sim.step(steps=STEPS)), _seconds(lambda: mujoco.mj_step(peer, data, STEPS))]
            for _ in range(rounds)
        ]
    )
    ours, theirs = np.median(times, axis=0) / STEPS * 1e6
    parts = {"ukemi [us]": float(ours), "MuJoCo implicitfast [us]": float(theirs)}
    case = "step of the hand with limits and implicit joints, over MuJoCo's"
    results.limits.append(Limit(case, float(ours / theirs), SHARE, "x", parts))


def _held(rounds: int, results: Results) -> None:
    """RK4 steps of the figure that hangs by both hands: elbows and knees pressed against their stops, or no limits."""
    model = uk.human(28)
    q = model.neutral()
    for side in ("left", "right"):
        q[model.link(f"{side}_upper_arm").q] = (0, 0, 1, 0)  # arms up
    sims = []
    for limits in (True, False):
        world = uk.World()
        figure = world.add(model, name="figure", q=q)
        for side in ("left", "right"):
            world.connect(world.ground, figure[f"{side}_forearm"].at(uk.Pose((0, 0, -0.25))), uk.Spherical())
        sims.append(uk.Simulation(world, DT, "rk4", limits=limits))
    press = np.zeros(model.nv)
    for name in ("forearm", "shank"):
        for side in ("left", "right"):
            press[model.link(f"{side}_{name}").v] = -5.0
    stopped, free = sims
    times = []
    for _ in range(rounds):
        free.world.set_state(stopped.world.q, stopped.world.v)
        steps = [partial(stopped.step, press, STEPS // 5), partial(free.step, None, STEPS // 5)]
        times.append([_seconds(work) for work in steps])
    held, plain = np.min(times, axis=0) / (STEPS // 5) * 1e6
    parts = {"at their stops [us]": float(held), "free [us]": float(plain), "stops": float(len(stopped.world.stops))}
    case = "RK4 step of the hanging figure with joints at their stops, over the free step"
    results.limits.append(Limit(case, float(held / plain), HELD, "x", parts))


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _repeat(call: Callable[[], object], times: int) -> None:
    for _ in range(times):
        call()


def _growing(rounds: int, results: Results) -> None:
    """Cost per body of an impulse response and of Psi, less what a call on one link costs."""
    trees = {links: random_tree(links) for links in (1, *LINKS)}
    work: dict[str, dict[int, Callable[[], object]]] = {"impulse response": {}, "Psi of one link": {}}
    for links, model in trees.items():
        q = model.neutral()
        work["impulse response"][links] = partial(uk.impulse_response, model, q, None, np.ones(model.nv))
        work["Psi of one link"][links] = partial(uk.inverse_inertia, model, q, model.link_names[-1])
    for case, calls in work.items():
        seconds: dict[int, list[float]] = {links: [] for links in calls}
        for _ in range(rounds):
            for links, call in calls.items():
                repeats = max(1, 2000 // links)
                seconds[links].append(_seconds(partial(_repeat, call, repeats)) / repeats)
        median = {links: float(np.median(t)) for links, t in seconds.items()}
        per_body = {str(n): (median[n] - median[1]) / (n - 1) * 1e9 for n in LINKS}
        uneven = max(per_body.values()) / min(per_body.values())
        results.limits.append(Limit(f"{case}, cost per body, 10 to 1000 links", uneven, FLAT, "x", per_body))
    _many_links(trees[LINKS[-1]], rounds, results)


def _many_links(model: uk.Model, rounds: int, results: Results) -> None:
    names = [model.link_names[k] for k in np.random.default_rng(0).permutation(model.nlinks)]
    q = model.neutral()
    # sizes take turns, and the quickest counts: a pause of the machine is no cost of a size
    calls = {m: partial(uk.inverse_inertia, model, q, *names[:m]) for m in TOUCHES}
    took = np.min([[_seconds(calls[m]) for m in TOUCHES] for _ in range(rounds)], axis=0)
    fit = np.array([[1.0, len(_ways(model, names[:m])), m**2] for m in TOUCHES])
    rates = np.linalg.lstsq(fit / took[:, None], np.ones(len(TOUCHES)), rcond=None)[0]  # of relative errors
    parts = {f"{m} links [us]": float(t * 1e6) for m, t in zip(TOUCHES, took, strict=True)}
    parts |= {f"{what} [us]": float(rate * 1e6) for what, rate in zip(("call", "body", "pair"), rates, strict=True)}
    case = "Psi of m of 1000 links over a + b (bodies on their ways) + c m^2"
    results.limits.append(Limit(case, float((took / (fit @ rates)).max()), QUADRATIC, "x", parts))


def _ways(model: uk.Model, names: list[str]) -> set[str]:
    """Links between those named and the root: what Psi passes, however many of them share it."""
    ways: set[str] = set()
    for name in names:
        link: Link | None = model.link(name)
        while link is not None and link.name not in ways:
            ways.add(link.name)
            link = link.parent
    return ways


def _chosen(rounds: int, results: Results) -> None:
    """Contact steps by the inertia's factor, by articulated bodies, and as the core chooses."""
    parts: dict[str, float] = {}
    worst = 0.0
    for links in CHAINS:
        sims = {way: uk.Simulation(_lying(links), DT) for way in ("factor", "bodies", "chosen")}
        for way, sim in sims.items():
            assert sim._scene is not None
            if way != "chosen":
                sim._scene.engine.by_bodies = way == "bodies"
            sim.step(steps=2)
        steps = max(2, 400 // links)
        times = [[_seconds(partial(sim.step, None, steps)) for sim in sims.values()] for _ in range(rounds)]
        took = dict(zip(sims, np.min(times, axis=0) / steps * 1e6, strict=True))
        parts |= {f"{links} hinges, {way} [us]": float(t) for way, t in took.items()}
        worst = max(worst, float(took["chosen"] / min(took.values())))
    results.limits.append(Limit("contact step of a chain as chosen, over the better way", worst, CHOSEN, "x", parts))


def _lying(links: int) -> uk.World:
    """A chain of hinges along x that rests on five balls."""
    b = uk.Builder("chain")
    for i in range(links):
        ball = [uk.Sphere(0.02, at=uk.Pose((0.05, 0, 0)))] if i % max(1, links // 4) == 0 else []
        rod = {"mass": 0.1, "com": (0.05, 0, 0), "inertia": (1e-5, 1e-4, 1e-4)}
        joint = uk.Revolute((0, 1, 0), damping=1e-3) if i else uk.Free()
        place = uk.Pose((0.1 if i else 0.0, 0, 0))
        b.link(f"link{i}", f"link{i - 1}" if i else "world", joint, place, shapes=ball, **rod)  # type: ignore[arg-type]
    world = uk.World()
    world.terrain = uk.Ground()
    world.collisions = False
    model = b.build()
    q = model.neutral()
    q[2] = 0.02
    world.add(model, q=q)
    return world
