"""Eight estimates of one trial that differ as its unknowns might: their scatter is the error that these cause.

Seven unknowns, each off by one standard deviation, up or down, in every estimate; the signs are the columns of a
Hadamard matrix of order 8, which are orthogonal (two-level design: Plackett and Burman 1946). Where forces follow the
unknowns linearly, the mean square of the eight deviations is the sum of the squares of the seven effects, the variance
of a first-order propagation; where they do not (a contact that bears or does not), eight typical cases are averaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from scipy.linalg import hadamard

from ukemi.dynamics.kinematics import link_poses
from ukemi.dynamics_filter.placed import PlacedClip
from ukemi.dynamics_filter.trajectory.points import leg_length
from ukemi.forces.estimate import GRAVITY, ForceEstimate, cutoff_of, estimate
from ukemi.forces.setting import STANDARD, ForceSettings
from ukemi.model.arrays import Array
from ukemi.model.inertia import MassProperties
from ukemi.model.model import Link, Model

#: (cases, unknowns): +1 or -1 standard deviation.
DESIGN: Array = hadamard(8)[:, 1:].astype(np.float64)
#: Standard deviation of the place of the trunk's mass, ahead and aside [l]: 15 and 10 mm of an adult. Published bodies
#: differ by 20 mm in how far the trunk's mass lies behind the joints (`ukemi.motion.flesh`), and nobody is symmetrical.
AHEAD, ASIDE = 0.0165, 0.011
#: Standard deviation of the mass of the legs [share of it]: 39.7 % of the body by de Leva, 32.2 % by Winter
#: (`ukemi.model.figures.anthropometry`): half of what they differ by.
LEGS = 0.1
#: What is wrong with the acceleration of the body's centre of mass, rms in each direction [g], and how fast it changes
#: [1/tau]. Skin moves by millimetres with every step, 0.5 mm of it with the whole body: assumed.
SWAY, OFTEN = 0.006, 0.5
#: Standard deviation of logarithms: of the cut-off (12 Hz of an adult means 7 to 22 Hz), of the height and the speed at
#: which a contact is doubted, of the price of a force off the line of its leg. Assumed; two or
#: three of each, and of the sway, were tried on plates: they change the interval score of bands of 90 % (Gneiting and
#: Raftery 2007) by 2 % at most.
SMOOTHING, CONTACT, LINE = 0.6, 0.4, 1.0
#: A link that carries more than this share of the body's mass, with all that hangs on it, is of the trunk: ribs with
#: head and arms are a third, a leg is a fifth (de Leva).
TRUNK = 0.25


def scatter(at: Mapping[str, Array], others: Iterable[Mapping[str, Array]]) -> dict[str, Array]:
    """Root mean square of how far the quantities of the cases are from their values in the estimate itself."""
    off = [{name: case[name] - value for name, value in at.items()} for case in others]
    return {name: np.sqrt(np.mean([case[name] ** 2 for case in off], axis=0)) for name in at}


def cases(
    placed: PlacedClip, settings: ForceSettings = STANDARD, cutoff: float | None = None
) -> Iterator[ForceEstimate]:
    """The eight estimates, one after the other; the same clip gives the same."""
    for signs in DESIGN:
        yield estimate(*disturbed(placed, signs, settings, cutoff))


def disturbed(
    placed: PlacedClip, signs: Array, settings: ForceSettings = STANDARD, cutoff: float | None = None
) -> tuple[PlacedClip, ForceSettings, float]:
    """A clip, settings and cut-off [Hz] that are off by so many standard deviations: of the trunk's mass ahead and
    aside, the mass of the legs, sway, smoothing, contact and line, in this order."""
    ahead, aside, legs, sway, smoothing, contact, line = signs
    leg = leg_length(placed.figure.model, placed.figure.soles)
    body = _body(placed, leg * np.array((ahead * AHEAD, aside * ASIDE)), legs * LEGS)
    tau = float(np.sqrt(leg / GRAVITY))
    phase = 2 * np.pi * (OFTEN / tau * placed.clip.time[:, None] + np.arange(3) / 3)
    q = np.array(placed.q)
    q[:, :3] += sway * SWAY * leg / (2 * np.pi * OFTEN) ** 2 * np.sqrt(2) * np.sin(phase)
    return (
        replace(placed, figure=replace(placed.figure, model=body), q=q),  # type: ignore[type-var]
        replace(
            settings,
            height=settings.height * np.exp(contact * CONTACT),
            speed=settings.speed * np.exp(contact * CONTACT),
            line=settings.line * np.exp(line * LINE),
        ),
        cutoff_of(placed, cutoff, settings) * float(np.exp(smoothing * SMOOTHING)),
    )


def _body(placed: PlacedClip, shift: Array, share: float) -> Model:
    """The model with its trunk's mass shifted ahead and to the left [m] and legs heavier by a share of their mass; all
    together weigh the same."""
    model = placed.figure.model
    trunk, legs = _trunk(model), _legs(placed)
    weight = sum(model.links[i].mass_properties.mass for i in legs)
    others = 1 - share * weight / (model.mass - weight)
    axes = _ahead_and_left(placed, trunk, legs)

    def changed(link: Link) -> MassProperties:
        body, times = link.mass_properties, 1 + share if link.index in legs else others
        com = body.com + shift @ axes[link.index] if link.index in axes else body.com
        return MassProperties(times * body.mass, com, times * body.inertia)

    about = model.description
    return Model(replace(about, links=[replace(l, mass_properties=changed(model.link(l.name))) for l in about.links]))


def _trunk(model: Model) -> list[Link]:
    """From the root on."""
    carried = [link.mass_properties.mass for link in model.links]
    for link in reversed(model.links):
        if link.parent is not None:
            carried[link.parent.index] += carried[link.index]
    return [link for link in model.links if carried[link.index] > TRUNK * model.mass]


def _legs(placed: PlacedClip) -> set[int]:
    """Links from the trunk to the soles, and toes."""
    model, legs = placed.figure.model, set()
    trunk = {link.index for link in _trunk(model)}
    for sole in placed.figure.soles.values():
        link: Link | None = model.link(sole.link)
        assert link is not None
        legs |= {toes.index for toes in link.children}
        while link is not None and link.index not in trunk:
            legs.add(link.index)
            link = link.parent
    return legs


def _ahead_and_left(placed: PlacedClip, trunk: list[Link], legs: set[int]) -> dict[int, Array]:
    """Link of the trunk -> unit vectors (2, 3) ahead and to the left in its coordinates, as the clip has them on
    average: square to the line from the hips to the mass of the trunk's top, and along the line between the hips."""
    model = placed.figure.model
    X = link_poses(model, placed.q)
    hips = {}
    for side, sole in placed.figure.soles.items():
        link = model.link(sole.link)
        while link.parent is not None and link.parent.index in legs:
            link = link.parent
        hips[side] = X[:, link.index, :3, 3]
    top = X[:, trunk[-1].index]
    up = top[:, :3, :3] @ trunk[-1].mass_properties.com + top[:, :3, 3] - 0.5 * (hips["left"] + hips["right"])
    left = hips["left"] - hips["right"]
    out = {}
    for link in trunk:
        means = [np.einsum("nji,nj->i", X[:, link.index, :3, :3], way) for way in (np.cross(left, up), left)]
        out[link.index] = np.stack([way / np.linalg.norm(way) for way in means])
    return out
