"""OpenSim models: every joint kind in both dialects against OpenSim, real models, files that are wrong."""

from __future__ import annotations

import pickle
import random
import re
import warnings
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.model.readers.osim_texts import ALL, KNEE, ZERO, Joint, line, osim, spline, transform
from tests.model.readers.urdf_texts import written

import ukemi as uk
from ukemi.dynamics.coupled import coupled_coordinates, coupled_inverse_dynamics, followed
from ukemi.model.readers.diagnostics import Diagnostics
from ukemi.model.readers.osim_functions import read_function
from ukemi.model.readers.osim_parts import read_parts
from ukemi.model.readers.xmltree import read_xml

#: x forward, y up, z right to x forward, y left, z up.
TURN = np.array([(1.0, 0, 0), (0, 0, -1), (0, 1, 0)])
#: OpenSim 4.6 (2026-06-22, opensim on PyPI) on `osim(ALL)` with coordinate k (from 1) at 0.8 sin k: origins in the
#: ground and the first row of the rotation matrices.
ORIGINS = {
    "slider": (0.18602105220864273, -0.1369533194885444, 0.3004827549740546),
    "weld": (-0.7253931801439175, -0.8872410653719636, -0.22829527345856176),
    "plane": (-1.0710362947679755, -0.70834616628754, 0.41421939028833604),
}
FIRST_ROWS = {
    "slider": (0.3854236730466323, -0.795088918736046, 0.46827577724924874),
    "weld": (0.7436260943002294, 0.3803727853153857, 0.5498515945845767),
    "plane": (0.45246984104163324, 0.5995890833766074, 0.6601242110719456),
    "shank": (0.6477613990729468, -0.41238150575298466, 0.6405830653271751),
}
SHANK = (0.5864758846217111, -0.10900748635423553, -0.0028109568244645833)
CENTRE = (-0.437415554317763, -0.7482199049622492, -0.13421823664596547)
#: What the warning says of the polynomial in place of the spline of `KNEE`.
OFF = 0.0045
NAMES = [name for joint in ALL for name in joint.coordinates]


def small(folder: Path, joints: list[Joint], dialect: int = 4, extra: str = "") -> uk.Model:
    return uk.load(written(folder, osim(joints, dialect, extra), "small.osim"))


def filled(model: uk.Model, values: dict[str, float]) -> np.ndarray:
    """q with these coordinates, and joints that follow others where they belong."""
    q = model.neutral()
    for name, x in values.items():
        q[model.joint(name).q] = x
    return coupled_coordinates(model, q, given=values)


@pytest.mark.filterwarnings("ignore::ukemi.UkemiWarning")
@pytest.mark.parametrize("dialect", [3, 4])
def test_every_joint_stands_where_opensim_puts_it(dialect: int, tmp_path: Path) -> None:
    model = small(tmp_path, ALL, dialect)
    q = filled(model, {name: 0.8 * np.sin(k + 1) for k, name in enumerate(NAMES)})
    X = uk.link_poses(model, q)
    for name, place in ORIGINS.items():
        np.testing.assert_allclose(X[model.link_index(name), :3, 3], TURN @ place, atol=1e-14)
    for name, row in FIRST_ROWS.items():  # the world's x axis is the ground's
        np.testing.assert_allclose(X[model.link_index(name), 0, :3], row, atol=1e-14)
    np.testing.assert_allclose(X[model.link_index("shank"), :3, 3], TURN @ SHANK, atol=1e-14)
    np.testing.assert_allclose(uk.center_of_mass(model, q), TURN @ CENTRE, atol=1e-14)
    assert model.mass == pytest.approx(1.5 * len(ALL))


