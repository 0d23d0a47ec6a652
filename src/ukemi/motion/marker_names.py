"""Which marker of a capture is which place on the body: names that laboratories use, as one table.

Labels are compared without their subject's name, case, dots, underscores and spaces, and with their side taken off,
which stands first or last: ``Walker:LKNE``, ``L.Knee.Lat``, ``r_knee``, ``ASISr``, ``LeftHipCenter``. Known are
Plug-in Gait and Helen Hayes (Davis 1991), CAST (Cappozzo 1995, van Sint Jan 2007: FLE, FAL, FCC, ...), IOR (Leardini
2007), Qualisys' sports and gait sets, CMU, OpenCap, and the sets of OpenSim's laboratories (gait2392, Hamner, Arnold,
Rajagopal). What no name tells a mapping does: label -> landmark.
"""

from __future__ import annotations

import csv
import os
import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ukemi.errors import FileFormatError, InvalidInputError, UkemiWarning, UnknownNameError
from ukemi.motion.text import read_text

SIDES = ("left", "right")
#: Letters a label needs before its side may stand behind them.
SHORTEST = 4
#: Landmark -> labels without their side; the first that a capture has is taken.
SIDED = {
    "asis": "ASI ASIS IAS SIAS EIAS EAS FWT",
    "psis": "PSI PSIS IPS SIPS EIPS EPS BWT",
    "hip": "HJC HIPJC HIPJOINTCENTER HIPJOINTCENTRE HIPCENTER HIPCENTRE HJCREG",
    "knee": "KJC KNEEJC KNEEJOINT KNEEJOINTCENTER KNEEJOINTCENTRE KNEECENTER KNEECENTRE",
    "knee_lateral": "KNEELAT KNEELATERAL LATKNEE LATERALKNEE KNEEOUT LFC FLE LEPI LKNE LKN KNEL KNEELATEPI LFE LCON "
    "CONDL KNE KNEE LEK LK LE CL",
    "knee_medial": "KNEEMED KNEEMEDIAL MEDKNEE MEDIALKNEE KNEEIN KNEIN KNEI KNI MFC FME MEPI MKNE MKNEE MKN KNEM "
    "KNEMED MEDKN MFE MCON CONDM KNM MEK MK ME CM",
    "ankle": "AJC ANKLEJC ANKLEJOINT ANKLEJOINTCENTER ANKLEJOINTCENTRE ANKLECENTER ANKLECENTRE",
    "ankle_lateral": "ANKLELAT ANKLELATERAL LATANKLE LATERALANKLE ANKLEOUT LMAL LMALL MALL MALLAT LATMAL FAL LAK LANK "
    "ANKL LM ANK ANKLE LA ML",
    "ankle_medial": "ANKLEMED ANKLEMEDIAL MEDANKLE MEDIALANKLE ANKLEIN ANKIN ANKI MMAL MALM MALMED MEDMAL TAM MANK "
    "MANKLE MAK MEDANK ANKM MED MMA ANM MM MA",
    "heel": "HEE HEEL HEL CAL CALC CALCA CALCANEUS FCC CA CPG",
    "toe": "TOE TOETIP MT2 M2 MTP2 MET2 MTH2 FM2 DMT2 D2MT DMT23 2META META2 2MT SM MTP HALLUX HAL HLX",
    "toe_first": "MT1 M1 MTP1 MET1 MTH1 FM1 D1M 1META META1 1MT TOEMED MEDTOE TOEMEDIAL FOOTMED FOOTMEDIAL MEDFOOT FM "
    "P1MT P1M",
    "toe_fifth": "MT5 M5 MTP5 MET5 MTH5 FM5 D5M 5META META5 5MT TOELAT LATTOE LATOE TOELATERAL FOOTLAT FOOTLATERAL "
    "LATFOOT LATERALFOOT VM P5MT P5M",
    "shoulder": "SJC SHOULDERJC SHOULDERJOINT SHOULDERCENTER",
    "acromion": "ACR AC ACROMION ACROMIUM ACROM ACRO SHO SHOULDER SHOULD SHD SHL SH",
    "acromion_front": "FSH ASH SHOA",
    "acromion_back": "BSH PSH SHOP",
    "clavicle_end": "STERNUM CLAVICLE STER SC",
    "elbow": "EJC ELBOWJC ELBOWJOINT ELBOWCENTER",
    "elbow_lateral": "ELBOWLAT ELBOWLATERAL LATELBOW LATERALELBOW ELBLAT LEL HLE LHE LEE ELL LELB EPILAT LATEPI CUBL "
    "COUD COU LATERALEPICONDYLE ELB ELBOW LE",
    "elbow_medial": "ELBOWMED ELBOWMEDIAL MEDELBOW MEDIALELBOW ELBMED MEL HME MHE MEE ELM MELB MELBOW EPIMED MEDEPI "
    "CUBM COUDINT ELBIN IEL MEDIALEPICONDYLE ME",
    "wrist": "WJC WRISTJC",
    "wrist_lateral": "WRA WRISTLAT WRISTLATERAL WRISTRAD WRISTRADIUS FARADIUS RSP WRL WRLA WRR LWR LW OWR RADIUS RAD "
    "RADIALSTYLOID WRIST WRI WR",
    "wrist_medial": "WRB WRISTMED WRISTMEDIAL WRISTULN WRISTULNA FAULNA USP WRM WRU MWR MW IWR ULNA ULN ULNARSTYLOID",
}
#: The same for places in the middle.
MIDDLE = {
    "sacrum": "SACR SACRUM VSACRAL VSAC SACRAL SAC MPSI MIDPSIS S1 S2",
    "c7": "C7 CV7 C07",
    "t10": "T10 TV10 T9 T8 TV8 T7 TV7 T12",
    "clavicle": "CLAV SJN IJ MAN JN STERNOTCH STERNNOTCH JUGULAR MIDCLAVICLE",
    "sternum": "STRN SXS PX XIPH XIPHOID XYPH STERN STER STERNUM",
}
#: Segment -> labels of what only shows how it moves, without their side.
TRACKERS = {
    "thigh": r"TH\d+|THI\d*|TH|THIGH.*|TH[LA][PD]?|THOL|FTHI|POSTFEM|ANTFEM|BAR1|FEMUR\d*|TR|TRO\w*|GT|GTRO?|F0\d|PAT",
    "shank": r"TB\d+|TIB\d*|TIBL|SHN|SH\d+|SHANK.*|SK\d*|TIA[PD]|TILAT|LEG\d+|SHAOL|SHA\d*|POSTTIB|ANTTIB|BAR2|TIBIA\d*"
    r"|ATI|T0\d|TT|TUB|HF|HFB|FIB.*|TIBTUBERCLE|MIDSHANK|DISTALSHANK",
    "foot": r"MF[SL]|MIDFOOT.*|CUN|NAV|STL|[LP]CA|FOOT\d*|FOO|POSTERIORFOOT|FT\d",
    "upper_arm": r"UA\d+|UPA|UP\d+|UPPERARM.*|BICEPS?|HUMERUS.*|ARM|UAOL|DELT",
    "forearm": r"FA\d+|FRM|FRA|FR\d+|FOREARM.*|FASUPERIOR|LA\d+|LAOL",
}
#: The same for pelvis and head, whose labels may have a side.
BODIES = {
    "pelvis": r"P\d|PV\d|PELVIS\d|SACR?\d|ILC|ILIACCREST|[LR]ILC|[LR]ILIACCREST|MWT",
    "head": r"[LR][FB]HD|TOPHEAD|[LR]TEMPLE|HEAD.*|[LRFT]HEAD|ARIEL|SGL|[LR]AH|GLAB|TETE.*|[LR]HEAD",
}
LANDMARKS = (
    *(f"{side}_{name}" for side in SIDES for name in (*SIDED, *TRACKERS)),
    *MIDDLE,
    *BODIES,
)


