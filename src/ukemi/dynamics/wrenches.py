"""External wrenches as users give them: one array, or names."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from ukemi.errors import InvalidInputError
from ukemi.model.arrays import numbers
from ukemi.model.model import Model

Wrenches = ArrayLike | Mapping[str, ArrayLike]


def on_links(model: Model, wrenches: Wrenches) -> ArrayLike:
    """(..., nlinks, 6) from {link name: (..., 6)}; arrays pass unchanged, the core checks them."""
    if not isinstance(wrenches, Mapping):
        return wrenches
    given = {model.link_index(name): numbers(f"external[{name!r}]", w) for name, w in wrenches.items()}
    for i, w in given.items():
        if w.ndim == 0 or w.shape[-1] != 6:
            raise InvalidInputError(
                f"external[{model.link_names[i]!r}]: expected (..., 6: force, moment), got shape {w.shape}"
            )
    try:
        lead = np.broadcast_shapes(*(w.shape[:-1] for w in given.values()))
    except ValueError:
        shapes = ", ".join(f"{model.link_names[i]} {w.shape}" for i, w in given.items())
        raise InvalidInputError(f"external: batch axes do not match: {shapes}") from None
    full = np.zeros((*lead, model.nlinks, 6))
    for i, w in given.items():
        full[..., i, :] = w
    return full
