"""How far estimated ground forces lie from measured ones.

Curves are compared over the samples that count: of a foot those where the estimate or the measurement bears more than
20 N (stance), of the total all. Each number is computed per foot and averaged over the feet.

rmse [N/kg], [N m/kg] or [% of body weight]; rrmse: the RMSE over the mean of both ranges [%] (Ren et al. 2008;
Karatsidis et al. 2017); nrmse: over the measured range [%]; r: Pearson's correlation; peaks of every stance of 0.08 s
or more that is measured as a whole; distance of the centres of pressure where the plate bears 10 % of body weight [mm].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import Array
from ukemi.motion.footfalls import runs
from ukemi.motion.ground_forces import GroundForces

#: Standard gravity [m/s^2]: what plates and scales are calibrated with.
GRAVITY = 9.80665
#: A foot stands above this [N]; its centre of pressure counts above this share of body weight.
STANCE, LOADED = 20.0, 0.1
#: Shorter stances have no peaks [s].
SHORTEST = 0.08
COMPONENTS = ("anterior", "lateral", "vertical")


@dataclass(frozen=True)
class Curve:
    """Agreement of two curves of ``n`` samples; NaN where there is nothing to compare."""

    n: int
    rmse: float
    rmse_bw: float
    rrmse: float
    nrmse: float
    r: float
    bias: float


@dataclass(frozen=True)
class Peak:
    """Estimated less measured extreme [% of body weight] over ``n`` stances: mean, and mean of its size."""

    n: int
    mean: float
    mae: float


@dataclass(frozen=True)
class PressureDistance:
    """Between two centres of pressure [mm]; coverage: share of the measured ones that have an estimate beside them."""

    n: int
    coverage: float
    rms: float
    mean: float
    median: float
    anterior: float
    lateral: float


@dataclass(frozen=True)
class Agreement:
    """samples that counted; total and foot: component -> `Curve`, foot with ``"free_moment"``; peak:
    ``"vertical_max"``, ``"anterior_max"``, ``"anterior_min"``; cop: None where no foot is loaded."""

    samples: int
    total: dict[str, Curve]
    foot: dict[str, Curve]
    peak: dict[str, Peak]
    cop: PressureDistance | None


def agreement(
    estimate: GroundForces,
    measured: GroundForces,
    mass: float,
    *,
    forward: Array | tuple[float, float, float] = (1.0, 0.0, 0.0),
    valid: NDArray[np.bool_] | None = None,
) -> Agreement:
    """Of forces on the same feet, in the same order; the measured clock rules.

    forward: of the person, z up. valid (samples of the measurement,): where every foot stands on a plate.
    """
    feet = len(measured.names)
    if len(estimate.names) != feet:
        raise InvalidInputError(f"agreement: {len(estimate.names)} estimated feet beside {feet} measured ones")
    inside = (measured.time >= estimate.time[0] - 1e-9) & (measured.time <= estimate.time[-1] + 1e-9)
    if inside.sum() < 3:
        raise InvalidInputError(
            f"agreement: the estimate lasts from {estimate.time[0]:g} to {estimate.time[-1]:g} s, the measurement from "
            f"{measured.time[0]:g} to {measured.time[-1]:g} s: they have no time in common"
        )
    time = measured.time[inside]
    counts = np.ones(len(time), dtype=bool) if valid is None else np.asarray(valid, dtype=bool)[inside]
    axes = body_axes(np.asarray(forward, dtype=np.float64))
    f_e, p_e = (resampled(time, estimate.time, x) @ axes.T for x in (estimate.force, estimate.point))
    f_m, p_m = (x[inside] @ axes.T for x in (measured.force, measured.point))
    free_e, free_m = resampled(time, estimate.time, estimate.torque)[..., 2], measured.torque[inside][..., 2]
    weight = mass * GRAVITY
    total = {
        name: curve(f_e.sum(axis=1)[counts, c], f_m.sum(axis=1)[counts, c], mass) for c, name in enumerate(COMPONENTS)
    }
    stance = (np.maximum(f_e[..., 2], f_m[..., 2]) > STANCE) & counts[:, None]
    used = [k for k in range(feet) if ((f_m[:, k, 2] > STANCE) & counts).sum() >= 3]
    foot = {
        name: _mean([curve(f_e[stance[:, k], k, c], f_m[stance[:, k], k, c], mass) for k in used])
        for c, name in enumerate(COMPONENTS)
    }
    foot["free_moment"] = _mean([curve(free_e[stance[:, k], k], free_m[stance[:, k], k], mass) for k in used])
    peaks = _peaks(time, f_e, f_m, counts, used, weight)
    return Agreement(int(counts.sum()), total, foot, peaks, _pressure(f_e, f_m, p_e, p_m, counts, weight))


def body_axes(forward: Array) -> Array:
    """Rows anterior, lateral, vertical, as unit vectors; z up."""
    ahead = forward * (1.0, 1.0, 0.0)
    ahead = ahead / np.linalg.norm(ahead)
    up = np.array((0.0, 0.0, 1.0))
    return np.stack([ahead, np.cross(ahead, up), up])


def resampled(at: Array, time: Array, values: Array) -> Array:
    """values (n, ...) at other times, on straight lines."""
    flat = values.reshape(len(time), -1)
    out = np.stack([np.interp(at, time, column) for column in flat.T], axis=1)
    return out.reshape(len(at), *values.shape[1:])


def curve(estimate: Array, measured: Array, mass: float) -> Curve:
    """Of one foot and component (n,)."""
    n = len(estimate)
    if n < 3:
        return Curve(n, *[float("nan")] * 6)
    off = estimate - measured
    rmse = float(np.sqrt(np.mean(off**2)))
    ranges = float(np.ptp(measured)), 0.5 * float(np.ptp(measured) + np.ptp(estimate))
    share = [100 * rmse / x if x > 0 else float("nan") for x in ranges]
    moves = estimate.std() > 0 and measured.std() > 0
    r = float(np.corrcoef(estimate, measured)[0, 1]) if moves else float("nan")
    return Curve(n, rmse / mass, 100 * rmse / (mass * GRAVITY), share[1], share[0], r, float(off.mean()) / mass)


def _mean(curves: list[Curve]) -> Curve:
    if not curves:
        return Curve(0, *[float("nan")] * 6)
    rows = np.array([[getattr(c, name) for name in Curve.__dataclass_fields__] for c in curves])
    seen = np.isfinite(rows)
    means = np.where(seen.any(axis=0), np.where(seen, rows, 0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1), np.nan)
    return Curve(int(rows[:, 0].sum()), *(float(x) for x in means[1:]))


def _peaks(
    time: Array, f_e: Array, f_m: Array, counts: NDArray[np.bool_], used: list[int], weight: float
) -> dict[str, Peak]:
    found: dict[str, list[float]] = {"vertical_max": [], "anterior_max": [], "anterior_min": []}
    for k in used:
        for first, last in runs(f_m[:, k, 2] > STANCE):
            whole = first > 0 and last < len(time) and counts[first - 1 : last + 1].all()
            if not whole or time[last - 1] - time[first] < SHORTEST:
                continue
            e, m = f_e[first:last, k], f_m[first:last, k]
            found["vertical_max"].append(e[:, 2].max() - m[:, 2].max())
            found["anterior_max"].append(e[:, 0].max() - m[:, 0].max())
            found["anterior_min"].append(e[:, 0].min() - m[:, 0].min())
    shares = {name: 100 * np.array(x) / weight for name, x in found.items()}
    nan = float("nan")
    return {
        name: Peak(len(x), float(x.mean()) if len(x) else nan, float(np.abs(x).mean()) if len(x) else nan)
        for name, x in shares.items()
    }


def _pressure(
    f_e: Array, f_m: Array, p_e: Array, p_m: Array, counts: NDArray[np.bool_], weight: float
) -> PressureDistance | None:
    wanted = (f_m[..., 2] > LOADED * weight) & counts[:, None]
    have = wanted & (f_e[..., 2] > STANCE)
    d = 1000 * (p_e - p_m)[have][:, :2]
    if not len(d):
        return None
    away = np.hypot(*d.T)
    ahead, aside = np.sqrt(np.mean(d**2, axis=0))
    return PressureDistance(
        len(d),
        float(have.sum() / wanted.sum()),
        float(np.sqrt(np.mean(away**2))),
        float(away.mean()),
        float(np.median(away)),
        float(ahead),
        float(aside),
    )