def test_both_dialects_give_one_model(tmp_path: Path) -> None:
    joints = ALL[:-1]
    new, old = small(tmp_path, joints, 4), small(tmp_path, joints, 3)
    assert new.joint_names == old.joint_names
    assert set(NAMES[:-1]) <= set(new.joint_names)
    q, v = new.random(np.random.default_rng(1))
    np.testing.assert_array_equal(uk.mass_matrix(new, q), uk.mass_matrix(old, q))
    np.testing.assert_array_equal(uk.bias(new, q, v), uk.bias(old, q, v))
    tensor = new.link("pin").mass_properties.inertia
    np.testing.assert_allclose(tensor, [(0.02, 0.001, -0.002), (0.001, 0.015, 0.0005), (-0.002, 0.0005, 0.018)])


def test_a_pendulum_falls_as_a_pendulum_does(tmp_path: Path) -> None:
    m, length = 2.0, 0.7
    pin = Joint("PinJoint", "bob", coordinates=("angle",), mass=m, com=f"0 {-length} 0", inertia="0.01 0.01 0.01 0 0 0")
    model = small(tmp_path, [pin])
    for angle in (-1.0, 0.3):  # about z, which points right: positive swings forward
        a = uk.forward_dynamics(model, [angle], [0.0], [0.0])
        assert a[0] == pytest.approx(-m * 9.81 * length * np.sin(angle) / (m * length**2 + 0.01), rel=1e-12)
    assert uk.center_of_mass(model, [0.3])[0] == pytest.approx(length * np.sin(0.3))
    assert uk.center_of_mass(model, [0.3])[2] == pytest.approx(-length * np.cos(0.3))


def test_ranges_hold_where_clamped_and_locks_become_ties(tmp_path: Path) -> None:
    clamped = {"range": "-0.5 1", "clamped": "true"}
    joints = [
        Joint("PinJoint", "a", coordinates=("one",), options=clamped),
        Joint("PinJoint", "b", "a", ("two",), options={"range": "-0.5 1", "clamped": "false"}),
        Joint("PinJoint", "c", "b", ("three",), options={"locked": "true", "default_value": "0.4"}),
    ]
    coupler = (
        '<ConstraintSet><objects><CoordinateCouplerConstraint name="gear"><isEnforced>true</isEnforced>'
        f"<coupled_coordinates_function>{line(2.0, 0.1)}</coupled_coordinates_function>"
        "<independent_coordinate_names>one</independent_coordinate_names>"
        "<dependent_coordinate_name>two</dependent_coordinate_name></CoordinateCouplerConstraint></objects></ConstraintSet>"
    )
    model = small(tmp_path, joints, extra=coupler)
    np.testing.assert_array_equal(model.limits(), [(-0.5, 1), (-np.inf, np.inf), (-np.inf, np.inf)])
    world = uk.World()
    man = world.add(model)
    assert man.q[2] == pytest.approx(0.4)
    assert man.q[1] == pytest.approx(2 * man.q[0] + 0.1)
    assert world.mobility().dof == 1


def test_a_base_of_the_users_replaces_the_joint_on_the_ground(tmp_path: Path) -> None:
    path = written(tmp_path, osim(ALL[:2]), "small.osim")
    model = uk.load(path, base=uk.Free())
    assert isinstance(model.links[0].joint, uk.Free)
    assert "tx" not in model.joint_names
    X = uk.link_poses(model, model.neutral())[model.link_index("trunk")]
    np.testing.assert_allclose(X[:3, :3] @ (0, 1, 0), (0, 0, 1), atol=1e-15)  # upright
    two = written(tmp_path, osim([ALL[0], replace(ALL[1], parent="ground")]), "two.osim")
    with pytest.raises(uk.InvalidInputError, match=r"2 bodies .* stand on the ground"):
        uk.load(two, base=uk.Free())


def test_markers_and_contact_spheres_come_along(tmp_path: Path) -> None:
    extra = (
        '<MarkerSet><objects><Marker name="tip"><socket_parent_frame>/bodyset/pin</socket_parent_frame>'
        "<location>0.1 0.2 0.3</location></Marker></objects></MarkerSet><ContactGeometrySet><objects>"
        '<ContactSphere name="heel"><socket_frame>/bodyset/pin</socket_frame><location>0 -0.1 0</location>'
        '<radius>0.03</radius></ContactSphere><ContactHalfSpace name="floor"/></objects></ContactGeometrySet>'
        '<ForceSet><objects><Thelen2003Muscle name="biceps"/></objects></ForceSet>'
    )
    with pytest.warns(uk.UkemiWarning) as said:
        model = small(tmp_path, ALL[:2], extra=extra)
    assert {"muscles", "contact"} == {re.split(r":\d+: ", str(w.message))[1].split()[0] for w in said}
    assert model.landmarks["tip"].link == "pin"
    (heel,) = model.link("pin").shapes
    assert isinstance(heel, uk.Sphere)
    assert heel.radius == 0.03


