"""read_motion and write_motion: a motion from a file and back, whatever its format."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import positive
from ukemi.model.kinds import choice, of_kind, path_of

if TYPE_CHECKING:
    from ukemi.motion.clip import Clip

REST_POSES = ("auto", "keep", "drop")
#: Which options of `read_motion` say something about a file of this kind.
OPTIONS = {
    ".bvh": ("unit", "up", "rest_pose", "fps"),
    ".amc": ("unit", "up", "fps", "skeleton"),
    ".npz": (),
    **dict.fromkeys((".c3d", ".trc"), ("up", "static", "markers")),
    **dict.fromkeys((".json", ".txt"), ("fps",)),
    **dict.fromkeys((".mot", ".sto"), ("fps", "skeleton")),
}


def read_motion(
    path: str | os.PathLike[str],
    *,
    unit: str | float | None = None,
    up: str | None = None,
    rest_pose: str = "auto",
    fps: float | None = None,
    skeleton: str | os.PathLike[str] | None = None,
    static: str | os.PathLike[str] | None = None,
    markers: Mapping[str, str] | str | os.PathLike[str] | None = None,
) -> Clip:
    """A clip from a motion file: .bvh, .amc with its .asf, .npz, markers (.c3d, .trc), coordinates of OpenSim (.mot,
    .sto) with their .osim, or DeepMimic's .json or .txt.

    Markers become a skeleton between joint centres (`ukemi.motion.marker_clip`); `ukemi.motion.markers` gives them as
    they are, with what force plates measured. Coordinates become the bodies of their model (`ukemi.motion.opensim`);
    `ukemi.motion.tables` reads any table of OpenSim as it is.

    Args:
        path: the file.
        unit: ``"m"``, ``"cm"``, ``"mm"``, ``"inch"``, ``"foot"``, ``"cmu"`` (1/0.45 inch) or metres per unit; by
            default what makes the body most like an adult's in size.
        up: ``"y"`` or ``"z"``; by default the axis along which the body is longest.
        rest_pose: whether frame 0 is an added rest pose: ``"drop"`` it, ``"keep"`` it, or find out (``"auto"``).
        fps: frames per second, where the file does not say it (AMC: 120) or says it wrongly.
        skeleton: the .asf file of an .amc; by default the one beside it with its name or subject number. The .osim of
            a .mot or .sto; by default the only one beside it.
        static: a standing trial (.c3d, .trc) with markers on knees and ankles, where the motion has none there.
        markers: label -> landmark, or a CSV file with lines ``label,landmark``, for labels that are not known by name;
            landmarks are those of `ukemi.motion.marker_names.LANDMARKS`.

    Raises:
        FileFormatError: a file that cannot be read; the message begins with file:line.
        InvalidInputError: an extension that no reader takes, an impossible option, or one that says nothing about
            such a file.
    """
    if not isinstance(path, str | os.PathLike):
        raise InvalidInputError(f"read_motion: expected a path, got {path!r}")
    file = Path(path)
    scale = _unit(unit)
    choice("up", up, (None, "y", "z"))
    choice("rest_pose", rest_pose, REST_POSES)
    rate = None if fps is None else positive("fps", fps)
    beside = None if skeleton is None else path_of("skeleton", skeleton)
    extension = file.suffix.lower()
    given = {"unit": unit, "up": up, "fps": fps, "skeleton": skeleton, "static": static, "markers": markers}
    asked = [name for name, value in given.items() if value is not None] + ["rest_pose"] * (rest_pose != "auto")
    idle = [name for name in asked if name not in OPTIONS.get(extension, asked)]
    if idle:
        takes = ", ".join(OPTIONS[extension]) or "none"
        raise InvalidInputError(f"{file}: {', '.join(idle)}: not for {extension} files, whose options are {takes}")
    if extension == ".bvh":
        from ukemi.motion.bvh import read_bvh

        return read_bvh(file, unit=scale, up=up, rest_pose=rest_pose, fps=rate)
    if extension == ".amc":
        from ukemi.motion.amc import read_amc

        return read_amc(file, beside, unit=scale, up=up, fps=rate)
    if extension == ".npz":
        from ukemi.motion.archive import read_npz

        return read_npz(file)
    if extension in (".c3d", ".trc"):
        from ukemi.motion.marker_clip import clip_from_markers
        from ukemi.motion.marker_names import read_mapping
        from ukemi.motion.markers import read_markers

        mapping = markers if isinstance(markers, Mapping | None) else read_mapping(path_of("markers", markers))
        standing = None if static is None else read_markers(Path(static), names=mapping)
        return clip_from_markers(read_markers(file, up=up, names=mapping), standing, mapping)
    if extension in (".json", ".txt"):
        from ukemi.motion.deepmimic import read_deepmimic

        return read_deepmimic(file, rate)
    if extension in (".mot", ".sto"):
        from ukemi.motion.opensim import read_coordinates

        return read_coordinates(file, beside, fps=rate)
    raise InvalidInputError(
        f"{file}: expected a motion file that ends in .bvh, .amc, .npz, .c3d, .trc, .mot, .sto or .json"
    )


def _unit(unit: str | float | None) -> float | None:
    from ukemi.motion.guess import UNITS

    if unit is None:
        return None
    if isinstance(unit, str):
        if unit not in UNITS:
            raise InvalidInputError(f"unit: expected one of {', '.join(UNITS)} or metres per unit, got {unit!r}")
        return UNITS[unit]
    return positive("unit", unit)


def write_motion(clip: Clip, path: str | os.PathLike[str]) -> Path:
    """Writes a clip; returns the path.

    .bvh: in its own layout, unchanged motions to the last digit. .npz: everything, exactly. .csv: places of joints that
    move and all rotations (w, x, y, z) over time. .trc: places of all joints as markers, for OpenSim.
    """
    from ukemi.motion.clip import Clip

    of_kind("write_motion", clip, Clip)
    file = path_of("write_motion", path)
    extension = file.suffix.lower()
    if extension == ".bvh":
        from ukemi.motion.bvh_writer import write_bvh

        return write_bvh(clip, file)
    if extension == ".npz":
        from ukemi.motion.archive import write_npz

        return write_npz(clip, file)
    if extension == ".csv":
        from ukemi.motion.tables import write_table

        columns = {}
        for j, name in enumerate(clip.skeleton.names):
            for k, axis in enumerate("xyz" if j in clip.translations else ""):
                columns[f"{name}.{axis}"] = clip.translations[j][:, k]
            columns |= {f"{name}.q{axis}": clip.rotations[:, j, k] for k, axis in enumerate("wxyz")}
        return write_table(file, clip.start + clip.time, columns)
    if extension == ".trc":
        from ukemi.motion.markers import Markers, write_trc

        return write_trc(Markers(clip.skeleton.names, clip.fps, clip.positions, clip.start, name=clip.name), file)
    raise InvalidInputError(f"{file}: expected a file that ends in .bvh, .npz, .csv or .trc")
