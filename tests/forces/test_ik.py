"""Inverse kinematics and scaling: made-up persons, closed forms, the loaded model, and numbers of OpenSim."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.model.readers.osim_texts import ALL, Joint, osim

import ukemi as uk
from ukemi.dynamics.coupled import coupled_coordinates
from ukemi.errors import FileFormatError, InvalidInputError, UkemiWarning
from ukemi.forces.ik import inverse_kinematics
from ukemi.forces.ik_tasks import Tasks, read_tasks
from ukemi.forces.osim_edit import scaled_inertia
from ukemi.forces.osim_kinematics import OsimKinematics, open_osim
from ukemi.forces.scale_setup import read_scale_setup
from ukemi.forces.scaling import automatic_factors, average, scale_model
from ukemi.model.arrays import Array
from ukemi.motion.ground_forces import from_opensim
from ukemi.motion.markers import Markers, read_markers

#: Coordinates of a made-up motion come back to this [rad, m].
RECOVERED = 1e-6
BODIES = [joint.child for joint in ALL]
COUPLER = (
    '<ConstraintSet><objects><CoordinateCouplerConstraint name="c"><coupled_coordinates_function>'
    "<LinearFunction><coefficients>0.5 0.1</coefficients></LinearFunction></coupled_coordinates_function>"
    "<independent_coordinate_names>hinge</independent_coordinate_names>"
    "<dependent_coordinate_name>turn</dependent_coordinate_name></CoordinateCouplerConstraint></objects></ConstraintSet>"
)


def marker_set(places: dict[str, tuple[str, str]], dialect: int = 4) -> str:
    """<MarkerSet> of marker -> (body, place)."""
    tag, path = ("body", "{}") if dialect == 3 else ("socket_parent_frame", "/bodyset/{}")
    inside = "".join(
        f'<Marker name="{name}"><{tag}>{path.format(body)}</{tag}><location>{at}</location></Marker>'
        for name, (body, at) in places.items()
    )
    return f"<MarkerSet><objects>{inside}</objects></MarkerSet>"


def three_on_each(bodies: list[str] = BODIES) -> dict[str, tuple[str, str]]:
    at = np.random.default_rng(1).uniform(-0.2, 0.2, (len(bodies), 3, 3))
    return {f"{b}{k}": (b, " ".join(map(str, at[i, k]))) for i, b in enumerate(bodies) for k in range(3)}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """One joint of each kind, a coordinate that follows, one that is locked, three markers on each body."""
    joints = [replace(j, options={"locked": "true", "default_value": "0.1"}) if j.child == "slider" else j for j in ALL]
    file = tmp_path / "tree.osim"
    file.write_text(osim(joints, extra=COUPLER + marker_set(three_on_each())))
    return file


def motion(k: OsimKinematics, frames: int = 40, size: float = 0.4) -> Array:
    """x (frames, free) that moves slowly from one pose to another."""
    phase = np.linspace(0, 1, frames)[:, None]
    n = np.arange(len(k.free))
    return size * np.sin(n + (1 + n % 3) * phase)


def trial(k: OsimKinematics, x: Array, noise: float = 0.0) -> Markers:
    p = k.positions(k.all_of(x))
    p = p + noise * np.random.default_rng(7).standard_normal(p.shape)
    return Markers(k.markers, 100.0, from_opensim(p), name="made up")


# --- kinematics -------------------------------------------------------------------------------------------------------
def test_derivatives_are_those_of_the_positions(tree: Path) -> None:
    k = OsimKinematics(open_osim(tree), factors={"slider": (1.1, 1.2, 0.9), "gimbal": (0.8, 1.0, 1.3)})
    x, h = motion(k, 5), 1e-6
    _, J = k.linearized(x)
    for j, step in enumerate(h * np.eye(len(k.free))):
        numeric = (k.positions(k.all_of(x + step)) - k.positions(k.all_of(x - step))) / (2 * h)
        np.testing.assert_allclose(J[:, j], numeric, atol=1e-8, err_msg=k.free[j])
    assert (
        np.abs(J[:, k.free.index("hinge")][:, k.markers.index("plane0")]).max() > 0.01
    )  # through the one that follows


def test_curvature_is_the_derivative_of_the_gradient(tmp_path: Path) -> None:
    joints = [joint for joint in ALL if joint.child != "shank"]  # whose functions bend
    (tmp_path / "m.osim").write_text(osim(joints, extra=COUPLER + marker_set(three_on_each(bodies=BODIES[:-1]))))
    k = OsimKinematics(open_osim(tmp_path / "m.osim"), factors={"pin": (1.1, 1.2, 0.9)})
    x, h = motion(k, 4), 1e-6
    forces = np.random.default_rng(3).standard_normal((4, len(k.markers), 3))
    S = k.curvature(x, forces)
    for j, step in enumerate(h * np.eye(len(k.free))):
        up, down = (np.einsum("fnmi,fmi->fn", k.linearized(x + s)[1], forces) for s in (step, -step))
        np.testing.assert_allclose(S[:, j], (up - down) / (2 * h), atol=1e-7, err_msg=k.free[j])


def test_markers_are_where_the_loaded_model_has_its_landmarks(tree: Path) -> None:
    k = OsimKinematics(open_osim(tree))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UkemiWarning)
        model = uk.load(tree)
    q = k.all_of(motion(k, 3))
    states = np.tile(model.neutral(), (3, 1))
    for name, column in zip(k.names, q.T, strict=True):
        states[:, model.joint(name).q.start] = column
    X = uk.link_poses(model, coupled_coordinates(model, states))
    points = from_opensim(k.positions(q))
    for i, name in enumerate(k.markers):
        mark = model.landmarks[name]
        at = X[:, model.link_index(mark.link)]
        np.testing.assert_allclose(points[:, i], at[:, :3, :3] @ mark.at.position + at[:, :3, 3], atol=1e-12)


# --- inverse kinematics -----------------------------------------------------------------------------------------------
def test_a_known_motion_is_recovered(tree: Path) -> None:
    k = OsimKinematics(open_osim(tree))
    x = motion(k)
    result = inverse_kinematics(k, trial(k, x))
    np.testing.assert_allclose(result.q, k.all_of(x), atol=RECOVERED)
    assert result.largest.max() < RECOVERED
    assert result.solved.all()
    q = dict(zip(result.names, result.q.T, strict=True))
    np.testing.assert_allclose(q["slide"], 0.1)  # locked
    np.testing.assert_allclose(q["turn"], 0.1 + 0.5 * q["hinge"])  # follows


def test_markers_that_are_not_seen_have_no_say(tree: Path) -> None:
    k = OsimKinematics(open_osim(tree))
    x = motion(k)
    seen = trial(k, x)
    p = seen.positions.copy()
    p[10:20, ::3] = np.nan
    p[30:, 5] = np.nan
    result = inverse_kinematics(k, replace(seen, positions=p))
    np.testing.assert_allclose(result.q, k.all_of(x), atol=RECOVERED)
    assert np.isnan(result.errors[10:20, ::3]).all()
    assert result.by_marker()[k.markers[5]][2] == pytest.approx(0.75)


def test_noise_comes_back_as_errors_of_the_size_that_degrees_of_freedom_leave(tree: Path) -> None:
    k = OsimKinematics(open_osim(tree))
    noise = 1e-3
    result = inverse_kinematics(k, trial(k, motion(k, 400), noise))
    m, n = len(k.markers), len(k.free)
    # sum of squares / noise^2 is chi-squared with 3 m - n degrees of freedom in every frame
    expected, deviation = 3 * m - n, np.sqrt(2 * (3 * m - n) / len(result.time))
    assert np.mean(result.squared) / noise**2 == pytest.approx(expected, abs=4 * deviation)


@pytest.mark.parametrize("turned", [(3.0, 1.2, 0.9), (-2.6, 2.1, 1.8), (1.9, -1.7, -2.8), (0.0, 0.0, 3.1)])
def test_a_person_turned_away_from_the_default_pose_is_found(shared: Path, turned: tuple[float, ...]) -> None:
    """From the default pose alone the first three of these end in other minima."""
    file = shared / "models" / "opensim_gait2392" / "subject01.osim"
    if not file.is_file():
        pytest.skip("needs the gait2392 model in ../shared/models")
    k = OsimKinematics(open_osim(file))
    assert k.free[:3] == ("pelvis_tilt", "pelvis_list", "pelvis_rotation")
    x = np.clip(motion(k, 2, 0.3), *k.limits)
    x[:, :3] = turned
    assert inverse_kinematics(k, trial(k, x)).largest.max() < RECOVERED


@pytest.fixture
def slider(tmp_path: Path) -> Path:
    """A body on a rail along x, with two markers at its origin."""
    joint = Joint("SliderJoint", "cart", coordinates=("x",), options={"range": "-1 0.5", "clamped": "true"})
    file = tmp_path / "slider.osim"
    file.write_text(osim([joint], extra=marker_set({"a": ("cart", "0 0 0"), "b": ("cart", "0 0 0")})))
    return file


def at(*places: float) -> Markers:
    """One frame with markers a, b, ... along x."""
    p = np.zeros((1, len(places), 3))
    p[0, :, 0] = places
    return Markers(tuple("abcdef"[: len(places)]), 100.0, p, name="one frame")


def test_weights_make_a_weighted_mean(slider: Path) -> None:
    k = OsimKinematics(open_osim(slider))
    assert inverse_kinematics(k, at(0.1, 0.4), Tasks({"a": 3.0})).q[0, 0] == pytest.approx(0.175)
    assert inverse_kinematics(k, at(0.1, 0.4), Tasks({"a": 3.0}, others=0.0)).q[0, 0] == pytest.approx(0.1)


def test_a_weight_on_a_coordinate_is_beside_markers_of_weight_one_in_all(slider: Path) -> None:
    k = OsimKinematics(open_osim(slider))
    tasks = Tasks({"a": 5.0, "b": 5.0}, coordinates={"x": (-0.2, 0.5)})
    assert inverse_kinematics(k, at(0.4, 0.4), tasks).q[0, 0] == pytest.approx((0.4 - 0.5 * 0.2) / 1.5)


def test_clamped_coordinates_stay_in_their_range(slider: Path) -> None:
    k = OsimKinematics(open_osim(slider))
    result = inverse_kinematics(k, at(0.7, 0.7))
    assert result.q[0, 0] == 0.5
    np.testing.assert_allclose(result.errors, 0.2)
    assert result.solved.all()


def test_clamped_coordinates_leave_the_best_to_the_others(tmp_path: Path) -> None:
    """In the minimum within the range the gradient by every free coordinate is zero, and pushes at a bound outwards."""
    joints = [replace(j, options={"range": "-0.15 0.15", "clamped": "true"}) if j.child == "gimbal" else j for j in ALL]
    (tmp_path / "m.osim").write_text(osim(joints, extra=marker_set(three_on_each())))
    k = OsimKinematics(open_osim(tmp_path / "m.osim"))
    result = inverse_kinematics(k, trial(k, motion(k)))
    x, h = k.free_of(result.q), 1e-6
    targets = k.positions(k.all_of(motion(k)))
    lower, upper = k.limits
    assert ((x >= lower) & (x <= upper)).all()
    held = 0
    for j, step in enumerate(h * np.eye(len(k.free))):
        up, down = (((k.positions(k.all_of(x + s)) - targets) ** 2).sum(axis=(1, 2)) for s in (step, -step))
        slope = (up - down) / (2 * h)
        inside = (x[:, j] > lower[j]) & (x[:, j] < upper[j])
        np.testing.assert_allclose(slope[inside], 0, atol=1e-5)
        assert (slope[x[:, j] == upper[j]] <= 1e-6).all()
        assert (slope[x[:, j] == lower[j]] >= -1e-6).all()
        held += int((~inside).sum())
    assert held > 20


def test_coordinates_without_markers_are_named_and_stay(tree: Path) -> None:
    k = OsimKinematics(open_osim(tree))
    x = motion(k)
    few = [name for name in k.markers if not name.startswith(("shank", "ball", "weld"))]
    all_of_them = trial(k, x)
    kept = Markers(tuple(few), 100.0, np.stack([all_of_them[name] for name in few], axis=1))
    result = inverse_kinematics(k, kept)
    assert set(result.unseen) == {"knee", "b1", "b2", "b3"}
    assert (result.q[:, result.names.index("knee")] == 0).all()


def test_no_marker_in_common_is_an_error_that_lists_both(slider: Path) -> None:
    k = OsimKinematics(open_osim(slider))
    with pytest.raises(InvalidInputError, match=r"(?s)one frame.*LASI, RASI.*has a, b"):
        inverse_kinematics(k, replace(at(0.1, 0.4), names=("LASI", "RASI")))


def test_tasks_are_read_from_setups_and_tables(tmp_path: Path) -> None:
    (tmp_path / "ik.xml").write_text(
        "<OpenSimDocument><InverseKinematicsTool><IKTaskSet><objects>"
        '<IKMarkerTask name="a"><apply>true</apply><weight>10</weight></IKMarkerTask>'
        '<IKMarkerTask name="b"><apply>false</apply><weight>10</weight></IKMarkerTask>'
        '<IKCoordinateTask name="x"><apply>true</apply><weight>2</weight><value_type>manual_value</value_type>'
        "<value>0.3</value></IKCoordinateTask></objects></IKTaskSet></InverseKinematicsTool></OpenSimDocument>"
    )
    tasks = read_tasks(tmp_path / "ik.xml")
    assert (tasks.weight("a"), tasks.weight("b"), dict(tasks.coordinates)) == (10, 0, {"x": (0.3, 2)})
    (tmp_path / "w.csv").write_text("marker,weight\na, 4  # the best\nR shank 1, 0\n")
    tasks = read_tasks(tmp_path / "w.csv")
    assert [tasks.weight(name) for name in ("a", "R shank 1", "b")] == [4, 0, 1]
    (tmp_path / "w.csv").write_text("a, many\n")
    with pytest.raises(FileFormatError, match=r"w.csv:1: expected a line such as"):
        read_tasks(tmp_path / "w.csv")


# --- scaling ----------------------------------------------------------------------------------------------------------
FACTORS: dict[str, tuple[float, ...]] = {
    body: (0.8 + 0.05 * i, 1.3 - 0.04 * i, 1.05 + 0.02 * i) for i, body in enumerate(BODIES)
}


def setup_text(factors: dict[str, tuple[float, ...]], more: str = "", placer: str = "<apply>false</apply>") -> str:
    scales = "".join(
        f"<Scale><scales>{' '.join(map(str, s))}</scales><segment>{body}</segment><apply>true</apply></Scale>"
        for body, s in factors.items()
    )
    return (
        "<OpenSimDocument><ScaleTool><mass>50</mass><ModelScaler>"
        "<scaling_order>measurements manualScale</scaling_order>"
        f"<ScaleSet><objects>{scales}</objects></ScaleSet>{more}"
        f"<preserve_mass_distribution>false</preserve_mass_distribution></ModelScaler><MarkerPlacer>{placer}"
        "</MarkerPlacer></ScaleTool></OpenSimDocument>"
    )


@pytest.fixture(params=(3, 4))
def generic(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    file = tmp_path / "generic.osim"
    file.write_text(osim(ALL, request.param, marker_set(three_on_each(), request.param)))
    return file


def test_the_scaled_file_moves_as_the_scaled_kinematics(generic: Path, tmp_path: Path) -> None:
    (tmp_path / "setup.xml").write_text(setup_text(FACTORS))
    k = OsimKinematics(open_osim(generic), factors=FACTORS)
    scale_model(generic, trial(k, motion(k)), tmp_path / "s.osim", read_scale_setup(tmp_path / "setup.xml"))
    written = OsimKinematics(open_osim(tmp_path / "s.osim"))
    assert written.markers == k.markers
    x = motion(k, 6)
    np.testing.assert_allclose(written.positions(written.all_of(x)), k.positions(k.all_of(x)), atol=1e-12)
    plain = OsimKinematics(open_osim(generic))
    assert np.abs(plain.positions(plain.all_of(x)) - k.positions(k.all_of(x))).max() > 0.05
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UkemiWarning)
        before, after = uk.load(generic), uk.load(tmp_path / "s.osim")
    assert after.mass == pytest.approx(50)
    volumes = {b: np.prod(FACTORS[b]) for b in BODIES}
    for body in BODIES:
        old, new = (model.links[model.link_index(body)].mass_properties for model in (before, after))
        np.testing.assert_allclose(new.com, old.com * FACTORS[body])
        share = old.mass * volumes[body] / sum(1.5 * v for v in volumes.values())
        assert new.mass == pytest.approx(50 * share)


def test_inertia_of_a_cylinder_is_that_of_the_scaled_cylinder() -> None:
    def cylinder(m: float, r2: float, length: float) -> Array:
        across = m * (length**2 / 12 + r2 / 4)
        return np.diag((across, m * r2 / 2, across))

    got = scaled_inertia(cylinder(3.0, 0.01, 0.4), 3.0, 2.0, np.array((1.2, 0.9, 1.1)))
    np.testing.assert_allclose(got, cylinder(2.0, 0.01 * 1.2 * 1.1, 0.36), atol=1e-15)
    round_ = np.array(((0.2, 0.01, 0), (0.01, 0.3, 0.02), (0, 0.02, 0.25)))
    np.testing.assert_allclose(scaled_inertia(round_, 3.0, 3.3, np.full(3, 1.1)), round_ * 1.1**3)


def test_measurements_give_the_mean_ratio_of_their_pairs(generic: Path, tmp_path: Path) -> None:
    """Pairs on one body tell its factor in any pose; axes that no measurement names stay."""
    measurements = (
        '<MeasurementSet><objects><Measurement name="m"><apply>true</apply><MarkerPairSet><objects>'
        "<MarkerPair><markers>trunk0 trunk1</markers></MarkerPair>"
        "<MarkerPair><markers>trunk1 trunk2</markers></MarkerPair></objects></MarkerPairSet><BodyScaleSet><objects>"
        '<BodyScale name="trunk"><axes>X Z</axes></BodyScale></objects></BodyScaleSet></Measurement></objects>'
        "</MeasurementSet>"
    )
    (tmp_path / "setup.xml").write_text(setup_text({"pin": (1.1, 1.2, 1.3)}, measurements))
    k = OsimKinematics(open_osim(generic), factors={"trunk": (1.17,) * 3})
    setup = read_scale_setup(tmp_path / "setup.xml")
    scaled = scale_model(generic, trial(k, motion(k)), tmp_path / "s.osim", setup)
    assert scaled.factors["trunk"] == pytest.approx((1.17, 1.0, 1.17))
    assert scaled.factors["pin"] == (1.1, 1.2, 1.3)
    assert scaled.factors["cross"] == (1.0, 1.0, 1.0)


def test_markers_move_to_where_the_person_has_them(generic: Path, tmp_path: Path) -> None:
    """Markers that the person has elsewhere are placed there: then the static trial leaves no error."""
    k = OsimKinematics(open_osim(generic))
    standing = average(trial(k, motion(k, 1, 0.1), noise=0.01), (-1.0, 1.0))
    names = tuple(name for name in standing.names if name != "ball2")
    standing = Markers(names, 100.0, np.stack([standing[name] for name in names], axis=1), name="standing")
    (tmp_path / "setup.xml").write_text(setup_text({}, placer="<apply>true</apply>"))
    setup = read_scale_setup(tmp_path / "setup.xml")
    scaled = scale_model(generic, standing, tmp_path / "s.osim", setup)
    assert scaled.removed == ("ball2",)
    assert scaled.pose is not None
    assert scaled.pose.largest[0] > 1e-3
    again = inverse_kinematics(OsimKinematics(open_osim(tmp_path / "s.osim")), standing)
    assert again.largest[0] < RECOVERED
    np.testing.assert_allclose(again.q, scaled.pose.q, atol=1e-5)


#: Lengths of a made-up person over those of the model.
PERSON = {"pelvis": 0.97, "femur": 1.08, "tibia": 1.12, "talus": 1.08, "calcn": 1.08, "toes": 1.08, "torso": 1.03}


def test_markers_tell_a_persons_proportions(shared: Path) -> None:
    """Long segments come back within 2 %, in a pose that is not the model's, with clusters that stand elsewhere on the
    person; short ones are between that and the size of the whole person."""
    file = shared / "models" / "opensim_gait2392" / "subject01.osim"
    if not file.is_file():
        pytest.skip("needs the gait2392 model in ../shared/models")
    generic = open_osim(file)
    factors = {body: (PERSON[body.split("_")[0]],) * 3 for body in generic.bodies}
    k = OsimKinematics(generic, factors=factors)
    x = k.free_of(k.default) + 0.1 * np.sin(np.arange(len(k.free)))
    standing = trial(k, np.clip(x, *k.limits)[None], noise=0.003)
    p = standing.positions.copy()
    for name in ("R.Thigh.Front", "L.Thigh.Front", "R.Shank.Rear", "L.Shank.Rear"):
        p[0, standing.names.index(name)] += (0.1, 0.0, 0.12)
    found, told, _ = automatic_factors(generic, replace(standing, positions=p))
    for body in ("femur_r", "tibia_r", "femur_l", "tibia_l", "torso"):
        assert found[body][0] == pytest.approx(factors[body][0], rel=0.02), body
    whole = np.exp(np.mean([np.log(found[body][0]) for body in generic.bodies]))
    assert whole == pytest.approx(np.exp(np.mean([np.log(f[0]) for f in factors.values()])), rel=0.01)
    assert PERSON["pelvis"] < found["pelvis"][0] < whole - 0.02
    assert {"R.Knee.Lat", "R.Ankle.Lat", "R.Knee.Med", "R.Ankle.Med"} & set(sum(told["tibia_r"], ()))


def test_factors_that_no_person_has_are_refused(generic: Path, tmp_path: Path) -> None:
    k = OsimKinematics(open_osim(generic), factors=dict.fromkeys(BODIES, (3.0,) * 3))
    with pytest.raises(InvalidInputError, match=r"scale factors .* expected 0.5 to 2; look at the unit"):
        scale_model(generic, trial(k, motion(k, 1, 0.1)), tmp_path / "s.osim")


# --- OpenSim ----------------------------------------------------------------------------------------------------------
#: OpenSim 4.6 (2026-06-22, opensim on PyPI), InverseKinematicsTool to an accuracy of 1e-9, all markers with weight 1,
#: as bench/opensim_ik.py runs it: trial -> (frame, sum of squared errors [m^2], coordinates [degrees]).
OPENSIM: dict[str, tuple[int, float, dict[str, float]]] = {
    "hamner_subject01/run300": (
        100,
        0.00422734,
        {
            "pelvis_tilt": -5.30352,
            "pelvis_rotation": 3.0795,
            "hip_flexion_r": -12.68274,
            "knee_angle_r": -22.00527,
            "ankle_angle_l": 4.28511,
            "lumbar_bending": -0.65332,
            "arm_flex_r": -13.68039,
            "arm_add_l": -10.97028,
        },
    ),
    "opencap_subject2/walking1": (
        80,
        0.01184337,
        {
            "pelvis_tilt": 7.50028,
            "pelvis_rotation": 2.64822,
            "hip_flexion_r": -6.379,
            "knee_angle_r": 50.67156,
            "ankle_angle_l": -1.51882,
            "lumbar_bending": -2.43059,
            "arm_flex_r": -9.80497,
            "arm_add_l": -7.08402,
        },
    ),
}


@pytest.mark.parametrize("name", list(OPENSIM))
def test_angles_and_errors_are_those_of_opensim(shared: Path, name: str) -> None:
    folder, which = name.split("/")
    place = shared / "motions" / "forceplate" / "addbiomechanics" / folder
    if not place.is_dir():
        pytest.skip("needs the trials of AddBiomechanics in ../shared/motions")
    frame, squared, angles = OPENSIM[name]
    markers = read_markers(place / f"{which}_markers.trc", up="y")
    some = replace(markers, positions=markers.positions[frame - 2 : frame + 3])
    result = inverse_kinematics(OsimKinematics(open_osim(place / "final.osim")), some)
    assert result.squared[2] == pytest.approx(squared, abs=2e-8)  # OpenSim's file has eight decimals
    for coordinate, angle in angles.items():
        got = np.rad2deg(result.q[2, result.names.index(coordinate)])
        assert got == pytest.approx(angle, abs=0.001), coordinate
