"""Damaged and made-up files: whatever comes in, only a model or a UkemiError comes out, and soon."""

from __future__ import annotations

import re
import time
import warnings
from contextlib import suppress
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.model.readers.urdf_texts import INERTIAL, JOINTS, every_joint, joint, link, robot, written

import ukemi as uk
from ukemi.model.readers.load import load
from ukemi.model.readers.urdf_grammar import GRAMMAR

pytestmark = pytest.mark.fuzz

#: Small files take some ms; the rest is for a machine that does other work too.
LONGEST = 5.0
bounded = settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

URDF = robot(
    link("a", INERTIAL + '<collision><geometry><box size="1 2 3"/></geometry></collision>'),
    link("b"),
    link("c"),
    joint("one", "revolute", "a", "b", JOINTS["revolute"]),
    joint("two", "prismatic", "b", "c", JOINTS["prismatic"] + '<mimic joint="one" multiplier="2"/>'),
).encode()
MJCF = b"""<mujoco model="small">
  <compiler angle="radian"/>
  <default><default class="c"><geom type="capsule" size="0.1 0.2"/></default></default>
  <asset><mesh name="m" file="none.stl"/></asset>
  <worldbody>
    <body name="a" pos="0 0 1"><freejoint name="f"/><geom class="c"/>
      <body name="b" childclass="c"><joint name="j" axis="0 1 0" range="-1 1" pos="0 0 0.1" ref="0.1"/><geom/>
        <inertial mass="1" pos="0 0 0" diaginertia="1 1 1"/><geom type="mesh" mesh="m"/></body></body>
  </worldbody>
  <equality><connect body1="a" body2="b" anchor="0 0 0"/></equality>
  <actuator><motor joint="j" gear="3" ctrlrange="-1 1" ctrllimited="true"/></actuator>
</mujoco>"""

places = st.floats(0, 1, exclude_max=True)
#: what stands in files, and what should not
TOKENS = b'< > / <link> </robot> -1 1e999 nan 0 &a; &#0; <!DOCTYPE <![CDATA[ ]]> name="a" world 1e-320 [ "'
tokens = st.sampled_from([*TOKENS.split(), b" ", b"\n", b"\x00", b"\xff"])
mutations = st.one_of(
    st.tuples(st.just("cut"), places, places),
    st.tuples(st.just("insert"), places, st.one_of(tokens, st.binary(max_size=4))),
    st.tuples(st.just("delete"), places, st.integers(1, 40)),
    st.tuples(st.just("flip"), places, st.integers(0, 7)),
    st.tuples(st.just("repeat"), places, st.integers(1, 400)),
)


def damaged(data: bytes, changes: list[tuple[str, float, object]]) -> bytes:
    for what, place, detail in changes:
        at = int(place * len(data))
        if what == "cut":
            data = data[:at]
        elif what == "insert" and isinstance(detail, bytes):
            data = data[:at] + detail + data[at:]
        elif what == "delete" and isinstance(detail, int):
            data = data[:at] + data[at + detail :]
        elif what == "flip" and isinstance(detail, int) and at < len(data):
            data = data[:at] + bytes([data[at] ^ 1 << detail]) + data[at + 1 :]
        elif what == "repeat" and isinstance(detail, int):
            data = data[: at + detail] + data[at : at + detail] + data[at + detail :]
    return data


def only_ours(path: Path) -> None:
    """Loads; anything but a model or a UkemiError fails the test."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", uk.UkemiWarning)
        with suppress(uk.UkemiError):
            load(path)
    assert time.perf_counter() - start < LONGEST


@bounded
@given(st.lists(mutations, min_size=1, max_size=4))
def test_a_damaged_urdf_gives_a_model_or_our_error(tmp_path: Path, changes: list[tuple[str, float, object]]) -> None:
    only_ours(written(tmp_path, damaged(URDF, changes)))


@pytest.mark.oracle
@bounded
@given(st.lists(mutations, min_size=1, max_size=3))
def test_a_damaged_mjcf_gives_a_model_or_our_error(tmp_path: Path, changes: list[tuple[str, float, object]]) -> None:
    pytest.importorskip("mujoco")
    only_ours(written(tmp_path, damaged(MJCF, changes), "small.xml"))


numbers = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True).map(str),
    st.sampled_from(["0", "1", "-1", "0.5", "1e-8", "1e19", ""]),
)
values = st.one_of(
    st.sampled_from(["a", "b", "world", *JOINTS]), st.lists(numbers, min_size=1, max_size=4).map(" ".join)
)


@st.composite
def elements(draw: st.DrawFn, tag: str = "robot", depth: int = 4) -> str:
    """URDF by its grammar, with values that mean nothing."""
    attributes, children = GRAMMAR[tag]
    given_attributes = [a for a in sorted(attributes) if draw(st.integers(0, 5))]
    text = "".join(f" {a}={quoteattr(draw(values))}" for a in given_attributes)
    below = draw(st.lists(st.sampled_from(sorted(children)), max_size=5)) if children and depth else []
    return f"<{tag}{text}>" + "".join(draw(elements(child, depth - 1)) for child in below) + f"</{tag}>"


@bounded
@given(elements())
def test_made_up_urdf_gives_a_model_or_our_error(tmp_path: Path, text: str) -> None:
    only_ours(written(tmp_path, text))


numbers_of_a_file = sorted(set(re.findall(r'(?<=[" ])-?\d[\d.]*(?=[" ])', every_joint())))


@bounded
@given(st.sampled_from(numbers_of_a_file), numbers)
def test_any_number_in_a_urdf_gives_a_model_or_our_error(tmp_path: Path, old: str, new: str) -> None:
    only_ours(written(tmp_path, every_joint().replace(f'"{old}"', f'"{new}"').replace(f" {old} ", f" {new} ")))


@bounded
@given(st.binary(max_size=300), st.sampled_from(["a.urdf", "a.xml", "a.mjcf"]))
def test_random_bytes_give_our_error(tmp_path: Path, data: bytes, name: str) -> None:
    with pytest.raises(uk.UkemiError):
        load(written(tmp_path, data, name))
