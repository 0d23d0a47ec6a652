"""Compiles the harness of this folder with ukemi's own flags, once for every change of its sources."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import shutil
import subprocess
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ukemi import _core

HERE = Path(__file__).parent
CORE = HERE.parents[1] / "core"
CACHE = HERE.parent / ".cache"
#: As CMakeLists.txt has them; -DNDEBUG switches Eigen's checks off.
FLAGS = ["-std=c++20", "-O3", "-DNDEBUG", "-fno-math-errno", "-fno-trapping-math", "-ffp-contract=fast", "-Wno-psabi"]
MARCH = {"v2": ["-march=x86-64-v2"], "v3": ["-march=x86-64-v3"]}
#: with the AVX2 level, where the compiler knows it (GCC): see CMakeLists.txt
WIDE_MOVES = ["-mmove-max=256", "-mstore-max=256"]
#: Pinocchio's own definitions, from its CMake target.
BOOST = ["-DBOOST_MPL_LIMIT_LIST_SIZE=30", "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30"]
BOOST += ["-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS", "-DBOOST_FUSION_INVOKE_MAX_ARITY=12"]


@dataclass(frozen=True)
class Harness:
    """The compiled harness, the peers in it, and why others are not."""

    program: Path
    peers: tuple[str, ...]
    missing: dict[str, str]


@dataclass(frozen=True)
class _Unit:
    source: Path
    flags: tuple[str, ...]

    def key(self, compiler: str) -> str:
        """Names what the object depends on: source, headers (the core's too, if it sees them), flags, versions."""
        digest = hashlib.sha256(repr((self.source.name, self.flags, compiler, _versions())).encode())
        headers = [*HERE.glob("*.hpp"), *(CORE.glob("*.hpp") if f"-I{CORE}" in self.flags else ())]
        for path in [self.source, *sorted(headers)]:
            digest.update(path.read_bytes())
        return digest.hexdigest()[:16]


def compiler() -> str | None:
    """The C++ compiler: $CXX, or the first usual name that exists."""
    return next((c for c in (os.environ.get("CXX", ""), "g++", "clang++", "c++") if c and shutil.which(c)), None)


def compiler_version() -> str:
    name = compiler()
    if name is None:
        return "none"
    return subprocess.run([name, "--version"], capture_output=True, text=True, check=True).stdout.splitlines()[0]


def build() -> Harness:
    """The harness for this machine.

    Raises:
        RuntimeError: no compiler, or ukemi's own part does not compile.
    """
    cxx = compiler()
    if cxx is None:
        raise RuntimeError("no C++ compiler (set CXX)")
    level = _core.level()
    common = [*FLAGS, *MARCH.get(level, []), *(WIDE_MOVES if level == "v3" and _knows(cxx, WIDE_MOVES) else [])]
    of_ukemi = (*common, f"-DUKEMI_LEVEL={level}", f"-DUKEMI_LANES={_core.lanes()}", f"-I{CORE}")
    site = Path(sysconfig.get_path("purelib"))
    peers: dict[str, tuple[_Unit, list[str]]] = {}
    missing: dict[str, str] = {}
    for name, find in (("pinocchio", _pinocchio), ("mujoco", _mujoco)):
        found = find(site)
        if isinstance(found, str):
            missing[name] = found
        else:
            includes, libraries = found
            peers[name] = (_Unit(HERE / f"{name}_engine.cpp", (*common, *includes)), libraries)
    CACHE.mkdir(exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        peer_objects = {name: pool.submit(_object, cxx, unit) for name, (unit, _) in peers.items()}
        sources = (
            HERE / "figure.cpp",
            HERE / "ukemi_engine.cpp",
            CORE / "kernels.cpp",
            CORE / "contact_kernels.cpp",
            CORE / "filter_kernels.cpp",
        )
        own = [pool.submit(_object, cxx, _Unit(source, of_ukemi)) for source in sources]
        objects = [future.result() for future in own]
    libraries = []
    for name, future in peer_objects.items():
        try:
            objects.append(future.result())
            libraries += peers[name][1]
        except RuntimeError as error:
            missing[name] = f"does not compile: {str(error).splitlines()[-1]}"
    present = tuple(name for name in peers if name not in missing)
    main = _Unit(HERE / "main.cpp", (*common, *(f"-DWITH_{name.upper()}" for name in present)))
    objects.append(_object(cxx, main))
    program = CACHE / f"inside-{hashlib.sha256(repr((objects, libraries)).encode()).hexdigest()[:16]}"
    if not program.exists():
        _run([cxx, *map(str, objects), *libraries], program)
    return Harness(program, present, missing)


def _knows(cxx: str, flags: list[str]) -> bool:
    command = [cxx, *flags, "-x", "c++", "-fsyntax-only", "-"]
    return subprocess.run(command, input="", capture_output=True, text=True).returncode == 0


def _object(cxx: str, unit: _Unit) -> Path:
    path = CACHE / f"{unit.source.stem}-{unit.key(cxx)}.o"
    if not path.exists():
        _run([cxx, *unit.flags, "-c", str(unit.source)], path)
    return path


def _run(command: list[str], output: Path) -> None:
    """Compiles into a temporary name first: a broken run leaves nothing behind."""
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        made = Path(folder) / output.name
        done = subprocess.run([*command, "-o", str(made)], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{output.name}: {done.stderr.strip()}")
        made.replace(output)


def _pinocchio(site: Path) -> tuple[list[str], list[str]] | str:
    """Compiler and linker arguments, or what is missing."""
    prefix = site / "cmeel.prefix" / "include"
    if not (prefix / "pinocchio").is_dir():
        return "no Pinocchio headers (pip install pin)"
    places = [os.environ.get("EIGEN3_INCLUDE_DIR", ""), str(prefix / "eigen3"), "/usr/include/eigen3"]
    places += ["/usr/local/include/eigen3", "/opt/homebrew/include/eigen3"]
    eigen = next((place for place in places if place and (Path(place) / "Eigen" / "Core").is_file()), None)
    if eigen is None:
        return "no Eigen headers (apt-get install libeigen3-dev, or set EIGEN3_INCLUDE_DIR)"
    return [*BOOST, "-isystem", eigen, "-isystem", str(prefix)], []


def _mujoco(site: Path) -> tuple[list[str], list[str]] | str:
    """Compiler and linker arguments, or what is missing."""
    folder = site / "mujoco"
    library = next(iter(sorted([*folder.glob("libmujoco.so*"), *folder.glob("libmujoco*.dylib")])), None)
    if library is None:
        return "no MuJoCo library (pip install mujoco)"
    return ["-isystem", str(folder / "include")], [str(library), f"-Wl,-rpath,{folder}"]


def _versions() -> tuple[str, ...]:
    def version(name: str) -> str:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            return "none"

    return tuple(version(name) for name in ("pin", "mujoco"))
