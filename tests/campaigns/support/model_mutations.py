"""One line of a model, of what is claimed of it, or of a sign of a danger is got wrong: is that noticed?

    python tests/script.py tests/campaigns/support/model_mutations.py FILE PAGE \\
        [--count 60] [--seed 1] [--minutes 60] [--seconds 600]

Draws lines at random and of each one change: a comparison or a connective is another one, a conjunct, a negation, a
guard or an update is dropped, a number is one more or less, two arguments change places.  Then, in a copy of the
checkout, from the cheapest to the dearest until something notices it: whether the language takes it and any variant
becomes another one; each engine on each of these, in the smallest profile, without anything kept; the states that each
is known to have; the reference driven along those that it has; and the tests of the protocol.  FILE keeps what is done,
with commit, seed and date: a run that was stopped goes on where it was, and tries again what was undecided for want of
time.  What survives needs an argument that nothing can notice it, under ``arguments`` in FILE by the number of the
mutation, or a hole is closed.  PAGE is the table.  Exit code 1 if a survivor has no argument.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checked_out import ROOT, commit

FOLDERS = (
    "id_blocks",
    "transactions",
    "group_fencing",
    "task_counts",
    "source_offsets",
    "source_commits",
    "end_to_end",
)
WHERE = [f"model/{folder}" for folder in FOLDERS] + ["model/kip618_yardstick.py", "properties/kip618_yardstick.py"]
EVENTS = ("events.py", "events/kinds.py")
"""Where the signs of dangers stand: no engine judges what events mean, tests do."""
WHERE += [f"properties/{folder}/{place}" for folder in FOLDERS for place in ("claims", "claims.py", *EVENTS)]
OTHER = {
    ast.Eq: "!=", ast.NotEq: "==", ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">",
}  # fmt: skip
SECONDS = 600
"""Of each stage at most: what takes longer is undecided, and said so."""

PYTEST = ("-m", "pytest", "-n", "0", "-q", "-x", "--no-header", "-m", "not nightly")


@dataclass(frozen=True)
class Mutation:
    """One change of one line."""

    file: str
    line: int
    what: str
    start: int  # in the text of the file
    end: int
    text: str


def changes(source: str, file: str) -> Iterator[Mutation]:
    """All that can be got wrong in the functions of a file."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    raw = source.encode()

    def at(node: Any) -> tuple[int, int]:
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    def reported(node: Any) -> str:
        start, end = at(node)
        return raw[start:end].decode()

    def made(node: Any, what: str, text: str) -> Mutation:
        return Mutation(file, node.lineno, what, *at(node), text)

    for node in (n for top in ast.walk(ast.parse(source)) if isinstance(top, ast.FunctionDef) for n in _body(top)):
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OTHER:
            other = OTHER[type(node.ops[0])]
            yield made(node, "comparison", f"{reported(node.left)} {other} {reported(node.comparators[0])}")
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr):
            other = "|" if isinstance(node.op, ast.BitAnd) else "&"
            yield made(node, "connective", f"({reported(node.left)}) {other} ({reported(node.right)})")
            yield made(node, "part dropped", f"({reported(node.left)})")
            yield made(node, "part dropped", f"({reported(node.right)})")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            yield made(node, "negation dropped", f"({reported(node.operand)})")
        elif isinstance(node, ast.Constant) and type(node.value) is int:
            yield made(node, "number", str(node.value + 1))
            if node.value > 0:
                yield made(node, "number", str(node.value - 1))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and _name(node.value) == "require":
            yield made(node, "guard dropped", "pass")
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute | ast.Subscript):
            yield made(node, "update dropped", "pass")
        elif isinstance(node, ast.Call) and len(node.args) > 1 and _name(node) not in ("exists", "forall", "limit"):
            one, other = node.args[:2]
            if reported(one) != reported(other):
                (begin, end), (begin_other, end_other) = at(one), at(other)
                text = raw[begin_other:end_other] + raw[end:begin_other] + raw[begin:end]
                yield Mutation(file, node.lineno, "arguments swapped", begin, end_other, text.decode())


