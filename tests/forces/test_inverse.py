"""Joint moments with measured ground forces: closed forms, the balance of power, OpenSim and published moments."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest
from tests.model.readers.osim_texts import ALL, Joint, osim
from tests.model.readers.urdf_texts import written

import ukemi as uk
from ukemi.dynamics.coupled import coupled_coordinates, followed, leaders_first
from ukemi.dynamics.kinematics import jacobian
from ukemi.forces.inverse import JointMoments, inverse_dynamics_of_trial
from ukemi.motion.ground_forces import GroundForces, read_ground_forces
from ukemi.motion.opensim import joint_coordinates
from ukemi.motion.tables import read_table

G = 9.80665
#: A trunk on a free joint, and a foot on an ankle below it, without inertia in the way of closed forms.
FREE = ("rx", "ry", "rz", "tx", "ty", "tz")
BODY = [
    Joint("FreeJoint", "trunk", coordinates=FREE, mass=50.0, com="0 0.2 0", inertia="2 1 2 0 0 0"),
    Joint("PinJoint", "foot", "trunk", ("ankle",), ("0 -0.8 0", "0 0 0"), mass=1.0, com="0.1 -0.05 0"),
]
WEIGHT = 51.0 * G


def model_of(folder: Path, joints: list[Joint]) -> uk.Model:
    gravity = "<gravity>0 -9.80665 0</gravity>"
    return uk.load(written(folder, osim(joints, extra=gravity), "model.osim"))


def placed(model: uk.Model, time: np.ndarray, **values: float | np.ndarray) -> np.ndarray:
    q = np.tile(model.neutral(), (len(time), 1))
    for name, x in values.items():
        q[:, model.joint(name).q.start] = x
    return coupled_coordinates(model, q)


def plate(
    time: np.ndarray, force: object, point: object, torque: object = (0.0, 0, 0), name: str = "1"
) -> GroundForces:
    rows = (np.broadcast_to(np.asarray(x, dtype=float), (len(time), 3))[:, None] for x in (force, point, torque))
    return GroundForces(time, (name,), *rows)


def test_who_stands_still_leans_on_the_ankle(tmp_path: Path) -> None:
    """The ground pushes 12 cm before the ankle and turns the foot by 3 N m: the ankle holds both; nothing is left over
    but what a push that is 2 cm from under the centre of mass must turn."""
    model = model_of(tmp_path, BODY)
    time = np.linspace(0, 1, 50)
    q = placed(model, time, ty=0.9)
    com = uk.center_of_mass(model, q[0])
    point = np.array((com[0] + 0.02, com[1], 0.0))
    got = inverse_dynamics_of_trial(model, time, q, plate(time, (0, 0, WEIGHT), point, (0, -3.0, 0)), {"1": "foot"})
    assert got.names == ("rx_moment", "ry_moment", "rz_moment", "tx_force", "ty_force", "tz_force", "ankle_moment")
    # about z of OpenSim, to the right: what the foot's weight and the ground leave of zero
    ground, foot = WEIGHT * point[0], -G * 0.1
    np.testing.assert_allclose(got["ankle_moment"], -(ground + foot) - 3.0, atol=1e-9)
    np.testing.assert_allclose(got.residual[:, :3], 0, atol=1e-9)
    wanted = np.array((0, WEIGHT * 0.02 + 3.0, 0))  # about y, to the left: it must be turned forwards
    np.testing.assert_allclose(got.residual[:, 3:], np.tile(wanted, (50, 1)), atol=1e-9)
    np.testing.assert_allclose(got.power, 0, atol=1e-9)


def test_a_jump_needs_no_forces_in_flight(tmp_path: Path) -> None:
    model = model_of(tmp_path, BODY)
    time = np.linspace(0, 0.5, 60)
    q = placed(model, time, tx=2 * time, ty=1 + 3 * time - 0.5 * G * time**2)
    got = inverse_dynamics_of_trial(model, time, q, plate(time, np.zeros(3), np.zeros(3)), {"1": "foot"}, cutoff=None)
    np.testing.assert_allclose(got.moments[5:-5], 0, atol=1e-4)  # free ends of a spline have no third derivative
    np.testing.assert_allclose(got.residual[5:-5], 0, atol=1e-4)


def test_a_motion_below_the_cutoff_passes_to_its_ends(tmp_path: Path) -> None:
    """A body that sways 10 cm sideways at 1 Hz asks for m a, at its ends too; the noise at 40 Hz asks for nothing."""
    model = model_of(tmp_path, BODY[:1])
    time = np.arange(0, 2.0001, 0.005)
    sway = 0.1 * np.sin(2 * np.pi * time)
    noise = 0.001 * np.sin(2 * np.pi * 40 * time)
    forces = plate(time, np.zeros(3), np.zeros(3))
    got = inverse_dynamics_of_trial(model, time, placed(model, time, tz=sway + noise), forces, {"1": "trunk"})
    wanted = -50.0 * (2 * np.pi) ** 2 * sway
    assert np.abs(got["tz_force"] - wanted).max() < 0.01 * np.ptp(wanted)
    np.testing.assert_allclose(got.residual[:, 1], -got["tz_force"], atol=1e-9)  # z of OpenSim is -y
    raw = inverse_dynamics_of_trial(
        model, time, placed(model, time, tz=sway + noise), forces, {"1": "trunk"}, cutoff=None
    )
    assert np.abs(raw["tz_force"] - wanted).max() > 5 * np.ptp(wanted)


@pytest.mark.filterwarnings("ignore::ukemi.UkemiWarning")
def test_moments_and_ground_forces_do_the_work_that_the_energy_tells(tmp_path: Path) -> None:
    """On every kind of joint, a knee that slides along a spline among them; two plates push on one link."""
    model = model_of(tmp_path, ALL)
    rng, time = np.random.default_rng(8), np.arange(0, 0.4, 0.002)
    sizes, phases = rng.uniform(0.1, 0.4, model.nq), rng.uniform(0, 6, model.nq)
    q = coupled_coordinates(model, sizes * np.sin(3 * time[:, None] + phases))
    vectors = rng.uniform(-1, 1, (3, 2, 3)) * np.array((200.0, 0.5, 20.0))[:, None, None]
    forces = GroundForces(time, ("a", "b"), *(np.tile(x, (len(time), 1, 1)) for x in vectors))
    got = inverse_dynamics_of_trial(model, time, q, forces, {"a": "shank", "b": "shank"}, cutoff=None)
    v = np.zeros((len(time), model.nv))
    for name, power, moment in zip(model.coordinates, got.power.T, got.moments.T, strict=True):
        rate = np.gradient(q[:, model.joint(name).q.start], time, edge_order=2)
        v[:, model.joint(name).v.start] = rate
        np.testing.assert_allclose(power, moment * rate, atol=2e-3 * np.abs(moment).max())
    for coupling in leaders_first(model):
        assert coupling.master is not None
        leader = model.joint(coupling.master)
        slope = followed(model, coupling, q[:, leader.q.start], 1)
        v[:, model.joint(coupling.joint).v.start] = slope * v[:, leader.v.start]
    energy = uk.kinetic_energy(model, q, v) + uk.potential_energy(model, q, gravity=model.gravity)
    X, J = uk.link_poses(model, q), jacobian(model, q, "shank")
    twist = np.einsum("nij,nj->ni", J, v)
    place = X[:, model.link_index("shank"), :3, 3]
    ground = np.zeros(len(time))
    for k in range(2):
        moment = np.cross(forces.point[:, k] - place, forces.force[:, k]) + forces.torque[:, k]
        ground += (forces.force[:, k] * twist[:, :3]).sum(axis=1) + (moment * twist[:, 3:]).sum(axis=1)
    gained = np.gradient(energy, time, edge_order=2)
    inside = slice(8, -8)
    np.testing.assert_allclose(
        got.power.sum(axis=1)[inside] + ground[inside], gained[inside], atol=2e-3 * np.abs(gained).max()
    )
    root = [got.names.index(f"{name}_{kind}") for name, kind in zip(FREE, ["moment"] * 3 + ["force"] * 3, strict=True)]
    at_root = np.einsum("ni,nij,nj->n", got.residual, jacobian(model, q, "trunk"), v)
    np.testing.assert_allclose(at_root, got.power[:, root].sum(axis=1), atol=2e-3 * np.abs(at_root).max())


def test_uneven_times_and_plates_of_other_rates_give_the_same(tmp_path: Path) -> None:
    model = model_of(tmp_path, BODY)
    rng = np.random.default_rng(2)

    def moments(time: np.ndarray, fast: np.ndarray) -> JointMoments:
        q = placed(model, time, ty=1 + 0.05 * np.cos(5 * time), ankle=0.3 * np.sin(4 * time))
        push = np.stack([0 * fast, 0 * fast, WEIGHT + 40 * fast], axis=1)
        return inverse_dynamics_of_trial(model, time, q, plate(fast, push, (0.05, 0, 0)), {"1": "foot"})

    even, fast = np.arange(0, 1, 0.01), np.arange(0.2, 0.8, 0.001)
    jitter = even + np.where((even > 0) & (even < 0.985), rng.uniform(-0.002, 0.002, len(even)), 0)
    a, b = moments(even, fast), moments(jitter, fast)
    assert a.time[0] == pytest.approx(0.2)  # where the plates were read
    assert a.time[-1] == pytest.approx(0.8)
    at = np.interp(b.time[2:-2], a.time, a["ankle_moment"])
    np.testing.assert_allclose(b["ankle_moment"][2:-2], at, atol=2e-3 * np.ptp(a["ankle_moment"]))


def test_what_cannot_be_is_said(tmp_path: Path) -> None:
    model = model_of(tmp_path, BODY)
    time = np.linspace(0, 1, 20)
    q, forces = placed(model, time), plate(time, np.zeros(3), np.zeros(3))
    with pytest.raises(uk.UnknownNameError, match="no plate named 'R'"):
        inverse_dynamics_of_trial(model, time, q, forces, {"R": "foot"})
    with pytest.raises(uk.InvalidInputError, match="plate '1' stands under no body"):
        inverse_dynamics_of_trial(model, time, q, forces, {})
    with pytest.raises(uk.UnknownNameError, match="no link named 'foots'"):
        inverse_dynamics_of_trial(model, time, q, forces, {"1": "foots"})
    with pytest.raises(uk.InvalidInputError, match="forces: read from 0 to 1 s, the motion lasts from 5 to 6 s"):
        inverse_dynamics_of_trial(model, time + 5, q, forces, {"1": "foot"})
    with pytest.raises(uk.InvalidInputError, match=r"q: expected shape \(20, 7\), got \(19, 7\)"):
        inverse_dynamics_of_trial(model, time, q[1:], forces, {"1": "foot"})
    with pytest.raises(uk.InvalidInputError, match="at least 6 growing times"):
        inverse_dynamics_of_trial(model, time[:4], q[:4], forces, {"1": "foot"})
    with pytest.raises(uk.InvalidInputError, match="'root' has several DOF"):
        inverse_dynamics_of_trial(uk.human(16), time, q, forces, {"1": "left_foot"})
    still = inverse_dynamics_of_trial(model, time, q, forces, {"1": "foot"})
    with pytest.raises(uk.UnknownNameError, match="no moment named 'ankle'; there are rx_moment"):
        still["ankle"]


@pytest.fixture(scope="module")
def trials(shared: Path) -> Path:
    return shared / "motions" / "forceplate" / "addbiomechanics"


#: AddBiomechanics differentiates by second differences of unfiltered coordinates and backward differences, and corrects
#: the plates of some trials a little: in squats, whose plates were resampled, all that is left is the differences.
@pytest.mark.filterwarnings("ignore::ukemi.UkemiWarning")
@pytest.mark.parametrize(
    ("trial", "share"),
    [
        ("opencap_subject3/squats1", 0.004),
        ("opencap_subject2/squatsAsym1", 0.008),
        ("hamner_subject01/run300", 0.012),
        ("opencap_subject3/walking2", 0.018),
    ],
)
def test_sagittal_moments_are_those_that_addbiomechanics_published(trials: Path, trial: str, share: float) -> None:
    folder = (trials / trial).parent
    model = uk.load(folder / "final.osim")
    time, q = joint_coordinates(model, trials / f"{trial}_ik.mot")
    forces = read_ground_forces(trials / f"{trial}_grf.mot")
    feet = {name: f"calcn_{name[-1].lower()}" for name in forces.names}
    got = inverse_dynamics_of_trial(model, time, q, forces, feet, cutoff=None)
    published = read_table(trials / f"{trial}_id.sto")
    rows = [int(np.abs(published.time - t).argmin()) for t in got.time[5:-6]]  # the last row is zero there
    for name in ("hip_flexion", "knee_angle", "ankle_angle"):
        for side in "rl":
            wanted = published[f"{name}_{side}_moment"][rows]
            off = np.sqrt(np.mean((got[f"{name}_{side}_moment"][5:-6] - wanted) ** 2))
            assert off < share * np.ptp(wanted), (name, side)


@pytest.mark.filterwarnings("ignore::ukemi.UkemiWarning")
@pytest.mark.parametrize("trial", ["hamner_subject01/run300", "opencap_subject3/squats1", "opencap_subject3/walking2"])
def test_moments_are_those_of_opensim(trials: Path, trial: str) -> None:
    """Where OpenSim is installed, or OPENSIM_PYTHON names an interpreter that has it."""
    if "OPENSIM_PYTHON" not in os.environ and importlib.util.find_spec("opensim") is None:
        pytest.skip("needs opensim, or OPENSIM_PYTHON")
    bench = Path(__file__).resolve().parents[2] / "bench" / "opensim_id.py"
    spec = importlib.util.spec_from_file_location("opensim_id", bench)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    file = trials / trial
    rows = module.trial(
        file.parent / "final.osim",
        file.with_name(f"{file.name}_ik.mot"),
        file.with_name(f"{file.name}_grf.mot"),
        6.0,
    )
    exact = trial.startswith("hamner")  # OpenSim's accelerations of Rajagopal's knee are its own
    for worst, of, median, _, _ in rows.values():
        assert worst < (1e-6 if exact else 0.01), of
        assert median < (1e-7 if exact else 1e-3)
