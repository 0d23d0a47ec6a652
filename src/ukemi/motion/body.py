"""Which joint of a skeleton is which part of a body.

Only feet, hands, head and sides are known by name; everything between is found by the way the bones run: the pelvis is
where the legs meet, the chest where the arms meet, a limb's middle joint is the one that divides it most evenly. So
a joint named "LeftShoulder" may be a collar bone in one file and an upper arm in another.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from ukemi.errors import InvalidInputError, UnknownNameError
from ukemi.model.kinds import name_pairs
from ukemi.motion.clip import Skeleton

SIDES = ("left", "right")
FOOT, HAND, HEAD, NECK = r"foot|ankle|talus", r"hand|wrist", r"head|skull", r"neck"
TOES = r"toes?"
#: Bones that only share a limb's twist are no joints of their own.
TWIST = r"roll|twist|nub"
#: Parts that `body_parts` looks for; abdomen and toes may be missing.
PARTS = (
    "pelvis",
    "abdomen",
    "chest",
    "head",
    *(f"{s}_{p}" for s in SIDES for p in ("upper_arm", "forearm", "hand")),
    *(f"{s}_{p}" for s in SIDES for p in ("thigh", "shank", "foot", "toes")),
)


def words(name: str) -> list[str]:
    """A joint's name as lower-case words: ``mixamorig:LeftUpLeg`` is left, up, leg; ``lfemur`` is l, femur."""
    bare = re.split(r"[:|]", name)[-1]
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[^A-Za-z0-9]+", " ", bare).lower().split()
    if len(split) == 1:  # one lower-case word that begins with its side
        glued = re.fullmatch(r"(left|right|[lr])(\w*?(?:foot|ankle|toes?|hand|wrist|talus).*)", split[0])
        if glued:
            return [glued[1], glued[2]]
    return split


def side_of(name: str) -> str | None:
    """``"left"``, ``"right"`` or None."""
    for word in words(name):
        if word in ("left", "l", "lt"):
            return "left"
        if word in ("right", "r", "rt"):
            return "right"
    return None


def body_parts(skeleton: Skeleton, parts: Mapping[str, str] | None = None) -> dict[str, int]:
    """Part -> joint, for the parts of `PARTS` that the skeleton has.

    parts: names of joints that are known better, such as ``{"left_foot": "Bone23"}``.

    Raises:
        InvalidInputError: no joint looks like a foot, hand or head, or the limbs do not meet in a body.
    """
    given = name_pairs("parts", parts)
    for part in given:
        if part not in PARTS:
            raise UnknownNameError("body part", part, PARTS)
    found = {part: skeleton.index(name) for part, name in given.items()}
    headless = not any(re.search(HEAD, name, re.IGNORECASE) for name in skeleton.names)
    named: dict[str, tuple[str, str | None]] = {"head": (NECK if headless else HEAD, None)}
    named |= {f"{side}_{end}": (pattern, side) for side in SIDES for end, pattern in (("foot", FOOT), ("hand", HAND))}
    for part, (pattern, side) in named.items():
        if part not in found:
            found[part] = _first(skeleton, pattern, side)
    legs, arms = ([found[f"{side}_{end}"] for side in SIDES] for end in ("foot", "hand"))
    found.setdefault("pelvis", _pelvis(skeleton, legs, found["head"]))
    found.setdefault("chest", _meeting(skeleton, [*arms, found["head"]]))
    if found["pelvis"] == found["chest"]:
        raise InvalidInputError("the arms hang on the pelvis: expected a spine between them")
    for side in SIDES:
        _limb(skeleton, found, "pelvis", f"{side}_foot", (f"{side}_thigh", f"{side}_shank"))
        _limb(skeleton, found, "chest", f"{side}_hand", (f"{side}_upper_arm", f"{side}_forearm"))
        foot = found[f"{side}_foot"]
        toes = [j for j in skeleton.children[foot] if _bone(skeleton, j) > 0]
        # between talus and toes there may be a heel
        below = [k for j in toes for k in skeleton.children[j] if re.match(TOES, skeleton.names[k], re.IGNORECASE)]
        toes = below if not any(re.search(TOES, skeleton.names[j], re.IGNORECASE) for j in toes) and below else toes
        if f"{side}_toes" not in found and toes:
            found[f"{side}_toes"] = max(toes, key=lambda j: _bone(skeleton, j))
    spine = _between(skeleton, found["pelvis"], found["chest"])
    if "abdomen" not in found and spine:
        found["abdomen"] = spine[0]
    return {part: found[part] for part in PARTS if part in found}


def _first(skeleton: Skeleton, pattern: str, side: str | None) -> int:
    """The joint nearest to the root that is named so; fingers of a hand come after the hand."""
    for j, name in enumerate(skeleton.names):
        if re.search(pattern, name, flags=re.IGNORECASE) and (side is None or side_of(name) == side):
            return j
    what = f"{side} " if side else ""
    raise InvalidInputError(
        f"no joint looks like a {what}{pattern.split('|')[0]}; there are {', '.join(skeleton.names[:40])}: "
        "say which it is with parts={...}"
    )


def _meeting(skeleton: Skeleton, joints: list[int]) -> int:
    """The last joint that is on the way to all of these."""
    ways = [skeleton.path(j) for j in joints]
    shared = [step[0] for step in zip(*ways, strict=False) if len(set(step)) == 1]
    return shared[-1]


def _pelvis(skeleton: Skeleton, feet: list[int], head: int) -> int:
    return _meeting(skeleton, [*feet, head])


def _bone(skeleton: Skeleton, joint: int) -> float:
    return float(np.linalg.norm(skeleton.offsets[joint]))


def _between(skeleton: Skeleton, above: int, below: int) -> list[int]:
    """Joints on the way from one to the other, both left out, that stand apart from the one before."""
    way = skeleton.path(below)
    if above not in way:
        names = skeleton.names
        raise InvalidInputError(
            f"{names[below]!r} does not hang on {names[above]!r}: say which joint it is with parts={{...}}"
        )
    inner = way[way.index(above) + 1 : -1]
    scale = np.linalg.norm(skeleton.offsets, axis=1).max()
    return [
        j
        for j in inner
        if _bone(skeleton, j) > 1e-3 * scale and not re.search(TWIST, skeleton.names[j], flags=re.IGNORECASE)
    ]


def _limb(skeleton: Skeleton, found: dict[str, int], trunk: str, end: str, names: tuple[str, str]) -> None:
    """The upper and lower part of a limb: of all pairs, the one of most equal length."""
    upper, lower = names
    if upper in found and lower in found:
        return
    inner = _between(skeleton, found[trunk], found[end])
    way = skeleton.path(found[end])
    along = np.cumsum([_bone(skeleton, j) for j in way])
    place = {j: float(along[k]) for k, j in enumerate(way)}
    tip = place[found[end]]
    pairs = [(a, b) for k, a in enumerate(inner) for b in inner[k + 1 :]]
    if not pairs:
        raise InvalidInputError(
            f"expected two joints between the {trunk} and {skeleton.names[found[end]]!r}, got "
            f"{', '.join(skeleton.names[j] for j in inner) or 'none'}"
        )

    def unevenness(pair: tuple[int, int]) -> float:
        return abs(float(np.log((place[pair[1]] - place[pair[0]]) / max(tip - place[pair[1]], 1e-12))))

    best = min(pairs, key=unevenness)
    found.setdefault(upper, best[0])
    found.setdefault(lower, best[1])
