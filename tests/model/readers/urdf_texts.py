"""Small URDF and mesh files, and a place to put them."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

INERTIAL = """
    <inertial>
      <origin xyz="0.1 -0.02 0.3" rpy="0.1 0.2 0.3"/>
      <mass value="2.0"/>
      <inertia ixx="0.02" ixy="0.001" ixz="0.002" iyy="0.03" iyz="-0.001" izz="0.025"/>
    </inertial>"""

#: a link of every joint type, off its parent's axes
JOINTS = {
    "revolute": '<axis xyz="0.6 0 0.8"/><dynamics damping="0.4"/>'
    '<limit lower="-1" upper="2" effort="30" velocity="5"/>',
    "prismatic": '<axis xyz="0 1 0"/><limit lower="-0.2" upper="0.3" effort="7" velocity="1"/>',
    "continuous": '<axis xyz="1 2 3"/>',
    "planar": '<axis xyz="0 0 1"/>',
    "floating": "",
    "fixed": "",
}


def link(name: str, content: str = INERTIAL) -> str:
    return f'  <link name="{name}">{content}\n  </link>\n'


def joint(name: str, kind: str, parent: str, child: str, content: str = "") -> str:
    origin = '<origin xyz="0.1 0.2 0.3" rpy="0.3 -0.2 0.5"/>'
    return (
        f'  <joint name="{name}" type="{kind}">{origin}<parent link="{parent}"/><child link="{child}"/>'
        f"{content}</joint>\n"
    )


def robot(*parts: str) -> str:
    return '<?xml version="1.0"?>\n<robot name="small">\n' + "".join(parts) + "</robot>\n"


def every_joint() -> str:
    """A chain with one joint of every type, and a branch."""
    parts = [link("base")]
    parent = "base"
    for kind, content in JOINTS.items():
        parts += [link(f"{kind}_link"), joint(f"{kind}_joint", kind, parent, f"{kind}_link", content)]
        parent = f"{kind}_link"
    branch = joint("branch_joint", "revolute", "prismatic_link", "branch", JOINTS["revolute"])
    return robot(*parts, link("branch"), branch)


def written(folder: Path, text: str | bytes, name: str = "small.urdf") -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


#: of the unit cube
CORNERS = np.array([(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=np.float64)


def cube_stl(*, as_text: bool = False) -> bytes:
    """Triangles that have the unit cube as their hull."""
    triangles = [CORNERS[[0, i, j]] for i in range(1, 8) for j in range(i + 1, 8)]
    if as_text:
        loops = ["".join(f"vertex {x} {y} {z}\n" for x, y, z in t) for t in triangles]
        facets = "".join(f"facet normal 0 0 0\nouter loop\n{loop}endloop\nendfacet\n" for loop in loops)
        return f"solid cube\n{facets}endsolid\n".encode()
    body = b"".join(struct.pack("<12fH", 0, 0, 0, *t.ravel(), 0) for t in triangles)
    return b"solid but binary".ljust(80) + struct.pack("<I", len(triangles)) + body
