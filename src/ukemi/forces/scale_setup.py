"""How a generic model is scaled to a person: setup files of OpenSim's ScaleTool."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ukemi.errors import FileFormatError
from ukemi.forces.ik_tasks import Tasks, tasks_of
from ukemi.model.readers.osim_text import flag, floats, number, word_of, words_of
from ukemi.model.readers.xmltree import Element, read_xml

ALWAYS = (float("-inf"), float("inf"))
NO_FILE = ("", "Unassigned")


@dataclass(frozen=True)
class Measurement:
    """A length of the person by that of the model: the mean ratio over pairs of markers scales axes of bodies."""

    name: str
    pairs: tuple[tuple[str, str], ...]
    axes: Mapping[str, tuple[int, ...]]  # body -> 0, 1, 2


@dataclass(frozen=True)
class ScaleSetup:
    """What a ScaleTool shall do.

    order: "measurements", "manualScale". manual: body -> factors. mass: of the person [kg], or None.
    preserve_mass: whether segments keep their shares of the mass. measure, place: times of the static trial [s].
    tasks: of the static pose; None where markers are not placed. marker_set, static: files, if it names them.
    """

    measurements: tuple[Measurement, ...] = ()
    manual: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    order: tuple[str, ...] = ("measurements",)
    mass: float | None = None
    preserve_mass: bool = True
    measure: tuple[float, float] = ALWAYS
    place: tuple[float, float] = ALWAYS
    tasks: Tasks | None = field(default_factory=Tasks)
    move_markers: bool = True
    marker_set: Path | None = None
    static: Path | None = None


def read_scale_setup(path: str | Path) -> ScaleSetup:
    """The setup in an .xml with a <ScaleTool>; files in it are beside it.

    Raises:
        FileFormatError: a file that cannot be read, with its line.
    """
    file = Path(path)
    root = read_xml(file)
    tool = next((element for element in root.walk() if element.tag == "ScaleTool"), None)
    if tool is None:
        raise FileFormatError(file, None, "no <ScaleTool>: expected a setup file of OpenSim's scaling")
    maker, scaler, placer = (tool.one(tag) for tag in ("GenericModelMaker", "ModelScaler", "MarkerPlacer"))
    scaling = scaler if scaler is not None and flag(scaler, "apply", True) else None
    placing = placer if placer is not None and flag(placer, "apply", True) else None
    order = () if scaling is None else tuple(words_of(scaling, "scaling_order"))
    for word in order:
        if word not in ("measurements", "manualScale"):
            raise tool.error(f"<scaling_order>: expected measurements and manualScale, got {word[:40]!r}")
    task_set = None if placing is None else placing.one("IKTaskSet")
    tasks = None if placing is None else Tasks() if task_set is None else tasks_of(task_set)
    mass = number(tool, "mass", -1.0)
    return ScaleSetup(
        measurements=tuple(_measurements(scaling)),
        manual=dict(_manual(scaling)),
        order=order,
        mass=mass if mass > 0 else None,
        preserve_mass=scaling is not None and flag(scaling, "preserve_mass_distribution"),
        measure=_times(scaling),
        place=_times(placing),
        tasks=tasks,
        move_markers=placing is not None and flag(placing, "move_model_markers", True),
        marker_set=_file(maker, "marker_set_file"),
        static=_file(placing, "marker_file") or _file(scaling, "marker_file"),
    )


def _objects(holder: Element | None, *tags: str) -> list[Element]:
    """The objects in a set, or in a set in a set."""
    for tag in tags:
        holder = None if holder is None else holder.one(tag)
    inner = None if holder is None else holder.one("objects")
    return [] if inner is None else inner.children


def _measurements(scaler: Element | None) -> Iterator[Measurement]:
    for element in _objects(scaler, "MeasurementSet"):
        if not flag(element, "apply", True):
            continue
        pairs = []
        for pair in _objects(element, "MarkerPairSet"):
            names = words_of(pair, "markers")
            if len(names) != 2:
                raise pair.error(f"<markers>: expected two names, got {' '.join(names)[:80]!r}")
            pairs.append((names[0], names[1]))
        axes = {
            body.text("name"): tuple("XYZ".index(a) for a in words_of(body, "axes") if a in "XYZ")
            for body in _objects(element, "BodyScaleSet")
        }
        if pairs:
            yield Measurement(element.attributes.get("name", ""), tuple(pairs), axes)


def _manual(scaler: Element | None) -> Iterator[tuple[str, tuple[float, ...]]]:
    for element in _objects(scaler, "ScaleSet"):
        if flag(element, "apply", True):
            yield word_of(element, "segment"), tuple(float(x) for x in floats(element, "scales", 3))


def _times(element: Element | None) -> tuple[float, float]:
    if element is None or not words_of(element, "time_range"):
        return ALWAYS
    first, last = floats(element, "time_range", 2)
    return (float(first), float(last)) if last >= first and last >= 0 else ALWAYS


def _file(element: Element | None, tag: str) -> Path | None:
    name = "" if element is None else " ".join(words_of(element, tag))
    return None if element is None or name in NO_FILE else element.path.parent / name
