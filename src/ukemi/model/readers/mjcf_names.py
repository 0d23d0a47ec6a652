"""Names of bodies and joints of a compiled MuJoCo model, also for those that have none."""

from __future__ import annotations

from typing import Any


def unused(name: str, taken: set[str]) -> str:
    """The name, with underscores behind it until nothing else carries it; it is taken then."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def body_names(mj_model: Any) -> list[str]:
    """Body names by number; an unnamed body is called by it: body3."""
    given = [str(mj_model.body(i).name) for i in range(mj_model.nbody)]
    taken = set(given)
    return [name or unused(f"body{i}", taken) for i, name in enumerate(given)]


def joint_names(mj_model: Any) -> list[str]:
    """Joint names by number; an unnamed joint is called after its body: arm_joint, arm_joint2."""
    bodies = body_names(mj_model)
    given = [str(mj_model.joint(j).name) for j in range(mj_model.njnt)]
    taken = set(given)
    names = []
    for j, name in enumerate(given):
        body = int(mj_model.jnt_bodyid[j])
        nth = j - int(mj_model.body_jntadr[body])
        names.append(name or unused(f"{bodies[body]}_joint{nth + 1 if nth else ''}", taken))
    return names
