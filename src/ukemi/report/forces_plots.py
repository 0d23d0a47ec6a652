"""Pictures of a trial's forces and moments, as PNG bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ukemi.forces.cycles import SAMPLES, normalised
from ukemi.forces.inverse import JointMoments
from ukemi.forces.trial import TrialForces
from ukemi.model.arrays import Array
from ukemi.report.html import plot_png
from ukemi.report.strip import LEFT, RIGHT

#: Right foot, left foot, others.
COLOURS = (RIGHT, LEFT, "#3a7d44", "#7b4a9e")
SAGITTAL = (("hip_flexion", "Hip"), ("knee_flexion", "Knee"), ("ankle_dorsiflexion", "Ankle"))


def force_plots(trial: TrialForces) -> dict[str, bytes]:
    """title -> PNG."""
    weight = 9.81 * trial.mass
    across = np.cross((0.0, 0.0, 1.0), trial.forward)
    out = {}
    for title, axis in (
        ("Vertical force", np.array((0.0, 0.0, 1.0))),
        ("Force ahead", trial.forward),
        ("Force to the left", across),
    ):
        out[title] = plot_png(_curves(trial, 100 * axis / weight, "% of body weight"))
    out["Centre of pressure"] = plot_png(_pressure(trial), height=3.2)
    for name, title in SAGITTAL:
        out[f"{title} moment"] = plot_png(_moments(trial, name))
    out["Moments over the gait cycle"] = _cycles(trial)
    out["What the root lacks"] = plot_png(_residual(trial))
    return {title: png for title, png in out.items() if png}


def _curves(trial: TrialForces, axis: Array, unit: str) -> Callable[[Any], None]:
    def draw(axes: Any) -> None:
        values = trial.forces.force @ axis
        for k, name in enumerate(trial.forces.names):
            if trial.bands is not None:
                half = trial.bands.along(axis[None])[:, k, 0]
                _band(axes, trial.forces.time, values[:, k], half, COLOURS[k % 4])
            axes.plot(trial.forces.time, values[:, k], color=COLOURS[k % 4], lw=1.3, label=name.replace("_", " "))
        if trial.measured is not None:
            measured = trial.measured.force @ axis
            for k in range(len(trial.measured.names)):
                label = "plates" if k == 0 else None
                axes.plot(trial.measured.time, measured[:, k], color=COLOURS[k % 4], lw=1, ls=":", label=label)
            _unseen(trial, axes)
        axes.set_ylabel(unit)

    return draw


def _band(axes: Any, time: Array, values: Array, half: Array, colour: str) -> None:
    axes.fill_between(time, values - half, values + half, color=colour, alpha=0.15, lw=0)


def _unseen(trial: TrialForces, axes: Any) -> None:
    """Shades what plates did not see."""
    assert trial.measured is not None
    assert trial.seen is not None
    low, high = axes.get_ylim()
    axes.fill_between(trial.measured.time, low, high, where=~trial.seen, color="#eeeeee", lw=0)
    axes.set_ylim(low, high)


def _pressure(trial: TrialForces) -> Callable[[Any], None]:
    """Seen from above, from the place where the record begins; ahead is to the right."""

    def draw(axes: Any) -> None:
        across = np.cross((0.0, 0.0, 1.0), trial.forward)
        for forces, size, label in ((trial.forces, 2.2, None), (trial.measured, 0.7, "plates")):
            if forces is None:
                continue
            seen = forces.point - forces.time[:, None, None] * trial.belt
            for k, name in enumerate(forces.names):
                on = forces.force[:, k, 2] > 0.05 * 9.81 * trial.mass
                x, y = seen[on, k] @ trial.forward, seen[on, k] @ across
                shown = name.replace("_", " ") if label is None else label if k == 0 else None
                colour = COLOURS[k % 4] if label is None else "black"
                axes.plot(x, y, ".", ms=size, color=colour, label=shown)
        axes.set_xlabel("ahead [m]" if not trial.belt.any() else "ahead, on the belt [m]")
        axes.set_ylabel("to the left [m]")

    return draw


def _moments(trial: TrialForces, name: str) -> Callable[[Any], None]:
    def draw(axes: Any) -> None:
        for side, colour, label in (("r", RIGHT, "right"), ("l", LEFT, "left")):
            column = f"{name}_{side}_moment"
            if trial.bands is not None:
                half = trial.bands.moment(column) / trial.mass
                _band(axes, trial.moments.time, trial.moments[column] / trial.mass, half, colour)
            axes.plot(trial.moments.time, trial.moments[column] / trial.mass, color=colour, lw=1.3, label=label)
            if trial.measured_moments is not None:
                m = trial.measured_moments
                said = "with plates" if side == "r" else None
                axes.plot(m.time, m[column] / trial.mass, color=colour, lw=1, ls=":", label=said)
        axes.axhline(0, color="#cccccc", lw=0.7, zorder=0)
        axes.set_ylabel(f"{name.split('_')[1]} + [N m/kg]")

    return draw


def _cycles(trial: TrialForces) -> bytes:
    """Mean and spread over the strides of either leg; empty where there is no whole stride."""
    moments: JointMoments = trial.consistent_moments or trial.measured_moments or trial.moments
    found = {
        (name, side): normalised(moments.time, moments[f"{name}_{side}_moment"] / trial.mass, foot, trial.stances)
        for name, _ in SAGITTAL
        for side, foot in zip("rl", trial.forces.names[:2], strict=True)
    }
    if not any(len(rows) for rows in found.values()):
        return b""
    from io import BytesIO

    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.2, 2.5), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    percent = np.linspace(0, 100, SAMPLES)
    for place, (name, title) in enumerate(SAGITTAL):
        axes = figure.add_subplot(1, 3, place + 1)
        for side, colour in (("r", RIGHT), ("l", LEFT)):
            rows = found[name, side]
            if not len(rows):
                continue
            mean, spread = rows.mean(axis=0), rows.std(axis=0)
            axes.plot(percent, mean, color=colour, lw=1.3)
            axes.fill_between(percent, mean - spread, mean + spread, color=colour, alpha=0.2, lw=0)
        axes.axhline(0, color="#cccccc", lw=0.7, zorder=0)
        axes.set_title(f"{title} {name.split('_')[1]} + [N m/kg]", fontsize=9)
        axes.set_xlabel("% of the cycle")
        axes.spines[["top", "right"]].set_visible(False)
    buffer = BytesIO()
    figure.savefig(buffer, format="png")
    return buffer.getvalue()


def _residual(trial: TrialForces) -> Callable[[Any], None]:
    def draw(axes: Any) -> None:
        for moments, style, label in ((trial.moments, "-", "estimated"), (trial.measured_moments, ":", "with plates")):
            if moments is not None:
                force = np.linalg.norm(moments.residual[:, :3], axis=1)
                axes.plot(moments.time, force, color="black", ls=style, lw=1, label=f"force, {label}")
        axes.set_ylabel("N")
        axes.set_ylim(bottom=0)

    return draw
