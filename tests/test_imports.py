"""The modules of `dbt_trueup` import each other in one direction only."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from dbt_trueup import errors

ROOT = Path(__file__).parents[1]
FOLDERS = {"dbt_trueup": ROOT / "src" / "dbt_trueup", "dbt_trueup.udfs": ROOT / "udfs"}


def read_modules() -> dict[str, Path]:
    """Return the file of each module; a package has the name of its folder."""
    modules = {}
    for package, folder in FOLDERS.items():
        for file in folder.rglob("*.py"):
            parts = file.relative_to(folder).with_suffix("").parts
            name = ".".join([package, *parts])
            modules[name.removesuffix(".__init__")] = file
    return modules


def imported_names(module: str, file: Path) -> set[str]:
    """Return the full names of all imports of a file, also of those inside functions."""
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    names = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parent = package.rsplit(".", node.level - 1)[0] if node.level else ""
            source = ".".join(part for part in (parent, node.module) if part)
            names |= {f"{source}.{alias.name}" for alias in node.names}
    return names


def import_graph(modules: dict[str, Path]) -> dict[str, set[str]]:
    """Return for each module of `dbt_trueup` the other modules of it that the module imports."""
    graph = {}
    for module, file in modules.items():
        names = imported_names(module, file)
        # `from package import name` imports a module of that name, or else the package.
        found = {name if name in modules else name.rpartition(".")[0] for name in names}
        graph[module] = found & modules.keys()
    return graph


def test_imports_are_not_circular() -> None:
    try:
        TopologicalSorter(import_graph(read_modules())).prepare()
    except CycleError as error:
        pytest.fail(f"circular imports: {' <- '.join(error.args[1])}")


def test_a_circular_import_is_found(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text("from . import a\n")
    (tmp_path / "a.py").write_text("def f():\n    from .b import x\n")
    (tmp_path / "b.py").write_text("from p import y\n")
    modules = {"p": tmp_path / "__init__.py", "p.a": tmp_path / "a.py", "p.b": tmp_path / "b.py"}

    assert import_graph(modules) == {"p": {"p.a"}, "p.a": {"p.b"}, "p.b": {"p"}}
    with pytest.raises(CycleError):
        TopologicalSorter(import_graph(modules)).prepare()


def test_udfs_import_only_the_errors_of_the_package() -> None:
    graph = import_graph(read_modules())
    imported = {
        name
        for module, names in graph.items()
        if module.startswith("dbt_trueup.udfs")
        for name in names
        if not name.startswith("dbt_trueup.udfs")
    }
    assert imported == {"dbt_trueup.errors"}


def test_all_packages_are_listed_for_the_wheel() -> None:
    listed = {
        line.strip(' ",')
        for line in (ROOT / "pyproject.toml").read_text().splitlines()
        if line.startswith('    "dbt_trueup')
    }
    modules = {name for name, file in read_modules().items() if file.stem == "__init__"}
    assert listed == {*modules, "dbt_trueup.macros"}  # the macros are data of the wheel


def test_all_errors_have_one_base_class_and_one_module() -> None:
    defined = [error for error in vars(errors).values() if isinstance(error, type)]
    assert defined
    assert all(issubclass(error, errors.TrueupError) for error in defined)
    for file in read_modules().values():
        classes = [node for node in ast.walk(ast.parse(file.read_text())) if is_error(node)]
        assert not classes or file.name == "errors.py", file


def is_error(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef) and node.name.endswith("Error")
