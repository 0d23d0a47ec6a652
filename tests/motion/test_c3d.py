"""C3D files: numbers of all processors, what was cut or damaged, and plates whose wrench is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ukemi as uk
from ukemi.motion.c3d import read_c3d
from ukemi.motion.markers import read_markers

from .c3d_writer import DEC, INTEL, MIPS, c3d_bytes

LABELS = ["Walker:LKNE", "Walker:RKNE", "Walker:HEAD"]
#: Of a float of four bytes, relative.
SINGLE = 1e-6


def capture(**options: object) -> bytes:
    rng = np.random.default_rng(1)
    points = rng.uniform(-900, 900, (12, 3, 3)) * (0.3, 0.3, 1)
    points[4, 1] = np.nan
    return c3d_bytes(points, LABELS, analog=rng.integers(-900, 900, (48, 5)).astype(float), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("processor", [INTEL, DEC, MIPS])
@pytest.mark.parametrize("scale", [-1.0, 0.1])
def test_every_processor_writes_the_same_capture(tmp_path: Path, processor: int, scale: float) -> None:
    (tmp_path / "a.c3d").write_bytes(capture(processor=processor, scale=scale, first=51))
    c3d = read_c3d(tmp_path / "a.c3d")
    rng = np.random.default_rng(1)
    points = rng.uniform(-900, 900, (12, 3, 3)) * (0.3, 0.3, 1)
    assert c3d.labels == tuple(LABELS)
    assert (c3d.rate, c3d.first, c3d.analog_rate) == (100, 51, 400)
    points[4, 1] = np.nan
    np.testing.assert_allclose(c3d.points, points, rtol=SINGLE, atol=0.051 if scale > 0 else 1e-4)
    np.testing.assert_array_equal(c3d.analog, rng.integers(-900, 900, (48, 5)))
    markers = read_markers(tmp_path / "a.c3d")
    assert markers.start == 0.5  # the clock begins with frame 1
    assert markers.missing == pytest.approx(1 / 36)


@pytest.mark.oracle
def test_what_ezc3d_writes_is_read(tmp_path: Path) -> None:
    ezc3d = pytest.importorskip("ezc3d", reason="writes with the package ezc3d")
    rng = np.random.default_rng(2)
    points, analog = rng.uniform(-900, 900, (12, 3, 3)), rng.uniform(-5, 5, (48, 2))
    c3d = ezc3d.c3d()
    c3d["parameters"]["POINT"]["RATE"]["value"] = [100]
    c3d["parameters"]["POINT"]["LABELS"]["value"] = LABELS
    c3d["parameters"]["ANALOG"]["RATE"]["value"] = [400]
    c3d["parameters"]["ANALOG"]["LABELS"]["value"] = ["a", "b"]
    c3d["data"]["points"] = np.concatenate([points.transpose(2, 1, 0), np.ones((1, 3, 12))])
    c3d["data"]["analogs"] = analog.T[None]
    c3d.write(str(tmp_path / "a.c3d"))
    ours = read_c3d(tmp_path / "a.c3d")
    assert (ours.labels, ours.rate, ours.analog_rate) == (tuple(LABELS), 100, 400)
    np.testing.assert_allclose(ours.points, points, rtol=SINGLE)
    np.testing.assert_allclose(ours.analog, analog, rtol=SINGLE)


@pytest.mark.oracle
def test_measured_files_are_read_as_ezc3d_reads_them(shared: Path) -> None:
    ezc3d = pytest.importorskip("ezc3d", reason="compares with the package ezc3d")
    for file in sorted((shared / "motions").rglob("*.c3d")):
        ours, theirs = read_c3d(file), ezc3d.c3d(str(file))
        unseen = theirs["data"]["meta_points"]["residuals"][0].T < 0
        places = np.where(unseen[..., None], np.nan, theirs["data"]["points"][:3].transpose(2, 1, 0))
        np.testing.assert_allclose(ours.points, places, rtol=1e-5, atol=1e-3)
        analog = theirs["data"]["analogs"][0].T
        np.testing.assert_allclose(ours.analog, analog.reshape(ours.analog.shape), rtol=1e-5, atol=1e-5)


def test_a_file_cut_anywhere_is_an_error(tmp_path: Path) -> None:
    whole = capture()
    for end in [0, 1, 100, 512, 600, 900, *range(1100, len(whole), 97), len(whole) - 1]:
        (tmp_path / "a.c3d").write_bytes(whole[:end])
        with pytest.raises(uk.FileFormatError):
            read_c3d(tmp_path / "a.c3d")
    with pytest.raises(uk.FileFormatError, match="header says 12 frames, 11 are in it"):
        read_c3d(tmp_path / "a.c3d")


def test_damage_is_an_error_or_changes_numbers_but_nothing_else(tmp_path: Path) -> None:
    whole, rng, refused = capture(), np.random.default_rng(3), 0
    for _ in range(300):
        broken = bytearray(whole)
        for _ in range(rng.integers(1, 20)):
            broken[rng.integers(1200)] = rng.integers(256)
        (tmp_path / "a.c3d").write_bytes(bytes(broken))
        try:
            read_c3d(tmp_path / "a.c3d")
        except uk.FileFormatError:
            refused += 1
    assert 20 < refused < 300


# --- plates -----------------------------------------------------------------------------------------------------------
#: A plate turned about the vertical: corners (+x+y, -x+y, -x-y, +x-y) with z of the plate down, in mm.
MIDDLE, HALF, TURN = np.array([700.0, 250.0, 0.0]), (232.0, 254.0), np.deg2rad(30.0)
X = np.array([np.cos(TURN), np.sin(TURN), 0.0])
Y = np.array([np.sin(TURN), -np.cos(TURN), 0.0])
R = np.stack([X, Y, np.cross(X, Y)], axis=1)  # plate's axes in the laboratory
CORNERS = np.stack([MIDDLE + a * HALF[0] * X + b * HALF[1] * Y for a, b in ((1, 1), (-1, 1), (-1, -1), (1, -1))])
ORIGIN = np.array([2.0, -3.0, -40.0])  # from the sensors to the middle of the surface, in the plate's axes [mm]
#: Kistler's: distances of the sensors from the middle, and the surface's height, z down.
SENSORS = np.array([120.0, 200.0, -45.0])


def truth(n: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A step: force on the foot [N], centre of pressure [m], free moment about the vertical [N m]; unloaded around."""
    s = np.clip((np.arange(n) - 120) / 160, 0, 1)
    load = np.where((s > 0) & (s < 1), np.sin(np.pi * s), 0.0)
    force = load[:, None] * np.stack([80 * np.cos(5 * s), -30 * np.ones(n), 800 + 100 * np.cos(9 * s)], axis=1)
    point = 1e-3 * MIDDLE + np.stack([0.15 * (s - 0.5), 0.05 * s, 0 * s], axis=1)
    return force, point, load * (4 - 6 * s)


