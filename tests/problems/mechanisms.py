"""The IFToMM mechanisms and their relatives, built in worlds: trees, and connections that close their loops."""

from __future__ import annotations

from typing import Any

import numpy as np

import ukemi as uk
from ukemi.model.arrays import Array

Z = uk.Revolute((0, 0, 1))
DOWN = (0, -9.81, 0)  # planar problems: gravity along -y


def rod(mass: float, length: float, direction: tuple[float, float, float] = (1, 0, 0)) -> dict[str, Any]:
    """A uniform thin rod from its frame along a direction."""
    d = np.array(direction, dtype=float)
    return {"mass": mass, "com": 0.5 * length * d, "inertia": mass * length**2 / 12 * (np.eye(3) - np.outer(d, d))}


def planar(mass: float, com: tuple[float, float], inertia: float) -> dict[str, Any]:
    """A body of a planar problem: only its inertia about z matters."""
    return {"mass": mass, "com": (*com, 0), "inertia": (inertia / 2, inertia / 2, inertia)}


def point(x: float, y: float, z: float = 0) -> uk.Pose:
    return uk.Pose((x, y, z))


def n_fourbar(g: dict[str, Any], windows: int) -> tuple[uk.World, uk.Figure]:
    """Uprights on the ground, each but the last carrying a coupler to the next; clockwise is positive."""
    L, m = g["L"], g["m_link"]
    turn = uk.Revolute((0, 0, -1))
    b = uk.Builder("windows")
    for i in range(windows + 1):
        b.link(f"upright{i}", "world", turn, point(i * L, 0), **rod(m, L, (0, 1, 0)))
        if i < windows:
            b.link(f"coupler{i}", f"upright{i}", turn, point(0, L), **rod(m, L))
    model = b.build()
    world = uk.World((0, -g["g"], 0))
    rates = np.array([1.0 if name.startswith("upright") else -1.0 for name in model.link_names]) * g["B0_vx"] / L
    figure = world.add(model, name="w", v=rates)
    with world.at_once():
        for i in range(windows):
            end, tip = figure[f"coupler{i}"].at(point(L, 0)), figure[f"upright{i + 1}"].at(point(0, L))
            world.connect(end, tip, uk.Revolute((0, 0, 1)), at="frames")
    return world, figure


def andrews(g: dict[str, Any]) -> uk.World:
    """Seven bodies: three loops meet in E."""
    m, I = g["m"], g["I"]
    b = uk.Builder("squeezer")
    A, B = point(*g["A"]), point(*g["B"])
    b.link("k1", "world", Z, **planar(m[0], (g["ra"], 0), I[0]))
    b.link("k2", "k1", Z, point(g["rr"], 0), **planar(m[1], (-g["da"], 0), I[1]))
    b.link("k3", "world", Z, B, **planar(m[2], (g["sb"], -g["sa"]), I[2]))
    b.link("k5", "world", Z, A, **planar(m[4], (g["ta"], g["tb"]), I[4]))
    b.link("k4", "k5", Z, point(g["zt"], 0), **planar(m[3], (0, -(g["e"] - g["ea"])), I[3]))
    b.link("k7", "world", Z, A, **planar(m[6], (-g["ub"], -g["ua"]), I[6]))
    b.link("k6", "k7", Z, point(0, -g["u"]), **planar(m[5], (g["zf"] - g["fa"], 0), I[5]))
    model = b.build()
    order = ["k1", "k2", "k3", "k4", "k5", "k6", "k7"]  # of the problem: beta, Theta, gamma, Phi, delta, Omega, epsilon
    q = np.zeros(7)
    for name, angle in zip(order, g["q"].values(), strict=True):
        q[model.link(name).q] = angle
    world = uk.World((0, 0, 0))
    s = world.add(model, name="s", q=q)
    E = s["k3"].at(point(0, -g["ss"]))
    with world.at_once():
        for link, place in (("k2", (-g["d"], 0)), ("k4", (0, -g["e"])), ("k6", (g["zf"], 0))):
            world.connect(
                E, s[link].at(point(*place)), uk.Revolute((0, 0, 1)), at="frames", name=f"E-{link}", snap=True
            )
    world.spring(world.ground.at(point(*g["C"])), s["k3"].at(point(g["sd"], -g["sc"])), g["c0"], length=g["l0"])
    return world