def test_the_spline_is_simms(tmp_path: Path) -> None:
    def values(x: str, y: str, at: list[float]) -> np.ndarray:
        text = f"<f><SimmSpline><x>{x}</x><y>{y}</y></SimmSpline></f>"
        function = read_function(read_xml(written(tmp_path, text, "f.xml")))
        assert function is not None
        return function(np.array(at))

    # OpenSim 4.6, SimmSpline.calcValue, also beyond the ends
    got = values("-2 -1 -0.4 0.3 1 2", "0 0.02 0.025 0.01 -0.004 -0.03", [-2.5, -1.7, 0.0, 1.6, 2.4])
    wanted = (-0.0072634695772559954, 0.005278019262581298, 0.017733982764109386, -0.01775792123128265)
    np.testing.assert_allclose(got, (*wanted, -0.043773452609726995), atol=1e-15)
    np.testing.assert_allclose(values("0 1 3", "1 0 2", [-0.5, 0.5, 2.0, 3.5]), (11 / 6, 1 / 3, 1 / 3, 19 / 6))
    # any cubic comes back exactly
    x = np.array([-1.0, -0.2, 0.4, 1.0, 2.5])
    cubic = np.polynomial.Polynomial([0.3, -1.0, 0.5, 2.0])
    at = np.linspace(-1, 2.5, 31)
    got = values(" ".join(map(str, x)), " ".join(map(repr, cubic(x).tolist())), at.tolist())
    np.testing.assert_allclose(got, cubic(at), atol=1e-12)


def test_a_range_without_end_does_not_stretch_the_polynomial(tmp_path: Path) -> None:
    """Over its knots, as far off as with a sensible range."""
    knee = Joint("CustomJoint", "a", coordinates=("knee",), transform=KNEE, options={"range": "-99999.9 99999.9"})
    with pytest.warns(uk.UkemiWarning) as said:
        small(tmp_path, [knee])
    off = [float(x) for w in said for x in re.findall(r"off by at most ([\d.e-]+)", str(w.message))]
    assert off == [OFF]


@pytest.mark.filterwarnings("ignore:.*functions that are not straight")
def test_real_models_weigh_what_they_weigh(shared: Path) -> None:
    for name, mass, coordinates, followers in (
        ("opensim_gait2392/gait2392_thelen2003muscle", 75.1646, 23, 4),
        ("opensim_gait2392/subject01", 72.6, 23, 4),
        ("hamner_subject01/final", 72.84, 37, 4),
    ):
        with pytest.warns(uk.UkemiWarning, match="muscles"):
            model = uk.load(shared / "models" / f"{name}.osim")
        assert model.mass == pytest.approx(mass, abs=1e-4)
        assert model.nv == coordinates + followers
        world = uk.World()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            world.add(model)
        locked = sum(c.master is None for c in model.couplings)
        assert world.mobility().dof == coordinates - locked


@pytest.mark.filterwarnings("ignore::ukemi.UkemiWarning")
def test_every_real_model_loads_and_its_followers_go_exactly_where_the_file_says(shared: Path) -> None:
    files = sorted(shared.rglob("*.osim"))
    assert len(files) > 8
    for file in files:
        model = uk.load(file)
        osim_parts = read_parts(read_xml(file), Diagnostics(file))
        assert set(model.coordinates) == set(osim_parts.coordinates), file
        q = coupled_coordinates(model, model.random(np.random.default_rng(3))[0])
        for joint in osim_parts.joints:
            for axis in joint.axes:
                name = f"{joint.name}/{axis.name}"
                if name in model.joint_names and axis.coordinate is not None:
                    x = q[model.joint(axis.coordinate).q.start]
                    assert q[model.joint(name).q.start] == pytest.approx(float(axis.function(x)), abs=1e-12)


