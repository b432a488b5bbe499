"""The shape of the repository: which folder may import which, sizes, and that no rule is cited
in vain."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fencepost.model.language import Spec
from fencepost.model.language.tree.terms import Term, subterms
from fencepost.model.language.tree.types import AtomsType, MapType, NumberType, OptionType, SeqType, Type
from fencepost.model.rules import RULES
from fencepost.properties.catalogue import PROFILES, ProtocolEntry, Variant, bounds_of, protocols

ROOT = Path(__file__).parents[2]
FOLDERS = ("model", "properties", "proofs", "reference_impl")
ARROWS = {
    "model": {"model"},
    "properties": {"properties", "model"},
    "proofs": {"proofs", "properties", "model"},  # and WIRE
    "reference_impl": {"reference_impl"},
}
WIRE = "reference_impl.live"  # how to speak to a real broker, which recording and agreement need too
VARIANTS = [(entry, variant) for entry in protocols().values() for variant in entry.variants]


def sources(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from sorted((ROOT / folder).rglob("*.py"))


def imports(path: Path) -> Iterator[str]:
    """Absolute names of the modules that a file imports."""
    package = ["fencepost", *path.relative_to(ROOT).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = [*base, *([node.module] if node.module else [])]
            yield from (".".join([*module, alias.name]) for alias in node.names)


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_can_not_be_imported_under_its_bare_name(folder: str) -> None:
    """From the root of the repository `import model` would make a second copy of every class: it is refused, and says
    how."""
    done = subprocess.run(
        [sys.executable, "-c", f"import {folder}"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"ImportError: import this package as fencepost.{folder}, not as {folder}" in done.stderr


@pytest.mark.parametrize("folder", FOLDERS)
def test_arrows(folder: str) -> None:
    """The model knows nothing of its properties, these nothing of the engines, and the reference implementation
    neither of them."""
    for path in sources(folder):
        for name in imports(path):
            first, _, rest = name.partition(".")
            if first == "fencepost":
                speaks = folder == "proofs" and f"{rest}.".startswith(f"{WIRE}.")
                assert speaks or rest.split(".")[0] in ARROWS[folder], f"{path.relative_to(ROOT)} imports {name}"
            assert first not in (*FOLDERS, "tests"), f"{path.relative_to(ROOT)} imports {name}"


def test_pyspark_is_imported_in_one_file() -> None:
    """All of Spark is behind proofs/scale/spark.py."""
    found = [path for path in sources(*FOLDERS) if any(name.split(".")[0] == "pyspark" for name in imports(path))]
    assert [str(path.relative_to(ROOT)) for path in found] == ["proofs/scale/spark.py"]


def test_every_folder_of_sources_is_a_package() -> None:
    """A folder without `__init__` says nothing of what is in it."""
    assert [path for path in {path.parent for path in sources(*FOLDERS)} if not (path / "__init__.py").is_file()] == []


def test_files_are_short_finished_and_introduced() -> None:
    """No file has more than 600 lines or a note of something left to do, and each says first what it is for."""
    unfinished = re.compile("|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX", "TO BE" + " SAID"]))
    texts = {str(path.relative_to(ROOT)): path.read_text() for path in sources(*FOLDERS, "tests")}
    assert texts
    assert [name for name, text in texts.items() if len(text.splitlines()) > 600] == []
    assert [name for name, text in texts.items() if unfinished.search(text)] == []
    assert [name for name, text in texts.items() if not ast.get_docstring(ast.parse(text))] == []


def test_rule_numbers_exist() -> None:
    """Every number that code or tests cite is a rule of the ledger."""
    prefixes = {number.split(".")[0] for number in RULES}
    cited = re.compile(rf"(?<![\w.])(?:{'|'.join(sorted(prefixes))})\.P?\d+(?![\w.]*\d)")
    unknown = []
    for path in sources(*FOLDERS, "tests"):
        if not path.name.startswith("test_mistakes"):
            unknown += [f"{path.relative_to(ROOT)}: {n}" for n in cited.findall(path.read_text()) if n not in RULES]
    assert unknown == []


def numbers(spec: Spec) -> Iterator[str | None]:
    """The rules that a protocol's guards, updates, actions and choices cite."""
    for action in spec.actions.values():
        yield action.rule
        yield from (guard.rule for guard in action.guards)
        yield from (update.rule for update in action.updates)
        roots: list[Term] = [g.condition for g in action.guards] + [u.value for u in action.updates]
        yield from (node.data[0] for root in roots for node in subterms(root) if node.op == "choice")


def test_every_mechanism_is_in_a_model() -> None:
    """A mechanism of KIP-730 that no protocol cites could never be found necessary, or redundant."""
    cited = {n for e in protocols().values() for v in e.variants for n in numbers(v.properties.protocol.spec)}
    mechanisms = {number for number, rule in RULES.items() if rule.kind == "mechanism" and number.startswith("730.")}
    assert mechanisms - cited == set()


def test_every_promise_is_a_property() -> None:
    """A promise of KIP-730 is asked of the protocol as it should be."""
    asked = {p.rule for v in protocols()["id-blocks"].variants if v.main for p in v.asked.values()}
    assert {n for n, rule in RULES.items() if rule.kind == "promise" and n.startswith("730.")} - asked == set()


def bound_names(kind: Type) -> Iterator[str]:
    match kind:
        case MapType(keys, value):
            for part in (*keys, value):
                yield from bound_names(part)
        case SeqType(entry, bound):
            yield from bound_names(entry)
            yield bound
        case OptionType(of):
            yield from bound_names(of)
        case AtomsType(_, bound):
            yield bound
        case NumberType(_, upto, _) if upto is not None:
            yield from re.findall(r"[a-z_][a-z_.]*", upto)


def test_bounds_are_complete_and_have_reasons() -> None:
    """Every bound that a protocol needs has a value in each profile, and every value a reason.  That of a part may be
    the whole's."""
    assert VARIANTS
    assert [(v.name, found) for entry, v in VARIANTS if (found := faults_of_bounds(entry, v))] == []


def faults_of_bounds(entry: ProtocolEntry, variant: Variant) -> set[str]:
    """The bounds without a value in some profile, and those without a reason."""
    spec = variant.spec
    parameters = [kind for a in spec.actions.values() for _, kind in a.parameters]
    needed = {name for kind in [*spec.types.values(), *parameters] for name in bound_names(kind)} | set(spec.constants)
    needed |= {a.budget for a in spec.actions.values() if a.budget is not None}
    found = set[str]()
    for profile in PROFILES:
        bounds = bounds_of(variant, profile)
        found |= {name for name in needed if not {name, name.rpartition(".")[2]} & bounds.keys()}
        found |= bounds.keys() - entry.reasons.keys()
    return found


def test_what_is_expected_is_asked() -> None:
    """A verdict expected of a property that a variant does not have would never be compared."""
    for entry, variant in VARIANTS:
        where = f"{entry.name}/{variant.name}"
        assert set(variant.expected) - set(variant.asked) == set(), where
        assert set(variant.leaves_out) - set(variant.properties.properties) == set(), where
        assert (variant.rule is None or variant.rule in RULES) and entry.says, where
