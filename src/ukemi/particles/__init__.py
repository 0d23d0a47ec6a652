"""Links as particles held together by springs: the simplest figure that still walks [PART05]. On its own."""

from ukemi.particles.floors import BouncyFloor, Flat, SoftFloor, SpringFloor, Uneven
from ukemi.particles.forces import Hinge, Link
from ukemi.particles.step import Recording
from ukemi.particles.system import ParticleSystem

__all__ = [
    "BouncyFloor",
    "Flat",
    "Hinge",
    "Link",
    "ParticleSystem",
    "Recording",
    "SoftFloor",
    "SpringFloor",
    "Uneven",
]
