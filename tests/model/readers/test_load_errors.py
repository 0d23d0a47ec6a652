"""Files that cannot be read: each gives one clear error with file and line, quickly."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
from tests.model.readers.urdf_texts import INERTIAL, JOINTS, joint, link, robot, written

import ukemi as uk
from ukemi.model.readers.load import load
from ukemi.model.readers.xmltree import DEEPEST, LARGEST_FILE, MOST_ATTRIBUTES, MOST_ELEMENTS

#: Each of these takes a fraction of a second; the rest is for a machine that does other work too.
QUICK = 5.0
TWO = link("a") + link("b")


def inertial(mass: str = "1", moments: tuple[str, str, str] = ("1", "1", "1")) -> str:
    xx, yy, zz = moments
    tensor = f'<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/>'
    return f'<inertial><mass value="{mass}"/>{tensor}</inertial>'


def collision(shape: str) -> str:
    return f"<collision><geometry>{shape}</geometry></collision>"


BROKEN = {
    "unclosed": ('<robot name="r">\n<link name="a">\n', r":3: malformed XML.*inside <link> of line 2"),
    "mismatched": ("<robot>\n</link>", r":2: malformed XML: mismatched tag"),
    "other root": ("<sdf/>", r":1: the root element is <sdf>: expected <robot>"),
    "mujoco in .urdf": ("<mujoco/>", r":1: .*expected <robot>"),
    "no links": (robot(), r":2: a robot without links"),
    "link twice": (robot(link("a", ""), link("a", "")), r":5: link 'a': the name is taken by line 3"),
    "joint twice": (
        robot(TWO, link("c"), joint("j", "fixed", "a", "b"), joint("j", "fixed", "a", "c")),
        r"joint 'j': the name is taken",
    ),
    "no name": (robot("<link/>"), r":3: <link>: expected an attribute 'name'"),
    "no parent": (robot(TWO, '<joint name="j" type="fixed"><child link="b"/></joint>'), r"joint 'j': expected <parent"),
    "no child": (robot(TWO, '<joint name="j" type="fixed"><parent link="b"/></joint>'), r"joint 'j': expected <child"),
    "unknown link": (robot(TWO, joint("j", "fixed", "a", "bb")), r"<child>: no link named 'bb'; did you mean b\b"),
    "two parents": (
        robot(TWO, link("c"), joint("j", "fixed", "a", "b"), joint("k", "fixed", "c", "b")),
        r"link 'b' is the child of joint 'k' and of joint 'j' \(line \d+\)",
    ),
    "two roots": (robot(link("a", ""), link("b", "")), r":5: 2 links without a parent: 'a' \(line 3\), 'b' \(line 5\)"),
    "zero roots": (
        robot(TWO, joint("j", "fixed", "a", "b"), joint("k", "fixed", "b", "a")),
        r"cycle: a -> b -> a",
    ),
    "root and a cycle": (
        robot(TWO, link("c"), joint("j", "fixed", "b", "c"), joint("k", "fixed", "c", "b")),
        r"cycle: b -> c -> b",
    ),
    "own parent": (robot(TWO, joint("j", "fixed", "a", "a")), r"cycle: a -> a"),
    "negative mass": (robot(link("a", inertial("-1"))), r":3: link 'a': mass -1 kg: expected a positive mass"),
    "mass nan": (robot(link("a", inertial("nan"))), r"<mass value='nan'>: expected finite numbers"),
    "mass inf": (robot(link("a", inertial("inf"))), r"<mass value='inf'>: expected finite numbers"),
    "mass huge": (robot(link("a", inertial("1e300"))), r"<mass value='1e300'>: expected finite numbers"),
    "mass text": (robot(link("a", inertial("heavy"))), r"<mass value='heavy'>: expected numbers"),
    "mass with underscore": (robot(link("a", inertial("1_0"))), r"<mass value='1_0'>: expected numbers"),
    "impossible inertia": (robot(link("a", inertial("1", ("1", "1", "3")))), r"link 'a': .*triangle inequality"),
    "negative inertia": (robot(link("a", inertial("1", ("-1", "1", "1")))), r"link 'a': .*positive definite"),
    "inertia without mass": (robot(link("a", inertial("0"))), r"link 'a': .*without mass"),
    "no mass": (robot(link("a", "<inertial/>")), r"link 'a': <inertial> without <mass>"),
    "two inertials": (robot(link("a", INERTIAL + INERTIAL)), r"a second <inertial> in <link>"),
    "type": (robot(TWO, joint("j", "screw", "a", "b")), r"joint 'j': type 'screw': expected one of revolute, "),
    "zero axis": (robot(TWO, joint("j", "revolute", "a", "b", '<axis xyz="0 0 0"/>')), r"joint 'j': .*zero vector"),
    "axis count": (
        robot(TWO, joint("j", "revolute", "a", "b", '<axis xyz="0 1"/>')),
        r"<axis xyz='0 1'>: expected 3 numbers, got 2",
    ),
    "limits": (
        robot(TWO, joint("j", "revolute", "a", "b", '<limit lower="1" upper="-1"/>')),
        r"joint 'j': lower 1, upper -1: expected lower <= upper",
    ),
    "limit nan": (
        robot(TWO, joint("j", "revolute", "a", "b", '<limit lower="nan" upper="1"/>')),
        r"<limit lower='nan'>: expected finite",
    ),
    "negative effort": (
        robot(TWO, joint("j", "revolute", "a", "b", '<limit lower="0" upper="1" effort="-1"/>')),
        r"joint 'j': Revolute.effort: .*not negative",
    ),
    "negative damping": (
        robot(TWO, joint("j", "continuous", "a", "b", '<dynamics damping="-1"/>')),
        r"joint 'j': Revolute.damping",
    ),
    "mimic of nothing": (
        robot(TWO, joint("j", "revolute", "a", "b", JOINTS["revolute"] + '<mimic joint="k"/>')),
        r"joint 'j', <mimic>: no joint named 'k'",
    ),
    "mimic cycle": (
        robot(
            TWO,
            link("c"),
            joint("j", "continuous", "a", "b", '<mimic joint="k"/>'),
            joint("k", "continuous", "a", "c", '<mimic joint="j"/>'),
        ),
        r"joints mimic each other in a cycle: j -> k -> j",
    ),
    "negative box": (robot(link("a", collision('<box size="1 1 -1"/>'))), r"link 'a': Box.size"),
    "no geometry": (robot(link("a", "<collision/>")), r"link 'a': <collision> without a shape"),
    "heavy world": (robot(link("world")), r"link 'world' has a mass"),
    "world below": (
        robot(link("a"), link("world", ""), joint("j", "fixed", "a", "world")),
        r"link 'world' has a parent",
    ),
    "entity": (
        '<!DOCTYPE robot [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>\n<robot name="&b;"/>',
        r":1: entity 'a': entities are not read",
    ),
    "external entity": (
        '<!DOCTYPE robot [<!ENTITY a SYSTEM "file:///etc/hostname">]>\n<robot>&a;</robot>',
        r":1: entity 'a': entities are not read",
    ),
    "unknown encoding": ('<?xml version="1.0" encoding="x-none"?><robot/>', r":1: malformed XML"),
    "wide encoding": ('<?xml version="1.0" encoding="utf-7"?><robot/>', r":1: malformed XML"),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_urdf_is_refused_with_its_line(tmp_path: Path, what: str) -> None:
    text, message = BROKEN[what]
    with pytest.raises(uk.FileFormatError, match=message) as caught:
        load(written(tmp_path, text))
    assert str(caught.value).startswith(str(tmp_path / "small.urdf") + ":")
    assert caught.value.line is not None
    assert 1 <= caught.value.line <= text.count("\n") + 1


@pytest.mark.parametrize("name", ["small.urdf", "small.xml"])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b" \n ", "the file is empty"),
        (bytes(range(256)) * 8, "malformed XML"),
        (b'<robot name="\xff\xfe"/>', ":1: malformed XML"),
        (b"<a>" * (DEEPEST + 1), f":1: <a>: elements nested deeper than {DEEPEST}"),
        (
            b"<robot " + b" ".join(b"a%d=''" % i for i in range(MOST_ATTRIBUTES + 1)) + b"/>",
            f"expected at most {MOST_ATTRIBUTES} attributes, got {MOST_ATTRIBUTES + 1}",
        ),
        (b"<robot>" + b"<a/>" * MOST_ELEMENTS, f"expected at most {MOST_ELEMENTS} elements"),
    ],
    ids=["empty", "blank", "garbage", "utf-8", "deep", "attributes", "many"],
)
def test_a_file_that_is_no_sane_xml_is_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    with pytest.raises(uk.FileFormatError, match=message):
        load(written(tmp_path, content, name))


def test_every_truncation_of_a_file_is_refused(tmp_path: Path) -> None:
    text = robot(TWO, joint("j", "revolute", "a", "b", JOINTS["revolute"])).rstrip()
    for length in range(len(text)):
        with pytest.raises(uk.FileFormatError):
            load(written(tmp_path, text[:length]))


def test_a_file_of_100_megabytes_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "large.urdf"
    with path.open("wb") as file:
        file.truncate(100 * 2**20)
    start = time.perf_counter()
    with pytest.raises(uk.FileFormatError, match=f"100 MB: expected at most {LARGEST_FILE // 2**20} MB"):
        load(path)
    assert time.perf_counter() - start < QUICK


def test_a_long_chain_is_read(tmp_path: Path) -> None:
    """Cycles are looked for, and trees built, in time that grows with the file only."""
    n = 2000
    chain = [joint(f"j{i}", "fixed", f"l{i}", f"l{i + 1}") for i in range(n)]
    links = [link(f"l{i}", "") for i in reversed(range(n + 1))]
    start = time.perf_counter()
    assert load(written(tmp_path, robot(*links, *chain))).nlinks == n + 1
    assert time.perf_counter() - start < QUICK


def test_a_document_type_without_entities_is_harmless(tmp_path: Path) -> None:
    assert load(written(tmp_path, "<!DOCTYPE robot>\n<robot>" + link("a") + "</robot>")).nlinks == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.urdf", "no such file"),
        ("none.xml", "no such file"),
        ("folder.urdf", "got a directory"),
        ("model.sdf", r"expected a file that ends in \.urdf, \.xml"),
        ("model", r"expected a file that ends in \.urdf, \.xml"),
        ("robot.urdf.xacro", "expand it first"),
        ("x" * 300 + ".urdf", "no such file"),
        ("\0.urdf", "no such file"),
    ],
)
def test_paths_that_lead_to_no_model_say_why(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder.urdf").mkdir()
    with pytest.raises(uk.UkemiError, match=message):
        load(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_no_model(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.urdf")
    with pytest.raises(uk.FileFormatError, match="expected a regular file"):
        load(tmp_path / "pipe.urdf")


@pytest.mark.parametrize("path", [None, 3, b"a.urdf"])
def test_a_path_must_be_a_path(path: object) -> None:
    with pytest.raises(uk.InvalidInputError, match="expected a path"):
        load(path)  # type: ignore[arg-type]


def test_a_base_must_be_a_joint(tmp_path: Path) -> None:
    with pytest.raises(uk.InvalidInputError, match="expected a joint"):
        load(written(tmp_path, robot(TWO)), base="free")  # type: ignore[arg-type]


def test_an_mjcf_file_takes_no_base(tmp_path: Path) -> None:
    with pytest.raises(uk.InvalidInputError, match="says itself"):
        load(written(tmp_path, "<mujoco/>", "small.xml"), base=uk.Free())


def test_without_mujoco_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(uk.UkemiError, match=r"pip install ukemi\[mjcf\]"):
        load(written(tmp_path, "<mujoco/>", "small.xml"))
