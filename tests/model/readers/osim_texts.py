"""Small OpenSim models, written in the dialects of OpenSim 3 and 4."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Joint:
    """A joint and the body that hangs on it; poses as (place, angles about x, y, z)."""

    kind: str
    child: str
    parent: str = "ground"
    coordinates: tuple[str, ...] = ()
    at: tuple[str, str] = ("0 0 0", "0 0 0")
    child_at: tuple[str, str] = ("0 0 0", "0 0 0")
    options: dict[str, str] = field(default_factory=dict)  # of every coordinate
    transform: str = ""
    mass: float = 1.5
    com: str = "0.02 -0.1 0.03"
    inertia: str = "0.02 0.015 0.018 0.001 -0.002 0.0005"

    @property
    def name(self) -> str:
        return f"{self.child}_joint"


def line(slope: float = 1.0, intercept: float = 0.0) -> str:
    return f"<LinearFunction><coefficients>{slope} {intercept}</coefficients></LinearFunction>"


def polynomial(coefficients: str) -> str:
    return f"<PolynomialFunction><coefficients>{coefficients}</coefficients></PolynomialFunction>"


def spline(x: str, y: str, scale: float = 1.0) -> str:
    inner = f"<SimmSpline><x>{x}</x><y>{y}</y></SimmSpline>"
    return f"<MultiplierFunction><function>{inner}</function><scale>{scale}</scale></MultiplierFunction>"


def transform(*axes: tuple[str, str, str]) -> str:
    """Six (coordinate or nothing, axis, function) of a CustomJoint."""
    names = ("rotation1", "rotation2", "rotation3", "translation1", "translation2", "translation3")
    text = "".join(
        f'<TransformAxis name="{name}"><coordinates>{c}</coordinates><axis>{axis}</axis>{function}</TransformAxis>'
        for name, (c, axis, function) in zip(names, axes, strict=True)
    )
    return f"<SpatialTransform>{text}</SpatialTransform>"


ZERO = "<Constant><value>0</value></Constant>"
#: A knee: turns about an oblique axis, slides along a spline, with constants and a negative slope.
KNEE = transform(
    ("knee", "0.1 0 1", line(-1.0, 0.2)),
    ("", "0 1 0", "<Constant><value>0.1</value></Constant>"),
    ("knee", "1 0 0", line(0.3)),
    ("knee", "1 0 0", spline("-2 -1 -0.4 0.3 1 2", "0 0.02 0.025 0.01 -0.004 -0.03", 1.2)),
    ("knee", "0 1 0", polynomial("0.01 -0.02 0.005 -0.4")),
    ("", "0 0 1", ZERO),
)
#: One of each kind, in a tree.
ALL = [
    Joint("FreeJoint", "trunk", coordinates=("rx", "ry", "rz", "tx", "ty", "tz")),
    Joint("PinJoint", "pin", "trunk", ("hinge",), ("0.1 0.2 0.3", "0.3 -0.2 0.5"), ("0.02 0 -0.01", "0.1 0.4 -0.2")),
    Joint("SliderJoint", "slider", "pin", ("slide",), ("0 -0.3 0", "0 0.5 0")),
    Joint("UniversalJoint", "cross", "trunk", ("u1", "u2"), ("-0.1 0 0", "0.2 0 0"), ("0 0.1 0", "0 0 0.3")),
    Joint("GimbalJoint", "gimbal", "cross", ("g1", "g2", "g3"), ("0 -0.2 0.1", "0 0 0")),
    Joint("BallJoint", "ball", "gimbal", ("b1", "b2", "b3"), ("0.1 0 0", "0 0 0.1")),
    Joint("WeldJoint", "weld", "ball", (), ("0 0.2 0", "0.4 0.1 0"), ("0.01 0.02 0.03", "0 0.2 0")),
    Joint("PlanarJoint", "plane", "trunk", ("turn", "px", "py"), ("0 0.4 0", "0.3 0 0")),
    Joint("CustomJoint", "shank", "slider", ("knee",), ("0 -0.1 0", "0 0.1 0"), transform=KNEE),
]


def osim(joints: list[Joint], dialect: int = 4, extra: str = "") -> str:
    """The file; ``extra`` goes into the <Model>."""
    if dialect == 3:
        bodies = '<Body name="ground"><mass>0</mass><Joint/></Body>' + "".join(_old_body(j) for j in joints)
        inside = f"<BodySet><objects>{bodies}</objects></BodySet>"
    else:
        bodies = "".join(f'<Body name="{j.child}">{_mass(j)}<inertia>{j.inertia}</inertia></Body>' for j in joints)
        inside = f"<BodySet><objects>{bodies}</objects></BodySet>"
        inside += f"<JointSet><objects>{''.join(map(_joint, joints))}</objects></JointSet>"
    version = 30000 if dialect == 3 else 40000
    ground = "" if dialect == 3 else '<Ground name="ground"/>'
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<OpenSimDocument Version="{version}">\n<Model name="small">{ground}\n'
        f"{inside}\n{extra}</Model></OpenSimDocument>\n"
    )


def _mass(j: Joint) -> str:
    return f"<mass>{j.mass}</mass><mass_center>{j.com}</mass_center>"


def _coordinates(j: Joint) -> str:
    options = "".join(f"<{tag}>{value}</{tag}>" for tag, value in j.options.items())
    return "".join(f'<Coordinate name="{name}">{options}</Coordinate>\n' for name in j.coordinates)


def _joint(j: Joint) -> str:
    parent = "/ground" if j.parent == "ground" else f"/bodyset/{j.parent}"
    frames = "".join(
        f'<PhysicalOffsetFrame name="{name}"><socket_parent>{body}</socket_parent>'
        f"<translation>{at[0]}</translation><orientation>{at[1]}</orientation></PhysicalOffsetFrame>"
        for name, body, at in (("near", parent, j.at), ("far", f"/bodyset/{j.child}", j.child_at))
    )
    return (
        f'<{j.kind} name="{j.name}"><socket_parent_frame>near</socket_parent_frame>'
        f"<socket_child_frame>far</socket_child_frame>\n<coordinates>{_coordinates(j)}</coordinates>"
        f"<frames>{frames}</frames>{j.transform}</{j.kind}>"
    )


def _old_body(j: Joint) -> str:
    tags = ("xx", "yy", "zz", "xy", "xz", "yz")
    inertia = "".join(f"<inertia_{k}>{x}</inertia_{k}>" for k, x in zip(tags, j.inertia.split(), strict=True))
    joint = (
        f'<{j.kind} name="{j.name}"><parent_body>{j.parent}</parent_body>'
        f"<location_in_parent>{j.at[0]}</location_in_parent><orientation_in_parent>{j.at[1]}</orientation_in_parent>"
        f"<location>{j.child_at[0]}</location><orientation>{j.child_at[1]}</orientation>"
        f"<CoordinateSet><objects>{_coordinates(j)}</objects></CoordinateSet>{j.transform}<reverse>false</reverse></{j.kind}>"
    )
    return f'<Body name="{j.child}">{_mass(j)}{inertia}<Joint>{joint}</Joint></Body>'
