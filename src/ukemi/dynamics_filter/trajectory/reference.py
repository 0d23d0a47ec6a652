"""What the motion is to be near: a smooth spline through the input, in which glitches have no say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ukemi.dynamics_filter.trajectory.spline import Knots, evaluate, fit
from ukemi.model.arrays import Array
from ukemi.model.model import Model
from ukemi.motion.footfalls import runs
from ukemi.motion.rotations import continuous
from ukemi.motion.trajectory import state_rates

#: A frame this far from a smooth motion is doubted, one three times as far has no say [rad], [l]. Smoothing a sprint at
#: 8 Hz moves its ankles by up to 0.15 rad; toes of captures jump by 0.25 rad and more.
DOUBT_TURN, DOUBT_PLACE = 0.2, 0.06
ROUNDS = 6
#: Weight of a frame that has no say.
LEAST = 1e-4
#: Frames that repeat the one before, for this long at most [1/cutoff], are lost ones where the motion then jumps by
#: more than so many times the steps before and behind.
LOST, CATCHES_UP = 2.0, 2.0


@dataclass(frozen=True, eq=False)
class ReferenceMotion:
    """Coefficients (size, nq) of the coordinates' splines; quaternions are normalised where they are read.

    trust: (frames, links) weight of each frame of the input, 1 or less where it is an outlier. lost: (frames,) those
    that only repeat the one before.
    """

    model: Model
    knots: Knots
    coefficients: Array
    trust: Array
    lost: NDArray[np.bool_]

    def at(self, times: Array) -> tuple[Array, Array, Array]:
        """q (n, nq), v, a (n, nv): v and a are the derivatives of q in ukemi's conventions."""
        return state_rates(self.model, *evaluate(self.coefficients, *self.knots.basis(times)))


def reference_of(model: Model, q: Array, times: Array, knots: Knots, cutoff: float, leg: float) -> ReferenceMotion:
    """The spline nearest to q (frames, nq); frames far from it lose their say joint by joint (iteratively reweighted
    least squares with the weights of Geman and McClure)."""
    coefficients, trust = np.zeros((knots.size, model.nq)), np.ones((len(q), model.nlinks))
    lost = lost_frames(q, LOST / cutoff / max(float(times[1] - times[0]), 1e-9) if len(times) > 1 else 0.0)
    start = np.where(lost, LEAST, 1.0)
    for index, link in enumerate(model.links):
        parts = [link.q]
        if link.joint.nq == 7:
            parts = [slice(link.q.start, link.q.start + 3), slice(link.q.start + 3, link.q.stop)]
        for part in parts:
            y = q[:, part]
            turns = part.stop - part.start == 4
            if turns:
                y = continuous(y)
            scale = DOUBT_PLACE * leg if link.joint.nq == 7 and not turns else DOUBT_TURN * (0.5 if turns else 1.0)
            weights = start.copy()
            for _ in range(ROUNDS):
                coefficients[:, part] = fit(knots, times, y, weights, cutoff)
                off = np.linalg.norm(evaluate(coefficients[:, part], *knots.basis(times))[0] - y, axis=1)
                if off[~lost].max() < 0.5 * scale:
                    break
                weights = np.maximum(start / (1 + (off / scale) ** 2) ** 2, LEAST)
            trust[:, index] = np.minimum(trust[:, index], weights)
    return ReferenceMotion(model, knots, coefficients, trust, lost)


def lost_frames(q: Array, longest: float) -> NDArray[np.bool_]:
    """(frames,): which repeat the frame before, in runs of at most so many frames, after which the motion jumps."""
    steps = np.abs(np.diff(q, axis=0)).max(axis=1) if len(q) > 1 else np.zeros(0)
    out = np.zeros(len(q), dtype=bool)
    for first, last in runs(steps == 0):
        beside = max(steps[first - 1] if first else 0.0, steps[last + 1] if last + 1 < len(steps) else 0.0)
        jump = steps[last] if last < len(steps) else 0.0
        out[first + 1 : last + 1] = last - first <= longest and jump > CATCHES_UP * beside
    return out
