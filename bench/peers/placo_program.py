"""PlaCo's whole-body solve of a standing figure, in an interpreter of its own (PlaCo wants another Pinocchio).

Reads one line of JSON, answers with what it built, then answers every number n with the seconds of n solves a call.
Nothing but placo and numpy is imported, so that any interpreter that has them can run it.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import numpy as np
import placo


def standing(task: dict[str, Any], limits: bool) -> tuple[Any, Any, list[Any]]:
    """The figure on its soles: planar contacts, pelvis, centre of mass and posture held where they are."""
    robot = placo.RobotWrapper(task["urdf"], placo.Flags.ignore_collisions)
    robot.set_T_world_fbase(np.array(task["base"]))
    for name, angle in task["angles"].items():
        robot.set_joint(name, angle)
    robot.update_kinematics()
    solver = placo.DynamicsSolver(robot)
    solver.dt = task["dt"]
    contacts = []
    for name in task["soles"]:
        contact = solver.add_planar_contact(solver.add_frame_task(name, robot.get_T_world_frame(name)))
        contact.length, contact.width = task["sole_size"]
        contact.mu = task["friction"]
        contacts.append(contact)
    solver.add_com_task(robot.com_world()).configure("centre", "soft", task["com_weight"])
    upright = robot.get_T_world_frame(task["root"])[:3, :3]
    solver.add_orientation_task(task["root"], upright).configure("root", "soft", task["root_weight"])
    posture = solver.add_joints_task()
    posture.set_joints(task["angles"])
    posture.configure("posture", "soft", 1.0)
    if limits:
        solver.enable_joint_limits(True)
        solver.enable_torque_limits(True)
    return robot, solver, contacts


def main() -> None:
    task = json.loads(sys.stdin.readline())
    cases = [standing(task, limits) for limits in (False, True)]
    robot, solver, contacts = cases[0]
    result = solver.solve(False)
    found = {
        "success": bool(result.success),
        "freedoms": int(robot.model.nv),
        "com": robot.com_world().tolist(),
        "weight": float(np.trace(robot.mass_matrix()[:3, :3]) / 3 * 9.81),
        "lift": float(sum(contact.wrench[2] for contact in contacts)),
        "inertia": np.linalg.eigvalsh(robot.mass_matrix()[:6, :6]).tolist(),
    }
    print(json.dumps(found), flush=True)
    for line in sys.stdin:
        seconds = []
        for _, solver, _ in cases:
            start = time.perf_counter()
            for _ in range(int(line)):
                solver.solve(False)
            seconds.append((time.perf_counter() - start) / int(line))
        print(*seconds, flush=True)


if __name__ == "__main__":
    main()
