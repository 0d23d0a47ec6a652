"""From a motion to a reference: smooth coordinates, when which part of a sole bears, feet that stay where they stand.

What is done here and why (measurements in docs/filter.md): the body is moved to the feet slowly (1.5 Hz) and the legs
do the rest, because a pelvis that follows its feet frame by frame asks for impossible forces; the toes prolong a sole
that lies flat; feet that turn under the body hold the middle of their ball alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ukemi.contact.terrain import Ground
from ukemi.dynamics.kinematics import difference, integrate
from ukemi.dynamics_filter.bearing import LIFTED, let_go, sole_contacts
from ukemi.dynamics_filter.floor import SteppedGround, ground_height
from ukemi.dynamics_filter.footholds import Footholds, footholds
from ukemi.dynamics_filter.reference import GLIDE, HAND, PIVOT, SOLE, TIP, TOE, ContactPoints, Reference
from ukemi.dynamics_filter.retiming import carried, flights, weight_asked_for
from ukemi.dynamics_filter.softening import soft_steps
from ukemi.dynamics_filter.toes import REACH, laid_down, straight_toes, toe_tips, toes_of
from ukemi.model.arrays import Array
from ukemi.model.model import Model
from ukemi.motion.foot_lock import FootLockSettings, lock_feet
from ukemi.motion.footfalls import Contacts, Footed, sole_points
from ukemi.motion.knees import knee_pads
from ukemi.motion.pivots import PARTS, turning, with_pivot
from ukemi.motion.soles import Height, Sole, above_ground
from ukemi.motion.trajectory import low_pass, smooth_coordinates, trajectory

SETTLE = 1.5  # cut-off of the body's way to its feet [Hz]
STOOP = 1.6  # how long a body goes down that stands too high for its legs [s]
CUTOFF = 8.0  # of the whole motion [Hz]
#: Of where the body goes only what is slower than SETTLE counts.
ROUGHLY = FootLockSettings(rounds=1)
#: With the body settled, legs reach for the floor and the root hardly moves.
LEGS_ONLY = FootLockSettings(root=1.0)


@dataclass(frozen=True, eq=False)
class Supported:
    """A model with all that it may stand on: soles, and hands if they come down."""

    model: Model
    soles: Mapping[str, Sole]


def settled(
    figure: Footed,
    q: Array,
    fps: float,
    contacts: Contacts,
    height: Height | None,
    steps: Footholds | None = None,
) -> Array:
    """q with feet that stay where they stand, and a body that comes to them slowly."""
    model = figure.model
    anchors, lead = (None, None) if steps is None else (steps.anchors, steps.lead)
    locked = lock_feet(figure, q, fps, contacts=contacts, settings=ROUGHLY, height=height, anchors=anchors, lead=lead)
    move = difference(model, q, locked.q)
    move[:, 6:] = 0.0
    body = integrate(model, q, low_pass(move, fps, SETTLE), 1.0)

    def held(body: Array) -> Array:
        return lock_feet(
            figure, body, fps, contacts=contacts, settings=LEGS_ONLY, height=height, anchors=anchors, lead=lead
        ).q

    still = held(body)
    # legs that are too short for their feet: the body goes down by what they lack, at once for all of a step
    feet = [not sole.hand for sole in figure.soles.values()]
    above = above_ground(sole_points(model, list(figure.soles.values()), still), height)
    short = np.where(contacts, above, 0.0)[:, feet].max(axis=(1, 2))
    if steps is not None or short.max(initial=0.0) < LIFTED:
        return still
    wide = 2 * max(1, round(0.25 * STOOP * fps)) + 1
    short = sliding_window_view(np.pad(short, wide // 2, mode="edge"), wide).max(axis=1)
    for _ in range(2):
        short = sliding_window_view(np.pad(short, wide // 2, mode="edge"), wide).mean(axis=1)
    body[:, 2] -= short
    return held(body)


def contact_points(
    model: Model, soles: Mapping[str, Sole], straight: Mapping[str, Array] | None = None
) -> ContactPoints:
    """Heel and ball of every sole, ends of toes, and where a foot turns its pivots, each with the corners beside it
    that glide: four to twelve points each; one of a hand, a knee or an elbow. straight: rotations of toes that prolong
    their sole; those bear on their own, others prolong the sole while it lies flat.
    """
    parts: list[tuple[int, str, Array, int]] = []
    for foot, sole in enumerate(soles.values()):
        corners, pivots = np.split(np.asarray(sole.points, dtype=np.float64), [4])
        if sole.hand:
            parts.append((foot, sole.link, corners[:1], HAND))
            continue
        parts.append((foot, sole.link, corners, SOLE))
        toes = toes_of(model, sole)
        if toes is not None and straight is not None:
            parts.append((foot, toes, toe_tips(sole, straight[toes]), TOE))
        elif any(link.joint.nv for link in model.link(sole.link).children):
            parts.append((foot, sole.link, corners[2:] + REACH * sole.at.R[:, 0], TIP))
        for pivot, part in zip(pivots, PARTS, strict=False):
            parts += [(foot, sole.link, pivot[None], PIVOT), (foot, sole.link, corners[part], GLIDE)]
    return ContactPoints.of(model, parts)


def schedule(points: ContactPoints, contacts: Contacts) -> Contacts:
    """(frames, points) from heels, balls and pivots (frames, feet, 4 or 6): tips bear while the sole lies flat, toes
    while the ball does.
    """
    flat = np.logical_and.reduce(contacts[:, :, :4], axis=2)
    columns = []
    for foot in range(points.groups):
        corners, turns = iter(range(4)), iter((4, 4, 4, 5, 5, 5))  # pivots with two points that glide
        for kind in points.kind[points.group == foot]:
            if kind == TIP:
                columns.append(flat[:, foot])
            elif kind == TOE:
                columns.append(contacts[:, foot, 2] & contacts[:, foot, 3])
            else:
                columns.append(contacts[:, foot, next(turns if kind in (PIVOT, GLIDE) else corners)])
    return np.stack(columns, axis=1)


def make_reference(
    figure: Footed,
    q: Array,
    fps: float,
    dt: float,
    ground: Ground | None = None,
    *,
    only_feet: bool = False,
) -> Reference:
    """A figure's motion q (frames, nq) as a reference with steps of dt on a ground.

    The motion was made on level ground at 0 and is brought to this one; on a slope the body keeps its height above the
    ground, as in [DF03] Fig. 10. only_feet: knees and elbows do not bear, and feet do not turn.
    """
    model, height = figure.model, ground_height(ground)
    smooth = smooth_coordinates(model, q, fps, CUTOFF)
    pads = {} if only_feet else knee_pads(model, smooth, fps)
    if pads:
        figure = Supported(model, {**figure.soles, **pads})
    soles = list(figure.soles.values())
    bears_hands = [sole.hand for sole in soles]
    feet = sole_points(model, soles, smooth)
    contacts = sole_contacts(feet, fps, None, hands=bears_hands)
    turns = turning(feet, fps, hands=bears_hands)
    if turns.any() and not only_feet:
        figure = Supported(model, {name: with_pivot(sole) for name, sole in figure.soles.items()})
        soles = list(figure.soles.values())
        feet = sole_points(model, soles, smooth)
        contacts = np.concatenate([contacts & ~turns.any(axis=2, keepdims=True), turns], axis=2)
    contacts = carried(contacts, feet, weight_asked_for(model, smooth, fps), fps)
    steps = None
    if height is not None and isinstance(ground, SteppedGround):
        steps = footholds(feet, contacts, soles, height, fps)
        contacts = steps.contacts
        smooth[:, :3] += low_pass(steps.body, fps, SETTLE)
    elif height is not None:
        smooth[:, 2] += height(smooth[:, :2])
    still = settled(figure, smooth, fps, contacts, height, steps)
    straight = straight_toes(model, still, figure.soles, contacts)
    still = laid_down(model, still, fps, figure.soles, straight, height)
    motion = trajectory(model, still, fps, dt, CUTOFF)
    nearest = np.clip(np.round(motion.time * fps).astype(int), 0, len(still) - 1)
    points = contact_points(model, figure.soles, straight)
    feet = sole_points(model, soles, motion.q)
    wanted = contacts[nearest]
    held = let_go(wanted, feet, height, bears_hands)
    for first, end in flights(held):
        if wanted[first:end].any(axis=(1, 2)).all():  # nothing was to be a flight here
            held[first:end] = wanted[first:end]
    reference = Reference(model, dt, motion.q, motion.v, motion.a, points, schedule(points, held))
    return soft_steps(reference)