def channels(kind: int, shift: np.ndarray) -> np.ndarray:
    """What the plate's channels show of `truth`, with an offset on each."""
    force, point, free = truth()
    on_plate = -force @ R  # what the foot does, in the plate's axes
    sensors = MIDDLE - R @ (np.array((0, 0, SENSORS[2])) if kind == 3 else ORIGIN)
    moment = -(np.cross(1e3 * point - sensors, force) + 1e3 * free[:, None] * (0, 0, 1)) @ R  # [N mm]
    if kind == 1:
        cop = (1e3 * point - MIDDLE) @ R
        out = np.column_stack([on_plate, cop[:, :2], 1e3 * free])  # z of the plate is down: twice the sign
    elif kind == 3:
        a, b, _ = SENSORS
        (fx, fy, fz), (mx, my, mz) = on_plate.T, moment.T
        x34 = 0.5 * (fx + mz / b)  # the moment about z by the forces along x alone
        z12, z23 = 0.5 * (fz + mx / b), 0.5 * (fz + my / a)
        z2 = 0.5 * z12
        z1, z3 = z12 - z2, z23 - z2
        out = np.column_stack([fx - x34, x34, fy / 2, fy / 2, z1, z2, z3, fz - z1 - z2 - z3])
    else:
        out = np.column_stack([on_plate, moment])
    return out + shift