@dataclass(frozen=True)
class MarkerNames:
    """Landmark -> label, and segment -> labels of its other markers (``left_thigh``, ``pelvis``, ``head``, ...)."""

    landmarks: dict[str, str]
    trackers: dict[str, tuple[str, ...]]

    def swapped(self) -> MarkerNames:
        """With left and right exchanged."""
        return MarkerNames(
            {other_side(name): label for name, label in self.landmarks.items()},
            {other_side(name): labels for name, labels in self.trackers.items()},
        )


def other_side(name: str) -> str:
    for side, other in (SIDES, SIDES[::-1]):
        if name.startswith(side):
            return other + name[len(side) :]
    return name


def marker_names(labels: Sequence[str], mapping: Mapping[str, str] | None = None) -> MarkerNames:
    """What is known of labels by name; of several subjects, of the one with most landmarks.

    mapping: label -> landmark of `LANDMARKS`, or an empty text for a marker to be left out; it is asked first.
    """
    given = _checked(labels, mapping or {})
    subjects: dict[str, list[str]] = {}
    for label in labels:
        subjects.setdefault(label.rpartition(":")[0], []).append(label)
    found = [_of_one(group, given) for group in subjects.values()]
    best = max(found, key=lambda names: len(names.landmarks))
    rivals = [name for name, names in zip(subjects, found, strict=True) if len(names.landmarks) > 10 + len(given)]
    if len(rivals) > 1:
        chosen = list(subjects)[found.index(best)]
        warnings.warn(f"markers of {', '.join(rivals)}: read are those of {chosen}", UkemiWarning, stacklevel=3)
    return best


