"""Particles: a step in the core against the same step in plain NumPy, and the cost of ropes that grow.

Processor time, not the clock's: one thread runs, and what others do on the core meanwhile is no cost of ours.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from result import Limit, Results

from ukemi.particles import ParticleSystem

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.oracles.particles import NumpyParticles

GOAL = 20.0
RACERS = 1000
SIZES = (10, 100, 1000, 10_000, 100_000)
#: Flat: the dearest size costs at most this many times the cheapest, per particle.
FLAT = 1.5
#: Steps of one particle that a sweep takes: the largest rope still makes sixty, so that entering the core is nothing.
SWEEP = 6_000_000


def rope(n: int) -> ParticleSystem:
    """n particles 10 cm apart, the first held, sagging under gravity."""
    system = ParticleSystem(load=100.0)
    system.add_many(np.c_[0.1 * np.arange(n), np.zeros((n, 2))])
    system.fix(0)
    for i in range(n - 1):
        system.link(i, i + 1)
    return system


def run(rounds: int, results: Results) -> None:
    _race(rounds, results)
    _growing(rounds, results)


def _race(rounds: int, results: Results) -> None:
    system = rope(RACERS)
    plain, h, steps = NumpyParticles.of(system), system.stable_step() / 2, 200
    system.advance(steps * h, h)
    for _ in range(steps):
        plain.step(h)
    worst = float(np.abs(system.x - plain.x).max() / np.abs(plain.x).max())
    results.accuracy["particles"] = {"NumPy": worst}
    seconds = []
    for _ in range(4 * rounds):
        start = time.process_time()
        _steps(system, h, steps)
        middle = time.process_time()
        for _ in range(20):
            plain.step(h)
        seconds.append(((middle - start) / steps, (time.process_time() - middle) / 20))
    results.add_race(f"a step of {RACERS} particles", ["ukemi", "NumPy"], np.array(seconds), GOAL, ("NumPy",))


def _growing(rounds: int, results: Results) -> None:
    ropes = {n: rope(n) for n in SIZES}
    costs: dict[int, list[float]] = {n: [] for n in SIZES}
    for _ in range(rounds):
        for n, system in ropes.items():
            steps = SWEEP // n
            start = time.process_time()
            _steps(system, 1e-5, steps)
            costs[n].append((time.process_time() - start) / steps / n * 1e9)
    # the least of the rounds: neighbours take the shared cache from the large ropes first
    per_particle = {str(n): float(np.min(ns)) for n, ns in costs.items()}
    unevenness = max(per_particle.values()) / min(per_particle.values())
    case = "particles, cost per particle and step, 10 to 100,000"
    results.limits.append(Limit(case, unevenness, FLAT, "x", per_particle))


def _steps(system: ParticleSystem, h: float, steps: int) -> None:
    """The core alone: checks of the state and of the step are made once per call of `advance`, and not timed."""
    system.core.advance(system.x, system.v, system.force, np.zeros((0, 3)), h, steps, False)
