"""MJCF files and the files they need: meshes present and absent, includes, errors with their line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.model.readers.urdf_texts import cube_stl, written

import ukemi as uk
from ukemi.model.readers.load import load

mujoco = pytest.importorskip("mujoco")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore::ukemi.UkemiWarning")]


def with_mesh(geom: str, inertial: str = "", compiler: str = "", default: str = "") -> str:
    return f"""<mujoco><compiler meshdir="parts" {compiler}/><default>{default}</default>
  <asset><texture name="t" file="absent.png" type="2d"/><material name="m" texture="t"/>
    <mesh name="part" file="part.stl" inertia="convex"/></asset>
  <worldbody>
    <body name="thing"><freejoint/>{inertial}
      {geom}<geom name="core" size="0.1" material="m"/></body></worldbody>
  <contact><pair geom1="shell" geom2="core"/></contact></mujoco>"""


INERTIAL = '<inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/>'
SHELL = '<geom name="shell" type="mesh" mesh="part"/>'


@pytest.mark.parametrize(
    "text",
    [
        with_mesh(SHELL, INERTIAL),
        with_mesh('<geom name="shell" type="mesh" mesh="part" density="0"/>'),
        with_mesh('<geom name="shell" type="mesh" mesh="part" mass="0"/>'),
        with_mesh(
            '<geom name="shell" class="c"/>',
            INERTIAL,
            default='<default class="c"><geom type="mesh" mesh="part"/></default>',
        ),
        with_mesh('<geom name="shell"/>', INERTIAL, default='<geom type="mesh" mesh="part"/>').replace(
            'name="core"', 'name="core" type="sphere" mesh=""'
        ),
        with_mesh(f"<frame>{SHELL}</frame>", INERTIAL),
        with_mesh(
            f'<body name="outer" childclass="c"><body><joint/>{INERTIAL}<geom name="shell"/></body></body>',
            INERTIAL,
            default='<default class="c"><geom type="mesh" mesh="part"/></default>',
        ),
        with_mesh(SHELL, INERTIAL, compiler='inertiafromgeom="false"'),
    ],
    ids=["inertial", "density", "mass", "class", "main class", "frame", "childclass", "inertiafromgeom"],
)
def test_absent_meshes_go_when_they_carry_no_mass(tmp_path: Path, text: str) -> None:
    with pytest.warns(uk.UkemiWarning, match=r"small\.xml:\d: meshes that do not exist here are left out.*part\.stl"):
        model = load(written(tmp_path, text, "small.xml"))
    assert [type(shape) for shape in model.link("thing").shapes] == [uk.Sphere]
    assert model.mass > 0


@pytest.mark.parametrize(
    "text",
    [
        with_mesh(SHELL),
        with_mesh(SHELL, INERTIAL, compiler='inertiafromgeom="true"'),
        with_mesh(f"<frame>{SHELL}</frame>"),
    ],
    ids=["no inertial", "inertiafromgeom", "frame"],
)
def test_absent_meshes_that_carry_mass_are_an_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(uk.FileFormatError, match=r"small\.xml:5: body 'thing' takes its mass from mesh 'part'"):
        load(written(tmp_path, text, "small.xml"))


def test_absent_meshes_of_what_cannot_move_go(tmp_path: Path) -> None:
    text = with_mesh(SHELL).replace("<freejoint/>", "")
    assert len(load(written(tmp_path, text, "small.xml")).link("thing").shapes) == 1


def test_strippath_looks_for_the_bare_name(tmp_path: Path) -> None:
    written(tmp_path, cube_stl(), "part.stl")
    text = with_mesh(SHELL, compiler='strippath="true"').replace('meshdir="parts"', "")
    model = load(written(tmp_path, text.replace("part.stl", "C:/far/away/part.stl"), "small.xml"))
    assert len(model.link("thing").shapes) == 2


@pytest.mark.parametrize("folder", ['meshdir="parts"', 'assetdir="parts"', 'assetdir="no" meshdir="parts"'])
def test_present_meshes_are_found_and_weigh(tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "parts").mkdir()
    written(tmp_path / "parts", cube_stl(), "part.stl")
    written(tmp_path, with_mesh(SHELL).replace('meshdir="parts"', folder), "small.xml")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    model = load(Path("..") / "small.xml")
    shapes = model.link("thing").shapes
    assert {type(shape) for shape in shapes} == {uk.ConvexMesh, uk.Sphere}
    cube_and_ball = 1000 * (1 + 4 / 3 * np.pi * 0.1**3)  # MuJoCo's density; single precision of the mesh
    assert model.mass == pytest.approx(cube_and_ball, rel=1e-6)
    corners = next(np.asarray(s.at.apply(s.points)) for s in shapes if isinstance(s, uk.ConvexMesh))
    assert np.allclose(corners.min(axis=0), 0, atol=1e-6)  # MuJoCo keeps mesh points in single precision
    assert np.allclose(corners.max(axis=0), 1, atol=1e-6)


BALL = '<worldbody><body name="ball"><freejoint/><geom size="0.1"/></body></worldbody>'


def test_includes_are_read_relative_to_the_main_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    written(tmp_path / "sub", '<mujoco><include file="sub/b.xml"/></mujoco>', "a.xml")
    written(tmp_path / "sub", f"<any>{BALL}</any>", "b.xml")
    model = load(written(tmp_path, '<mujoco><include file="sub/a.xml"/></mujoco>', "main.xml"))
    assert model.link_names == ("ball",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<include file="main.xml"/>', r"main\.xml:2: .*included already"),
        ('<include file="ring.xml"/>', r"ring\.xml:1: .*included already"),
        ('<include file="none.xml"/>', r"main\.xml:2: .*no such file"),
        ('<include file="torn.xml"/>', r"torn\.xml:2: malformed XML"),
        ("<include/>", r"main\.xml:2: <include>: expected an attribute 'file'"),
    ],
)
def test_includes_that_cannot_be_are_refused(tmp_path: Path, text: str, message: str) -> None:
    written(tmp_path, '<a><include file="ring.xml"/></a>', "ring.xml")
    written(tmp_path, "<a>\n<b", "torn.xml")
    with pytest.raises(uk.FileFormatError, match=message):
        load(written(tmp_path, f"<mujoco>\n{text}</mujoco>", "main.xml"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f'<worldbody>\n\n<geom size="0.1"\n colour="red"/></worldbody>{BALL}', r":4: MuJoCo: .*colour"),
        ('<worldbody>\n<body name="a"><joint/></body></worldbody>', r":3: MuJoCo: .*mass and inertia"),
        ("<worldbody/>\n<unknown/>", r":3: MuJoCo: .*unknown"),
        ('<worldbody><geom size="0.1 nan 2"/></worldbody>', r":2: <geom size='0.1 nan 2'>: expected finite numbers"),
        ('<worldbody>\n<geom type="mesh" mesh="none"/></worldbody>', r":3: MuJoCo: .*mesh 'none' not found"),
    ],
)
def test_mujocos_own_errors_come_with_the_line_of_the_file(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(uk.FileFormatError, match=r"small\.xml" + message):
        load(written(tmp_path, f"<mujoco>\n{text}</mujoco>", "small.xml"))


def test_an_error_in_an_included_file_names_that_file(tmp_path: Path) -> None:
    written(tmp_path, '<a>\n<worldbody>\n<geom size="-1"/></worldbody></a>', "part.xml")
    with pytest.raises(uk.FileFormatError, match=r"part\.xml:3: MuJoCo: .*size"):
        load(written(tmp_path, '<mujoco><include file="part.xml"/></mujoco>', "small.xml"))


def test_numbers_beyond_reason_are_refused(tmp_path: Path) -> None:
    far = BALL.replace("<freejoint/>", "").replace("<body ", '<body pos="1e200 0 0" ')
    with pytest.raises(uk.FileFormatError, match="body_pos: expected finite numbers"):
        load(written(tmp_path, f"<mujoco>{far}</mujoco>", "small.xml"))
