"""A pytest plugin that runs the tests marked with rules against implementations in which one of those rules is broken.

    PYTHONPATH=tests/support python -m pytest -p breaking --broken-report out.json tests

Every marked test runs once for each defect of each of its rules, with the defect's parts as the default parts of the
reference implementation, and with further parameters until it fails.  The report lists (test, defect, failed).
"""

import json
from collections.abc import Iterator
from dataclasses import fields
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from fencepost.properties.registry import PROTOCOLS, folder
from fencepost.reference_impl.simulation.defects import Defect

TESTS = Path(__file__).parents[1]
TABLES = {
    stem: import_module(name).REGISTRY
    for stem in map(folder, PROTOCOLS)
    if find_spec(name := f"fencepost.reference_impl.defects.{stem}")
    if not hasattr(import_module(name), "LAYERS")  # the whole system's defects are those of its layers
}
DEFECTS: dict[str, Defect[Any]] = {
    f"{stem}:{name}": d for stem, table in TABLES.items() for name, d in {**table, **table.interface}.items()
}
"""Every defect of the reference implementation, as package:name."""


def defects_of(rule: str) -> list[str]:
    """Those that break a rule with a part of their own: what is wrong by configuration alone is driven for."""
    return [name for name, defect in DEFECTS.items() if defect.rule == rule and defect.parts != type(defect.parts)()]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--broken-report", type=Path, help="Where to write what failed.")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    rules = [rule for marker in metafunc.definition.iter_markers("rule") for rule in marker.args]
    if names := [name for rule in rules for name in defects_of(rule)]:
        metafunc.parametrize("defect", names, indirect=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = [item for item in items if hasattr(item, "callspec") and "defect" in item.callspec.params]


@pytest.fixture(autouse=True)  # and so before whatever makes a cluster
def defect(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The reference implementation has this defect."""
    parts = DEFECTS[request.param].parts
    wrong = tuple(getattr(parts, field.name) for field in fields(parts))
    monkeypatch.setattr(type(parts).__init__, "__defaults__", wrong)
    return str(request.param)


RESULTS: list[tuple[str, str, bool]] = []


FAILED: set[tuple[str, str]] = set()


def _case(item: Any) -> tuple[str, str]:
    return f"{item.path.relative_to(TESTS).as_posix()}::{item.originalname}", item.callspec.params["defect"]


def pytest_runtest_setup(item: Any) -> None:
    if _case(item) in FAILED:
        pytest.skip("it has failed for others of its parameters")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: Any, call: pytest.CallInfo[None]) -> Iterator[None]:
    report = yield
    if call.when == "call" or report.outcome != "passed":
        RESULTS.append((*_case(item), report.outcome == "failed"))
        if report.outcome == "failed":
            FAILED.add(_case(item))
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    if target := session.config.getoption("--broken-report"):
        target.write_text(json.dumps(RESULTS))
