"""Which lines of the macros and of the Python module does each test execute?

A plugin of pytest. It shows what `make test` misses because it leaves out the long tests:

    pytest -p tests.lines --numprocesses 2 --dist loadfile
    python -m tests.lines

Each process writes a file to target/lines. The second command prints their sums, and where the
lines are that only long tests execute. A line of a macro is a line of the Python code that Jinja
makes of it, so both branches of an `if` count. What other processes of a test execute does not
count. With the plugin the tests take about a third longer.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections import Counter
from hashlib import md5
from pathlib import Path
from shutil import rmtree
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pytest
from dbt_common.clients.jinja import MacroFuzzEnvironment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "target" / "lines"
MODULE = f"{os.sep}dbt_trueup{os.sep}"
OF_MACRO = "<macro "
"""How the file name of a compiled macro begins."""


def pytest_configure(config: pytest.Config) -> None:
    """Give each compiled macro of trueup a file name of its own. Forget the last execution."""
    if not hasattr(config, "workerinput"):
        rmtree(FOLDER, ignore_errors=True)
    sources = "".join(path.read_text() for path in (ROOT / "macros").rglob("*.sql"))
    names = set(re.findall(r"{%-? *(?:macro|materialization|test) +(\w+)", sources))
    compile_source = MacroFuzzEnvironment._compile

    def compile_named(environment: Any, source: str, filename: str) -> CodeType:
        found = re.search(r"dbt_macro__(?:(?:materialization|test)_)?(\w+?)(?:_spark)?\b", source)
        if found and found[1] in names:
            digest = md5(source.encode(), usedforsecurity=False).hexdigest()
            filename = f"{OF_MACRO}{found[1]} {digest}>"
        return compile_source(environment, source, filename)

    MacroFuzzEnvironment._compile = compile_named  # type: ignore[method-assign,assignment]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Record the lines that a test executes, in all of its threads."""
    lines: set[str] = set()

    def trace_line(frame: FrameType, event: str, _: object) -> Any:
        if event == "line":
            lines.add(f"{frame.f_code.co_filename}:{frame.f_lineno}")
        return trace_line

    def trace_call(frame: FrameType, _event: str, _: object) -> Any:
        file = frame.f_code.co_filename
        # The lines of a module itself belong to whoever imports it first.
        is_ours = file.startswith(OF_MACRO) or MODULE in file
        return trace_line if is_ours and frame.f_code.co_name != "<module>" else None

    began = perf_counter()
    threading.settrace(trace_call)
    sys.settrace(trace_call)
    try:
        return (yield)
    finally:
        sys.settrace(None)
        threading.settrace(None)  # type: ignore[arg-type]
        FOLDER.mkdir(parents=True, exist_ok=True)
        is_long = item.get_closest_marker("long") is not None
        record = [item.nodeid, is_long, perf_counter() - began, sorted(lines)]
        with (FOLDER / f"{os.getpid()}.jsonl").open("a") as file:
            file.write(json.dumps(record) + "\n")


def main() -> None:
    """Print how many lines the tests execute without the long ones, and where the others are."""
    paths = FOLDER.glob("*.jsonl")
    records = [json.loads(line) for path in paths for line in path.read_text().splitlines()]
    lines = {line for record in records for line in record[3]}
    found = {line for record in records if not record[1] for line in record[3]}
    seconds = sum(record[2] for record in records if not record[1])
    print(  # noqa: T201
        f"without the long tests: {len(found)} of {len(lines)} lines,"
        f" {100 * len(found) / len(lines):.1f} %, in {seconds:.0f} s of a process"
    )
    for place, count in Counter(line.rpartition(":")[0] for line in lines - found).most_common():
        print(f"{count:6}  {place}")  # noqa: T201


if __name__ == "__main__":
    main()
