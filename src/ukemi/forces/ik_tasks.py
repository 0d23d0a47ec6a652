"""What inverse kinematics shall follow: weights of markers and coordinates, from files of OpenSim or a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ukemi.errors import FileFormatError, InvalidInputError
from ukemi.model.readers.osim_text import flag, number, word_of
from ukemi.model.readers.xmltree import Element, read_xml
from ukemi.motion.text import read_text


@dataclass(frozen=True)
class Tasks:
    """Weights of the squared errors.

    markers: name -> weight. others: that of markers that are not named; 0 leaves them out. coordinates: name ->
    (value [rad, m] or None for the model's default, weight). With W the sum of the weights of the markers that a frame
    has, sum w |error|^2 / W + sum w (q - value)^2 is made small, as OpenSim has it.
    """

    markers: Mapping[str, float] = field(default_factory=dict)
    others: float = 1.0
    coordinates: Mapping[str, tuple[float | None, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        weights = {**self.markers, "others": self.others, **{k: w for k, (_, w) in self.coordinates.items()}}
        for name, weight in weights.items():
            if not 0 <= weight < float("inf"):
                raise InvalidInputError(f"Tasks: weight of {name!r}: expected zero or more, got {weight:g}")

    def weight(self, marker: str) -> float:
        return self.markers.get(marker, self.others)


def read_tasks(path: str | Path) -> Tasks:
    """Tasks from an .xml with an <IKTaskSet> (setup files of OpenSim's tools), or from lines ``marker, weight``.

    Of an .xml, markers without a task are left out, as in OpenSim; those that a table does not name weigh 1.

    Raises:
        FileFormatError: a file that cannot be read, with its line.
    """
    file = Path(path)
    if file.suffix.lower() == ".xml":
        root = read_xml(file)
        sets = [element for element in root.walk() if element.tag == "IKTaskSet"]
        if not sets:
            raise FileFormatError(
                file, None, "no <IKTaskSet>: expected a setup file of inverse kinematics or its tasks"
            )
        return tasks_of(sets[0])
    weights = {}
    for line, text in enumerate(read_text(file).splitlines(), start=1):
        words = text.split("#")[0].replace(",", " ").rsplit(maxsplit=1)
        if not words or (line == 1 and words[-1].lower() == "weight"):
            continue
        try:
            name, weight = words[0].strip(), float(words[1])
        except (IndexError, ValueError):
            raise FileFormatError(file, line, f"expected a line such as 'R.ASIS, 10', got {text[:60]!r}") from None
        weights[name] = weight
    if not weights:
        raise FileFormatError(file, None, "no weights: expected lines such as 'R.ASIS, 10'")
    return Tasks(weights)


def tasks_of(task_set: Element) -> Tasks:
    """The tasks below an <IKTaskSet> that are applied; all markers alike where it names none."""
    markers: dict[str, float] = {}
    coordinates: dict[str, tuple[float | None, float]] = {}
    for task in _tasks(task_set):
        name, weight = task.text("name"), number(task, "weight", 1.0)
        if task.tag == "IKMarkerTask":
            markers[name] = weight
            continue
        kind = word_of(task, "value_type") or "default_value"
        if kind not in ("default_value", "manual_value"):
            raise task.error(f"<IKCoordinateTask> {name!r}: value_type {kind!r} is not read; give a manual_value")
        coordinates[name] = (number(task, "value", 0.0) if kind == "manual_value" else None, weight)
    return Tasks(markers, 0.0 if markers else 1.0, coordinates)


def _tasks(task_set: Element) -> Iterator[Element]:
    for task in task_set.walk():
        # files of OpenSim 2 have no <apply>, or one for each task
        if task.tag in ("IKMarkerTask", "IKCoordinateTask") and flag(task, "apply", True):
            yield task