def _body(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """What is executed; bounds are no rule."""
    for statement in function.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            if _name(statement.value) == "limit":
                continue
            if _name(statement.value) == "require":  # its rule is no part of it
                yield statement
                for argument in statement.value.args:
                    yield from ast.walk(argument)
                continue
        if isinstance(statement, ast.FunctionDef):
            continue
        yield from ast.walk(statement)


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else ""


def drawn(count: int, seed: int) -> list[Mutation]:
    """So many, each of another line; the same ones for the same seed and the same files."""
    by_line: dict[tuple[str, int], list[Mutation]] = {}
    for place in WHERE:
        for path in sorted((ROOT / place).rglob("*.py")) if (ROOT / place).is_dir() else [ROOT / place]:
            if path.exists():
                file = str(path.relative_to(ROOT))
                for one in changes(path.read_text(encoding="utf-8"), file):
                    by_line.setdefault((file, one.line), []).append(one)
    chance = random.Random(seed)
    return [chance.choice(by_line[line]) for line in chance.sample(sorted(by_line), count)]


def before_and_after(one: Mutation) -> tuple[str, str]:
    """The line as it is, and as it becomes."""
    raw = (ROOT / one.file).read_bytes()
    begin, stop = raw.rfind(b"\n", 0, one.start) + 1, raw.find(b"\n", one.end)
    mutated = raw[begin : one.start] + one.text.encode() + raw[one.end : stop]
    return " ".join(raw[begin:stop].decode().split()), " ".join(mutated.decode().split())


JUDGE = """
import hashlib, json, sys
from fencepost.properties.catalogue import protocols
from fencepost.proofs.variants import judge
from fencepost.proofs.testing import agree

sys.path.append("tests/proofs/engines/support")

def digest(variant):
    known, found = {}, hashlib.sha256()
    def of(term):
        if id(term) not in known:
            told = f"{term.op} {term.data!r} {term.type!r} {[of(a) for a in term.args]}"
            known[id(term)] = hashlib.sha256(told.encode()).hexdigest()
        return known[id(term)]
    def update(u):
        return [u.variable, [of(k) for k in u.keys], repr(u.bound), u.appends, of(u.value)]
    spec = variant.spec
    for a in spec.actions.values():
        told = [a.name, [of(g.condition) for g in a.guards], [of(l) for l in a.limits], [update(u) for u in a.updates]]
        found.update(json.dumps(told).encode())
    found.update(json.dumps([update(u) for u in spec.initial]).encode())
    for name, p in variant.asked.items():
        parts = [of(t) for t in (p.terms if getattr(p, "terms", None) else (p.term,))]
        found.update(json.dumps([name, parts]).encode())
    for name, p in spec.presences.items():
        found.update(json.dumps([name, of(p.term)]).encode())
    return found.hexdigest()

folder, stem, base = sys.argv[1], sys.argv[2], json.loads(open(sys.argv[3]).read()) if len(sys.argv) > 3 else None
own = [e for e in protocols().values() if e.variants[0].properties.__module__.split(".")[2] == folder]
every = [(entry, v) for entry in own for v in entry.variants]
if base is None:
    print(json.dumps({f"{entry.name}/{v.name}": digest(v) for entry, v in every})); sys.exit()
near = lambda v: stem in v.properties.__module__.split(".") + v.properties.protocol.__module__.split(".")
changed = []
for entry, variant in sorted(every, key=lambda one: not near(one[1])):
    of = f"{entry.name}/{variant.name}"
    if digest(variant) == base[of]:
        continue
    changed.append((entry, variant))
    for heading, found in judge(entry, variant, "smoke").results:
        if not found.as_expected:
            print(f"killed {found.engine} of {of}: {found.property} {found.verdict}", flush=True)
            sys.exit()
print(f"changed {len(changed)}", flush=True)
from pinned_graphs import kept, levels
for entry, variant in changed:
    of = f"{entry.name}/{variant.name}"
    if levels(variant) != kept()[of]:
        print(f"killed the graph of {of} is another one", flush=True)
        sys.exit()
for entry, variant in changed:
    for name, driven in entry.verified_implementations:
        if driven == variant.name:
            report = agree(name, protocol=entry.name, variant=driven, seed=1, max_examples=20, verdict_only=True)
            if report.verdict == "differs":
                print(f"killed agreement with {entry.name}/{driven}", flush=True)
                sys.exit()
"""


class Copy:
    """A copy of the checkout, in which one line is wrong at a time."""

    def __init__(self, place: Path, seconds: float) -> None:
        self.place, self.seconds = place, seconds
        self.fail_anyway: list[str] = []  # tests that fail in a copy that is right, for want of Git, or of time
        self.pass_where_right: list[str] = []
        for part in ("model", "proofs", "properties", "reference_impl", "tests", ".package", "pyproject.toml"):
            if (ROOT / part).is_dir():
                shutil.copytree(ROOT / part, place / part, symlinks=True)
            else:
                shutil.copy(ROOT / part, place / part)
        (place / "judge_mutant.py").write_text(JUDGE, encoding="utf-8")

    def run(self, *words: str) -> tuple[int, str]:
        """Exit code and output, or -1 where the time ran out."""
        paths = {"PYTHONPATH": str(self.place / ".package"), "FENCEPOST_FRESH": "1"}
        try:
            ran = subprocess.run(
                [sys.executable, *words], cwd=self.place, env={**os.environ, **paths}, capture_output=True, text=True,
                timeout=self.seconds, check=False,
            )  # fmt: skip
            return ran.returncode, ran.stdout + ran.stderr
        except subprocess.TimeoutExpired as late:
            return -1, (late.stdout or b"").decode() if isinstance(late.stdout, bytes) else late.stdout or ""

    def judged(self, one: Mutation) -> tuple[str, str]:
        """What notices it: *killed* and by what, *the same* model, *survives*, or *undecided*."""
        folder = one.file.split("/")[1].removesuffix(".py")
        if not (base := self.place / f"{folder}.json").exists():
            code, reported = self.run("judge_mutant.py", folder, "")
            assert code == 0, reported
            base.write_text(reported.strip().splitlines()[-1])
        path = self.place / one.file
        right = path.read_bytes()
        path.write_bytes(right[: one.start] + one.text.encode() + right[one.end :])
        try:
            return self._judged(one, folder)
        finally:
            path.write_bytes(right)

    def _judged(self, one: Mutation, folder: str) -> tuple[str, str]:
        late = ""
        if not one.file.endswith(EVENTS):
            code, reported = self.run("judge_mutant.py", folder, Path(one.file).stem, f"{folder}.json")
            lines = reported.strip().splitlines() or [""]
            if killed := next((line for line in lines if line.startswith("killed ")), ""):
                return "killed", killed.removeprefix("killed ")
            if code > 0:
                return "killed", f"refused: {lines[-1].replace(f'{self.place}/.package/', '')[:150]}"
            if "changed 0" in lines:
                return "the same", "no variant becomes another one: the terms are the same"
            late = "the engines took too long; " if code < 0 else ""
        tests = [f"tests/{folder}"] if folder != "kip618_yardstick" else ["tests/model/test_kip618_yardstick.py"]
        while True:
            apart = [f"--deselect={name}" for name in self.fail_anyway]
            code, reported = self.run(*PYTEST, *apart, *tests)
            failed = [line for line in reported.splitlines() if line.startswith(("FAILED", "ERROR"))]
            if not failed:
                break
            name = failed[0].split(" - ")[0].split(" ", 1)[1]
            wrong = (self.place / one.file).read_bytes()
            (self.place / one.file).write_bytes((ROOT / one.file).read_bytes())
            fails_anyway = self.run(*PYTEST, name)[0] != 0
            (self.place / one.file).write_bytes(wrong)
            if not fails_anyway:
                return "killed", name
            self.fail_anyway.append(name)
        return ("undecided", late + "the tests took too long") if code < 0 or late else ("survives", "")


def page(kept: dict[str, Any]) -> str:
    """The table."""
    done, counts = kept["done"], Counter(one["verdict"] for one in kept["done"])
    counted = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
    lines = [
        "# One line of a model got wrong, at random", "",
        f"Made by `tests/campaigns/support/model_mutations.py` at {kept['commit']}, {kept['date']}, seed "
        f"{kept['seed']}: {len(done)} of {kept['count']} drawn. {counted}.", "",
        "| line | as it is | as it becomes | what comes of it |", "|---|---|---|---|",
    ]  # fmt: skip
    for one in done:
        comes = f"{one['verdict']}: {kept['arguments'].get(str(one['number'])) or one['by']}".rstrip(": ")
        cells = (f"{one['file']}:{one['line']}", f"`{one['before'][:110]}`", f"`{one['after'][:110]}`", comes[:260])
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("page", type=Path)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args()
    kept = json.loads(given.file.read_text()) if given.file.exists() else {"done": [], "arguments": {}}
    if kept.get("seed", given.seed) != given.seed or kept.get("count", given.count) < given.count:
        kept = {"done": [], "arguments": {}}
    kept |= {"seed": given.seed, "count": given.count}
    print(f"seed {given.seed}", flush=True)
    mutations = drawn(given.count, given.seed)
    kept["done"] = [one for one in kept["done"] if one["verdict"] != "undecided"]  # perhaps there is more time now
    until, known = time.monotonic() + 60 * given.minutes, {one["number"] for one in kept["done"]}
    with tempfile.TemporaryDirectory() as place:
        copy = Copy(Path(place), given.seconds)
        for number, one in enumerate(mutations):
            if number in known or time.monotonic() > until:
                continue
            before, after = before_and_after(one)
            began = time.monotonic()
            verdict, by = copy.judged(one)
            kept["done"].append({
                "number": number, "file": one.file, "line": one.line, "what": one.what, "before": before,
                "after": after, "verdict": verdict, "by": by, "commit": commit(),
            })  # fmt: skip
            kept["done"].sort(key=lambda done: done["number"])
            kept |= {"commit": commit(), "date": time.strftime("%Y-%m-%d", time.gmtime())}
            given.file.write_text(json.dumps(kept, indent=1) + "\n")
            spent = time.monotonic() - began
            print(f"{number} {one.file}:{one.line} {one.what}: {verdict} {by} ({spent:.0f} s)", flush=True)
    given.page.write_text(page(kept))
    open_ones = [one for one in kept["done"] if one["verdict"] == "survives"]
    return int(any(str(one["number"]) not in kept["arguments"] for one in open_ones))


if __name__ == "__main__":
    sys.exit(main())
