"""Everything that `ukemi filter` writes: motion, states, torques, ground forces, a page that shows them."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np

from ukemi.dynamics_filter.result import FilterResult
from ukemi.model.model import Model
from ukemi.motion.ground_forces import write_ground_forces
from ukemi.motion.read import write_motion
from ukemi.motion.tables import write_table
from ukemi.report.filter_plots import plots, side_by_side
from ukemi.report.html import data_url, plot, write_html

#: OpenSim's guideline for a good result (Hicks et al., J. Biomech. Eng. 137, 2015), beside ours.
GUIDELINES = {
    "residual_bw": ("largest residual force", "5 % of the largest ground force"),
    "joint_rms_deg": ("joints, RMS", "below 2 degrees is good, 2 to 5 acceptable"),
    "com_rms_cm": ("centre of mass, RMS", "below 2 cm is good, 2 to 4 acceptable (for marker errors)"),
}

CAPTIONS = {
    "Vertical ground force": "A walking foot makes two humps of 1.0 to 1.3.",
    "Level ground force": "Of both feet together: x forward brakes at heel strike and drives at push-off.",
    "Friction in use": "Feet that bear more than 5 % of body weight. It stays below the coefficient of the ground.",
    "Centre of pressure": "Seen from above: where the force of each foot acts.",
    "Residual at the root": "The force that nobody exerts, or, where a support holds the body, what it gives.",
    "Joints: distance from the input": "How far the filter had to move the joints for the motion to be feasible.",
    "Joint torques": "The largest component of either side.",
    "Points of the soles": "Heels and balls: on the floor, or in the air; never below.",
}


def write_all(result: FilterResult, folder: str | Path, *, animation: bool = True) -> dict[str, str]:
    """Writes motion.bvh, states.npz, torques.csv, ground_forces.csv and .mot, report.html, motion.gif; kind -> file."""
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    files: dict[str, Path] = {}
    if result.figure is not None:
        files["bvh"] = Path(write_motion(result.motion, out / "motion.bvh"))
    model = result.model
    files["states"] = out / "states.npz"
    np.savez_compressed(
        files["states"],
        time=result.start + result.time,
        q=result.q,
        v=result.v,
        a=result.a,
        tau=result.tau,
        force=result.force,
        place=result.place,
        contact=result.contact,
        points=np.array([model.link_names[i] for i in result.point_links]),
        q_names=np.array(_coordinate_names(model)),
        v_names=np.array(_velocity_names(model)),
        rate=1 / result.dt if result.dt else 0.0,
        frame_time=result.start + result.frame_time,
        frames=result.frames,
        input_frames=result.input_frames,
    )
    columns = dict(zip(_velocity_names(model)[6:], result.torques.T, strict=True))
    files["torques"] = write_table(out / "torques.csv", result.start + result.time, columns)
    forces = result.ground_forces
    floor = 0.0 if result.figure is None else result.figure.floor  # of the file; the model's is at 0
    forces = replace(forces, time=result.start + result.time, point=forces.point + np.array((0.0, 0.0, floor)))
    files["ground_forces"] = write_ground_forces(forces, out / "ground_forces.csv")
    files["ground_forces_opensim"] = write_ground_forces(forces, out / "ground_forces.mot")
    if animation:
        files["animation"] = side_by_side(result, out / "motion.gif")
    files["report"] = write_report(result, out / "report.html", files.get("animation"))
    return {kind: str(path) for kind, path in files.items()}


def write_report(result: FilterResult, path: str | Path, animation: Path | None = None) -> Path:
    """One page with everything in it: numbers, plots, the animation."""
    q = result.quality
    title = result.figure.clip.name if result.figure is not None else result.model.name
    worst = f"{q.joint_max_deg:.0f} ({q.joint_max_name.replace('_', ' ')} at {q.joint_max_time:.2f} s)"
    torques, speeds = (
        "no limits in the model" if np.isnan(use) else f"{100 * use:.0f} % of the limit, at most"
        for use in (q.torque_use, q.speed_use)
    )
    rows = [
        ("verdict", f"{q.verdict}: {q.reason}", ""),
        ("joints, distance from the input, RMS", f"{q.joint_rms_deg:.2f} degrees", GUIDELINES["joint_rms_deg"][1]),
        ("joints, farthest", f"{worst} degrees", f"{q.glitches} joint frames are glitches of the input, left out"),
        ("centre of mass, RMS", f"{q.com_rms_cm:.2f} cm, raised by {q.com_rise_cm:.1f}", GUIDELINES["com_rms_cm"][1]),
        ("hands, largest acceleration", f"{q.hand_acceleration_ratio:.2f} times the input's", "below 15 Hz"),
        ("head, largest acceleration", f"{q.head_acceleration_ratio:.2f} times the input's", "below 15 Hz"),
        ("what the root lacks, largest", f"{q.residual_bw:.1e} body weights", GUIDELINES["residual_bw"][1]),
        (
            "what it lacks in the written motion, RMS",
            f"{100 * q.written_residual_rms:.2f} % of body weight",
            "splines through the frames, the written forces, 500 Hz",
        ),
        ("skate", f"{q.skate_before_cm_s:.2f} cm/s before, {q.skate_cm_s:.3f} cm/s after", "sole points that bear"),
        ("penetration", f"{q.penetration_before_mm:.1f} mm before, {q.penetration_mm:.2f} mm after", "deepest"),
        ("float of standing feet", f"{q.float_before_mm:.1f} mm before, {q.float_mm:.2f} mm after", "mean"),
        ("largest vertical force", f"{q.peak_bw:.2f} body weights", "1.0 to 1.3 in walking"),
        ("friction in use", f"{q.friction_use:.2f}", "below the ground's coefficient"),
        ("joint torques", torques, ""),
        ("joint speeds", speeds, ""),
        *[("held besides by the ground", str(support), "found in the motion") for support in result.supports],
        ("solve", f"{q.iterations} iterations, {'converged' if q.converged else 'not converged'}", result.solver),
        ("speed", f"{q.realtime_factor:.1f} times real time", ""),
    ]
    cells = "".join(f"<tr><th>{escape(a)}</th><td>{escape(b)}</td><td>{escape(c)}</td></tr>" for a, b, c in rows)
    pictures = "".join(plot(name, CAPTIONS[name], png) for name, png in plots(result).items())
    moving = ""
    if animation:
        moving = f"<img alt='the input beside the filtered motion' src='{data_url(animation.read_bytes(), 'gif')}'>"
    verdict = f"{q.verdict}: {q.reason}" + (" (stopped by the user)" if result.interrupted else "")
    tone = {"feasible": "good", "supported": "fair"}.get(q.verdict, "bad")
    body = f"""<h1>{escape(title)}</h1>
<p class="{tone}">{escape(verdict)}</p>{moving}
<table><tr><th>measure</th><td>this motion</td><td>guideline or remark</td></tr>{cells}</table>
{pictures}"""
    return write_html(path, f"{title}: filtered", body)


def _velocity_names(model: Model) -> list[str]:
    """One name per velocity coordinate: the joint's, with an axis where it has several."""
    names = []
    for link in model.links:
        axes = ("x", "y", "z", "rx", "ry", "rz") if link.joint.nv == 6 else "xyz"[: link.joint.nv]
        names += [f"{link.joint_name}_{axis}" if link.joint.nv > 1 else link.joint_name for axis in axes]
    return names


def _coordinate_names(model: Model) -> list[str]:
    """One name per coordinate; quaternions are w, x, y, z."""
    names = []
    for link in model.links:
        axes = {7: ("x", "y", "z", "qw", "qx", "qy", "qz"), 4: ("qw", "qx", "qy", "qz")}.get(link.joint.nq)
        axes = tuple("xyz"[: link.joint.nq]) if axes is None else axes
        names += [f"{link.joint_name}_{axis}" if link.joint.nq > 1 else link.joint_name for axis in axes]
    return names
