"""A walk made by formulas: what `ukemi filter` works on when it is given no file.

Only kinematics: feet roll over heel, sole and ball along footholds, the pelvis glides, arms swing against the legs,
legs follow by the cosine theorem. No mass enters, so no ground force could produce the motion; on purpose the feet also
slide and some steps hover above the floor, as in captures.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array, positive
from ukemi.model.figures.anthropometry import DE_LEVA
from ukemi.model.figures.human import ANKLE_HEIGHT, HIP_HALF_WIDTH, SHOULDER_DROP, SHOULDER_HALF_WIDTH
from ukemi.motion.clip import Clip, Skeleton
from ukemi.motion.rotations import about, inverse, of_matrices, product, rotated

#: Pitch of the foot [deg, toes up] over a stride that begins with heel strike, after the course of normal gait (Perry,
#: Gait Analysis, 1992): heel rocker, flat, heel rise, toe-off at 62 %, swing.
PITCH = (
    (0.0, 18.0),
    (0.06, 8.0),
    (0.12, 0.0),
    (0.38, 0.0),
    (0.48, -12.0),
    (0.56, -32.0),
    (0.62, -52.0),
    (0.70, -48.0),
    (0.80, -15.0),
    (0.90, 12.0),
    (0.96, 18.0),
)
TOE_OFF = 0.62
LIFT = 0.05  # of the ankle in mid-swing, above the straight way [m]
HEEL_BEHIND, TOES_AHEAD, BALL_AHEAD = 0.055, 0.13, 0.15  # of the ankle [m], at 1.741 m
STEP_HALF_WIDTH = 0.05  # [m]
AHEAD = 0.47  # of the pelvis, by so many steps, a foot strikes


def walk(
    duration: float = 3.0,
    *,
    speed: float = 1.1,
    step_time: float = 0.56,
    height: float = 1.75,
    fps: float = 120.0,
    skate: float = 0.06,
    floating: float = 0.02,
    slope: float = 0.0,
    turn: float = 0.0,
) -> Clip:
    """A walk along x, wrong on purpose.

    Args:
        duration: [s].
        speed: [m/s]. step_time: from one heel strike to the next [s].
        height: stature [m]; the skeleton has de Leva's proportions.
        skate: how fast standing feet slide forward [m/s]. floating: how high the highest step hovers [m].
        slope: of the ground along x [rad], positive uphill. turn: change of heading [rad], evenly along the way.
    """
    time = np.arange(round(positive("duration", duration) * positive("fps", fps)) + 1) / fps
    way = _Way(positive("speed", speed) * time[-1], slope, turn)
    gait = _Gait(speed, positive("step_time", step_time), positive("height", height) / 1.741, skate, floating, way)
    feet = {side: gait.foot(time, sign) for side, sign in (("Left", 1.0), ("Right", -1.0))}
    return gait.assemble(time, feet, fps)


@dataclass(frozen=True)
class _Way:
    """The line that is walked: an arc in the plan, a slope in the side view."""

    length: float
    slope: float
    turn: float

    def heading(self, s: Array) -> Array:
        return self.turn * np.clip(s / self.length, -0.2, 1.2)

    def place(self, s: Array, aside: Array | float, z: Array) -> Array:
        """Of a point s along the way, so far to its left and z above the ground."""
        bend = self.turn / self.length
        ahead, left = s, 0.5 * bend * s**2
        if abs(bend) > 1e-9:
            ahead, left = np.sin(bend * s) / bend, (1 - np.cos(bend * s)) / bend
        psi = bend * s
        x, y = ahead - aside * np.sin(psi), left + aside * np.cos(psi)
        return np.stack([x, y, z + np.tan(self.slope) * x], axis=-1)


@dataclass(frozen=True)
class _Foot:
    ankle: Array  # (frames, 3)
    turn: Array  # (frames, 4), of the foot in the world
    heading: Array


@dataclass(frozen=True)
class _Gait:
    speed: float
    step_time: float
    scale: float
    skate: float
    floating: float
    way: _Way
    lengths: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        table = DE_LEVA["male"].segments
        self.lengths.update({name: row.length * self.scale for name, row in table.items()})
        self.lengths["ankle"] = ANKLE_HEIGHT * 1.741 * self.scale

    # --- feet ---------------------------------------------------------------------------------------------------------
    def foot(self, time: Array, sign: float) -> _Foot:
        """Left feet strike at even steps, right feet at odd ones."""
        stride = 2 * self.step_time
        shift = 0.0 if sign > 0 else 0.5
        count = np.floor(time / stride + shift)
        phase = time / stride + shift - count
        step = 2 * count - 2 * shift  # number of the foothold this stride begins at
        pitch = np.deg2rad(_periodic(phase))
        x0, z0 = self._stance(step, phase, pitch)
        off, on = self._lift_off(step), self._touch_down(step + 2)
        share = np.clip((phase - TOE_OFF) / (1 - TOE_OFF), 0, 1)
        swing_time = (1 - TOE_OFF) * stride
        swings = phase > TOE_OFF
        x1 = _hermite(share, off[0], on[0], off[2] * swing_time, on[2] * swing_time)
        z1 = _hermite(share, off[1], on[1], off[3] * swing_time, on[3] * swing_time)
        z1 = z1 + LIFT * self.scale * (share * (1 - share) * 4) ** 2
        s, z = np.where(swings, x1, x0), np.where(swings, z1, z0)
        heading = self.way.heading(s)
        inclined = -self.way.slope - pitch  # about y; positive lowers the toes
        turn = product(about(2, heading), about(1, inclined))
        return _Foot(self.way.place(s, sign * STEP_HALF_WIDTH, z), turn, heading)

    def _stance(self, step: Array, phase: Array, pitch: Array) -> tuple[Array, Array]:
        """Ankle along the way and above the ground while the foot rolls over heel, sole or ball."""
        pivot = np.where(pitch > 0, -HEEL_BEHIND, BALL_AHEAD) * self.scale
        h = self.lengths["ankle"]
        c, s = np.cos(pitch), np.sin(pitch)
        x = pivot - c * pivot - s * h
        z = -s * pivot + c * h
        slide = self.skate * 2 * self.step_time * (phase - 0.5 * TOE_OFF)
        hover = 0.5 * self.floating * (1 + np.cos(2.4 * step))
        return step * self.speed * self.step_time + x + slide, z + hover

    def _at(self, step: Array, phase: float) -> tuple[Array, Array, Array, Array]:
        """Place and velocity of the ankle in a stance."""
        d = 1e-4
        a, b = (
            self._stance(step, np.full_like(step, p), np.full_like(step, np.deg2rad(_periodic(np.array([p]))[0])))
            for p in (phase - d, phase + d)
        )
        rate = 1 / (2 * d * 2 * self.step_time)
        return 0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), (b[0] - a[0]) * rate, (b[1] - a[1]) * rate

    def _lift_off(self, step: Array) -> tuple[Array, Array, Array, Array]:
        return self._at(step, TOE_OFF)

    def _touch_down(self, step: Array) -> tuple[Array, Array, Array, Array]:
        return self._at(step, 1e-4)

    # --- the body on the feet -----------------------------------------------------------------------------------------
    def assemble(self, time: Array, feet: dict[str, _Foot], fps: float) -> Clip:
        beat = 2 * np.pi * time / (2 * self.step_time)
        s = self.speed * (time - AHEAD * self.step_time)
        heading = self.way.heading(s)
        yaw = product(about(2, heading + np.deg2rad(5) * np.cos(beat)), about(0, np.deg2rad(2) * np.sin(beat - 0.5)))
        sway = 0.02 * self.scale * np.sin(beat - 0.3)
        hips = {name: np.array((0.0, y, 0.0)) for name, y in self._sides(HIP_HALF_WIDTH)}
        pelvis = self.way.place(s, sway, np.zeros_like(s))
        pelvis[:, 2] += self._pelvis_height(pelvis, yaw, hips, feet, fps)
        turns: dict[str, Array] = {"Hips": yaw}
        for name, foot in feet.items():
            hip = pelvis + rotated(yaw, np.broadcast_to(hips[name], (len(time), 3)))
            thigh, shank = self._leg(hip, foot)
            turns |= {f"{name}UpLeg": thigh, f"{name}Leg": shank, f"{name}Foot": foot.turn}
            # toes stay on the ground while the heel is up
            bend = np.maximum(0.0, self._pitch_down(foot) - np.deg2rad(5)) * (foot.ankle[:, 2] < 10)
            turns[f"{name}ToeBase"] = product(foot.turn, about(1, -0.6 * bend))
        upright = product(about(2, heading - np.deg2rad(4) * np.cos(beat)), about(1, np.full_like(beat, np.deg2rad(2))))
        turns |= {"Spine": product(about(2, heading), about(1, np.full_like(beat, np.deg2rad(3)))), "Chest": upright}
        turns |= {name: about(2, heading) for name in ("Neck", "Head")}
        for name, sign in (("Left", 1.0), ("Right", -1.0)):
            swing = sign * np.deg2rad(22) * np.cos(beat) - np.deg2rad(5)
            arm = product(product(upright, about(0, np.full_like(beat, -sign * np.deg2rad(-8)))), about(1, swing))
            elbow = about(1, -np.deg2rad(25) + np.deg2rad(12) * sign * np.cos(beat))
            turns |= {f"{name}Arm": arm, f"{name}ForeArm": product(arm, elbow), f"{name}Hand": product(arm, elbow)}
        return self._clip(turns, pelvis, fps)

    def _sides(self, share: float) -> list[tuple[str, float]]:
        y = share * 1.741 * self.scale
        return [("Left", y), ("Right", -y)]

    def _pitch_down(self, foot: _Foot) -> Array:
        ahead = rotated(foot.turn, np.broadcast_to((1.0, 0, 0), (len(foot.turn), 3)))
        return -np.arcsin(np.clip(ahead[:, 2], -1, 1)) + self.way.slope

    def _pelvis_height(
        self, pelvis: Array, yaw: Array, hips: dict[str, Array], feet: dict[str, _Foot], fps: float
    ) -> Array:
        """As high as the legs allow, which is highest in mid-stance: no knee is bent by less than 8 degrees."""
        thigh, shank = self.lengths["thigh"], self.lengths["shank"]
        reach = np.sqrt(thigh**2 + shank**2 + 2 * thigh * shank * np.cos(np.deg2rad(8)))
        limits = np.full(len(pelvis), np.inf)
        for name, foot in feet.items():
            hip = pelvis + rotated(yaw, np.broadcast_to(hips[name], (len(pelvis), 3)))
            flat = np.hypot(*(hip - foot.ankle)[:, :2].T)
            if flat.max() >= reach:
                raise InvalidInputError("walk: the steps are longer than the legs: expected a slower or quicker walk")
            limits = np.minimum(limits, foot.ankle[:, 2] - hip[:, 2] + np.sqrt(reach**2 - flat**2))
        # the lowest limit around every moment, then its mean there: smooth, and nowhere above the limit
        wide = max(1, round(0.35 * self.step_time * fps))
        padded = np.pad(limits, wide, mode="edge")
        lowest = np.lib.stride_tricks.sliding_window_view(padded, wide + 1).min(axis=1)
        for half in (wide // 2, wide - wide // 2):
            lowest = np.lib.stride_tricks.sliding_window_view(lowest, half + 1).mean(axis=1)
        return np.asarray(lowest)

    def _leg(self, hip: Array, foot: _Foot) -> tuple[Array, Array]:
        """Turns of thigh and shank: the knee bends forward in the plane of the foot's heading."""
        upper, lower = self.lengths["thigh"], self.lengths["shank"]
        down = foot.ankle - hip
        length = np.linalg.norm(down, axis=1)
        z = -down / length[:, None]
        left = np.stack([-np.sin(foot.heading), np.cos(foot.heading), 0 * foot.heading], axis=1)
        left -= (left * z).sum(axis=1, keepdims=True) * z
        left /= np.linalg.norm(left, axis=1, keepdims=True)
        straight = of_matrices(np.stack([np.cross(left, z), left, z], axis=-1))
        # [cosine theorem] angles between the line from hip to ankle and the two bones
        a = np.arccos(np.clip((upper**2 + length**2 - lower**2) / (2 * upper * length), -1, 1))
        b = np.arccos(np.clip((lower**2 + length**2 - upper**2) / (2 * lower * length), -1, 1))
        return product(straight, about(1, -a)), product(straight, about(1, b))

    def _clip(self, turns: dict[str, Array], pelvis: Array, fps: float) -> Clip:
        skeleton = self._skeleton()
        local = np.empty((len(pelvis), len(skeleton), 4))
        for j, (name, parent) in enumerate(zip(skeleton.names, skeleton.parents, strict=True)):
            above = turns[skeleton.names[parent]] if parent >= 0 else None
            local[:, j] = turns[name] if above is None else product(inverse(above), turns[name])
        local /= np.linalg.norm(local, axis=-1, keepdims=True)
        return Clip(skeleton, fps, local, {0: pelvis}, name="walk")

    def _skeleton(self) -> Skeleton:
        """De Leva's lengths; upright with hanging arms in the zero pose."""
        l, H = self.lengths, 1.741 * self.scale
        trunk = l["lower_trunk"] + l["middle_trunk"] + l["upper_trunk"]
        neck = H - l["thigh"] - l["shank"] - l["ankle"] - l["head"] - trunk
        rows: list[tuple[str, str, tuple[float, float, float]]] = [
            ("Hips", "", (0, 0, 0)),
            ("Spine", "Hips", (0, 0, l["lower_trunk"])),
            ("Chest", "Spine", (0, 0, l["middle_trunk"])),
            ("Neck", "Chest", (0, 0, l["upper_trunk"])),
            ("Head", "Neck", (0, 0, neck)),
        ]
        ends = [("Head", (0.0, 0.0, l["head"]))]
        for name, y in self._sides(SHOULDER_HALF_WIDTH):
            rows.append((f"{name}Arm", "Chest", (0, y, l["upper_trunk"] - SHOULDER_DROP * H)))
            rows.append((f"{name}ForeArm", f"{name}Arm", (0, 0, -l["upper_arm"])))
            rows.append((f"{name}Hand", f"{name}ForeArm", (0, 0, -l["forearm"])))
            ends.append((f"{name}Hand", (0.0, 0.0, -2 * l["hand"])))
        for name, y in self._sides(HIP_HALF_WIDTH):
            rows.append((f"{name}UpLeg", "Hips", (0, y, 0)))
            rows.append((f"{name}Leg", f"{name}UpLeg", (0, 0, -l["thigh"])))
            rows.append((f"{name}Foot", f"{name}Leg", (0, 0, -l["shank"])))
            rows.append((f"{name}ToeBase", f"{name}Foot", (TOES_AHEAD * self.scale, 0, 0.02 * self.scale - l["ankle"])))
            ends.append((f"{name}ToeBase", (0.06 * self.scale, 0.0, 0.0)))
        names = [row[0] for row in rows]
        parents = tuple(names.index(parent) if parent else -1 for _, parent, _ in rows)
        tips = tuple((names.index(name), np.array(p)) for name, p in ends)
        return Skeleton(tuple(names), parents, np.array([p for _, _, p in rows]), tips)


def _periodic(phase: Array) -> Array:
    """The pitch of `PITCH` at phases, without overshoot between the keys."""
    from scipy.interpolate import PchipInterpolator

    keys = np.array(PITCH)
    phases = np.concatenate([keys[:, 0] - 1, keys[:, 0], keys[:, 0] + 1])
    values: Array = PchipInterpolator(phases, np.tile(keys[:, 1], 3))(phase)
    return values


def _hermite(t: Array, a: Array, b: Array, da: Array, db: Array) -> Array:
    """The cubic from a to b over t from 0 to 1 with these end slopes."""
    return (2 * t**3 - 3 * t**2 + 1) * a + (t**3 - 2 * t**2 + t) * da + (3 * t**2 - 2 * t**3) * b + (t**3 - t**2) * db
