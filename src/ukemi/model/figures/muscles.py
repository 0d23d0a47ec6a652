"""Muscles of the hand as data: [HAND07] Table 2-I (extrinsic) and Table 2-II (intrinsic), and their tendons.

Moment arms of flexor digitorum profundus and superficialis at the fingers: Ketchum et al. (1978), as tabulated in
Fundamentals and Assessment Tools for Occupational Ergonomics, Table 45.3. All other arms and all largest forces are
estimates of ours (``estimated``), of the size that anatomy gives. Real arms vary with the angle; these are constants.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ukemi.model.figures.hand_data import FINGERS

Group = Literal["extrinsic", "intrinsic"]


@dataclass(frozen=True)
class Muscle:
    """A row of [HAND07] Table 2-I or 2-II: what it does, and the joints it acts on."""

    short: str
    name: str
    group: Group
    action: str
    joints: str


#: Palmaris longus flexes the wrist; the print has "extend" (docs/errata.md). The abductor of the little finger stands
#: twice in Table 2-II and once here.
MUSCLES: tuple[Muscle, ...] = (
    Muscle("EDC", "extensor digitorum", "extrinsic", "extends the four fingers together", "both IP joints"),
    Muscle("EI", "extensor indicis", "extrinsic", "extends the index", "distal IP joint"),
    Muscle("EDM", "extensor digiti minimi", "extrinsic", "extends the little finger", "distal IP joint"),
    Muscle("ECR", "extensor carpi radialis", "extrinsic", "extends and abducts the hand", "wrist"),
    Muscle("ECU", "extensor carpi ulnaris", "extrinsic", "extends and adducts the hand", "wrist"),
    Muscle("PL", "palmaris longus", "extrinsic", "flexes the hand", "wrist"),
    Muscle("EPL", "extensor pollicis longus", "extrinsic", "extends the thumb", "thumb IP joint"),
    Muscle("EPB", "extensor pollicis brevis", "extrinsic", "extends the thumb", "thumb MCP joint"),
    Muscle("FDP", "flexor digitorum profundus", "extrinsic", "flexes the four fingers together", "distal IP joints"),
    Muscle(
        "FDS", "flexor digitorum superficialis", "extrinsic", "flexes the four fingers together", "proximal IP joints"
    ),
    Muscle("FCR", "flexor carpi radialis", "extrinsic", "flexes and abducts the hand", "wrist"),
    Muscle("FCU", "flexor carpi ulnaris", "extrinsic", "flexes and adducts the hand", "wrist"),
    Muscle("FPL", "flexor pollicis longus", "extrinsic", "flexes the thumb", "thumb IP joint"),
    Muscle("APL", "abductor pollicis longus", "extrinsic", "abducts and extends the thumb", "thumb CMC joint"),
    Muscle(
        "PI",
        "palmar interossei",
        "intrinsic",
        "adduct index, ring and little finger towards the middle one; help to flex MCP and extend IP joints",
        "MCP joints of index, ring and little finger",
    ),
    Muscle(
        "LU", "lumbricals", "intrinsic", "extend the IP and flex the MCP joints", "MCP and IP joints of the fingers"
    ),
    Muscle("ODM", "opponens digiti minimi", "intrinsic", "opposes the little finger to the thumb", "little CMC joint"),
    Muscle("ADM", "abductor digiti minimi", "intrinsic", "abducts the little finger", "little MCP joint"),
    Muscle(
        "FDM", "flexor digiti minimi", "intrinsic", "flexes the little finger, helps its opponens", "little MCP joint"
    ),
    Muscle(
        "AdP", "adductor pollicis", "intrinsic", "adducts the thumb's metacarpal, flexes", "thumb CMC and MCP joints"
    ),
    Muscle("FPB", "flexor pollicis brevis", "intrinsic", "flexes the thumb", "thumb MCP joint"),
    Muscle("APB", "abductor pollicis brevis", "intrinsic", "abducts and extends the thumb", "thumb MCP joint"),
    Muscle("OP", "opponens pollicis", "intrinsic", "opposes the thumb to the little finger", "thumb CMC joint"),
    Muscle(
        "DI",
        "dorsal interossei",
        "intrinsic",
        "abduct index, middle and ring finger from the middle one; help to flex MCP and extend IP joints",
        "MCP joints of index, middle and ring finger",
    ),
)


@dataclass(frozen=True)
class Tendon:
    """One slip of a muscle: it pulls with one force.

    arms: {(joint, freedom): moment arm [m]}, of a hand of the reference length; positive turns towards positive angles
        (adduction towards the little finger; flexion; the thumb's opposition and lifting).
    estimated: whether the arms are estimates; largest forces [N] always are.
    """

    name: str
    muscle: str
    arms: dict[tuple[str, int], float]
    largest: float
    estimated: bool = True


#: Ketchum et al. 1978 [mm]: FDP at DIP, PIP, MCP; FDS at PIP, MCP.
_FLEXOR_ARMS = {
    "index": (6.5, 9.8, 10.1, 8.3, 12.1),
    "middle": (7.0, 10.7, 11.6, 8.7, 14.0),
    "ring": (6.8, 10.4, 10.4, 8.5, 13.0),
    "little": (6.0, 8.5, 8.9, 7.4, 9.8),
}
#: Interossei: finger, and the side they pull to (1: towards the little finger).
_INTEROSSEI = {
    "DI1": ("index", -1, 60.0),
    "DI2": ("middle", -1, 40.0),
    "DI3": ("middle", 1, 35.0),
    "DI4": ("ring", 1, 30.0),
    "PI1": ("index", 1, 25.0),
    "PI2": ("ring", -1, 20.0),
    "PI3": ("little", -1, 20.0),
}


def _mm(**arms: float) -> dict[tuple[str, int], float]:
    """Arms by names such as index_mcp (flexion) or wrist_side (first freedom of a universal joint), given in mm."""
    found = {}
    for name, arm in arms.items():
        side, joint = name.endswith("_side"), name.removesuffix("_side")
        found[joint, 0 if side or not (joint == "wrist" or joint in _KNUCKLES) else 1] = 1e-3 * arm
    return found


_KNUCKLES = {f"{finger}_mcp" for finger in FINGERS}


def _tendons() -> Iterator[Tendon]:
    for f in FINGERS:
        dip, pip, mcp, superficial_pip, superficial_mcp = _FLEXOR_ARMS[f]
        # the wrist's arms (12, 14 mm) are estimates here too
        deep = {f"{f}_dip": dip, f"{f}_pip": pip, f"{f}_mcp": mcp, "wrist": 12.0}
        yield Tendon(f"FDP_{f}", "FDP", _mm(**deep), 70.0, estimated=False)
        shallow = {f"{f}_pip": superficial_pip, f"{f}_mcp": superficial_mcp, "wrist": 14.0}
        yield Tendon(f"FDS_{f}", "FDS", _mm(**shallow), 65.0, estimated=False)
        back = {f"{f}_dip": -2.0, f"{f}_pip": -4.0, f"{f}_mcp": -8.5, "wrist": -15.0}
        yield Tendon(f"EDC_{f}", "EDC", _mm(**back), 25.0)
        if f in ("index", "little"):
            yield Tendon("EI" if f == "index" else "EDM", "EI" if f == "index" else "EDM", _mm(**back), 20.0)
        worm = {f"{f}_dip": -1.0, f"{f}_pip": -2.0, f"{f}_mcp": 8.0, f"{f}_mcp_side": -4.0}
        yield Tendon(f"LU_{f}", "LU", _mm(**worm), 6.0)
    for name, (digit, side, force) in _INTEROSSEI.items():
        between = {f"{digit}_dip": -1.0, f"{digit}_pip": -2.0, f"{digit}_mcp": 5.0, f"{digit}_mcp_side": 6.0 * side}
        yield Tendon(name, name[:2], _mm(**between), force)
    yield Tendon("ADM", "ADM", _mm(little_mcp=3.0, little_mcp_side=6.0), 35.0)
    yield Tendon("FDM", "FDM", _mm(little_mcp=7.0), 15.0)
    yield Tendon("ECR", "ECR", _mm(wrist=-12.0, wrist_side=-16.0), 150.0)
    yield Tendon("ECU", "ECU", _mm(wrist=-6.0, wrist_side=22.0), 100.0)
    yield Tendon("PL", "PL", _mm(wrist=17.0), 30.0)
    yield Tendon("FCR", "FCR", _mm(wrist=15.0, wrist_side=-8.0), 80.0)
    yield Tendon("FCU", "FCU", _mm(wrist=16.0, wrist_side=14.0), 120.0)
    yield Tendon("FPL", "FPL", _mm(thumb_ip=7.0, thumb_mcp=10.0, thumb_cmc2=-12.0, thumb_cmc1=3.0, wrist=12.0), 75.0)
    yield Tendon("EPL", "EPL", _mm(thumb_ip=-4.0, thumb_mcp=-7.0, thumb_cmc2=6.0, thumb_cmc1=-8.0, wrist=-9.0), 30.0)
    yield Tendon("EPB", "EPB", _mm(thumb_mcp=-7.0, thumb_cmc2=12.0, wrist_side=-18.0), 15.0)
    yield Tendon("APL", "APL", _mm(thumb_cmc2=9.0, thumb_cmc1=4.0, wrist_side=-20.0, wrist=6.0), 60.0)
    yield Tendon("AdP", "AdP", _mm(thumb_cmc2=-20.0, thumb_cmc1=-4.0, thumb_mcp=6.0), 80.0)
    yield Tendon("FPB", "FPB", _mm(thumb_mcp=6.0, thumb_cmc1=8.0, thumb_cmc2=-6.0), 40.0)
    yield Tendon("APB", "APB", _mm(thumb_cmc1=14.0, thumb_mcp=-1.0), 25.0)
    yield Tendon("OP", "OP", _mm(thumb_cmc1=11.0, thumb_cmc2=-4.0), 35.0)


#: One row per slip. The opponens of the little finger has none: its CMC joint is not in the model [HAND07 5.4.1].
TENDONS: tuple[Tendon, ...] = tuple(_tendons())
