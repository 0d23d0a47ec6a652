"""Every public call, given what it does not want: it works, or it says so with an error of ukemi; nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ukemi as uk
from ukemi.dynamics_filter.interactive import Frame
from ukemi.motion.synthesis import walk

NAN = float("nan")
#: Wrong kinds, wrong shapes, wrong numbers.
WRONG: dict[str, Any] = {
    "five": 5,
    "minus one": -1,
    "nan": NAN,
    "infinity": float("inf"),
    "a word": "x",
    "no word": "",
    "bytes": b"x",
    "None": None,
    "True": True,
    "an object": object(),
    "a type": dict,
    "an empty list": [],
    "an empty dict": {},
    "a dict": {"a": 1},
    "three nan": [NAN] * 3,
    "two numbers": [1, 2],
    "a matrix": np.zeros((2, 2)),
    "a matrix of nan": np.full((3, 4), NAN),
    "words": ["a", "b", "c"],
    "ragged": [[1, 2], [3]],
    "complex": 1j,
    "an empty array": np.zeros(0),
    "a huge integer": 10**400,
    "an array of a word": np.array("x"),
}
MODEL = uk.human(16)
Q, V = MODEL.neutral(), np.zeros(MODEL.nv)
CLIP = walk(0.4)
FIGURE = uk.figure_from_clip(CLIP)
ROD = (
    uk.Builder("p")
    .link("rod", joint=uk.Revolute((0, 1, 0)), mass=1.0, com=(0, 0, -0.5), inertia=(0.083, 0.083, 0.001))
    .link("tip", "rod", uk.Revolute((0, 1, 0)), uk.Pose((0, 0, -1)), mass=1.0, shapes=[uk.Capsule(0.02, 1.0)])
    .build()
)
TOUCH = uk.Touch("pelvis")
JOINT = {
    "limits": None,
    "stiffness": None,
    "rest": None,
    "damping": None,
    "armature": 0.0,
    "effort": None,
    "speed": None,
    "restitution": 0.0,
}


def world() -> uk.World:
    made = uk.World()
    made.add(ROD, name="a")
    made.add(ROD, name="b")
    return made


def two_links() -> uk.Builder:
    return uk.Builder("p").link("a", joint=uk.Revolute(), mass=1.0).link("b", joint=uk.Revolute(), mass=1.0)


def in_world(method: str, **good: Callable[[uk.World], Any]) -> Callable[..., Any]:
    """A method of a fresh world; what it needs of that world is made anew unless it is given."""

    def call(**given: Any) -> Any:
        here = world()
        return getattr(here, method)(**{**{name: make(here) for name, make in good.items()}, **given})

    return call


def attribute(name: str) -> Callable[..., None]:
    return lambda value: setattr(world(), name, value)


def rod(name: str) -> Callable[[uk.World], Any]:
    return lambda w: w.figure(name)["rod"]


def hinge(w: uk.World) -> Any:
    return w.figure("a").joint("rod")


MODELS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "human": (uk.human, {"dof": 28, "height": 1.75, "mass": 69.0, "sex": "male", "ranges": False, "hands": False}),
    "load": (uk.load, {"path": "none.urdf", "base": None}),
    "Builder": (lambda name: uk.Builder(name).build(), {"name": "p"}),
    "Builder.link": (
        lambda **k: uk.Builder("p").link(**k).build(),
        {
            "name": "rod",
            "parent": "world",
            "joint": None,
            "at": None,
            "mass": 1.0,
            "com": (0, 0, 0),
            "inertia": (1, 1, 1),
            "shapes": [],
            "joint_name": "j",
        },
    ),
    "Builder.link of a density": (
        lambda **k: uk.Builder("p").link("a", **k).build(),
        {"density": 1.0, "shapes": [uk.Sphere(1.0)]},
    ),
    "Builder.landmark": (lambda **k: two_links().landmark(**k).build(), {"name": "l", "link": "a", "at": None}),
    "Builder.loop": (
        lambda **k: two_links().loop(**k).build(),
        {"name": "l", "a": "a", "b": "b", "joint": uk.Free(), "at_a": uk.Pose(), "at_b": uk.Pose()},
    ),
    "Builder.couple": (
        lambda **k: two_links().couple(**k).build(),
        {"joint": "a", "master": "b", "multiplier": 1.0, "offset": 0.0},
    ),
    "Builder.spring": (
        lambda **k: two_links().spring(**k).build(),
        {"coordinates": ["a", "b"], "stiffness": np.eye(2), "damping": np.eye(2), "rest": [0.0, 0.0]},
    ),
    "Builder.limit": (
        lambda **k: two_links().limit(**k).build(),
        {"terms": {"a": 1.0}, "at_most": 1.0, "restitution": 0.0},
    ),
    "Pose": (uk.Pose, {"position": (0, 0, 0), "quaternion": (1, 0, 0, 0)}),
    "Pose.from_matrix": (uk.Pose.from_matrix, {"X": np.eye(4)}),
    "Pose.from_rpy": (uk.Pose.from_rpy, {"position": (0, 0, 0), "rpy": (0, 0, 0)}),
    "Pose.apply": (uk.Pose().apply, {"points": (0, 0, 0)}),
    "Box": (uk.Box, {"size": (1, 1, 1), "at": uk.Pose()}),
    "Sphere": (uk.Sphere, {"radius": 1.0, "at": uk.Pose()}),
    "Capsule": (uk.Capsule, {"radius": 1.0, "length": 1.0, "at": uk.Pose()}),
    "Cylinder": (uk.Cylinder, {"radius": 1.0, "length": 1.0, "at": uk.Pose()}),
    "ConvexMesh": (uk.ConvexMesh, {"points": np.vstack([np.eye(3), np.zeros(3)]), "at": uk.Pose()}),
    "Fixed": (uk.Fixed, JOINT),
    "Revolute": (uk.Revolute, {"axis": (0, 0, 1), **JOINT, "limits": (-1, 1), "stiffness": 1.0, "damping": 1.0}),
    "Prismatic": (uk.Prismatic, {"axis": (0, 0, 1), **JOINT}),
    "Universal": (uk.Universal, {"first": (1, 0, 0), "second": (0, 1, 0), **JOINT}),
    "Spherical": (
        uk.Spherical,
        {"twist": (-1, 1), "swing": 1.0, "axis": (0, 0, 1), "across": (1, 0, 0), **JOINT},
    ),
    "Planar": (uk.Planar, {"normal": (0, 0, 1), "x": (1, 0, 0), **JOINT}),
    "Free": (uk.Free, JOINT),
    "Model.random": (MODEL.random, {"rng": np.random.default_rng(1)}),
    "Model.link": (MODEL.link, {"name": "pelvis"}),
    "Model.joint": (MODEL.joint, {"name": "root"}),
    "Model.freedom": (ROD.freedom, {"joint": "rod", "number": 0}),
    "Tendons": (uk.Tendons, {"model": uk.hand(), "prefix": ""}),
    "Tendons.pulls": (uk.Tendons(uk.hand()).pulls, {"forces": {}}),
}
STATE = {"model": MODEL, "q": Q, "v": V}
DYNAMICS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "inverse_dynamics": (uk.inverse_dynamics, {**STATE, "a": V, "external": None, "gravity": None}),
    "forward_dynamics": (uk.forward_dynamics, {**STATE, "tau": V, "external": None, "gravity": None}),
    "mass_matrix": (uk.mass_matrix, {"model": MODEL, "q": Q}),
    "bias": (uk.bias, {**STATE, "gravity": None}),
    "link_poses": (uk.link_poses, {"model": MODEL, "q": Q}),
    "jacobian": (uk.jacobian, {"model": MODEL, "q": Q, "link": "pelvis", "point": (0, 0, 0)}),
    "jacobian_rate": (uk.jacobian_rate, {**STATE, "link": "pelvis", "point": (0, 0, 0)}),
    "center_of_mass": (uk.center_of_mass, {"model": MODEL, "q": Q}),
    "momentum": (uk.momentum, {**STATE, "about": None}),
    "energy": (uk.energy, {**STATE, "gravity": None}),
    "kinetic_energy": (uk.kinetic_energy, STATE),
    "potential_energy": (uk.potential_energy, {"model": MODEL, "q": Q, "gravity": None}),
    "integrate": (uk.integrate, {**STATE, "dt": 0.1}),
    "difference": (uk.difference, {"model": MODEL, "q0": Q, "q1": Q}),
    "InertiaFactor": (uk.InertiaFactor, {"model": MODEL, "q": Q}),
    "impulse_response": (uk.impulse_response, {"model": MODEL, "q": Q, "impulses": None, "joint": None}),
    "inverse_inertia": (
        lambda model, q, link: uk.inverse_inertia(model, q, link),
        {"model": MODEL, "q": Q, "link": "pelvis"},
    ),
    "impact": (uk.impact, {**STATE, "touches": [TOUCH], "restitution": 0.0}),
    "contact_forces": (uk.contact_forces, {**STATE, "tau": V, "touches": [TOUCH], "gravity": None}),
    "Touch": (
        lambda **k: uk.impact(MODEL, Q, V, [uk.Touch(**k)]),
        {"link": "pelvis", "point": (0, 0, 0), "normal": (0, 0, 1), "other": None, "other_point": (0, 0, 0)},
    ),
    "set_threads": (uk.set_threads, {"count": 1}),
}
WORLDS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "World": (uk.World, {"gravity": (0, 0, -9.81), "allow_rigid": False}),
    "World.add": (lambda **k: uk.World().add(**k), {"model": ROD, "name": "a", "q": [0.0, 0], "v": [0.0, 0]}),
    "World.figure": (in_world("figure"), {"name": "a"}),
    "World.set_state": (in_world("set_state"), {"q": np.zeros(4), "v": np.zeros(4)}),
    "World.connect": (
        in_world("connect", a=rod("a"), b=rod("b"), joint=lambda w: uk.Free()),
        dict.fromkeys(("a", "b", "joint", "at", "break_force", "name", "restitution", "snap", "when")),
    ),
    "World.spring": (
        in_world("spring", a=rod("a"), b=rod("b"), stiffness=lambda w: 1.0),
        dict.fromkeys(("a", "b", "stiffness", "damping", "length", "name")),
    ),
    "World.tie": (
        in_world("tie", terms=lambda w: {hinge(w): 1.0}),
        dict.fromkeys(("terms", "value", "name", "restitution", "snap")),
    ),
    "World.hold": (
        in_world("hold", joint=hinge),
        dict.fromkeys(("joint", "value", "name", "restitution", "snap")),
    ),
    "World.cut": (in_world("cut", what=hinge), dict.fromkeys(("what", "when"))),
    "World.when": (
        in_world("when", condition=lambda w: len, action=lambda w: len, label=lambda w: "x"),
        dict.fromkeys(("condition", "action", "label", "once")),
    ),
    "World.forward_dynamics": (in_world("forward_dynamics"), {"tau": np.zeros(4)}),
    "World.inverse_dynamics": (in_world("inverse_dynamics"), {"a": np.zeros(4), "actuated": None}),
    "World.mobility": (in_world("mobility"), {"independent": None, "actuated": None}),
    "World.solve": (in_world("solve"), {"accelerations": None, "tasks": (), "torques": None, "actuated": None}),
    "World.set_surface": (
        in_world("set_surface", a=rod("a"), b=rod("b"), surface=lambda w: uk.Surface()),
        dict.fromkeys(("a", "b", "surface")),
    ),
    "World.separate": (in_world("separate"), {"rounds": 5}),
    "World.terrain": (attribute("terrain"), {"value": None}),
    "World.gravity": (attribute("gravity"), {"value": (0, 0, 0)}),
    "World.surface": (attribute("surface"), {"value": uk.Surface()}),
    "World.collisions": (attribute("collisions"), {"value": True}),
    "Figure[]": (lambda name: world().figure("a")[name], {"name": "rod"}),
    "Figure.joint": (lambda name: world().figure("a").joint(name), {"name": "rod"}),
    "Figure.q": (lambda q: setattr(world().figure("a"), "q", q), {"q": [0.0, 0.0]}),
    "Figure.v": (lambda v: setattr(world().figure("a"), "v", v), {"v": [0.0, 0.0]}),
    "Directions": (uk.Directions, dict.fromkeys(("x", "y", "z", "rx", "ry", "rz"), "free")),
    "Spring": (uk.Spring, {"stiffness": 1.0, "damping": 1.0}),
    "Task": (
        lambda **k: world().solve(tasks=[uk.Task(**k)]),
        {"link": "a/rod", "acceleration": (0, 0, 0), "point": (0, 0, 0), "directions": (0,)},
    ),
    "Ground": (
        uk.Ground,
        {
            "normal": (0, 0, 1),
            "friction": 0.8,
            "dynamic_friction": None,
            "restitution": 0.0,
            "velocity": (0, 0, 0),
            "height": 0.0,
        },
    ),
    "Surface": (uk.Surface, {"friction": 0.8, "dynamic_friction": None, "restitution": 0.0}),
    "HeightField": (
        uk.HeightField,
        {
            "heights": np.zeros((3, 3)),
            "spacing": (1, 1),
            "corner": (0, 0),
            "surface": uk.Surface(),
            "velocity": (0, 0, 0),
        },
    ),
    "Solids": (uk.Solids, {"shapes": [uk.Sphere(1.0)], "surface": uk.Surface(), "velocity": (0, 0, 0)}),
    "stairs": (
        uk.stairs,
        {"steps": 2, "rise": 0.1, "going": 0.1, "width": 1.0, "start": (0, 0, 0), "surface": None},
    ),
    "Simulation": (uk.Simulation, {"world": world(), "dt": 1e-3, "integrator": "rk4"}),
    "Simulation.run": (
        lambda **k: uk.Simulation(world(), 0.1).run(**k),
        {"duration": 0.2, "control": None, "progress": False, "every": 1},
    ),
    "Simulation.step": (lambda **k: uk.Simulation(world(), 0.1).step(**k), {"control": None, "steps": 1}),
    "Recording.save": (lambda path: uk.Simulation(world(), 0.1).run(0.1).save(path), {"path": "a.npz"}),
    "Recording.load": (uk.Recording.load, {"path": "none.npz"}),
}
MOTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "read_motion": (
        uk.read_motion,
        {
            "path": "none.bvh",
            "unit": None,
            "up": None,
            "rest_pose": "auto",
            "fps": None,
            "skeleton": None,
            "static": None,
            "markers": None,
        },
    ),
    "write_motion": (uk.write_motion, {"clip": CLIP, "path": "a.npz"}),
    "Clip[]": (lambda frames: CLIP[frames], {"frames": slice(1, 3)}),
    "Clip": (
        uk.Clip,
        {"skeleton": CLIP.skeleton, "fps": 100.0, "rotations": CLIP.rotations, "translations": CLIP.translations},
    ),
    "figure_from_clip": (
        uk.figure_from_clip,
        {"clip": CLIP, "mass": 70.0, "height": 1.7, "sex": "male", "parts": None, "toes": True, "ground": None},
    ),
    "ClipFigure.q": (FIGURE.q, {"clip": None}),
    "ClipFigure.to_clip": (FIGURE.to_clip, {"q": FIGURE.q(), "fps": None}),
    "retarget": (uk.retarget, {"figure": FIGURE, "model": uk.human(28), "parts": None}),
    "DynamicsFilter": (
        uk.DynamicsFilter,
        {
            "body": uk.human(28),
            "settings": None,
            "terrain": None,
            "soles": None,
            "q": None,
            "v": None,
            "stepping": True,
        },
    ),
    "DynamicsFilter.step": (lambda reference: uk.DynamicsFilter(uk.human(28)).step(reference), {"reference": None}),
    "Frame": (
        lambda **k: uk.DynamicsFilter(uk.human(28)).step(Frame(**k)),
        {"q": uk.human(28).neutral(), "v": None, "a": None, "contact": None},
    ),
    "filter_motion": (
        uk.filter_motion,
        {
            "clip": CLIP,
            "model": None,
            "terrain": None,
            "solver": "trajectory",
            "settings": None,
            "strength": 1.0,
            "contacts": None,
            "keep": None,
            "mass": None,
            "height": None,
            "sex": "male",
            "parts": None,
            "belt": True,
            "cutoff": None,
            "progress": False,
        },
    ),
    "estimate_forces": (
        uk.estimate_forces,
        {
            "clip": CLIP,
            "plates": None,
            "mass": None,
            "height": None,
            "sex": "male",
            "terrain": None,
            "parts": None,
            "belt": True,
            "cutoff": None,
            "level": None,
            "consistent": False,
        },
    ),
}
CONTACT: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "solve_contact": (
        uk.solve_contact,
        {
            "W": np.eye(3),
            "q": [-1.0, 0.5, 0.0],
            "mu": 0.5,
            "kinds": ["contact"],
            "start": np.zeros(3),
            "tolerance": 1e-6,
            "passes": 30,
            "newton": 16,
            "interior": 40,
            "admm": 200,
        },
    ),
}
CALLS = {**MODELS, **DYNAMICS, **WORLDS, **MOTIONS, **CONTACT}
#: What a whole run takes is no error: these are only tried with what is refused at once.
LONG = {"filter_motion": {"five", "True", "None", "a dict", "an empty dict"}, "retarget": {"None", "an empty dict"}}
#: Functions of the user's raise what they raise.
OWN_FUNCTIONS = {("Simulation.run", "control"), ("Simulation.step", "control"), ("figure_from_clip", "ground")}
CASES = [(call, argument) for call, (_, arguments) in CALLS.items() for argument in arguments]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("call", "argument"), CASES, ids=[f"{call}({argument})" for call, argument in CASES])
def test_wrong_arguments_give_errors_of_ukemi(
    call: str, argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    function, good = CALLS[call]
    given = {name: value for name, value in good.items() if value is not None}
    for what, value in WRONG.items():
        if what in LONG.get(call, ()) or (what == "a type" and (call, argument) in OWN_FUNCTIONS):
            continue
        try:
            function(**{**given, argument: value})
        except uk.UkemiError as error:
            if len(str(error)) < 10:
                pytest.fail(f"{call}({argument}={what}): says only {error}")
        except Exception as error:
            pytest.fail(f"{call}({argument}={what}): {type(error).__name__}: {error}")


#: Public things that are nothing to call: errors, results, what is made by others.
NOT_CALLED = {
    *(name for name in uk.__all__ if name.endswith(("Error", "Warning"))),
    "ClipFigure",
    "Condition",
    "Connection",
    "ContactSolution",
    "Figure",
    "FilterResult",
    "Impact",
    "Model",
    "Tie",
    "TrialForces",
    "hand",
    "particles",
    "threads",
}


def test_every_public_call_is_tried() -> None:
    tried = {call.split(".")[0].split("[")[0].split(" ")[0] for call in CALLS} | {"Recording", "Frame"}
    assert set(uk.__all__) - tried - NOT_CALLED == set()


def test_every_argument_of_the_functions_is_tried() -> None:
    """Of plain functions; a new argument must be added here."""
    for call, (function, arguments) in CALLS.items():
        if inspect.isfunction(function) and function.__name__ == call:
            assert set(inspect.signature(function).parameters) == set(arguments), call
