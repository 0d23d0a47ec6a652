"""Human figures: the papers' structures, published masses, stature, symmetry."""

from __future__ import annotations

import numpy as np
import pytest

import ukemi as uk
from ukemi.model.figures.anthropometry import CC00_TABLE_3, Sex


def landmark(model: uk.Model, name: str) -> np.ndarray:
    mark = model.landmarks[name]
    X: np.ndarray = uk.link_poses(model, model.neutral())[model.link_index(mark.link)] @ mark.at.matrix
    return X[:3, 3]


@pytest.mark.parametrize(("dof", "links", "spherical"), [(16, 9, 4), (28, 13, 8), (40, 17, 12)])
def test_structure_of_the_papers(dof: int, links: int, spherical: int) -> None:
    """[SV00] Fig. 19, [CC00] Fig. 5, [SV00] Fig. 16: ball joints, four hinges, a free base."""
    model = uk.human(dof)
    kinds = [type(link.joint) for link in model.links]
    assert model.nv == dof + 6
    assert model.nlinks == links
    assert kinds.count(uk.Spherical) == spherical
    assert kinds.count(uk.Revolute) == 4
    assert kinds.count(uk.Free) == 1


def test_28_dof_figure_is_table_3_of_the_paper() -> None:
    model = uk.human(28)
    for link in model.links:
        mass, inertia = CC00_TABLE_3[link.name.removeprefix("left_").removeprefix("right_")]
        assert link.mass_properties.mass == mass
        assert (link.mass_properties.inertia == np.diag(inertia)).all()
    assert model.mass == 69.0


def test_soles_are_19_by_12_cm() -> None:
    (sole,) = uk.human(28).link("left_foot").shapes
    assert isinstance(sole, uk.Box)
    assert np.asarray(sole.size)[:2].tolist() == [0.19, 0.12]


@pytest.mark.parametrize("sex", ["male", "female"])
@pytest.mark.parametrize("dof", [16, 28, 40])
@pytest.mark.parametrize(("height", "mass"), [(1.75, 69.0), (1.2, 25.0), (2.0, 110.0)])
def test_height_and_mass_are_what_was_asked_for(dof: int, sex: Sex, height: float, mass: float) -> None:
    model = uk.human(dof, height, mass, sex=sex)
    assert model.mass == pytest.approx(mass, rel=1e-12)
    for side in ("left", "right"):
        assert landmark(model, "vertex")[2] - landmark(model, f"{side}_sole")[2] == pytest.approx(height, rel=1e-12)


@pytest.mark.parametrize("dof", [16, 28, 40])
def test_left_mirrors_right(dof: int) -> None:
    model = uk.human(dof)
    mirror = np.diag((1.0, -1, 1))
    for link in model.links:
        if not link.name.startswith("left_"):
            continue
        other = model.link(link.name.replace("left", "right"))
        assert np.allclose(mirror @ link.mass_properties.com, other.mass_properties.com)
        assert np.allclose(mirror @ link.mass_properties.inertia @ mirror, other.mass_properties.inertia)
        assert np.allclose(mirror @ link.at.position, other.at.position)
    assert abs(uk.center_of_mass(model, model.neutral())[1]) < 1e-15


def test_16_and_40_dof_figures_are_the_same_body() -> None:
    """Fewer joints, the same mass distribution: equal mass, centre of mass and inertia in the zero pose."""
    a, b = uk.human(16), uk.human(40)
    assert np.allclose(uk.center_of_mass(a, a.neutral()), uk.center_of_mass(b, b.neutral()), atol=1e-12)
    assert np.allclose(uk.mass_matrix(a, a.neutral())[:6, :6], uk.mass_matrix(b, b.neutral())[:6, :6], atol=1e-12)


def test_centre_of_mass_stands_where_people_have_it() -> None:
    """55 to 58 % of stature (e.g. Winter): a check against swapped segments."""
    for sex in ("male", "female"):
        model = uk.human(40, sex=sex)
        height = (uk.center_of_mass(model, model.neutral()) - landmark(model, "left_sole"))[2]
        assert 0.54 < height / 1.75 < 0.585


def test_hinges_flex_the_way_people_do() -> None:
    model = uk.human(28)
    q = model.neutral()
    q[model.joint("left_elbow").q] = 1.0
    q[model.joint("left_knee").q] = 1.0
    poses = uk.link_poses(model, q)
    hand = poses[model.link_index("left_forearm")] @ model.landmarks["left_palm"].at.matrix
    assert hand[0, 3] > 0.1  # forward
    assert poses[model.link_index("left_foot"), 0, 3] < -0.1  # backward