#: A patella that turns and slides along splines of a coordinate of its own, which is no angle and no distance.
PATELLA = transform(
    ("", "1 0 0", ZERO),
    ("", "0 1 0", ZERO),
    ("beta", "0 0 1", spline("0 0.5 1 1.5 2.1", "0 -0.35 -0.8 -1.1 -1.5")),
    ("beta", "1 0 0", spline("0 0.5 1 1.5 2.1", "0.052 0.049 0.031 0.007 -0.018")),
    ("beta", "0 1 0", spline("0 0.5 1 1.5 2.1", "0.003 -0.018 -0.026 -0.027 -0.023")),
    ("", "0 0 1", ZERO),
)
LEG = [
    Joint("PinJoint", "femur", coordinates=("hip",)),
    Joint("PinJoint", "tibia", "femur", ("knee",), ("0 -0.4 0", "0 0 0")),
    Joint("CustomJoint", "patella", "femur", ("beta",), ("0 -0.4 0", "0 0 0"), transform=PATELLA, mass=0.09),
]
CAP = (
    '<ConstraintSet><objects><CoordinateCouplerConstraint name="cap"><isEnforced>true</isEnforced>'
    f"<coupled_coordinates_function>{line()}</coupled_coordinates_function>"
    "<independent_coordinate_names>knee</independent_coordinate_names>"
    "<dependent_coordinate_name>beta</dependent_coordinate_name></CoordinateCouplerConstraint></objects></ConstraintSet>"
)
#: InverseDynamicsSolver of OpenSim 4.6 (2026-06-22) on the femur and the patella alone, hip and beta at 0.3, 0.7 rad
#: with rates 1, 2 and accelerations 0.5, -3; and the patella's place on the ground.
PATELLA_TORQUES = (0.9711013217619733, -0.09128147632089373)
PATELLA_PLACE = (0.1659872672629718, -0.3907880279252328, 0.0)


@pytest.mark.filterwarnings("ignore:.*functions that are not straight")
def test_a_coordinate_that_is_no_angle_carries_its_body_as_in_opensim(tmp_path: Path) -> None:
    model = small(tmp_path, [LEG[0], LEG[2]])
    assert model.coordinates == ("hip", "beta")
    at = [model.joint(name).v.start for name in model.coordinates]
    q, v, a = np.zeros((3, model.nv))
    q[at], v[at], a[at] = (0.3, 0.7), (1.0, 2.0), (0.5, -3.0)
    tau = coupled_inverse_dynamics(model, q, v, a, gravity=model.gravity)
    np.testing.assert_allclose(tau[at], PATELLA_TORQUES, atol=1e-5)  # the carrier's own 1e-6 kg is in it
    X = uk.link_poses(model, coupled_coordinates(model, q))
    np.testing.assert_allclose(X[model.link_index("patella"), :3, 3], TURN @ PATELLA_PLACE, atol=1e-14)


@pytest.mark.filterwarnings("ignore:.*functions that are not straight")
def test_a_patella_goes_with_the_knee_in_a_world(tmp_path: Path) -> None:
    model = small(tmp_path, LEG, extra=CAP)
    assert model.gravity is not None
    world = uk.World(gravity=model.gravity)
    leg = world.add(model)
    assert world.mobility().dof == 2
    knee, beta = (leg.model.joint(name).q.start for name in ("knee", "beta"))
    simulation = uk.Simulation(world)
    simulation.run(0.2)
    assert abs(leg.q[knee]) > 0.05
    assert leg.q[beta] == pytest.approx(leg.q[knee], abs=1e-6)