def _checked(labels: Sequence[str], mapping: Mapping[str, str]) -> dict[str, str]:
    for landmark in mapping.values():
        if landmark and landmark not in LANDMARKS:
            raise UnknownNameError("landmark", landmark, LANDMARKS)
    absent = [label for label in mapping if label not in labels]
    if mapping and len(absent) == len(mapping):
        raise UnknownNameError("marker", absent[0], labels)
    if absent:
        warnings.warn(f"markers that are mapped but not there: {', '.join(absent)}", UkemiWarning, stacklevel=4)
    return {label: landmark for label, landmark in mapping.items() if label in labels}


def _of_one(labels: Sequence[str], given: Mapping[str, str]) -> MarkerNames:
    landmarks: dict[str, str] = {}
    trackers: dict[str, tuple[str, ...]] = {}
    for label, landmark in given.items():
        if landmark:
            if landmark.rpartition("_")[2] in TRACKERS or landmark.endswith("upper_arm") or landmark in BODIES:
                trackers[landmark] = (*trackers.get(landmark, ()), label)
            else:
                landmarks[landmark] = label
    free = {plain(label): label for label in reversed(labels) if label not in given}
    free = {bare: label for bare, label in free.items() if not _is_axis(bare, free)}
    for name, aliases in MIDDLE.items():
        _take(free, landmarks, name, aliases.split())
    for name, aliases in SIDED.items():
        for side in SIDES:
            _take(free, landmarks, f"{side}_{name}", [form for a in aliases.split() for form in _forms(side, a)])
    for bare, label in list(free.items()):
        for segment in _segments(bare):
            trackers[segment] = (*trackers.get(segment, ()), label)
            break
    return MarkerNames(landmarks, trackers)


def _is_axis(bare: str, labels: Collection[str]) -> bool:
    """Whether this is the origin or an axis of a segment, as Plug-in Gait writes them: LFEO, LFEA, LFEL, LFEP."""
    return len(bare) == 4 and bare[3] in "OALP" and all(bare[:3] + end in labels for end in "OALP")


def _take(free: dict[str, str], landmarks: dict[str, str], name: str, forms: Sequence[str]) -> None:
    form = next((form for form in forms if form in free), None)
    if form is not None and name not in landmarks:
        landmarks[name] = free.pop(form)


def _forms(side: str, alias: str) -> tuple[str, ...]:
    """How a label with its side may be written, the usual first."""
    letter, word = side[0].upper(), side.upper()
    # short names with their side behind them are others' names: LAC, SHL
    behind = (f"{alias}{letter}", f"{alias}{word}") if len(alias) >= SHORTEST else ()
    return (f"{letter}{alias}", f"{word}{alias}", *behind)


def _segments(bare: str) -> list[str]:
    found = [name for name, pattern in BODIES.items() if re.fullmatch(pattern, bare)]
    for name, pattern in TRACKERS.items():
        for side in SIDES:
            letter, word = side[0].upper(), side.upper()
            if re.fullmatch(f"(?:{letter}|{word})(?:{pattern})|(?:{pattern})(?:{letter}|{word})", bare):
                found.append(f"{side}_{name}")
    return found


def plain(label: str) -> str:
    """A label without its subject, in capitals and digits alone."""
    return re.sub(r"[^A-Z0-9]", "", label.rpartition(":")[2].upper())


def read_mapping(path: str | os.PathLike[str]) -> dict[str, str]:
    """Label -> landmark from a CSV file of two columns, ``label,landmark`` in its first line or not."""
    file = Path(path)
    found: dict[str, str] = {}
    for number, row in enumerate(csv.reader(read_text(file).splitlines()), 1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or cells[0].startswith("#") or (number == 1 and cells[-1].lower() == "landmark"):
            continue
        if len(cells) != 2 or not cells[0]:
            raise FileFormatError(file, number, f"expected 'label,landmark', got {','.join(row)[:60]!r}")
        if cells[1] and cells[1] not in LANDMARKS:
            raise FileFormatError(file, number, str(UnknownNameError("landmark", cells[1], LANDMARKS)))
        found[cells[0]] = cells[1]
    if not found:
        raise InvalidInputError(f"{file}: no lines 'label,landmark'")
    return found
