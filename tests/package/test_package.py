"""The package as a whole: its public face, its one-way imports, its stub, its documentation."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ukemi
from ukemi import _core

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "ukemi"

#: rooms in the order data walks through them; each may import from those before it
ROOMS = [
    "errors",
    "_core",
    "particles",
    "model",
    "dynamics",
    "motion",
    "chain",
    "contact",
    "sim",
    "dynamics_filter",
    "forces",
    "report",
    "viewer",
    "cli",
]
#: sim asks report for a progress bar, late and only when wanted; a recording is drawn by report
#: particles stand alone; only their conversion asks for the figure it converts
LATE = {("sim", "report"), ("dynamics_filter", "report"), ("particles", "model"), ("particles", "dynamics")}
PAGES = ["index", "chains", "hand", "particles", "motion", "filter", "forces", "view"]


def test_every_public_name_exists_and_nothing_else_is_exported() -> None:
    assert sorted(ukemi.__all__) == list(ukemi.__all__)
    for name in ukemi.__all__:
        assert hasattr(ukemi, name), name


def imported_rooms(path: Path) -> set[tuple[str, bool]]:
    """(room, at module level) of every ukemi import in a file."""
    tree = ast.parse(path.read_text())
    top = set(map(id, tree.body))
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "ukemi":
            parts = node.module.split(".")[1:]
            rooms = [parts[0]] if parts else [alias.name for alias in node.names]
            found |= {(room, id(node) in top) for room in rooms}
    return found


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_one_way(path: Path) -> None:
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if room in ("__init__", "__main__"):
        return
    for other, at_top in imported_rooms(path):
        if other == "load" or ((room, other) in LATE and not at_top):
            continue
        assert ROOMS.index(other) <= ROOMS.index(room), f"{path.name} in {room} imports {other}"


def test_the_stub_names_what_the_core_has() -> None:
    stub = ast.parse((PACKAGE / "_core.pyi").read_text())
    declared = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    public = {name for name in dir(_core) if not name.startswith("_")}
    assert set(declared) == public
    for name, node in declared.items():
        if isinstance(node, ast.ClassDef):
            methods = {n.name for n in node.body if isinstance(n, ast.FunctionDef)} - {"__init__"}
            assert methods == {m for m in vars(getattr(_core, name)) if not m.startswith("_")}, name
        else:
            arguments = [a.arg for a in node.args.args]
            signature = getattr(_core, name).__doc__ or ""
            assert re.findall(r"(\w+): ", signature.split(")")[0]) == arguments, (name, signature)


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{name}.md" for name in PAGES)])
def test_snippets_in_the_documentation_run(page: str, tmp_path: Path) -> None:
    snippets = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    assert snippets
    for code in snippets:
        done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        expected = re.findall(r"print\(.*?#\s*(-?[\d.]+)", code)
        assert len(done.stdout.split()) == len(expected)
        for got, wanted in zip(done.stdout.split(), expected, strict=True):
            assert float(got) == pytest.approx(float(wanted), abs=0.6 * 10.0 ** -len(wanted.partition(".")[2]))


def test_import_is_quick_and_pulls_in_no_plotting() -> None:
    code = (
        "import sys, time, numpy; t = time.perf_counter(); import ukemi; print(time.perf_counter() - t, *sys.modules)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        for _ in range(3)
    ]
    assert min(float(run[0]) for run in runs) < 0.3
    assert not {"matplotlib", "rich", "typer", "mujoco", "pinocchio", "scipy"} & set(runs[0][1:])


def test_nothing_in_the_repository_names_a_machine() -> None:
    texts = [p for p in ROOT.rglob("*") if p.suffix in {".py", ".md", ".hpp", ".cpp", ".toml", ".yml", ".sh", ".json"}]
    skipped = {".venv", "build", "site", ".git", ".mypy_cache", ".hypothesis", "out"}
    for path in texts:
        if skipped & set(path.relative_to(ROOT).parts):
            continue
        assert not re.search(r"(?<![\w.])/(?:home|root|Users)/\w", path.read_text(errors="ignore")), path