MATRIX = np.eye(6) + 0.05 * np.random.default_rng(5).standard_normal((6, 6))


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("up", ["z", "y"])
def test_a_known_step_comes_out_of_the_plate(tmp_path: Path, kind: int, sign: float, up: str) -> None:
    shift = np.zeros(8 if kind == 3 else 6)
    if kind != 1:
        shift[:] = 3.0  # an amplifier's offset
    signals: np.ndarray = sign * channels(kind, shift)
    if kind == 1:
        signals[:, 3:5] *= sign  # places have no sign
    if kind == 4:
        signals = np.linalg.solve(MATRIX, signals.T).T
    corners = CORNERS if up == "z" else CORNERS[:, [0, 2, 1]] * (1, 1, -1)
    rng = np.random.default_rng(0)
    points = rng.uniform(0, 1, (40, 8, 3)) * ((300, 200, 1700) if up == "z" else (300, 1700, 200))
    parameters = {
        "ANALOG:UNITS": ["N"] * 3 + ["Nmm"] * 3,
        "FORCE_PLATFORM:USED": 1,
        "FORCE_PLATFORM:TYPE": np.array([kind]),
        "FORCE_PLATFORM:CORNERS": corners.T[:, :, None],
        "FORCE_PLATFORM:ORIGIN": (SENSORS if kind == 3 else ORIGIN)[:, None],
        "FORCE_PLATFORM:CHANNEL": np.arange(1, signals.shape[1] + 1)[:, None],
    }
    if kind == 4:
        parameters["FORCE_PLATFORM:CAL_MATRIX"] = MATRIX[:, :, None]
    data = c3d_bytes(points, [f"m{k}" for k in range(8)], 100.0, signals, parameters)
    (tmp_path / "a.c3d").write_bytes(data)
    forces = read_markers(tmp_path / "a.c3d").forces
    assert forces is not None
    assert forces.names == ("1",)
    assert forces.time[1] == pytest.approx(0.001)
    force, point, free = truth()
    loaded = force[:, 2] > 21
    assert np.abs(forces.force[:, 0] - force)[loaded].max() < 0.01  # [N], of single floats
    assert np.abs(forces.point[:, 0] - point)[loaded].max() < 1e-4  # [m]
    assert np.abs(forces.torque[:, 0] - free[:, None] * (0, 0, 1))[loaded].max() < 0.01  # [N m]
    assert not forces.force[force[:, 2] == 0].any()
    assert not forces.point[force[:, 2] == 0].any()


def test_a_plate_that_is_never_free_keeps_its_force(tmp_path: Path) -> None:
    """Somebody who stands on it all the time is no offset."""
    stand = np.tile([0.0, 0.0, 600.0, 0.0, 0.0, 0.0], (100, 1))
    parameters = {
        "FORCE_PLATFORM:USED": 1,
        "FORCE_PLATFORM:TYPE": np.array([2]),
        "FORCE_PLATFORM:CORNERS": CORNERS.T[:, :, None],
        "FORCE_PLATFORM:ORIGIN": np.zeros((3, 1)),
        "FORCE_PLATFORM:CHANNEL": np.arange(1, 7)[:, None],
    }
    points = np.random.default_rng(0).uniform(0, 1, (10, 8, 3)) * (300, 200, 1700)
    (tmp_path / "a.c3d").write_bytes(c3d_bytes(points, [f"m{k}" for k in range(8)], 100.0, stand, parameters))
    forces = read_markers(tmp_path / "a.c3d").forces
    assert forces is not None
    np.testing.assert_allclose(forces.total, [[0, 0, 600]] * 100, atol=1e-4)


def test_plates_that_cannot_be_read_are_left_out_with_a_warning(tmp_path: Path) -> None:
    points = np.random.default_rng(0).uniform(0, 1, (10, 8, 3)) * (300, 200, 1700)
    parameters = {
        "FORCE_PLATFORM:USED": 1,
        "FORCE_PLATFORM:TYPE": np.array([21]),
        "FORCE_PLATFORM:CORNERS": CORNERS.T[:, :, None],
        "FORCE_PLATFORM:ORIGIN": np.zeros((3, 1)),
        "FORCE_PLATFORM:CHANNEL": np.arange(1, 7)[:, None],
    }
    (tmp_path / "a.c3d").write_bytes(
        c3d_bytes(points, [f"m{k}" for k in range(8)], 100.0, np.zeros((10, 6)), parameters)
    )
    with pytest.warns(uk.UkemiWarning, match="force plate 1"):
        assert read_markers(tmp_path / "a.c3d").forces is None


def test_the_plates_of_a_measured_walk(shared: Path) -> None:
    """README there: peaks of 951 and 747 N with offsets of about -17 N in them; single steps of one person."""
    markers = read_markers(shared / "motions" / "forceplate" / "opensim_c3d_walk" / "walking2.c3d")
    forces = markers.forces
    assert forces is not None
    vertical = forces.force[..., 2]
    assert vertical.max(axis=0) == pytest.approx((951 + 14, 747 + 20), abs=5)
    assert (vertical[:2000] == 0).all()  # nobody there yet
    assert np.abs(forces.point[vertical > 20, 2]).max() < 1e-3
    # free moments of walking are some N m (Li, Wang, Crompton, Gunther 2001: below 0.2 N m/kg)
    assert np.abs(forces.torque[..., 2]).max() < 15
    # while a plate bears, its centre of pressure is under the foot's markers
    feet = [k for k, name in enumerate(markers.names) if name[1:] in ("CAL", "MT1", "MT2")]
    for plate in range(2):
        loaded = np.flatnonzero(vertical[:, plate] > 300)
        frames = np.rint((forces.time[loaded] - markers.start) * markers.fps).astype(int)
        far = markers.positions[frames][:, feet, :2] - forces.point[loaded, plate, None, :2]
        assert np.median(np.nanmin(np.linalg.norm(far, axis=2), axis=1)) < 0.09