def bricard(g: dict[str, Any]) -> tuple[uk.World, uk.Figure]:
    L, c, m = g["L"], g["c"], g["m"]
    places = L * np.array([(0, 0, 0), (1, 0, 0), (1, -1, 0), (1, -1, 1), (0, -1, 1), (0, 0, 1)], dtype=float)
    axes = np.eye(3)[[1, 2, 0, 1, 2, 0]]
    b = uk.Builder("bricard")
    for k in range(5):
        along = places[k + 1] - places[k]
        d = along / L
        inertia = m * (L**2 + c**2) / 12 * (np.eye(3) - np.outer(d, d)) + m * c**2 / 6 * np.outer(d, d)
        at = uk.Pose(places[k] - (places[k - 1] if k else 0))
        b.link(
            f"rod{k + 1}", f"rod{k}" if k else "world", uk.Revolute(axes[k]), at, mass=m, com=along / 2, inertia=inertia
        )
    world = uk.World(g["gravity"])
    figure = world.add(b.build(), name="b")
    world.connect(world.ground, figure["rod5"], uk.Revolute(axes[5]), at=uk.Pose(places[5]), name="P6")
    return world, figure


def governor(g: dict[str, Any]) -> uk.World:
    L, a, H, w = g["L"], g["a"], g["H"], g["w"]
    b = uk.Builder("governor")

    b.link(
        "shaft", "world", Z, mass=g["m_shaft"], com=(0, 0, H / 2), inertia=_square_bar(g["m_shaft"], H, w, (0, 0, 1))
    )
    cube = g["m_slider"] * g["b"] ** 2 / 6
    b.link("slider", "shaft", uk.Prismatic((0, 0, 1)), mass=g["m_slider"], inertia=(cube, cube, cube))
    for side, sign in (("right", 1.0), ("left", -1.0)):
        # alpha below the horizontal: the rod along +-x turns about +-y
        hinge = uk.Revolute((0, sign, 0))
        at = uk.Pose((sign * a, 0, H))
        inertia = _square_bar(g["m_rod"], L, w, (1, 0, 0))
        b.link(side, "shaft", hinge, at, mass=g["m_rod"], com=(sign * L / 2, 0, 0), inertia=inertia)
        b.link(f"{side}_ball", side, at=uk.Pose((sign * L, 0, 0)), mass=g["m_ball"])
    model = b.build()
    q, v = np.zeros(4), np.zeros(4)
    q[model.link("slider").q] = g["s"]
    for side in ("right", "left"):
        q[model.link(side).q] = np.deg2rad(g["alpha_deg"])
    v[model.link("shaft").v] = g["omega0"]
    world = uk.World((0, 0, -g["g"]))
    f = world.add(model, name="g", q=q, v=v)
    for side, sign in (("right", 1.0), ("left", -1.0)):
        middle, collar = f[side].at(uk.Pose((sign * L / 2, 0, 0))), f["slider"].at(uk.Pose((sign * a, 0, 0)))
        world.spring(collar, middle, g["K"], g["C"], g["l0"], name=side)
    return world


def _square_bar(mass: float, length: float, side: float, direction: tuple[float, float, float]) -> Array:
    d = np.outer(direction, direction)
    return mass * (length**2 + side**2) / 12 * (np.eye(3) - d) + mass * side**2 / 6 * d


def slider_crank_planar(g: dict[str, Any]) -> tuple[uk.World, uk.Figure]:
    b = uk.Builder("crank")
    b.link("crank", "world", Z, **planar(g["m1"], (g["l1"] / 2, 0), g["J1"]))
    b.link("rod", "crank", Z, point(g["l1"], 0), **planar(g["m2"], (g["l2"] / 2, 0), g["J2"]))
    b.link("slider", "world", uk.Prismatic((1, 0, 0)), mass=g["m3"], inertia=(1, 1, 1))
    world = uk.World((0, -g["g"], 0))
    figure = world.add(b.build(), name="c", q=[0, 0, g["l1"] + g["l2"]])
    world.connect(figure["slider"], figure["rod"].at(point(g["l2"], 0)), Z, at="frames", name="pin")
    set_by_one(world, "c/crank", g["theta1_dot"])
    return world, figure


