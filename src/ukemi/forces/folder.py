"""Trials with force plates in a folder: which motion belongs to which plates, and whose they are."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from ukemi.errors import FileFormatError
from ukemi.model.figures.anthropometry import DE_LEVA, Sex
from ukemi.model.kinds import choice

#: What a file of plates is called, besides the trial's name; what a motion is called.
PLATES = re.compile(r"_*(grf|forces?|ground_?forces?|plates?)\d*$", re.IGNORECASE)
MOTION = re.compile(r"_*(ik|markers?|motion|motion_capture|kinematics)$", re.IGNORECASE)
#: What `ukemi forces` writes beside a motion.
WRITTEN = ("ground_forces", "plates_on_feet", "joint_moments", "joint_moments_plates", "id", "id_opensim", "ik")
#: Words of a trial's name -> what the person does, the first that fits.
ACTIVITIES = {
    "run": r"(?<![a-z])(run|sprint|jog)",
    "jump": r"(?<![a-z])(jump|dj|hop|land)",
    "squat": r"(?<![a-z])(squat|sit|sts|chair|lunge)",
    "walk": r"(?<![a-z])(walk|gait|tread|turn)",
}


@dataclass(frozen=True)
class FolderTrial:
    """A motion and the plates under it. plates: None where they are in the motion's own file (C3D)."""

    name: str
    motion: Path
    plates: Path | None
    skeleton: Path | None = None
    static: Path | None = None
    mass: float | None = None
    height: float | None = None
    sex: Sex = "male"

    @property
    def activity(self) -> str:
        """By words of the trial's name, or its folder's."""
        for text in (self.motion.stem, self.motion.parent.name):
            for activity, words in ACTIVITIES.items():
                if re.search(words, text, re.IGNORECASE):
                    return activity
        return "other"

    @property
    def source(self) -> str:
        """``"markers"`` or ``"ik"``."""
        return "ik" if self.motion.suffix.lower() in (".mot", ".sto") else "markers"


def find_trials(folder: Path) -> list[FolderTrial]:
    """Every motion below a folder with the plates beside it: names that are the same but for ``_grf``, ``_ik`` ...

    A ``subject.json`` beside them may say ``sex``, ``massKg`` and ``heightM``; the only .osim beside is the skeleton of
    coordinates; a file with "static" in its name is the standing trial of markers.
    """
    found = []
    for place in sorted({file.parent for file in folder.rglob("*") if file.is_file()}):
        files = sorted(file for file in place.iterdir() if file.suffix.lower() in (".mot", ".sto", ".trc", ".c3d"))
        about = _subject(place)
        models = sorted(place.glob("*.osim"))
        static = next((f for f in files if "static" in f.name.lower() and f.suffix.lower() in (".trc", ".c3d")), None)
        plates = {
            _bare(PLATES, f): f
            for f in files
            if re.search(r"grf|force|plate", f.stem, re.IGNORECASE) and f.suffix.lower() in (".mot", ".sto")
        }
        for file in files:
            if file in plates.values() or file == static or file.stem in WRITTEN or re.search(r"_(id|so)$", file.stem):
                continue
            mine = plates.get(_bare(MOTION, file)) or _only_alike(plates, file)
            if mine is None and file.suffix.lower() != ".c3d":
                continue
            ik = file.suffix.lower() in (".mot", ".sto")
            skeleton = models[0] if ik and len(models) == 1 else None
            name = str((file.parent / file.stem).relative_to(folder))
            found.append(FolderTrial(name, file, mine, skeleton, None if ik else static, *about))
    return found


def _bare(words: re.Pattern[str], file: Path) -> str:
    return words.sub("", file.stem).lower()


def _only_alike(plates: dict[str, Path], file: Path) -> Path | None:
    """The only plates of the folder, where theirs and the motion's names share their last word: ``grf_run`` and
    ``motion_capture_run``."""
    word = re.split(r"[_\W]", file.stem)[-1].lower()
    alike = [path for path in plates.values() if word and word in re.split(r"[_\W]", path.stem.lower())]
    return alike[0] if len(alike) == 1 else None


def _subject(place: Path) -> tuple[float | None, float | None, Sex]:
    """Mass [kg], height [m] and sex."""
    file = place / "subject.json"
    if not file.exists():
        return None, None, "male"
    try:
        said = json.loads(file.read_text(encoding="utf-8"))
        mass, height = float(said["massKg"]), float(said["heightM"])
    except (ValueError, KeyError, TypeError) as cause:
        raise FileFormatError(file, None, "expected numbers massKg and heightM, and sex") from cause
    choice("sex", said.get("sex", "male"), DE_LEVA)
    return mass, height, said.get("sex", "male")
