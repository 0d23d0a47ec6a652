"""ukemi: the dynamics of human figures, how they move while they touch, hold, let go, hit and land.

Conventions: SI units, radians, z up; quaternions (w, x, y, z); spatial vectors linear part first; leading axes of
arrays are batch or time axes. See docs/conventions.md.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from ukemi import particles
from ukemi._core import threads
from ukemi.chain.inverse import Task
from ukemi.chain.virtual import Directions, Spring
from ukemi.contact.conditions import Condition
from ukemi.contact.terrain import Ground, HeightField, Solids, Surface, stairs
from ukemi.dynamics.forward import InertiaFactor, forward_dynamics, mass_matrix
from ukemi.dynamics.impulse import Impact, Touch, contact_forces, impact, impulse_response, inverse_inertia
from ukemi.dynamics.inverse import bias, inverse_dynamics
from ukemi.dynamics.kinematics import center_of_mass, difference, integrate, jacobian, jacobian_rate, link_poses
from ukemi.dynamics.momentum import energy, kinetic_energy, momentum, potential_energy
from ukemi.dynamics.threads import set_threads
from ukemi.errors import (
    FileFormatError,
    InvalidInputError,
    ModelError,
    SimulationError,
    SingularError,
    UkemiError,
    UkemiWarning,
    UnknownNameError,
)
from ukemi.model.builder import Builder
from ukemi.model.figures.hand import hand
from ukemi.model.figures.human import human
from ukemi.model.figures.tendons import Tendons
from ukemi.model.joints import Fixed, Free, Planar, Prismatic, Revolute, Spherical, Universal
from ukemi.model.model import Model
from ukemi.model.pose import Pose
from ukemi.model.readers.load import load
from ukemi.model.shapes import Box, Capsule, ConvexMesh, Cylinder, Sphere
from ukemi.sim.connection import Connection
from ukemi.sim.figure import Figure
from ukemi.sim.recording import Recording
from ukemi.sim.simulation import Simulation
from ukemi.sim.tie import Tie
from ukemi.sim.world import World

if TYPE_CHECKING:
    from ukemi.contact.solve import ContactSolution, solve_contact
    from ukemi.dynamics_filter.clip import filter_motion
    from ukemi.dynamics_filter.interactive import DynamicsFilter
    from ukemi.dynamics_filter.result import FilterResult
    from ukemi.forces.trial import TrialForces, estimate_forces
    from ukemi.motion.clip import Clip
    from ukemi.motion.figure import ClipFigure, figure_from_clip
    from ukemi.motion.read import read_motion, write_motion
    from ukemi.motion.retarget import retarget

__version__ = "0.1.0"

#: Names whose rooms are loaded when they are first asked for: name -> module.
_LATE = {
    "Clip": "ukemi.motion.clip",
    "ClipFigure": "ukemi.motion.figure",
    "ContactSolution": "ukemi.contact.solve",
    "DynamicsFilter": "ukemi.dynamics_filter.interactive",
    "TrialForces": "ukemi.forces.trial",
    "estimate_forces": "ukemi.forces.trial",
    "FilterResult": "ukemi.dynamics_filter.result",
    "figure_from_clip": "ukemi.motion.figure",
    "filter_motion": "ukemi.dynamics_filter.clip",
    "read_motion": "ukemi.motion.read",
    "retarget": "ukemi.motion.retarget",
    "solve_contact": "ukemi.contact.solve",
    "write_motion": "ukemi.motion.read",
}


def __getattr__(name: str) -> object:
    if name not in _LATE:
        raise AttributeError(f"module 'ukemi' has no attribute {name!r}")
    value: object = getattr(import_module(_LATE[name]), name)
    globals()[name] = value
    return value


__all__ = [
    "Box",
    "Builder",
    "Capsule",
    "Clip",
    "ClipFigure",
    "Condition",
    "Connection",
    "ContactSolution",
    "ConvexMesh",
    "Cylinder",
    "Directions",
    "DynamicsFilter",
    "Figure",
    "FileFormatError",
    "FilterResult",
    "Fixed",
    "Free",
    "Ground",
    "HeightField",
    "Impact",
    "InertiaFactor",
    "InvalidInputError",
    "Model",
    "ModelError",
    "Planar",
    "Pose",
    "Prismatic",
    "Recording",
    "Revolute",
    "Simulation",
    "SimulationError",
    "SingularError",
    "Solids",
    "Sphere",
    "Spherical",
    "Spring",
    "Surface",
    "Task",
    "Tendons",
    "Tie",
    "Touch",
    "TrialForces",
    "UkemiError",
    "UkemiWarning",
    "Universal",
    "UnknownNameError",
    "World",
    "bias",
    "center_of_mass",
    "contact_forces",
    "difference",
    "energy",
    "estimate_forces",
    "figure_from_clip",
    "filter_motion",
    "forward_dynamics",
    "hand",
    "human",
    "impact",
    "impulse_response",
    "integrate",
    "inverse_dynamics",
    "inverse_inertia",
    "jacobian",
    "jacobian_rate",
    "kinetic_energy",
    "link_poses",
    "load",
    "mass_matrix",
    "momentum",
    "particles",
    "potential_energy",
    "read_motion",
    "retarget",
    "set_threads",
    "solve_contact",
    "stairs",
    "threads",
    "write_motion",
]
