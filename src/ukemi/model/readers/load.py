"""load: a model from a file, whatever its format."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from ukemi.errors import FileFormatError, InvalidInputError, ModelError, UkemiWarning, UnknownNameError
from ukemi.model.description import Description
from ukemi.model.joints import Joint
from ukemi.model.model import Model
from ukemi.model.readers.diagnostics import Diagnostics

EXTENSIONS = (".urdf", ".xml", ".mjcf", ".osim")


def load(path: str | os.PathLike[str], *, base: Joint | None = None) -> Model:
    """A model from a URDF (.urdf, or .xml with a <robot>), MJCF (.xml, with a <mujoco>) or OpenSim file (.osim).

    Meshes are never needed. What the file holds and the model does not is said in `UkemiWarning`s.

    Args:
        path: the file.
        base: the joint between the world and the root link of a URDF, such as ``Free()``; by default the root is fixed.
            An MJCF file says itself how its bodies hang on the world; of an OpenSim model it replaces the joint that
            the file has there, and its coordinates.

    Raises:
        FileFormatError: a file that cannot be read; the message begins with file:line.
        InvalidInputError: an extension that no reader takes, or a base where the file already says it.
    """
    if not isinstance(path, str | os.PathLike):
        raise InvalidInputError(f"load: expected a path, got {path!r}")
    if base is not None and not isinstance(base, Joint):
        raise InvalidInputError(f"load: base: expected a joint such as Free(), got {base!r}")
    file = Path(path)
    diagnostics = Diagnostics(file)
    description = _read(file, base, diagnostics)
    try:
        model = Model(description)
    except (ModelError, InvalidInputError, UnknownNameError) as error:
        raise FileFormatError(file, None, str(error)) from error
    for message in diagnostics.messages():
        warnings.warn(message, UkemiWarning, stacklevel=2)
    return model


def _read(file: Path, base: Joint | None, diagnostics: Diagnostics) -> Description:
    # the parsers are large: a program that reads no file does not load them
    from ukemi.model.readers.mjcf import read_mjcf
    from ukemi.model.readers.osim import read_osim
    from ukemi.model.readers.urdf import read_urdf
    from ukemi.model.readers.xmltree import read_xml

    extension = file.suffix.lower()
    if extension not in EXTENSIONS:
        hint = "; expand it first: xacro model.xacro > model.urdf" if extension == ".xacro" else ""
        raise InvalidInputError(f"{file}: expected a file that ends in {', '.join(EXTENSIONS)}{hint}")
    root = read_xml(file)
    if root.tag == "OpenSimDocument" and extension in (".osim", ".xml"):
        return read_osim(root, diagnostics, base)
    if root.tag == "robot" and extension not in (".mjcf", ".osim"):
        return read_urdf(root, diagnostics, base)
    if root.tag == "mujoco" and extension not in (".urdf", ".osim"):
        if base is not None:
            raise InvalidInputError(f"base: {file} is an MJCF file and says itself how it hangs on the world")
        return read_mjcf(root, diagnostics)
    wanted = {".urdf": "<robot>", ".mjcf": "<mujoco>", ".osim": "<OpenSimDocument>"}
    known = wanted.get(extension, "<robot> (URDF), <mujoco> (MJCF) or <OpenSimDocument>")
    raise root.error(f"the root element is <{root.tag[:80]}>: expected {known}")
