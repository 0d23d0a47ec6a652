"""Clips that the tests make: somebody sits down on a chair that is not there, somebody puts the hands on the floor."""

from __future__ import annotations

import numpy as np

from ukemi.dynamics.kinematics import link_poses
from ukemi.model.arrays import Array
from ukemi.motion.body import SIDES
from ukemi.motion.clip import Clip
from ukemi.motion.figure import figure_from_clip
from ukemi.motion.inverse_kinematics import Goal, follow_goals
from ukemi.motion.rotations import of_matrices, product
from ukemi.motion.synthesis import walk

FPS = 60.0


def course(times: Array, keys: dict[float, float]) -> Array:
    """A value at times that rests at its keys, and goes smoothly from one to the next."""
    at, values = np.array(list(keys)), np.array(list(keys.values()))
    k = np.clip(np.searchsorted(at, times, side="right") - 1, 0, len(at) - 2)
    s = np.clip((times - at[k]) / (at[k + 1] - at[k]), 0, 1)
    return np.asarray(values[k] + s**3 * (10 - 15 * s + 6 * s * s) * (values[k + 1] - values[k]))


def pitch(angle: Array) -> Array:
    """Quaternions (n, 4) of turns about y: positive bows."""
    zero = np.zeros_like(angle)
    return np.stack([np.cos(angle / 2), zero, np.sin(angle / 2), zero], axis=1)


def moved(
    times: Array, ahead: Array, down: Array, bow: Array, lean: Array, hands: tuple[Array, Array] | None = None
) -> Clip:
    """A figure on two feet that stay where they are; its pelvis moves by ahead and down [m] and is pitched by bow, its
    chest by lean [rad]. hands: how far ahead of where they hang, and how high, the finger tips are [m]."""
    figure = figure_from_clip(walk(1.0, skate=0.0, floating=0.0))
    model, n = figure.model, len(times)
    still = model.neutral()
    X = link_poses(model, still)
    lowest = min(
        (X[model.link_index(sole.link), :3, :3] @ sole.points.T)[2].min() + X[model.link_index(sole.link), 2, 3]
        for sole in figure.soles.values()
    )
    still[2] -= lowest
    X = link_poses(model, still)

    def goal(link: str, place: Array | None, turn: Array | None, weight: float) -> Goal:
        X_WL = X[model.link_index(link)]
        turned = None if turn is None else product(turn, np.tile(of_matrices(X_WL[None, :3, :3]), (n, 1)))
        where = None if place is None else X_WL[:3, 3] + place
        return Goal(link, where, turned, place_weight=weight, turn_weight=weight)

    nowhere, straight = np.zeros((n, 3)), pitch(np.zeros(n))
    way = np.stack([ahead, np.zeros(n), -down], axis=1)
    goals = [goal("pelvis", way, pitch(bow), 3.0), goal("chest", None, pitch(lean), 1.0)]
    goals += [goal(f"{side}_foot", nowhere, straight, 10.0) for side in SIDES]
    if hands is not None:
        for side in SIDES:
            tip = 2 * model.landmarks[f"{side}_palm"].at.position
            hang = X[model.link_index(f"{side}_hand"), :3, :3] @ tip + X[model.link_index(f"{side}_hand"), :3, 3]
            place = np.stack([hang[0] + hands[0], np.full(n, hang[1]), hands[1]], axis=1)
            goals.append(Goal(f"{side}_hand", place, None, tip, place_weight=3.0))
    start = np.tile(still, (n, 1))
    for side in SIDES:  # knees bend forwards
        for part, angle in (("thigh", -0.6), ("shank", 1.2), ("foot", -0.6)):
            start[:, model.link(f"{side}_{part}").q] = pitch(np.full(n, angle))
    return figure.to_clip(follow_goals(model, goals, start, rest=still, stay=0.005).q, FPS)


def sits_down(drop: float = 0.42) -> Clip:
    """Down by ``drop`` [m] on a chair, there for a second and a half, and up again; four seconds."""
    t = np.arange(round(4.2 * FPS)) / FPS
    on = course(t, {0.0: 0, 0.4: 0, 1.4: 1, 2.8: 1, 3.7: 0, 4.2: 0})
    lean = course(t, {0.0: 0, 0.4: 0, 1.1: 1.0, 1.8: 0.0, 2.1: 0.0, 2.8: 1.0, 3.8: 0, 4.2: 0})
    return moved(t, -0.3 * on, drop * on, 0.6 * lean, lean)


def puts_hands_down() -> Clip:
    """Bends down to the floor, leans on the hands for a second, and comes back; four seconds."""
    t = np.arange(round(4.4 * FPS)) / FPS
    on = course(t, {0.0: 0, 0.3: 0, 1.3: 1, 3.1: 1, 4.1: 0, 4.4: 0})
    over = course(t, {0.0: 0, 1.3: 0, 1.9: 1, 2.5: 1, 3.1: 0, 4.4: 0})
    ahead = 0.62 * on
    high = 0.7 * (1 - course(t, {0.0: 0, 0.3: 0, 1.3: 1, 3.1: 1, 4.1: 0, 4.4: 0}))
    return moved(t, -0.15 * on + 0.4 * over, 0.3 * on + 0.05 * over, 1.0 * on, 1.6 * on, (ahead, high))
