"""Building: numbering, pointers, mass properties, and everything that must be refused."""

from __future__ import annotations

import numpy as np
import pytest

import ukemi as uk


def test_numbering_is_depth_first_whatever_the_order_of_building() -> None:
    b = uk.Builder("late parents")
    b.link("toe", "foot", uk.Revolute((0, 1, 0)), mass=1, inertia=(1, 1, 1))
    b.link("hand", "arm", uk.Revolute((0, 1, 0)), mass=1, inertia=(1, 1, 1))
    b.link("foot", "base", uk.Revolute((0, 1, 0)), mass=1, inertia=(1, 1, 1))
    b.link("arm", "base", uk.Revolute((0, 1, 0)), mass=1, inertia=(1, 1, 1))
    b.link("base", joint=uk.Free(), mass=1, inertia=(1, 1, 1))
    model = b.build()
    assert model.link_names == ("base", "foot", "toe", "arm", "hand")
    for link in model.links:
        assert link.parent is None or link.parent.index < link.index
    assert [link.q.start for link in model.links] == [0, 7, 8, 9, 10]
    assert [link.v.start for link in model.links] == [0, 6, 7, 8, 9]


def test_links_know_parent_children_and_brother() -> None:
    model = uk.human(28)
    pelvis, chest = model.link("pelvis"), model.link("chest")
    assert pelvis.parent is None
    assert pelvis.child is chest
    assert [c.name for c in pelvis.children] == ["chest", "left_thigh", "right_thigh"]
    assert chest.brother is model.link("left_thigh")
    assert model.link("right_thigh").brother is None
    assert model.joint("left_elbow").name == "left_forearm"


def test_density_and_mass_of_shapes_give_the_same_body() -> None:
    box = uk.Box((1, 2, 3), at=uk.Pose((0, 0, 1)))
    by_density, by_mass = uk.Builder(), uk.Builder()
    by_density.link("box", density=10, shapes=[box])
    by_mass.link("box", mass=60, shapes=[box])
    a = by_density.build().link("box").mass_properties
    b = by_mass.build().link("box").mass_properties
    assert a.mass == pytest.approx(60)
    assert np.allclose(a.com, (0, 0, 1))
    assert np.allclose(np.diag(a.inertia), (65, 50, 25))
    assert np.allclose(a.inertia, b.inertia)


def refused(error: type[Exception], match: str, **link: object) -> None:
    b = uk.Builder()
    with pytest.raises(error, match=match):
        b.link("rod", **link)  # type: ignore[arg-type]
    assert b.build().nlinks == 0  # nothing half done


def test_impossible_mass_properties_are_refused_by_name() -> None:
    refused(uk.ModelError, r"link 'rod': mass -1", mass=-1)
    refused(uk.ModelError, r"link 'rod': .*triangle inequality", mass=1, inertia=(1, 1, 3))
    refused(uk.ModelError, r"link 'rod': .*positive definite", mass=1, inertia=(-1, 1, 1))
    refused(uk.ModelError, r"link 'rod': .*symmetric", mass=1, inertia=[[1, 0.5, 0], [0, 1, 0], [0, 0, 1]])
    refused(uk.ModelError, r"link 'rod': .*without mass", mass=0, inertia=(1, 1, 1))
    refused(uk.InvalidInputError, r"link 'rod': .*finite", mass=np.nan)
    refused(uk.InvalidInputError, r"link 'rod': inertia: expected \(3,\)", mass=1, inertia=(1, 2))
    refused(uk.InvalidInputError, r"link 'rod': density needs shapes", density=3)
    refused(uk.InvalidInputError, r"link 'rod': com or inertia without mass", com=(0, 0, 1))
    refused(uk.InvalidInputError, r"link 'rod': expected a joint", joint="hinge")
    refused(uk.InvalidInputError, r"link 'rod': at: expected a Pose", at=(0, 0, 1))
    refused(uk.InvalidInputError, r"link 'rod': expected shapes", shapes=["box"])


def test_names_are_unique_and_parents_exist() -> None:
    b = uk.Builder()
    b.link("a", mass=1, inertia=(1, 1, 1))
    with pytest.raises(uk.ModelError, match="'a': the name is taken"):
        b.link("a")
    with pytest.raises(uk.ModelError, match="ground"):
        b.link("world")
    b.link("b", "elbow")
    with pytest.raises(uk.UnknownNameError, match="no link named 'elbow'"):
        b.build()


def test_joint_names_are_unique() -> None:
    b = uk.Builder()
    b.link("a", joint=uk.Revolute((0, 0, 1)), mass=1, inertia=(1, 1, 1), joint_name="hinge")
    b.link("b", joint=uk.Revolute((0, 0, 1)), mass=1, inertia=(1, 1, 1), joint_name="hinge")
    with pytest.raises(uk.ModelError, match="joint 'hinge'"):
        b.build()


def test_cycles_are_refused() -> None:
    b = uk.Builder()
    b.link("base")
    b.link("a", "b")
    b.link("b", "a")
    with pytest.raises(uk.ModelError, match="a, b hang on each other in a cycle"):
        b.build()


def test_unknown_names_offer_near_ones() -> None:
    model = uk.human(28)
    with pytest.raises(KeyError, match="did you mean left_foot"):
        model.link("left_feet")
    with pytest.raises(uk.UnknownNameError, match="no joint named 'tail'; there are"):
        model.joint("tail")
    with pytest.raises(uk.UnknownNameError):
        uk.jacobian(model, model.neutral(), "tail")


def test_random_states_keep_limits_and_repeat() -> None:
    model = uk.human(28)
    q, v = model.random(np.random.default_rng(4))
    again, _ = model.random(np.random.default_rng(4))
    assert (q == again).all()
    lower, upper = model.limits().T
    assert (q >= lower).all()
    assert (q <= upper).all()
    assert v.shape == (model.nv,)


def test_an_empty_model_computes_empty_arrays() -> None:
    model = uk.Builder().build()
    assert uk.forward_dynamics(model, [], [], []).shape == (0,)
    assert uk.mass_matrix(model, np.zeros((3, 0))).shape == (3, 0, 0)
    assert uk.energy(model, [], []) == 0


def test_models_are_frozen_and_travel() -> None:
    """Frozen, and yet they can be pickled and copied, as workers of a corpus need."""
    import copy
    import pickle

    model = uk.human(28)
    with pytest.raises(AttributeError, match="never changes"):
        model.mass = 3.0
    for twin in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert twin.link_names == model.link_names
        q, v = model.random(np.random.default_rng(0))
        assert (uk.forward_dynamics(twin, q, v, v) == uk.forward_dynamics(model, q, v, v)).all()


def test_random_states_keep_limits_of_every_kind() -> None:
    b = uk.Builder()
    inertia = {"mass": 1.0, "inertia": (1, 1, 1)}
    b.link("slide", joint=uk.Prismatic((0, 0, 1), limits=(5, 10)), **inertia)  # type: ignore[arg-type]
    b.link("half", "slide", uk.Revolute((0, 0, 1), limits=(-np.inf, -3)), **inertia)  # type: ignore[arg-type]
    b.link("ball", "half", uk.Spherical(limits=(0, 0.1)), **inertia)  # type: ignore[arg-type]
    model = b.build()
    rng = np.random.default_rng(0)
    for _ in range(50):
        q, _ = model.random(rng)
        assert 5 <= q[0] <= 10
        assert q[1] <= -3
        assert 2 * np.arccos(min(1.0, abs(q[2]))) <= 0.1 + 1e-12
