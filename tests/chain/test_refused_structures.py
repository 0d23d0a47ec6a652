"""What must be refused, and leaves the world as it was."""

from __future__ import annotations

import pytest

import ukemi as uk


def test_bad_connections_leave_the_world_as_it_was() -> None:
    world = uk.World()
    man = world.add(uk.human(16), name="man")
    before = (world.q.copy(), world.v.copy(), world.version)
    for bad, match in (
        (lambda: world.connect(man["left_hand"], man["left_forearm"], uk.Fixed()), "itself|same body"),
        (lambda: world.connect(world.ground, world.ground, uk.Fixed()), "itself"),
        (lambda: world.connect(man["left_hand"], world.ground, uk.Spherical(), at="frames"), r"are .* apart"),
        (lambda: world.connect(man["left_hand"], world.ground, "hinge"), "expected a joint"),  # type: ignore[arg-type]
        (lambda: world.connect(man["left_hand"], "bar", uk.Fixed()), "expected links"),  # type: ignore[arg-type]
        (lambda: world.connect(man["left_hand"], world.ground, uk.Fixed(), at=3), "at: expected"),  # type: ignore[arg-type]
        (lambda: world.connect(man["left_hand"], world.ground, uk.Fixed(), restitution=2.0), "restitution"),
        (lambda: world.cut("grip"), "expected a connection"),  # type: ignore[arg-type]
    ):
        with pytest.raises(uk.InvalidInputError, match=match):
            bad()
    assert (world.q == before[0]).all()
    assert (world.v == before[1]).all()
    assert world.connections == []
    with pytest.raises(uk.UnknownNameError, match="no link or landmark named 'tail'"):
        man["tail"]


def test_a_cut_connection_cannot_be_cut_again() -> None:
    world = uk.World()
    man = world.add(uk.human(16))
    grip = world.connect(world.ground, man["left_hand"], uk.Spherical())
    world.cut(grip)
    with pytest.raises(uk.InvalidInputError, match="not connected"):
        world.cut(grip)
    assert (grip.wrench == 0).all()


def test_a_loop_that_cannot_close_is_refused() -> None:
    b = uk.Builder("arm")
    b.link("arm", joint=uk.Revolute((0, 1, 0)), mass=1, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    world = uk.World()
    arm = world.add(b.build(), name="arm")
    with pytest.raises(uk.SingularError, match="cannot close"):
        world.connect(
            world.ground.at(uk.Pose((0, 0, -3))),
            arm["arm"].at(uk.Pose((0, 0, -1))),
            uk.Spherical(),
            at="frames",
            snap=True,
        )
    assert world.connections == []


@pytest.mark.parametrize("joint", [uk.Fixed(), uk.Revolute((0, 0, 1))])
def test_half_a_turn_is_not_closed(joint: uk.Fixed | uk.Revolute) -> None:
    b = uk.Builder("box")
    b.link("box", joint=uk.Free(), mass=1, inertia=(1, 1, 1))
    world = uk.World()
    box = world.add(b.build(), q=[0, 0, 0, 0, 1, 0, 0])
    with pytest.raises(uk.InvalidInputError, match=r"3\.14 m \(or rad\) apart"):
        world.connect(world.ground, box["box"], joint, at="frames")


def test_a_world_stays_as_it_was_when_a_model_cannot_close_its_loops() -> None:
    b = uk.Builder("far")
    b.link("arm", joint=uk.Revolute((0, 1, 0)), mass=1, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    b.loop("far", "arm", "world", uk.Spherical(), uk.Pose((0, 0, -1)), uk.Pose((0, 0, -5)))
    world = uk.World()
    with pytest.raises(uk.SingularError):
        world.add(b.build())
    assert world.figures == {}
    assert world.model.nv == 0


def test_torques_of_a_question_do_not_break_anything() -> None:
    b = uk.Builder("box")
    b.link("box", joint=uk.Free(), mass=1, inertia=(1, 1, 1))
    world = uk.World(allow_rigid=True)
    box = world.add(b.build())
    grip = world.connect(world.ground, box["box"], uk.Fixed(), break_force=100.0)
    world.forward_dynamics([150.0, 0, 0, 0, 0, 0])
    assert uk.Simulation(world).run(0.01).events == []
    assert grip.active
    with pytest.raises(uk.InvalidInputError, match="is free already"):
        world.cut(box.joint("box"))


def arm() -> uk.Model:
    b = uk.Builder("arm")
    b.link("arm", joint=uk.Revolute((0, 1, 0)), mass=1, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    return b.build()


def test_a_structure_without_freedom_is_refused() -> None:
    world = uk.World()
    held = world.add(arm(), name="arm", q=[1.0], v=[0.5])
    version = world.version
    for joint in (uk.Fixed(), uk.Spherical()):
        with pytest.raises(uk.SingularError, match=r"'tip' would take the last of the 1 freedoms.*allow_rigid=True"):
            world.connect(world.ground, held["arm"].at(uk.Pose((0, 0, -1))), joint, name="tip")
    assert world.connections == []
    assert world.v[0] == 0.5
    assert world.version > version  # whoever watches looks again, and finds the same
    world.spring(world.ground, held["arm"], 10.0)  # takes no freedom
    stop = world.hold(held.joint("arm"))  # a joint at its stop is no broken structure
    assert stop.active
    other = world.add(arm(), name="other")
    world.connect(world.ground, held["arm"].at(uk.Pose((0, 0, -1))), uk.Spherical())  # something else can move
    with pytest.raises(uk.SingularError, match="the last of the 2 freedoms"), world.at_once():
        world.connect(world.ground, other["arm"], uk.Fixed())
    assert len(world.connections) == 2


def test_a_rigid_structure_that_is_wanted_stands_still_and_says_so() -> None:
    world = uk.World(allow_rigid=True)
    held = world.add(arm(), name="arm", q=[1.0])
    world.connect(world.ground, held["arm"].at(uk.Pose((0, 0, -1))), uk.Fixed(), at=uk.Pose((0, 0, 0.2)))
    assert world.mobility().dof == 0
    assert "Nothing can move" in world.mobility().summary()
    uk.Simulation(world, 1e-3).run(0.1)
    assert abs(world.q[0] - 1.0) < 1e-12


def test_a_failed_change_keeps_numbers_and_handles() -> None:
    """A model that cannot close its loops is taken back; connections made before still hold what they held."""
    world = uk.World()
    man = world.add(uk.human(16), name="man")
    grip = world.connect(world.ground, man["left_hand"], uk.Spherical())
    before = grip.a.X_W, world.forward_dynamics()
    b = uk.Builder("far")
    b.link("arm", joint=uk.Revolute((0, 1, 0)), mass=1, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    b.loop("far", "arm", "world", uk.Spherical(), uk.Pose((0, 0, -1)), uk.Pose((0, 0, -5)))
    with pytest.raises(uk.SingularError):
        world.add(b.build())
    assert grip.active
    assert (before[0] == grip.a.X_W).all()
    assert (world.forward_dynamics() == before[1]).all()