def test_inertia_that_no_body_can_have_is_kept_and_said(tmp_path: Path) -> None:
    toes = replace(ONE, inertia="0.0001 0.0002 0.001 0 0 0")
    with pytest.warns(uk.UkemiWarning, match=r"osim:\d+: inertia that no body can have is kept as it is: a"):
        model = small(tmp_path, [toes])
    np.testing.assert_array_equal(model.link("a").mass_properties.inertia, np.diag((1e-4, 2e-4, 1e-3)))
    arm = np.sum(np.array((0.02, -0.1)) ** 2)
    assert uk.mass_matrix(model, [0.0])[0, 0] == pytest.approx(1e-3 + 1.5 * arm)


def test_models_with_splines_survive_pickling(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = small(tmp_path, ALL)
    back = pickle.loads(pickle.dumps(model))
    q, v = model.random(np.random.default_rng(4))
    mine, theirs = (coupled_inverse_dynamics(m, q, v, v) for m in (back, model))
    np.testing.assert_allclose(mine, theirs, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*functions that are not straight")
def test_rates_of_followers_are_the_derivatives_of_where_they_stand(tmp_path: Path) -> None:
    model = small(tmp_path, ALL)
    x, h = np.linspace(-2.3, 2.3, 37), 1e-4
    for coupling in model.couplings:
        before, here, after = (followed(model, coupling, x + d) for d in (-h, 0, h))
        np.testing.assert_allclose(followed(model, coupling, x, 1), (after - before) / (2 * h), atol=1e-6)
        bend = (after - 2 * here + before) / h**2
        smooth = np.abs(x[:, None] - (-2, -1, -0.4, 0.3, 1, 2)).min(axis=1) > h
        np.testing.assert_allclose(followed(model, coupling, x, 2)[smooth], bend[smooth], atol=1e-6)


ONE = Joint("PinJoint", "a", coordinates=("one",))
AXES = [("knee", "0 0 1", line()), *[("", "1 0 0", ZERO)] * 5]
BROKEN = {
    "no model": ("<OpenSimDocument/>", "expected a <Model>"),
    "other root": ("<robot name='r'/>", r"expected <OpenSimDocument>"),
    "no bodies": (osim([]), "a model without bodies"),
    "unknown parent": (osim([replace(ONE, parent="b")]), r"joint 'a_joint': no body named 'b'"),
    "own parent": (osim([replace(ONE, parent="a")]), r"body 'a' hangs on itself in a cycle"),
    "other joint": (osim([replace(ONE, kind="EllipsoidJoint")]), r"a EllipsoidJoint is not read; WeldJoint"),
    "too many coordinates": (osim([replace(ONE, coordinates=("x", "y"))]), r"expected 1 coordinates, got 2"),
    "coordinate twice": (osim([ONE, replace(ONE, child="b")]), r"'one' is a coordinate of 'a_joint' too"),
    "body twice": (osim([ONE, replace(ONE, coordinates=("two",))]), r"body 'a': the name is taken"),
    "mass": (osim([replace(ONE, mass=-1.0)]), r"body 'a': mass -1 kg: expected a positive mass"),
    "mass text": (osim([ONE]).replace("<mass>1.5", "<mass>heavy"), r"<mass>: expected numbers, got 'heavy'"),
    "mass nan": (osim([ONE]).replace("<mass>1.5", "<mass>nan"), r"<mass>: expected finite numbers"),
    "inertia count": (osim([replace(ONE, inertia="1 1 1")]), r"<inertia>: expected 6 numbers, got 3"),
    "no transform": (osim([replace(ONE, kind="CustomJoint")]), r"expected a <SpatialTransform>"),
    "five axes": (
        osim(
            [
                Joint(
                    "CustomJoint",
                    "a",
                    coordinates=("knee",),
                    transform=transform(*AXES).replace("TransformAxis", "X", 2),
                )
            ]
        ),
        r"expected six <TransformAxis>, got 5",
    ),
    "unknown coordinate": (
        osim([Joint("CustomJoint", "a", coordinates=("hip",), transform=transform(*AXES))]),
        r"rotation1: no coordinate named 'knee'",
    ),
    "two coordinates": (
        osim(
            [
                Joint(
                    "CustomJoint",
                    "a",
                    coordinates=("knee", "hip"),
                    transform=transform(("knee hip", "0 0 1", line()), *AXES[1:]),
                )
            ]
        ),
        r"functions of several coordinates are not read",
    ),
    "zero axis": (
        osim(
            [
                Joint(
                    "CustomJoint", "a", coordinates=("knee",), transform=transform(("knee", "0 0 0", line()), *AXES[1:])
                )
            ]
        ),
        r"rotation1: axis: expected a direction",
    ),
    "function": (
        osim([Joint("CustomJoint", "a", coordinates=("knee",), transform=KNEE.replace("SimmSpline", "GCVSpline"))]),
        r"<GCVSpline>: this kind of function is not read",
    ),
    "spline": (
        osim([Joint("CustomJoint", "a", coordinates=("knee",), transform=KNEE.replace("<x>-2 -1", "<x>-1 -2"))]),
        r"<SimmSpline>: expected as many y as x, at least two, and x that grow",
    ),
    "range": (osim([replace(ONE, options={"range": "1 -1"})]), r"coordinate 'one': range: expected lower <= upper"),
    "flag": (osim([replace(ONE, options={"locked": "perhaps"})]), r"<locked>: expected true or false"),
    "reversed": (osim([ONE], 3).replace("<reverse>false", "<reverse>true"), r"reversed joints are not read"),
    "no joint": (
        osim([ONE]).replace("</Body>", "</Body><Body name='b'><mass>1</mass></Body>", 1),
        r"body 'b' hangs on no joint",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_files_that_cannot_be_say_where_and_why(what: str, tmp_path: Path) -> None:
    text, message = BROKEN[what]
    with pytest.raises(uk.FileFormatError, match=message) as error:
        uk.load(written(tmp_path, text, "broken.osim"))
    assert re.match(r".*broken\.osim:\d+: ", str(error.value))


def test_damaged_files_give_a_model_or_an_error(tmp_path: Path) -> None:
    text = osim(ALL)
    rng = random.Random(7)
    pieces = ["", "<", "-", "nan", "1e400", "ground", "</objects>", "<objects>", "knee"]
    for _ in range(300):
        a = rng.randrange(len(text))
        damaged = text[:a] + rng.choice(pieces) + text[a + rng.randrange(12) :]
        path = written(tmp_path, damaged, "damaged.osim")
        with suppress(uk.UkemiError), warnings.catch_warnings():
            warnings.simplefilter("ignore", uk.UkemiWarning)
            uk.load(path)


def test_opensim_itself_agrees(tmp_path: Path) -> None:
    """Where opensim is installed: random poses of all joints."""
    opensim = pytest.importorskip("opensim")
    opensim.Logger.setLevelString("Off")
    path = written(tmp_path, osim(ALL[:-1]), "small.osim")
    model, theirs = uk.load(path), opensim.Model(str(path))
    state = theirs.initSystem()
    rng = np.random.default_rng(2)
    for _ in range(5):
        values = {name: float(x) for name, x in zip(NAMES[:-1], rng.uniform(-0.9, 0.9, len(NAMES) - 1), strict=True)}
        for name, x in values.items():
            theirs.getCoordinateSet().get(name).setValue(state, x, False)
        theirs.realizePosition(state)
        X = uk.link_poses(model, filled(model, values))
        for joint in ALL[:-1]:
            place = theirs.getBodySet().get(joint.child).getTransformInGround(state).p()
            np.testing.assert_allclose(
                X[model.link_index(joint.child), :3, 3], TURN @ [place[k] for k in range(3)], atol=1e-12
            )


def test_what_is_left_out_is_gathered_by_kind(tmp_path: Path) -> None:
    path = written(tmp_path, osim(ALL), "small.osim")
    notes = Diagnostics(path)
    from ukemi.model.readers.osim import read_osim

    read_osim(read_xml(path), notes)
    (message,) = notes.messages()
    assert f"shank_joint/translation1 of knee, off by at most {OFF}" in message
