"""URDF files: what is read, and how it moves."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.model.readers.urdf_texts import CORNERS, INERTIAL, JOINTS, cube_stl, every_joint, joint, link, robot, written
from tests.oracles.other_engines import largest_difference, of_pinocchio, of_ukemi

import ukemi as uk
from ukemi.model.description import Coupling
from ukemi.model.readers.diagnostics import MOST_KINDS
from ukemi.model.readers.load import load

#: Both engines compute in doubles; inertia matrices of these figures have condition numbers up to 1e6.
ENGINES_AGREE = 1e-9
PUBLISHED = {
    "human_36dof/human.urdf": (37, 36, 74.71),
    "talos/talos_full_v2.urdf": (60, 44, 93.34),
    "unitree_g1/g1_29dof_rev_1_0.urdf": (39, 29, 33.34),
}


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore::ukemi.UkemiWarning")
@pytest.mark.parametrize("base", [None, uk.Free()], ids=["fixed", "free"])
@pytest.mark.parametrize("file", PUBLISHED)
def test_published_robots_move_as_in_pinocchio(shared: Path, file: str, base: uk.Free | None) -> None:
    pin = pytest.importorskip("pinocchio")
    path = shared / "models" / file
    model = load(path, base=base)
    free_flyer = () if base is None else (pin.JointModelFreeFlyer(),)
    pin_model = pin.buildModelFromUrdf(str(path), *free_flyer)
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, v = model.random(rng)
        tau = 10 * rng.standard_normal(model.nv)
        theirs = of_pinocchio(model, pin_model, q, v, tau)
        assert set(theirs.poses) == set(model.link_names)
        assert largest_difference(of_ukemi(model, q, v, tau), theirs) < ENGINES_AGREE


@pytest.mark.oracle
def test_every_joint_type_moves_as_in_pinocchio(tmp_path: Path) -> None:
    pin = pytest.importorskip("pinocchio")
    path = written(tmp_path, every_joint())
    model, pin_model = load(path), pin.buildModelFromUrdf(str(path))
    rng = np.random.default_rng(2)
    for _ in range(5):
        q, v = model.random(rng)
        tau = rng.standard_normal(model.nv)
        ours, theirs = of_ukemi(model, q, v, tau), of_pinocchio(model, pin_model, q, v, tau)
        assert largest_difference(ours, theirs) < ENGINES_AGREE


@pytest.mark.filterwarnings("ignore::ukemi.UkemiWarning")
@pytest.mark.parametrize("file", PUBLISHED)
def test_published_robots_have_their_published_size(shared: Path, file: str) -> None:
    model = load(shared / "models" / file)
    links, nv, mass = PUBLISHED[file]
    assert (model.nlinks, model.nv) == (links, nv)
    assert model.mass == pytest.approx(mass, abs=0.005)  # published with two digits


def test_every_joint_type_is_read(tmp_path: Path) -> None:
    model = load(written(tmp_path, every_joint()))
    kinds = {name: type(model.joint(f"{name}_joint").joint) for name in JOINTS}
    assert kinds == {
        "revolute": uk.Revolute,
        "prismatic": uk.Prismatic,
        "continuous": uk.Revolute,
        "planar": uk.Planar,
        "floating": uk.Free,
        "fixed": uk.Fixed,
    }
    revolute = model.joint("revolute_joint").joint
    assert np.array_equal(revolute.limits, [[-1, 2]])  # type: ignore[arg-type]
    assert np.array_equal(revolute.effort, [30])  # type: ignore[arg-type]
    assert np.array_equal(revolute.damping, [[0.4]])  # type: ignore[arg-type]
    assert model.joint("continuous_joint").joint.limits is None
    assert model.link("base").joint.nv == 0


def test_spherical_joints_are_an_extension(tmp_path: Path) -> None:
    model = load(written(tmp_path, robot(link("a"), link("b"), joint("ball", "spherical", "a", "b"))))
    assert isinstance(model.joint("ball").joint, uk.Spherical)


def test_the_axis_is_x_when_none_is_given(tmp_path: Path) -> None:
    model = load(written(tmp_path, robot(link("a"), link("b"), joint("j", "continuous", "a", "b"))))
    assert np.array_equal(model.joint("j").joint.axes()[:3], [1, 0, 0])


def test_a_base_is_put_under_the_root(tmp_path: Path) -> None:
    model = load(written(tmp_path, every_joint()), base=uk.Free())
    assert isinstance(model.link("base").joint, uk.Free)
    assert model.link("base").joint_name == "root_joint"
    assert model.nv == load(tmp_path / "small.urdf").nv + 6


def test_a_joint_may_be_called_as_the_root_joint(tmp_path: Path) -> None:
    text = robot(link("a"), link("b"), joint("root_joint", "continuous", "a", "b"))
    model = load(written(tmp_path, text))
    assert model.joint("root_joint").name == "b"


def test_inertia_is_turned_and_moved_by_its_origin(tmp_path: Path) -> None:
    properties = load(written(tmp_path, robot(link("a")))).link("a").mass_properties
    given = np.array([[0.02, 0.001, 0.002], [0.001, 0.03, -0.001], [0.002, -0.001, 0.025]])
    cr, sr, cp, sp, cy, sy = np.ravel([(np.cos(a), np.sin(a)) for a in (0.1, 0.2, 0.3)])
    about_x = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    about_y = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    about_z = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    R = about_z @ about_y @ about_x
    assert properties.mass == 2
    assert np.allclose(properties.com, (0.1, -0.02, 0.3), atol=1e-15)
    assert np.allclose(properties.inertia, R @ given @ R.T, atol=1e-16)


def test_a_link_without_inertial_is_massless(tmp_path: Path) -> None:
    model = load(written(tmp_path, robot(link("a", ""))))
    assert model.mass == 0


def test_mimic_joints_stay_free_and_are_noted(tmp_path: Path) -> None:
    mimic = JOINTS["revolute"] + '<mimic joint="one" multiplier="-2" offset="0.5"/>'
    text = robot(
        link("a"), link("b"), link("c"),
        joint("two", "revolute", "a", "c", mimic), joint("one", "revolute", "a", "b", JOINTS["revolute"]),
    )  # fmt: skip
    model = load(written(tmp_path, text))
    assert model.couplings == (Coupling("two", "one", -2.0, 0.5),)
    assert model.nv == 2


def test_children_keep_the_order_of_their_joints(tmp_path: Path) -> None:
    parts = [link(name) for name in "dcba"]
    joints = [joint(f"to_{name}", "continuous", "a", name) for name in "cdb"]
    model = load(written(tmp_path, robot(*parts, *joints)))
    assert model.link_names == ("a", "c", "d", "b")


def test_shapes_are_read_from_collision_and_not_from_visual(tmp_path: Path) -> None:
    def collision(shape: str) -> str:
        return f'<collision><origin xyz="1 2 3"/><geometry>{shape}</geometry></collision>'

    shapes = [
        '<box size="0.1 0.2 0.3"/>',
        '<sphere radius="0.4"/>',
        '<cylinder radius="0.1" length="0.5"/>',
        '<capsule radius="0.1" length="0.5"/>',
    ]
    visual = '<visual><geometry><sphere radius="9"/></geometry></visual>'
    model = load(written(tmp_path, robot(link("a", INERTIAL + visual + "".join(map(collision, shapes))))))
    box, sphere, cylinder, capsule = model.link("a").shapes
    assert isinstance(box, uk.Box)
    assert np.array_equal(box.size, (0.1, 0.2, 0.3))
    assert np.array_equal(box.at.position, (1, 2, 3))
    assert isinstance(sphere, uk.Sphere)
    assert isinstance(cylinder, uk.Cylinder)
    assert (cylinder.radius, cylinder.length) == (0.1, 0.5)
    assert isinstance(capsule, uk.Capsule)


MESHES = {
    "cube.stl": cube_stl(),
    "text.STL": cube_stl(as_text=True),
    "cube.obj": "".join(f"v {x} {y} {z}\n" for x, y, z in CORNERS).encode(),
}


def with_mesh(filename: str) -> str:
    mesh = f'<collision><geometry><mesh filename="{filename}" scale="1 2 3"/></geometry></collision>'
    return robot(link("a", INERTIAL + mesh))


@pytest.mark.parametrize("name", MESHES)
def test_meshes_become_their_convex_hull(tmp_path: Path, name: str) -> None:
    written(tmp_path, MESHES[name], name)
    (shape,) = load(written(tmp_path, with_mesh(name))).link("a").shapes
    assert isinstance(shape, uk.ConvexMesh)
    assert shape.volume == pytest.approx(6, rel=1e-12)
    assert len(np.asarray(shape.points)) == 8


@pytest.mark.parametrize("package", ["my_robot", "name_of_another_folder"])
def test_packages_are_found_above_the_file(tmp_path: Path, package: str) -> None:
    for folder in ("my_robot/meshes", "my_robot/urdf"):
        (tmp_path / folder).mkdir(parents=True)
    written(tmp_path / "my_robot" / "meshes", MESHES["cube.stl"], "cube.stl")
    path = written(tmp_path / "my_robot" / "urdf", with_mesh(f"package://{package}/meshes/cube.stl"))
    assert len(load(path).link("a").shapes) == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("gone.stl", None),
        ("scene.dae", b"<COLLADA/>"),
        ("cut.stl", MESHES["cube.stl"][:-20]),
        ("bad.obj", b"v 1 2\n"),
        ("nan.obj", b"v 1 2 nan\n" * 5),
        ("flat.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\n"),
        ("empty.stl", b""),
        ("x" * 300 + ".stl", None),
    ],
)
def test_a_mesh_that_cannot_be_used_is_dropped_with_a_warning(tmp_path: Path, name: str, content: bytes | None) -> None:
    if content is not None:
        written(tmp_path, content, name)
    with pytest.warns(uk.UkemiWarning, match=r"small\.urdf:\d+: collision meshes .* are left out") as caught:
        model = load(written(tmp_path, with_mesh(name)))
    assert len(caught) == 1
    assert model.link("a").shapes == ()
    assert model.mass == 2


def test_unknown_things_are_warned_about_once_per_kind_with_their_first_line(tmp_path: Path) -> None:
    strange = '<strange/>\n<strange/><joint_damping k="1"/>'
    text = robot(link("a", INERTIAL + strange), '<link name="b" colour="red"/>', joint("j", "fixed", "a", "b"))
    with pytest.warns(uk.UkemiWarning) as caught:
        load(written(tmp_path, text))
    messages = sorted(str(w.message).removeprefix(f"{tmp_path / 'small.urdf'}:") for w in caught)
    assert messages == [
        "11: unknown attribute 'colour' of <link> is ignored",
        "8: unknown element <strange> in <link> is ignored (2 times)",
        "9: unknown element <joint_damping> in <link> is ignored",
    ]


def test_warnings_do_not_flood(tmp_path: Path) -> None:
    strange = "".join(f"<strange{i}/>" for i in range(MOST_KINDS + 20))
    with pytest.warns(uk.UkemiWarning) as caught:
        load(written(tmp_path, robot(strange, link("a"))))
    assert len(caught) == MOST_KINDS + 1
    assert "20 more kinds" in str(caught[-1].message)


def test_the_first_line_is_that_of_the_file_not_of_the_tree(tmp_path: Path) -> None:
    """The root is read first, wherever it stands."""
    box = link("b", '<collision><geometry><box size="0 0 1"/></geometry></collision>')
    ball = link("a", '<collision><geometry><sphere radius="0"/></geometry></collision>')
    text = robot(box, ball, joint("j", "fixed", "a", "b"))
    with pytest.warns(uk.UkemiWarning, match=r":3: collision shapes without volume are left out \(2 times\): b, a$"):
        model = load(written(tmp_path, text))
    assert model.link("a").shapes == model.link("b").shapes == ()


def test_warnings_point_at_the_line_that_loads(tmp_path: Path) -> None:
    with pytest.warns(uk.UkemiWarning) as caught:
        load(written(tmp_path, robot("<strange/>", link("a"))))
    assert Path(caught[0].filename) == Path(__file__)


def test_known_things_without_meaning_for_dynamics_are_silent(tmp_path: Path) -> None:
    silent = ("transmission", "gazebo", "sensor", "material", "ros2_control")
    blocks = "".join(f"<{tag} any='1'><deeper/></{tag}>" for tag in silent)
    in_joint = JOINTS["revolute"] + "<safety_controller k_velocity='1'/><calibration rising='0'/>"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(written(tmp_path, robot(blocks, link("a"), link("b"), joint("j", "revolute", "a", "b", in_joint))))


@pytest.mark.parametrize(
    ("kind", "content", "message"),
    [
        ("revolute", '<axis xyz="0 0 1"/><limit effort="1" velocity="1"/>', "left unlimited: j$"),
        ("prismatic", '<axis xyz="0 0 1"/>', "left unlimited: j$"),
        ("continuous", '<dynamics damping="1" friction="0.5"/>', "joint friction is not modelled: j$"),
        ("fixed", '<mimic joint="j"/>', "<mimic> is ignored: j$"),
    ],
)
def test_what_cannot_be_kept_is_said(tmp_path: Path, kind: str, content: str, message: str) -> None:
    with pytest.warns(uk.UkemiWarning, match=message):
        model = load(written(tmp_path, robot(link("a"), link("b"), joint("j", kind, "a", "b", content))))
    assert model.joint("j").joint.limits is None


def test_children_of_a_root_named_world_hang_on_the_ground(tmp_path: Path) -> None:
    text = robot(link("world", ""), link("a"), joint("j", "floating", "world", "a"))
    model = load(written(tmp_path, text))
    assert model.link_names == ("a",)
    assert model.link("a").parent is None
    assert np.array_equal(model.link("a").at.position, (0.1, 0.2, 0.3))
    with pytest.raises(uk.InvalidInputError, match="world"):
        load(tmp_path / "small.urdf", base=uk.Free())


def test_an_xml_file_with_a_robot_is_a_urdf(tmp_path: Path) -> None:
    assert load(written(tmp_path, robot(link("a")), "small.xml")).link_names == ("a",)
