"""What is wrong is refused, with what came and what was wanted; what is extreme gets a well-defined answer."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contact.tumbles import damped
from tests.problems.bodies import loose

import ukemi as uk


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: uk.Ground(normal=(0, 0, 0)), "normal"),
        (lambda: uk.Ground(normal=(0, np.nan, 1)), "normal"),
        (lambda: uk.Ground(friction=-0.1), "friction"),
        (lambda: uk.Ground(friction=np.nan), "friction"),
        (lambda: uk.Ground(friction=0.3, dynamic_friction=0.4), "dynamic_friction"),
        (lambda: uk.Ground(restitution=1.1), "restitution"),
        (lambda: uk.Ground(velocity=(0, 0, 1)), "velocity"),
        (lambda: uk.Solids([]), "shapes"),
        (lambda: uk.Solids([1]), "shapes"),  # type: ignore[list-item]
        (lambda: uk.stairs(0), "steps"),
        (lambda: uk.stairs(3, rise=-1), "rise"),
        (lambda: uk.HeightField([[0.0]]), "heights"),
        (lambda: uk.HeightField(np.zeros((3, 3)), spacing=(0, 1)), "spacing"),
        (lambda: uk.HeightField(np.array([[0, 0], [0, np.nan]])), "heights"),
        (lambda: uk.Box((0, 1, 1)), "size"),
        (lambda: uk.Sphere(-1), "radius"),
        (lambda: uk.Capsule(0.1, np.nan), "length"),
        (lambda: uk.ConvexMesh([(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]), ""),  # flat
        (lambda: uk.Revolute((0, 0, 1), restitution=2), "restitution"),
    ],
)
def test_refused(make: object, says: str) -> None:
    with pytest.raises(uk.UkemiError, match=f"(?i){says}"):
        make()  # type: ignore[operator]


def test_terrain_of_the_wrong_kind() -> None:
    with pytest.raises(uk.InvalidInputError, match="terrain"):
        uk.World().terrain = "ground"  # type: ignore[assignment]
    with pytest.raises(uk.InvalidInputError, match="Surface"):
        uk.World().surface = 0.5  # type: ignore[assignment]
    with pytest.raises(uk.InvalidInputError, match="True or False"):
        uk.World().collisions = 1  # type: ignore[assignment]


def test_a_start_inside_is_refused_and_can_be_resolved() -> None:
    world = loose([uk.Sphere(0.1)], uk.Ground(), mass=1.0, q=(0, 0, 0.05, 1, 0, 0, 0))
    with pytest.raises(uk.InvalidInputError, match=r"50 mm inside 'ground'.*separate"):
        uk.Simulation(world)
    assert world.separate() == 0.0
    uk.Simulation(world).step()
    assert world.q[2] == pytest.approx(0.1, abs=2e-3)


def test_a_state_set_inside_while_it_runs_is_refused() -> None:
    world = loose([uk.Sphere(0.1)], uk.Ground(), mass=1.0, q=(0, 0, 0.1, 1, 0, 0, 0))
    sim = uk.Simulation(world)
    sim.step(steps=3)
    world.set_state(q=(0, 0, 0.05, 1, 0, 0, 0))
    with pytest.raises(uk.InvalidInputError, match=r"50 mm inside 'ground'"):
        sim.step()
    world.separate()
    sim.step(steps=3)
    assert np.abs(world.v).max() < 0.1


def test_figures_in_one_place_are_taken_apart() -> None:
    world = uk.World()
    world.terrain = uk.Ground()
    for name in ("a", "b", "c"):
        world.add(uk.human(16), name)
    assert world.separate() == 0.0
    uk.Simulation(world).step()


def test_what_cannot_move_stays_and_is_told() -> None:
    b = uk.Builder("post")
    b.link("post", joint=uk.Revolute((0, 0, 1)), mass=1.0, shapes=[uk.Box((0.1, 0.1, 0.1))])
    world = uk.World()
    world.terrain = uk.Ground()
    world.add(b.build())
    assert world.separate() == pytest.approx(0.05)
    with pytest.raises(uk.InvalidInputError, match="50 mm inside 'ground': move it; on a free joint"):
        uk.Simulation(world)


@pytest.mark.parametrize(
    "shape", [uk.Box((1e-6, 1e-6, 1e-6)), uk.ConvexMesh([(0, 0, 0), (1, 0, 0), (0, 1e-6, 0), (0, 0, 1e-6)])]
)
def test_shapes_too_thin_to_touch_are_refused(shape: uk.Box) -> None:
    world = loose([shape], uk.Ground(), mass=1.0, q=(0, 0, 1, 1, 0, 0, 0))
    with pytest.raises(uk.InvalidInputError, match=r"at least 1e-05 m thick"):
        uk.Simulation(world)


def test_report_without_anything_to_touch() -> None:
    world = uk.World()
    world.add(uk.human(16), name="h")
    sim = uk.Simulation(world)
    with pytest.raises(uk.InvalidInputError, match="terrain"):
        _ = sim.report
    assert sim.contacts == []


@pytest.mark.parametrize("friction", [0.0, 1e-300, 1e6, np.inf])
def test_zero_and_huge_friction(friction: float) -> None:
    """Without friction it slides freely; with a huge one it never does."""
    slope = (3.0, 0, -9.0)
    world = loose(
        [uk.Box((0.2, 0.2, 0.02))], uk.Ground(friction=friction), mass=1.0, q=(0, 0, 0.01, 1, 0, 0, 0), gravity=slope
    )
    sim = uk.Simulation(world, 1e-3)
    sim.run(0.5, every=100)
    expected = 0.5 * 3.0 * 0.25 if friction < 1 else 0.0
    assert world.q[0] == pytest.approx(expected, abs=1e-9)
    assert sim.report.certificate.valid


def test_a_state_that_is_no_number_is_refused() -> None:
    world = loose([uk.Sphere(0.1)], uk.Ground(), mass=1.0, q=(0, 0, 0.1, 1, 0, 0, 0))
    with pytest.raises(uk.InvalidInputError):
        world.set_state(v=np.full(6, np.nan))
    sim = uk.Simulation(world)
    with pytest.raises(uk.UkemiError):
        sim.step(np.full(6, np.nan))


def test_a_push_beyond_all_numbers_stops_the_run() -> None:
    world = loose([uk.Sphere(0.1)], uk.Ground(), mass=1.0, q=(0, 0, 0.1, 1, 0, 0, 0))
    with pytest.raises(uk.UkemiError):
        uk.Simulation(world, 1.0).run(100.0, np.array([1e308, 1e308, 0, 1e308, 0, 0]))


def test_torques_beyond_all_sense_stop_the_run() -> None:
    """Joints that turn at 1e10 rad/s: places are no numbers any more, and nothing crashes."""
    model = uk.human(16)
    world = uk.World()
    world.terrain = uk.Ground()
    world.add(model, "h")
    world.separate()
    with pytest.raises(uk.SimulationError, match="no longer finite"):
        uk.Simulation(world).run(1.0, np.concatenate([np.zeros(6), np.full(model.nv - 6, 1e6)]))


def test_tiny_and_heavy_bodies_together() -> None:
    """A bead of a milligram under a tonne stays where it is, with a valid certificate or none in doubt."""
    world = uk.World()
    world.terrain = uk.Ground()
    for name, mass, radius, z in (("bead", 1e-6, 0.01, 0.01), ("ball", 1e3, 0.5, 0.52)):
        b = uk.Builder(name)
        b.link("body", joint=uk.Free(), mass=mass, shapes=[uk.Sphere(radius)])
        world.add(b.build(), name=name, q=(0, 0, z, 1, 0, 0, 0))
    sim = uk.Simulation(world, 1e-3)
    sim.step(steps=100)
    assert np.isfinite(world.q).all()
    assert sim.report.penetration < 1e-3
    ground = next(c for c in sim.contacts if c.links == ("bead/body", "ground"))
    assert ground.normal_force == pytest.approx(1e3 * 9.81, rel=1e-3)


def test_a_figure_squeezed_between_a_bar_and_the_floor() -> None:
    """Constraints that contradict each other: a well-defined answer, no blow-up."""
    model = damped(uk.human(16), 5.0)
    world = uk.World()
    q = model.neutral()
    q[2] = 2.0
    world.add(model, name="h", q=q)
    sole, head = extent(world)
    lid = uk.Solids([uk.Box((2, 2, 0.1), at=uk.Pose((0, 0, head + 0.05)))])
    world.terrain = [uk.Ground(height=sole), lid]
    sim = uk.Simulation(world, 1e-3)
    sim.external = {"h/trunk": [0, 0, -3000.0, 0, 0, 0]}
    before = world.q[2]
    sim.run(0.2, every=20)
    assert np.isfinite(world.q).all()
    assert np.abs(world.v).max() < 20
    assert world.q[2] <= before + 1e-3


def extent(world: uk.World) -> tuple[float, float]:
    """Lowest and highest point of all shapes."""
    from ukemi.report.strip import surface_points

    heights = []
    for link, X in zip(world.model.links, uk.link_poses(world.model, world.q), strict=True):
        for shape in link.shapes:
            heights.append((shape.at.apply(surface_points(shape)) @ X[:3, :3].T + X[:3, 3])[:, 2])
    every = np.concatenate(heights)
    return float(every.min()), float(every.max())


def test_wrenches_go_on_when_a_world_begins_to_touch() -> None:
    world = uk.World(gravity=(0, 0, 0))
    world.add(uk.human(28), "man")
    sim = uk.Simulation(world)
    sim.external = {"man/chest": np.array((0, 0, 10.0, 0, 0, 0))}
    rates = []
    for touching in (False, True):
        world.collisions = touching
        before = uk.momentum(world.model, world.q, world.v)[2]
        sim.step()
        rates.append((uk.momentum(world.model, world.q, world.v)[2] - before) / sim.dt)
    np.testing.assert_allclose(rates, 10.0, rtol=1e-4)


@pytest.mark.parametrize("too_near", [1e-6, 1e-4])
def test_a_box_between_walls_that_stand_too_near(too_near: float) -> None:
    """Less than the depth that a start refuses: it cannot be pushed out, so nothing pushes it, and it falls to the
    ground between them; forces hold, and the depth is told."""
    walls = [uk.Box((0.2, 1, 1), at=uk.Pose((side * (0.2 - too_near), 0, 0.5))) for side in (-1, 1)]
    world = loose(
        [uk.Box((0.2, 0.2, 0.2))], [uk.Ground(), uk.Solids(walls, uk.Surface(0.8))], mass=1.0, q=(0, 0, 0.5, 1, 0, 0, 0)
    )
    sim = uk.Simulation(world, 1e-3)
    for step in range(1, 351):
        sim.step()
        assert sim.report.certificate.valid
        assert sim.report.penetration == pytest.approx(too_near, rel=1e-3)  # nothing moves it across
        if step <= 250:
            np.testing.assert_allclose(world.v, (0, 0, -9.81 * 1e-3 * step, 0, 0, 0), atol=1e-9)
    assert np.abs(world.v).max() < 1e-4
    assert world.q[2] == pytest.approx(0.1, abs=1e-4)


def test_what_is_squeezed_stays_while_others_come_out() -> None:
    """A box between walls that stand too near, and one that stands 0.1 mm deep in the ground beside them."""
    walls = [uk.Box((0.2, 1, 1), at=uk.Pose((side * 0.1999, 0, 0.5))) for side in (-1, 1)]
    world = uk.World()
    world.terrain = [uk.Ground(), uk.Solids(walls, uk.Surface(0.8))]
    model = uk.Builder("box").link("box", joint=uk.Free(), mass=1.0, shapes=[uk.Box((0.2, 0.2, 0.2))]).build()
    world.add(model, "squeezed", q=(0, 0, 0.5, 1, 0, 0, 0))
    sunk = world.add(model, "sunk", q=(2, 0, 0.1 - 1e-4, 1, 0, 0, 0))
    sim = uk.Simulation(world, 1e-3)
    sim.step(steps=100)
    assert sim.report.penetration == pytest.approx(1e-4, rel=1e-3)
    assert sunk.q[2] == pytest.approx(0.1, abs=1e-6)


@pytest.mark.parametrize("height", [0.5, 5.0])
def test_a_ball_on_the_peak_of_a_height_field(height: float) -> None:
    hill = uk.HeightField(np.array([[0, 0, 0], [0, height, 0], [0, 0, 0.0]]), corner=(-1, -1), spacing=(1, 1))
    world = loose([uk.Sphere(0.1)], hill, mass=1.0, q=(0.05, 0.02, height + 0.3, 1, 0, 0, 0))
    sim = uk.Simulation(world, 1e-3)
    lowest = world.energy()
    for _ in range(500):
        sim.step()
        assert sim.report.penetration < 1e-3
        assert world.energy() < lowest + 0.1
        lowest = min(lowest, world.energy())


def test_a_rule_that_divides_a_step_does_not_throw_what_rests() -> None:
    world = loose([uk.Box((0.2, 0.2, 0.2))], uk.Ground(), mass=1.0, q=(0, 0, 0.1 - 1e-6, 1, 0, 0, 0))
    world.when(lambda w: w.time - (0.01 - 1e-9), lambda w: None, "nothing")
    uk.Simulation(world, 1e-3).step(steps=20)
    assert np.abs(world.v).max() < 1e-2
