"""The corpus of contact problems: files, the reader of Siconos's, what is assembled from a world."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import ukemi as uk

# The benchmarks are scripts beside the package, which type checkers see under other names.
_of = {
    name: import_module(f"bench.contact_corpus.{name}") for name in ("assemble", "dump", "problem", "scenes", "siconos")
}
assemble, carry = _of["assemble"].assemble, _of["assemble"].carry
problems_of, Problem = _of["dump"].problems_of, _of["problem"].Problem
Scene, box, ground = _of["scenes"].Scene, _of["scenes"].box, _of["scenes"].ground
NotOursError, read = _of["siconos"].NotOursError, _of["siconos"].read

G, DT, MU = 9.81, 1e-3, 0.6
#: Two contacts with the responses 2 and 3 that feel each other by 0.5 along the first tangent.
DENSE = """3
2
0
6
6
6 6
2 0 0 0 0 0
0 2 0 0 0.5 0
0 0 2 0 0 0
0 0 0 3 0 0
0 0.5 0 0 3 0
0 0 0 0 0 3
-1 0.5 0 -2 0 0.25
0.3 0.4
1
"""
#: The same by blocks, each column by column.
BLOCKS = """3
2
1
6
6
4
2
2
3 6
3 6
3
4
0 2 4
0 1 0 1
0
2 0 0 0 2 0 0 0 2
1
0 0 0 0 0.5 0 0 0 0
2
0 0 0 0 0.5 0 0 0 0
3
3 0 0 0 3 0 0 0 3
-1 0.5 0 -2 0 0.25
0.3 0.4
"""


def resting_box() -> uk.World:
    world = ground(MU)
    world.add(box((0.4, 0.3, 0.2)), "box", q=(0, 0, 0.1, 1, 0, 0, 0))
    return world


@pytest.mark.parametrize("text", [DENSE, BLOCKS], ids=["dense", "blocks"])
def test_files_of_siconos_are_read(text: str, tmp_path: Path) -> None:
    path = tmp_path / "two.dat"
    path.write_text(text)
    problem = read(path)
    expected = np.diag([2.0, 2, 2, 3, 3, 3])
    expected[1, 4] = expected[4, 1] = 0.5
    np.testing.assert_array_equal(problem.W, expected)
    np.testing.assert_array_equal(problem.q, [-1, 0.5, 0, -2, 0, 0.25])
    np.testing.assert_array_equal(problem.mu, [0.3, 0.4])
    assert uk.solve_contact(problem.W, problem.q, problem.mu).valid


@pytest.mark.parametrize("text", ["2" + DENSE[1:], DENSE + "7 7 7", DENSE[:60], "no numbers"])
def test_other_files_are_left_out(text: str, tmp_path: Path) -> None:
    path = tmp_path / "other.dat"
    path.write_text(text)
    with pytest.raises(NotOursError, match="other"):
        read(path)


def test_a_problem_comes_back_from_its_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    J = rng.normal(size=(5, 7))
    here = Problem(
        J @ J.T,
        rng.normal(size=5),
        np.array([0.4]),
        ("contact", "bilateral", "unilateral"),
        "some/scene",
        7,
        J[:, 0],
        0.5,
    )
    here.save(tmp_path / "one.npz")
    there = Problem.load(tmp_path / "one.npz")
    for name in ("W", "q", "mu", "last"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))
    assert (there.kinds, there.scene, there.step, there.reached) == (here.kinds, here.scene, 7, 0.5)
    assert there.engine_ms is None


def test_the_problem_of_a_box_at_rest_holds_its_weight() -> None:
    world = resting_box()
    rows = assemble(world, DT, MU, "box", 0)
    assert rows is not None
    problem = rows.problem
    assert problem.kinds == ("contact",) * 4
    found = uk.solve_contact(problem.W, problem.q, problem.mu)
    weight = world.model.mass * G * DT
    assert found.r[::3].sum() == pytest.approx(weight, rel=1e-5)
    np.testing.assert_allclose(found.u, 0, atol=1e-6 * G * DT)
    assert carry(rows, found.r, rows) == pytest.approx(found.r)


def test_bursts_carry_the_forces_of_the_step_before() -> None:
    problems = list(problems_of(Scene("box", resting_box, MU, (2,))))
    assert [p.step for p in problems] == [2, 3, 4, 5, 6, 7]
    assert problems[0].last is None
    for problem in problems[1:]:
        assert problem.last is not None
        warm = uk.solve_contact(problem.W, problem.q, problem.mu, start=problem.last)
        np.testing.assert_allclose(warm.r, problem.last, atol=1e-5 * problem.last.max())
