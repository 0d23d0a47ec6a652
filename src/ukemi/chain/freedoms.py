"""Names of freedoms, and which of them are driven."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ukemi.errors import UnknownNameError
from ukemi.model.joints import Free
from ukemi.model.model import Model


def coordinate_names(model: Model) -> tuple[str, ...]:
    """One name per velocity: the joint's, numbered when it has several."""
    names = []
    for link in model.links:
        n = link.joint.nv
        names += [link.joint_name] if n == 1 else [f"{link.joint_name}[{k}]" for k in range(n)]
    return tuple(names)


def actuated_freedoms(model: Model, actuated: Sequence[str | int] | None) -> list[int]:
    """Indices into v; None: all but those of free joints."""
    if actuated is None:
        return [i for link in model.links if not isinstance(link.joint, Free) for i in range(link.v.start, link.v.stop)]
    names = coordinate_names(model)
    found: list[int] = []
    for item in actuated:
        if isinstance(item, int | np.integer) and 0 <= item < model.nv:
            found.append(int(item))
        elif not isinstance(item, str):
            raise UnknownNameError("joint", item, model.joint_names)
        elif item in names:
            found.append(names.index(str(item)))
        elif item in model.joint_names:
            part = model.joint(str(item)).v
            found += range(part.start, part.stop)
        else:
            raise UnknownNameError("joint", item, model.joint_names)
    return list(dict.fromkeys(found))
