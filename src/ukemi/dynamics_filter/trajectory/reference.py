"""What the motion is to be near: a smooth spline through the input, in which glitches have no say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ukemi.dynamics_filter.trajectory.spline import Knots, evaluate, fit
from ukemi.model.arrays import Array
from ukemi.model.model import Model
from ukemi.motion.rotations import continuous, inverse, rotated
from ukemi.motion.trajectory import turn_rates

#: A frame this far from a smooth motion is doubted, one three times as far has no say [rad], [l]. Smoothing a sprint at
#: 8 Hz moves its ankles by up to 0.15 rad; glitches of captures are 0.5 rad and more.
DOUBT_TURN, DOUBT_PLACE = 0.3, 0.06
ROUNDS = 6


@dataclass(frozen=True, eq=False)
class ReferenceMotion:
    """Coefficients (size, nq) of the coordinates' splines; quaternions are normalised where they are read.

    trust: (frames, links) weight of each frame of the input, 1 or less where it is an outlier.
    """

    model: Model
    knots: Knots
    coefficients: Array
    trust: Array

    def at(self, times: Array) -> tuple[Array, Array, Array]:
        """q (n, nq), v, a (n, nv): v and a are the derivatives of q in ukemi's conventions."""
        x, dx, ddx = evaluate(self.coefficients, *self.knots.basis(times))
        v, a = np.zeros((2, len(x), self.model.nv))
        for link in self.model.links:
            if link.joint.nq < 4:
                v[:, link.v], a[:, link.v] = dx[:, link.q], ddx[:, link.q]
                continue
            turn = slice(link.q.stop - 4, link.q.stop)
            omega, alpha = turn_rates(x, dx, ddx, turn)
            v[:, link.v.stop - 3 : link.v.stop], a[:, link.v.stop - 3 : link.v.stop] = omega, alpha
            if link.joint.nq == 7:
                place, start = slice(link.q.start, link.q.start + 3), slice(link.v.start, link.v.start + 3)
                back = inverse(x[:, turn])
                v[:, start] = rotated(back, dx[:, place])
                a[:, start] = rotated(back, ddx[:, place]) - np.cross(omega, v[:, start])
        return x, v, a


def reference_of(model: Model, q: Array, times: Array, knots: Knots, cutoff: float, leg: float) -> ReferenceMotion:
    """The spline nearest to q (frames, nq); frames far from it lose their say joint by joint (iteratively reweighted
    least squares with the weights of Geman and McClure)."""
    coefficients, trust = np.zeros((knots.size, model.nq)), np.ones((len(q), model.nlinks))
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
            weights = np.ones(len(y))
            for _ in range(ROUNDS):
                coefficients[:, part] = fit(knots, times, y, weights, cutoff)
                off = np.linalg.norm(evaluate(coefficients[:, part], *knots.basis(times))[0] - y, axis=1)
                if off.max() < 0.5 * scale:
                    break
                weights = np.maximum(1 / (1 + (off / scale) ** 2) ** 2, 1e-4)
            trust[:, index] = np.minimum(trust[:, index], weights)
    return ReferenceMotion(model, knots, coefficients, trust)
