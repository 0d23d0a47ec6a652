"""The compiled core: arrays in, arrays out. Arrays may be anything NumPy reads; leading axes are batch axes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_Array = NDArray[np.float64]

class Tree:
    def __init__(
        self,
        names: Sequence[str],
        parents: Sequence[int],
        kinds: Sequence[int],
        frames: ArrayLike,
        inertias: ArrayLike,
        axes: ArrayLike,
        armatures: ArrayLike,
        link_bodies: Sequence[int],
        link_frames: ArrayLike,
        elastic_bodies: Sequence[int],
        elastics: ArrayLike,
    ) -> None: ...
    def add_spring(
        self, freedoms: Sequence[int], stiffness: ArrayLike, damping: ArrayLike, rest: ArrayLike
    ) -> None: ...
    def implicit(self, dt: float) -> Tree: ...
    @property
    def nq(self) -> int: ...
    @property
    def nv(self) -> int: ...

class InertiaFactor:
    def __init__(self, tree: Tree, q: ArrayLike) -> None: ...
    def solve(self, rhs: ArrayLike) -> _Array: ...

class LoopJoint:
    def __init__(self, lin: int, rot: int, numbers: ArrayLike) -> None: ...

class Loop:
    def __init__(
        self,
        tree: Tree,
        joint: LoopJoint,
        a: int,
        frame_a: ArrayLike | None,
        b: int,
        frame_b: ArrayLike | None,
        q: ArrayLike | None = None,
        at: ArrayLike | None = None,
    ) -> None: ...
    @property
    def frame_a(self) -> _Array: ...
    @property
    def frame_b(self) -> _Array: ...

class Tie:
    def __init__(
        self,
        tree: Tree,
        freedoms: Sequence[int],
        coefficients: ArrayLike,
        offset: float,
        measures: ArrayLike | None = None,
    ) -> None: ...

class ClosedChain:
    def __init__(self, tree: Tree, loops: list[Loop], ties: list[Tie]) -> None: ...
    def rows_of(self, block: int) -> tuple[int, int]: ...
    @property
    def rows(self) -> int: ...
    def accelerations(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external: ArrayLike | None, gravity: ArrayLike | None
    ) -> _Array: ...
    def dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external: ArrayLike | None, gravity: ArrayLike | None
    ) -> tuple[_Array, _Array]: ...
    def jacobian(self, q: ArrayLike, v: ArrayLike) -> tuple[_Array, _Array]: ...
    def state(self, q: ArrayLike, v: ArrayLike) -> tuple[_Array, _Array]: ...
    def wrenches(self, q: ArrayLike, v: ArrayLike, lambda_: ArrayLike) -> tuple[float, _Array]: ...
    def jump(
        self, q: ArrayLike, v: ArrayLike, restitution: ArrayLike | None
    ) -> tuple[_Array, float, float, _Array, _Array, int]: ...
    def project(self, q: ArrayLike, v: ArrayLike) -> tuple[_Array, _Array, float]: ...
    def spring_torques(self, q: ArrayLike, v: ArrayLike) -> _Array: ...
    def least_norm(self, lambda_: ArrayLike) -> _Array: ...

class LimitSettler:
    def __init__(self, tree: Tree, limits: ClosedChain, restitution: Sequence[float]) -> None: ...
    def settle(
        self,
        closed: ClosedChain | None,
        outside: Sequence[int],
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        gravity: ArrayLike | None,
    ) -> tuple[_Array, list[tuple[int, float, float]], list[int]]: ...

class Integrator:
    def __init__(
        self,
        tree: Tree,
        method: str,
        gravity: ArrayLike | None,
        rtol: float,
        atol: float,
        closed: ClosedChain | None = None,
    ) -> None: ...
    def advance(
        self,
        t: float,
        q: ArrayLike,
        v: ArrayLike,
        dt: float,
        steps: int,
        control: Callable[[float, _Array, _Array], ArrayLike] | ArrayLike | None,
        limits: ClosedChain | None = None,
        held: Sequence[int] = (),
        outside: Sequence[int] = (),
    ) -> tuple[_Array, _Array, int, float]: ...
    def take_changes(self) -> list[tuple[float, int, bool]]: ...
    def pushes(self) -> dict[int, float]: ...
    @property
    def restitution(self) -> list[float]: ...
    @restitution.setter
    def restitution(self, values: Sequence[float]) -> None: ...
    @property
    def active(self) -> list[int]: ...
    @active.setter
    def active(self, rows: Sequence[int]) -> None: ...
    @property
    def evaluations(self) -> int: ...
    @property
    def rough(self) -> int: ...

class Contacts:
    def __init__(
        self,
        tree: Tree,
        solids: list[Any],
        planes: list[Any],
        fields: list[Any],
        pairs: list[Any],
        stops: list[Any],
        closed: ClosedChain | None,
        limits: ClosedChain | None = None,
        restitution: Sequence[float] = (),
        on_ground: list[Any] = ...,
    ) -> None: ...
    @property
    def by_bodies(self) -> bool: ...
    @by_bodies.setter
    def by_bodies(self, by_bodies: bool) -> None: ...
    def advance(
        self,
        q: ArrayLike,
        v: ArrayLike,
        dt: float,
        steps: int,
        tau: ArrayLike,
        external: ArrayLike | None,
        gravity: ArrayLike | None,
    ) -> tuple[_Array, _Array, int]: ...
    def look(self, q: ArrayLike, v: ArrayLike) -> float: ...
    def contacts(self) -> list[Any]: ...
    def report(self) -> dict[str, Any]: ...
    def trace(self) -> list[Any]: ...
    def stop_forces(self) -> list[float]: ...
    def loop_forces(self) -> list[float]: ...
    def options(self, accept: float, touch: float, located: int, trace: bool) -> None: ...

def solve_contact(
    W: ArrayLike,
    q: ArrayLike,
    mu: ArrayLike,
    kinds: Sequence[int],
    start: ArrayLike | None,
    tolerance: float,
    passes: int,
    newton: int,
    interior: int,
    admm: int,
) -> dict[str, Any]: ...

class Particles:
    def __init__(
        self,
        particles: ArrayLike,
        links: ArrayLike,
        hinges: ArrayLike,
        members: ArrayLike,
        planes: ArrayLike,
        floor: ArrayLike,
        heights: ArrayLike,
        gravity: ArrayLike,
    ) -> None: ...
    def stable_step(self, x: _Array, v: _Array) -> float: ...
    def advance(
        self,
        x: _Array,
        v: _Array,
        force: _Array,
        drives: ArrayLike,
        dt: float,
        steps: int,
        implicit: bool,
    ) -> int: ...
    def hinge_state(self, x: _Array, v: _Array) -> _Array: ...
    def floor_impulse(self) -> _Array: ...
    @property
    def iterations(self) -> int: ...

class Filter:
    def __init__(
        self,
        tree: Tree,
        links: Sequence[int],
        points: ArrayLike,
        kinds: Sequence[int],
        gains: ArrayLike,
        limits: ArrayLike,
        settings: ArrayLike,
        floor: ArrayLike,
        gravity: ArrayLike | None,
    ) -> None: ...
    def change(self, settings: ArrayLike) -> None: ...
    def ground(self, floor: ArrayLike) -> None: ...
    def reset(self, q: ArrayLike, v: ArrayLike) -> None: ...
    def run(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        share: ArrayLike,
        shift: ArrayLike,
        centroid: ArrayLike,
        external: ArrayLike | None,
    ) -> dict[str, _Array]: ...
    def state(self) -> tuple[_Array, _Array]: ...
    def down(self) -> _Array: ...
    @property
    def iterations(self) -> int: ...
    @property
    def active_limits(self) -> int: ...

class Trajectory:
    def __init__(
        self, tree: Tree, links: Sequence[int], gravity: ArrayLike | None, force_unit: float, moment_unit: float
    ) -> None: ...
    def kinematics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, place: ArrayLike
    ) -> tuple[_Array, _Array, _Array, _Array]: ...
    def forces(
        self,
        wrench: ArrayLike,
        arm: ArrayLike,
        normal: ArrayLike,
        cost: ArrayLike,
        price: ArrayLike,
        target: ArrayLike,
        line: ArrayLike,
        multiplier: ArrayLike,
        stiffness: ArrayLike,
        lambda_: _Array,
        dual: _Array,
        settings: ArrayLike,
    ) -> dict[str, Any]: ...
    def assemble(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        place: ArrayLike,
        first: Sequence[int],
        basis: ArrayLike,
        rows: dict[str, Any],
        band: _Array,
        gradient: _Array,
    ) -> None: ...
    def retract(
        self, x: ArrayLike, x1: ArrayLike, x2: ArrayLike, q: _Array, v: _Array | None, a: _Array | None
    ) -> None: ...

def centroidal_plan(
    start: ArrayLike,
    h: ArrayLike,
    about: ArrayLike,
    share: ArrayLike,
    place: ArrayLike,
    spin: ArrayLike,
    push: ArrayLike,
    goal: ArrayLike,
    weights: ArrayLike,
    floor: ArrayLike,
    mu: float,
    gravity: ArrayLike,
) -> tuple[_Array, _Array, int]: ...
def forward_dynamics(
    tree: Tree, q: ArrayLike, v: ArrayLike, tau: ArrayLike, external: ArrayLike | None, gravity: ArrayLike | None
) -> _Array: ...
def inverse_dynamics(
    tree: Tree,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike | None,
    external: ArrayLike | None,
    gravity: ArrayLike | None,
) -> _Array: ...
def mass_matrix(tree: Tree, q: ArrayLike) -> _Array: ...
def link_poses(tree: Tree, q: ArrayLike) -> _Array: ...
def jacobian(tree: Tree, q: ArrayLike, link: int, point: ArrayLike) -> _Array: ...
def jacobian_rate(tree: Tree, q: ArrayLike, v: ArrayLike, link: int, point: ArrayLike) -> _Array: ...
def mechanics(tree: Tree, q: ArrayLike, v: ArrayLike, gravity: ArrayLike | None) -> _Array: ...
def impulse_response(tree: Tree, q: ArrayLike, joint: ArrayLike | None, external: ArrayLike | None) -> _Array: ...
def inverse_inertia(tree: Tree, q: ArrayLike, links: Sequence[int]) -> _Array: ...
def integrate(tree: Tree, q: ArrayLike, v: ArrayLike, dt: float) -> _Array: ...
def difference(tree: Tree, q0: ArrayLike, q1: ArrayLike) -> _Array: ...
def levels() -> list[str]: ...
def level() -> str: ...
def choose_level(name: str) -> None: ...
def lanes() -> int: ...
def threads() -> int: ...
def set_threads(count: int) -> None: ...
