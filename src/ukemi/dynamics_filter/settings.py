"""Gains and weights of the dynamics filter; a joint acceleration with weight 1 is the unit of all weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array


@dataclass(frozen=True)
class Settings:
    """One setting serves every motion; how it was found stands in docs/filter.md.

    dt: time step [s]. plan_every: seconds between plans. preview: seconds that a plan looks ahead (0: none).
    joint_kp, joint_kd: local feedback of [DF03] eq. 39 [1/s^2, 1/s]; toe_kp, toe_kd: of toes, which the floor
    bends and which are straight again soon after. limb, spine, toes: weights of joint accelerations.
    root_weight, root_kp, root_kd: orientation of the pelvis; place_weight: its place.
    com_*: centre of mass; spin_*: angular momentum about it; swing_*: soles in the air, per point; land_*: soles that
    should be down (land_touch, land_speed [m/s], land_brake [m/s^2]: how they come down); brake_weight: of their way
    down, and of soles that slow down before the floor. plan_*: weights of the plan, per unit mass (plan_height,
    plan_climb: upwards; plan_push: of the whole force, from what the reference's centre of mass asks for; plan_steady:
    how many times as much upwards far from flights). step_*: foot placement by the capture-point error.
    early: seconds before its time that a point may bear if it touches the floor.
    ramp: seconds in which a point takes up or gives away its share of the load.
    """

    dt: float = 0.002
    preview: float = 0.8
    plan_every: float = 0.04
    knot: float = 0.04
    friction: float = 0.8
    regularisation: float = 1e-6
    joint_kp: float = 400.0
    joint_kd: float = 40.0
    limb: float = 1.0
    spine: float = 20.0
    toes: float = 0.3
    toe_kp: float = 6400.0
    toe_kd: float = 160.0
    root_weight: float = 20.0
    root_kp: float = 200.0
    root_kd: float = 28.0
    place_weight: float = 1.0
    place_kp: float = 20.0
    place_kd: float = 9.0
    com_weight: float = 1e5
    com_kp: float = 6.0
    com_kd: float = 2.7
    spin_weight: float = 50.0
    spin_k: float = 1.5
    swing_weight: float = 200.0 / 3
    swing_kp: float = 900.0
    swing_kd: float = 60.0
    land_weight: float = 1000.0
    land_kp: float = 1600.0
    land_kd: float = 80.0
    land_touch: float = 0.05
    land_brake: float = 100.0
    land_speed: float = 0.6
    brake_weight: float = 1e4
    near: float = 0.05
    stick: float = 150.0
    limit_time: float = 0.02
    plan_place: float = 100.0
    plan_velocity: float = 10.0
    plan_height: float = 100.0
    plan_climb: float = 10.0
    plan_spin: float = 100.0
    plan_turn: float = 1000.0
    plan_force: float = 4e-4
    plan_last: float = 10.0
    plan_push: float = 0.01
    plan_steady: float = 4.0
    ramp: float = 0.1
    early: float = 0.02
    step_gain: float = 0.7
    step_limit: float = 0.12
    step_lag: float = 0.05
    step_from: float = 0.45
    step_full: float = 0.30
    step_ahead: float = 0.35

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not np.isfinite(value) and name != "preview":
                raise InvalidInputError(f"Settings.{name}: expected a finite number, got {value!r}")
            if value < 0 or (value == 0 and name in ("dt", "friction", "knot", "plan_every")):
                raise InvalidInputError(f"Settings.{name}: expected a positive number, got {value!r}")

    def of_step(self) -> Array:
        """What the core's step reads, in the order of FilterSettings (core/filter_data.hpp).

        Without a plan the feedback on the centre of mass and on angular momentum has to do alone what plans do: the
        gains that a prototype needed.
        """
        kp, kd, k = (self.com_kp, self.com_kd, self.spin_k) if self.preview else (20.0, 9.0, 5.0)
        return np.array(
            [
                *(self.dt, self.friction, self.regularisation),
                *(self.com_weight, kp, kd, self.spin_weight, k),
                *(self.swing_weight, self.swing_kp, self.swing_kd),
                *(self.land_weight, self.land_kp, self.land_kd, self.land_touch, self.land_brake, self.land_speed),
                *(self.brake_weight, self.near),
                *(self.stick, self.limit_time),
            ]
        )

    def of_plan(self) -> Array:
        """Weights of the core's plan, per second: of the state (12), of forces; then the factor of the last state."""
        level, height = (self.plan_place, self.plan_velocity), (self.plan_height, self.plan_climb)
        course = [[way, way, up] for way, up in zip(level, height, strict=True)]
        state = [*course[0], *course[1], *[self.plan_spin] * 3, *[self.plan_turn] * 3]
        return np.array([*np.array([*state, self.plan_force]) / 0.04, self.plan_last])


#: What the online filter uses.
STANDARD = Settings()
