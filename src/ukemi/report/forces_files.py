"""Everything that `ukemi forces` writes: forces, moments, what OpenSim needs, a page that shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from ukemi.forces.cycles import StancePeaks, stance_peaks, symmetry
from ukemi.forces.inverse import JointMoments
from ukemi.forces.opensim_files import finite, write_moments
from ukemi.forces.plates import smoothed
from ukemi.forces.trial import TrialForces
from ukemi.forces.uncertainty import ForceBands
from ukemi.model.arrays import Array
from ukemi.motion.ground_forces import to_opensim, write_ground_forces
from ukemi.motion.read import write_motion
from ukemi.motion.tables import write_table
from ukemi.report.forces_plots import force_plots
from ukemi.report.html import plot, write_html

#: OpenSim's guidelines for residuals (Hicks et al., J. Biomech. Eng. 137, 2015): shares of the largest ground force,
#: and of it times the height of the centre of mass, taken as 0.55 of the stature.
FORCE_SHARE, MOMENT_SHARE, COM_HEIGHT = 0.05, 0.01, 0.55
CAPTIONS = {
    "Vertical force": "A walking foot makes two humps of 100 to 130 % of body weight, a running one one of 200 to 300.",
    "Force ahead": "A foot brakes when it lands and drives when it leaves.",
    "Force to the left": "A right foot pushes to the left, a left foot to the right.",
    "Centre of pressure": "Seen from above, from the heel to the toes of each foot; stretched sideways.",
    "Hip moment": "What muscles exert about the axis across the pelvis.",
    "Knee moment": "About the axis across the thigh; a standing knee is held by extension, which is negative.",
    "Ankle moment": "About the axis across the shank; calves push with plantarflexion, which is negative.",
    "Moments over the gait cycle": "From a foot's touch-down to its next: mean and deviation over the strides.",
    "What the root lacks": "A force that nobody exerts: how far motion, masses and forces are from agreeing.",
}


def write_forces(trial: TrialForces, folder: str | Path) -> dict[str, Path]:
    """Writes ground_forces.mot and .csv, joint_moments.sto and .csv, joint_powers.csv, report.html; kind -> file."""
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    files = {
        "ground_forces": write_ground_forces(trial.forces, out / "ground_forces.csv"),
        "ground_forces_opensim": write_ground_forces(trial.forces, out / "ground_forces.mot"),
        **_moment_files(trial.moments, out, ""),
    }
    if trial.measured is not None and trial.measured_moments is not None:
        files["plates"] = write_ground_forces(smoothed(trial.measured, trial.cutoff), out / "plates_on_feet.mot")
        files |= _moment_files(trial.measured_moments, out, "plates")
    if trial.bands is not None:
        files["bands"] = write_table(out / "bands.csv", trial.forces.time, _band_columns(trial, trial.bands))
    if trial.consistent is not None:
        files["motion"] = Path(write_motion(trial.consistent.motion, out / "motion.bvh"))
        if trial.consistent_moments is not None:
            files |= _moment_files(trial.consistent_moments, out, "consistent")
    files["report"] = write_report(trial, out / "report.html")
    return files


def _moment_files(moments: JointMoments, out: Path, by: str) -> dict[str, Path]:
    """joint_moments.csv and .sto and joint_powers.csv, with what they are by in their names."""
    more = f"_{by}" if by else ""
    powers = {
        f"{name.removesuffix('_moment')}_power": column
        for name, column in zip(moments.names, moments.power.T, strict=True)
    }
    return {
        f"joint_moments{more}": write_moments(moments, out / f"joint_moments{more}.csv"),
        f"joint_moments{more}_opensim": write_moments(moments, out / f"joint_moments{more}.sto"),
        f"joint_powers{more}": write_table(out / f"joint_powers{more}.csv", moments.time, powers),
    }


def _band_columns(trial: TrialForces, bands: ForceBands) -> dict[str, Array]:
    """Half widths of the bands, by foot and joint [N, m, N m]; forces along OpenSim's axes, as in the .mot."""
    columns: dict[str, Array] = {}
    force = np.abs(to_opensim(bands.along(np.eye(3))))
    for k, name in enumerate(trial.forces.names):
        columns |= {f"ground_force_{name}_v{axis}": force[:, k, i] for i, axis in enumerate("xyz")}
        columns |= {
            f"{name}_pressure_ahead": bands.pressure[:, k, 0],
            f"{name}_pressure_aside": bands.pressure[:, k, 1],
        }
        columns[f"ground_torque_{name}_y"] = bands.free_moment[:, k]
    return columns | {name: bands.moment(name) for name in trial.moments.names}


def summary(trial: TrialForces) -> dict[str, Any]:
    """The numbers of a trial, for JSON."""
    peaks = peaks_of(trial)
    force, moment = trial.residual
    out: dict[str, Any] = {
        "motion": trial.clip.name,
        "duration_s": trial.clip.duration,
        "mass_kg": trial.mass,
        "mass_from": trial.mass_from,
        "height_m": trial.height,
        "belt_m_s": float(np.linalg.norm(trial.belt)),
        "residual_force_n": force,
        "residual_moment_nm": moment,
        "stances": [asdict(s) for s in trial.stances],
        "peaks": [asdict(p) for p in peaks],
        "symmetry_percent": symmetry(peaks, (trial.forces.names[0], trial.forces.names[1])),
    }
    if trial.consistent is not None:
        c = trial.consistent
        out["consistent"] = {
            "before": None if c.before is None else asdict(c.before),
            "after": asdict(c.after),
            "moved": asdict(c.distances),
            "mass_kg": c.estimate.model.mass,
            "converged": c.converged,
        }
    if trial.agreement is not None and trial.measured_moments is not None and trial.seen is not None:
        force, moment = trial.measured_residual or (float("nan"), float("nan"))
        fit = trial.agreement
        out |= {
            "plates_residual_force_n": finite(force),
            "plates_residual_moment_nm": finite(moment),
            "plates_seen_share": float(trial.seen.mean()),
            "agreement": {
                "foot": {name: {k: finite(v) for k, v in asdict(c).items()} for name, c in fit.foot.items()},
                "total": {name: {k: finite(v) for k, v in asdict(c).items()} for name, c in fit.total.items()},
                "peak": {name: {k: finite(v) for k, v in asdict(c).items()} for name, c in fit.peak.items()},
                "cop": None if fit.cop is None else asdict(fit.cop),
            },
        }
    return out