def slider_crank_spatial(g: dict[str, Any]) -> tuple[uk.World, uk.Figure]:
    """Rod on the slider by the universal joint; the ball at the crank's tip closes the loop."""
    A, reach = np.array((0, g["yA"], g["zA"])), g["lBC"]
    B = A + g["lAB"] * np.array((0, -np.sin(g["theta"]), np.cos(g["theta"])))
    x = np.sqrt(reach**2 - B[1] ** 2 - B[2] ** 2)
    d = (B - (x, 0, 0)) / reach  # along the rod, its own x axis
    second = np.arccos(d[0])
    first = np.arctan2(d[1] / np.sin(second), -d[2] / np.sin(second))
    crank_inertia = (g["Ixx1"], g["Ixx1"], 0)
    b = uk.Builder("crank")
    b.link(
        "crank",
        "world",
        uk.Revolute((1, 0, 0)),
        uk.Pose(A),
        mass=g["m1"],
        com=(0, 0, g["lAB"] / 2),
        inertia=crank_inertia,
    )
    b.link("slider", "world", uk.Prismatic((1, 0, 0)), mass=g["m3"], inertia=(1, 1, 1))
    rod_inertia = (g["Ixx2"], g["It2"], g["It2"])
    b.link(
        "rod", "slider", uk.Universal((1, 0, 0), (0, 1, 0)), mass=g["m2"], com=(reach / 2, 0, 0), inertia=rod_inertia
    )
    world = uk.World((0, 0, -g["g"]))
    figure = world.add(b.build(), name="c", q=[g["theta"], x, first, second])
    tip, end = figure["crank"].at(uk.Pose((0, 0, g["lAB"]))), figure["rod"].at(uk.Pose((reach, 0, 0)))
    world.connect(tip, end, uk.Spherical(), at="frames", name="ball")
    set_by_one(world, "c/crank", g["theta_dot"])
    return world, figure


def fourbar(g: dict[str, Any], cut_at: str = "C") -> tuple[uk.World, uk.Figure]:
    """The loop is closed at C (coupler to rocker) or at B (crank to coupler)."""
    l1, l2, l3, d = g["l1"], g["l2"], g["l3"], g["d"]
    m = g["masses"]
    th, co, ro = g["crank_angle"], g["coupler_angle"], g["rocker_angle"]
    b = uk.Builder("fourbar")
    b.link("crank", "world", Z, **rod(m[0], l1))
    if cut_at == "C":
        b.link("coupler", "crank", Z, point(l1, 0), **rod(m[1], l2))
        b.link("rocker", "world", Z, point(d, 0), **rod(m[2], l3))
        q = {"crank": th, "coupler": co - th, "rocker": ro}
    else:
        b.link("rocker", "world", Z, point(d, 0), **rod(m[2], l3))
        b.link("coupler", "rocker", Z, point(l3, 0), **rod(m[1], l2, (-1, 0, 0)))
        q = {"crank": th, "coupler": co - ro, "rocker": ro}
    model = b.build()
    world = uk.World((0, -g["g"], 0))
    figure = world.add(model, name="f", q=[q[name] for name in model.link_names])
    if cut_at == "C":
        ends = figure["coupler"].at(point(l2, 0)), figure["rocker"].at(point(l3, 0))
    else:
        ends = figure["coupler"].at(point(-l2, 0)), figure["crank"].at(point(l1, 0))
    world.connect(*ends, Z, at="frames", name=cut_at, snap=True)
    set_by_one(world, "f/crank", g["crank_rate"])
    return world, figure


def set_by_one(world: uk.World, joint: str, rate: float) -> None:
    """Velocities of a mechanism with one freedom, from the rate of one joint."""
    mobility = world.mobility(independent=[joint])
    world.set_state(v=mobility.W[:, 0] * rate)
