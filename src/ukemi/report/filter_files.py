"""Everything that `ukemi filter` writes: motion, states, torques, ground forces, a page that shows them."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from pathlib import Path

import numpy as np

from ukemi.dynamics_filter.reference import HAND
from ukemi.dynamics_filter.result import FilterResult
from ukemi.motion.ground_forces import write_ground_forces
from ukemi.motion.read import write_motion
from ukemi.motion.tables import write_table
from ukemi.report.filter_plots import plots, side_by_side

#: OpenSim's guideline for a good result (Hicks et al., J. Biomech. Eng. 137, 2015), beside ours.
GUIDELINES = {
    "residual_bw": ("largest residual force", "5 % of the largest ground force"),
    "joint_rms_deg": ("joints, RMS", "below 2 degrees is good, 2 to 5 acceptable"),
    "com_rms_cm": ("centre of mass, RMS", "below 2 cm is good, 2 to 4 acceptable (for marker errors)"),
}

CAPTIONS = {
    "Vertical ground force": "Mean over 10 ms, as a plate shows it. A walking foot makes two humps of 1.0 to 1.3.",
    "Level ground force": "Of both feet together: x forward brakes at heel strike and drives at push-off.",
    "Friction in use": "Feet that bear more than 5 % of body weight. It stays below the coefficient of the ground.",
    "Centre of pressure": "Seen from above: where the force of each foot acts.",
    "Residual at the root": "The force that nobody exerts. Without contact forces that fit it would be of order one.",
    "Joints: distance from the reference": "How far the filter had to move the joints for the motion to be possible.",
    "Points of the soles": "Heels and balls: on the floor, or in the air; never below.",
}
STYLE = """body{font:16px/1.5 system-ui,sans-serif;max-width:820px;margin:1.5em auto;padding:0 1em;color:#222}
h1{margin:0}
h2{font-size:1.1em;margin:1.6em 0 0}p{margin:.2em 0 .5em;color:#666}p.good{color:#2d6a36}p.bad{color:#b3261e}
p.good,p.bad{font-weight:600}table{border-collapse:collapse;width:100%;margin:1em 0;font-size:.94em}
th{font-weight:400;text-align:left}th,td{padding:.3em .9em .3em 0;vertical-align:top;border-bottom:1px solid #e4e4e4}
td+td,tr:first-child *{color:#777}img{max-width:100%}.plot{overflow-x:auto}.plot img{width:100%;min-width:600px}
@media(max-width:600px){th,td{display:block;border:0;padding:0}th{margin-top:.6em}td{padding-left:1em}
tr:first-child{display:none}}"""


def write_all(result: FilterResult, folder: str | Path, *, animation: bool = True) -> dict[str, str]:
    """Writes motion.bvh, states.npz, torques.csv, ground_forces.csv and .mot, report.html, motion.gif; kind -> file."""
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    files: dict[str, Path] = {}
    if result.figure is not None:
        files["bvh"] = Path(write_motion(result.motion, out / "motion.bvh"))
    model = result.reference.model
    files["states"] = out / "states.npz"
    np.savez_compressed(
        files["states"],
        time=result.time,
        q=result.q,
        v=result.v,
        a=result.a,
        tau=result.tau,
        force=result.force,
        impulse=result.impulse,
        place=result.place,
        contact=result.contact,
        q_reference=result.reference.q[: len(result)],
    )
    names = [
        f"{link.joint_name}_{axis}" if link.joint.nv > 1 else link.joint_name
        for link in model.links[1:]
        for axis in "xyzabc"[: link.joint.nv]
    ]
    columns = dict(zip(names, result.torques.T, strict=True))
    files["torques"] = write_table(out / "torques.csv", result.time, columns)
    files["ground_forces"] = write_ground_forces(result.ground_forces, out / "ground_forces.csv")
    files["ground_forces_opensim"] = write_ground_forces(result.ground_forces, out / "ground_forces.mot")
    if animation:
        files["animation"] = side_by_side(result, out / "motion.gif")
    files["report"] = write_report(result, out / "report.html", files.get("animation"))
    return {kind: str(path) for kind, path in files.items()}


def write_report(result: FilterResult, path: str | Path, animation: Path | None = None) -> Path:
    """One page with everything in it: numbers, plots, the animation."""
    q = result.quality
    title = result.figure.clip.name if result.figure is not None else result.reference.model.name
    state = f"fell at {q.fell_at:.2f} s" if q.fell_at is not None else "stayed up to the last frame"
    rows = [
        ("settings", q.preset, ""),
        ("end", state, "pelvis within 8 cm and 10 degrees of the reference"),
        ("largest residual force at the root", f"{q.residual_bw:.1e} body weights", GUIDELINES["residual_bw"][1]),
        ("joints, RMS", f"{q.joint_rms_deg:.2f} degrees", GUIDELINES["joint_rms_deg"][1]),
        ("centre of mass, RMS", f"{q.com_rms_cm:.2f} cm", GUIDELINES["com_rms_cm"][1]),
        ("skate per frame", f"{q.skate_before_mm:.2f} mm before, {q.skate_mm:.3f} mm after", "below 1 mm"),
        ("penetration", f"{q.penetration_before_mm:.1f} mm before, {q.penetration_mm:.2f} mm after", "below 1 mm"),
        ("float of standing feet", f"{q.float_before_mm:.1f} mm before, {q.float_mm:.2f} mm after", ""),
        ("largest vertical force", f"{q.peak_bw:.2f} body weights (mean over 10 ms)", "1.0 to 1.3 in walking"),
        ("largest impulse in a step", f"{q.impulse_ns:.2f} N s", ""),
        ("friction in use", f"{q.friction_use:.2f}", "below the ground's coefficient"),
        ("pull at the floor, or force outside of the cone", f"{q.contact_bw:.1e} body weights", "none"),
        ("distance from the floor of points that bear", f"{q.contact_gap_mm:.2f} mm", "at most 1 mm"),
        ("the clip before filtering", f"{q.feasible_shift_cm:.1f} cm from possible", "centre of mass, given footholds"),
        *_found(result),
        ("pace", f"{q.pace:g} of the file's frame rate", "below 1: at its own it is farther from possible, and falls"),
        ("speed", f"{q.realtime_factor:.1f} times real time", ""),
    ]
    cells = "".join(f"<tr><th>{escape(a)}</th><td>{escape(b)}</td><td>{escape(c)}</td></tr>" for a, b, c in rows)
    pictures = "".join(
        f"<h2>{escape(name)}</h2><p>{escape(CAPTIONS[name])}</p>"
        f"<div class='plot'><img alt='{escape(name)}' src='{_data(png, 'png')}'></div>"
        for name, png in plots(result).items()
    )
    moving = ""
    if animation:
        moving = (
            f"<img alt='the motion asked for beside the possible one' src='{_data(animation.read_bytes(), 'gif')}'>"
        )
    verdict = f"{result.time[-1] + result.dt:.1f} s, {state}" + (" (stopped by the user)" if result.interrupted else "")
    page = f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(title)}: filtered</title>
<style>{STYLE}</style></head><body><h1>{escape(title)}</h1>
<p class="{"bad" if q.fell else "good"}">{escape(verdict)}</p>{moving}
<table><tr><th>measure</th><td>this motion</td><td>guideline or remark</td></tr>{cells}</table>
{pictures}</body></html>"""
    Path(path).write_text(page, encoding="utf-8")
    return Path(path)


def _found(result: FilterResult) -> list[tuple[str, str, str]]:
    """What the motion bears on besides its feet and the floor."""
    points = result.reference.points
    hands = [result.reference.model.link_names[link] for link in points.links[points.kind == HAND]]
    rows = [("hands, knees, elbows that bear", ", ".join(hands), "besides the feet")] if hands else []
    for seat in result.seats:
        what = f"{100 * seat.height:.0f} cm high" if seat.height else "the floor"
        when = ", ".join(f"{a:.2f} to {b:.2f} s" for a, b in seat.times)
        rows.append(("seat, found in the motion", f"{what}, {when}", "the feet alone could not hold the body"))
    steps = np.reshape(getattr(result.ground, "boxes", ()), (-1, 5))
    if len(steps):
        rows.append(("steps", ", ".join(f"{100 * z:.0f}" for z in steps[:, 4]) + " cm high", ""))
    return rows


def _data(content: bytes, kind: str) -> str:
    return f"data:image/{kind};base64,{b64encode(content).decode()}"