def peaks_of(trial: TrialForces) -> list[StancePeaks]:
    """Of every whole stance, by the plates if there are any."""
    forces = trial.forces if trial.measured is None else trial.measured
    return stance_peaks(forces, trial.stances, trial.forward, 9.81 * trial.mass)


def write_report(trial: TrialForces, path: str | Path) -> Path:
    """One page with everything in it: numbers, plots."""
    weight = 9.81 * trial.mass
    largest = float(trial.forces.total[:, 2].max())
    limits = FORCE_SHARE * largest, MOMENT_SHARE * largest * COM_HEIGHT * trial.height
    rows = [
        ("person", f"{trial.mass:.1f} kg ({_mass_from(trial)}), {trial.height:.2f} m", "height from the bones"),
        ("largest vertical force", f"{100 * largest / weight:.0f} % of body weight", "of both feet together"),
        _residual_row("what the root lacks, estimated forces", trial.residual, limits),
    ]
    if trial.measured_residual is not None:
        rows.append(_residual_row("what the root lacks, plates' forces", trial.measured_residual, limits))
    if trial.consistent is not None:
        c = trial.consistent
        rows.append(_residual_row("the same, after --consistent", (c.after.force, c.after.moment), limits))
        moved = f"joints {c.distances.joints:.2f} degrees, centre of mass {c.distances.centre_of_mass:.2f} cm"
        rows.append(("for which the motion moved", moved, f"RMS; mass then {c.estimate.model.mass:.1f} kg"))
    if trial.belt.any():
        rows.append(("treadmill", f"{np.linalg.norm(trial.belt):.2f} m/s", "found from the feet, or said"))
    sides = symmetry(peaks_of(trial), (trial.forces.names[0], trial.forces.names[1]))
    if sides:
        text = ", ".join(f"{name} {value:+.0f} %" for name, value in sides.items())
        rows.append(("right less left foot", text, "over their mean"))
    body = f"<h1>{escape(trial.clip.name)}</h1>{_verdict(trial)}{_table(('measure', 'this trial', 'remark'), rows)}"
    body += _agreement(trial) + _stances(trial)
    body += "".join(plot(name, CAPTIONS[name], png) for name, png in force_plots(trial).items())
    return write_html(path, f"{trial.clip.name}: forces", body)


def _mass_from(trial: TrialForces) -> str:
    return {"given": "as given", "plates": "as the plates say", "height": "a person's of this height"}[trial.mass_from]


def _residual_row(name: str, found: tuple[float, float], limits: tuple[float, float]) -> tuple[str, str, str]:
    text = f"at most {found[0]:.0f} N and {found[1]:.0f} N m"
    return name, text, f"good below {limits[0]:.0f} N and {limits[1]:.0f} N m (5 % and 1 % of the largest force)"


def _verdict(trial: TrialForces) -> str:
    fit = trial.agreement
    if fit is None:
        text = "Estimated from motion alone; no plates to compare with."
    else:
        v, cop = fit.foot["vertical"], fit.cop
        text = f"Vertical force within {v.rrmse:.1f} % of the plates (r {v.r:.3f})"
        text += f", centre of pressure {cop.median:.0f} mm from theirs." if cop else "."
    return f"<p><b>{escape(text)}</b></p>"


def _agreement(trial: TrialForces) -> str:
    fit = trial.agreement
    if fit is None:
        return ""
    rows = [
        (
            f"{part}, {name.replace('_', ' ')}",
            f"{c.rmse:.2f}",
            f"{c.rmse_bw:.1f}" if name != "free_moment" else "",
            f"{c.rrmse:.1f}",
            f"{c.r:.3f}",
        )
        for part, curves in (("each foot", fit.foot), ("both feet", fit.total))
        for name, c in curves.items()
    ]
    header = ("beside the plates", "RMSE [N/kg, N m/kg]", "% of body weight", "% of range", "r")
    return "<h2>Agreement with the plates</h2>" + _table(header, rows)


def _stances(trial: TrialForces) -> str:
    rows = [
        (
            f"{p.foot.replace('_', ' ')}, {p.touch_down:.2f} s",
            f"{1000 * p.duration:.0f}",
            f"{p.vertical:.0f}",
            f"{p.braking:.0f}",
            f"{p.propulsion:.0f}",
        )
        for p in peaks_of(trial)
    ]
    if not rows:
        return ""
    header = ("stance", "ms", "vertical, % of body weight", "braking", "propulsion")
    return "<h2>Stances that the record has as a whole</h2>" + _table(header, rows)


def _table(header: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    head = "".join(f"<th>{escape(h)}</th>" if k == 0 else f"<td>{escape(h)}</td>" for k, h in enumerate(header))
    body = "".join(
        "<tr>"
        + "".join(f"<th>{escape(c)}</th>" if k == 0 else f"<td>{escape(c)}</td>" for k, c in enumerate(row))
        + "</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>"
