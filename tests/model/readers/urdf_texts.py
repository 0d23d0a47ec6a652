"""Small URDF files, and a place to put them."""

from __future__ import annotations

from pathlib import Path

INERTIAL = """
    <inertial>
      <origin xyz="0.1 -0.02 0.3" rpy="0.1 0.2 0.3"/>
      <mass value="2.0"/>
      <inertia ixx="0.02" ixy="0.001" ixz="0.002" iyy="0.03" iyz="-0.001" izz="0.025"/>
    </inertial>"""

#: a link of every joint type, off its parent's axes
JOINTS = {
    "revolute": '<axis xyz="0.6 0 0.8"/><limit lower="-1" upper="2" effort="30" velocity="5"/><dynamics damping="0.4"/>',
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
