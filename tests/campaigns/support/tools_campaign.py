"""One mistake is planted in fencepost's own tools: do their tests notice it?

    python tests/script.py tests/campaigns/support/tools_campaign.py run FILE [--only WORDS]... [--first N] \\
        [--drawn N] [--seed 1] [--minutes 60] [--seconds 120]
    python tests/script.py tests/campaigns/support/tools_campaign.py page FILE proofs/verdicts/tools.md

The mistakes are chosen in `tools_mistakes.toml`: in a function of a file, an expression or a statement becomes another
one. ``--drawn`` adds mistakes that are drawn at random from the same functions. Each mistake is planted in a copy of
the checkout, where the tests that are expected to notice it run until one fails that passes where nothing is wrong.
FILE (`proofs/verdicts/tools.json`) has a row for each mistake: a campaign that was stopped goes on, and a mistake is
tried again when its file or its tests have changed, or when the time was over before its tests were. A mistake that
survives needs a test, or in the table an argument that no run can differ. Exit code 1 if one has neither.
"""

import argparse
import ast
import hashlib
import json
import os
import random
import tempfile
import textwrap
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from campaign_rows import Row, read_rows, write_rows
from checked_out import DIGITS, ROOT, commit
from fencepost.proofs.report import write_text
from model_mutations import PYTEST, Copy, Mutation, before_and_after, changes
from planted_in_memory import Planted
from planted_in_memory import tried as in_memory

TABLE = Path(__file__).with_name("tools_mistakes.toml")
SECONDS = 120
"""The tests of a mistake have so long; each of them takes a few seconds where nothing is wrong."""
LATE = "no end within the limit of time"
TOGETHER = 50
"""So many mistakes are planted in memory, one by one, after the tests of all of them were collected once."""


@dataclass(frozen=True)
class Mistake:
    """One mistake: in the function ``place`` of a file (empty for the module), the expression or statement ``before``
    becomes ``after``. ``argument`` says why no run can differ, where that is so. ``drawn`` names the seed, empty for a
    mistake that was chosen. ``change`` is known at once of one that was drawn."""

    area: str
    file: str
    place: str
    before: str
    after: str
    wrong: str
    tests: tuple[str, ...]
    argument: str = ""
    drawn: str = ""
    change: Mutation | None = None

    @property
    def key(self) -> str:
        return hashlib.sha256("\0".join((self.file, self.place, self.before, self.after)).encode()).hexdigest()[:10]

    @property
    def code(self) -> str:
        """A hash of the file and its tests."""
        places = [ROOT / name.partition("::")[0] for name in (self.file, *self.tests)]
        files = [each for place in places for each in [place, *sorted(place.rglob("*.py"))] if each.is_file()]
        return hashlib.sha256(b"\0".join(each.read_bytes() for each in files)).hexdigest()[:DIGITS]


class PlaceError(Exception):
    """The place of a mistake is not there, or is there more than once."""


def mistakes() -> list[Mistake]:
    """Return the chosen mistakes, in the order of the table."""
    found = []
    for area, file, tests, group in tomllib.loads(TABLE.read_text(encoding="utf-8"))["groups"]:
        for place, before, after, wrong, *rest in group:
            own, argument = (*rest, "", "")[:2]
            found.append(Mistake(area, file, place, before, after, wrong, tuple((own or tests).split()), argument))
    return found


@cache
def parsed(file: str) -> tuple[str, ast.Module]:
    source = (ROOT / file).read_text(encoding="utf-8")
    return source, ast.parse(source)


def scope(tree: ast.Module, place: str) -> ast.AST:
    """Return the function or class of this qualified name."""
    node: Any = tree
    for name in filter(None, place.split(".")):
        direct = [n for n in ast.iter_child_nodes(node) if isinstance(n, DEFINED) and n.name == name]
        inner = direct or [n for n in ast.walk(node) if isinstance(n, DEFINED) and n.name == name]
        if len(inner) != 1:
            raise PlaceError(f"{place}: {len(inner)} definitions of {name}")
        node = inner[0]
    return node  # type: ignore[no-any-return]


DEFINED = (ast.FunctionDef, ast.ClassDef)


def planted(mistake: Mistake) -> Mutation:
    """Return the change of the file's text. Errors: PlaceError."""
    if mistake.change is not None:
        return mistake.change
    source, tree = parsed(mistake.file)
    try:
        statement = ast.parse(textwrap.dedent(mistake.before)).body[0]
    except SyntaxError as error:
        raise PlaceError(f"{mistake.before}: {error}") from error
    # An expression, or the statement that consists of it alone.
    wanted = statement.value if isinstance(statement, ast.Expr) else statement
    dump = ast.dump(wanted)
    found: list[Any] = [
        node for node in ast.walk(scope(tree, mistake.place)) if type(node) is type(wanted) and ast.dump(node) == dump
    ]
    if len(found) != 1:
        raise PlaceError(f"{mistake.file} {mistake.place}: {len(found)} times {mistake.before}")
    (node,) = found
    starts = [0, *_sums(len(line.encode()) for line in source.splitlines(keepends=True))]
    start, end = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
    text = textwrap.indent(textwrap.dedent(mistake.after), " " * node.col_offset).lstrip()
    change = Mutation(mistake.file, node.lineno, mistake.wrong, start, end, text)
    at = source.encode()[start:end].decode()  # Python 3.11 does not know where the parts of an f-string are
    try:
        there = ast.dump(ast.parse(textwrap.dedent(" " * node.col_offset + at)).body[0]) == ast.dump(statement)
        other = ast.dump(ast.parse(textwrap.dedent(mistake.after)).body[0]) != ast.dump(statement)
        ast.parse(changed(source, change))
    except SyntaxError:
        there = False
    if not there or not other:
        raise PlaceError(f"{mistake.file} {mistake.place}: {mistake.after} is no other program")
    return change


def _sums(numbers: Iterator[int]) -> Iterator[int]:
    total = 0
    for number in numbers:
        total += number
        yield total


def changed(source: str, change: Mutation) -> str:
    raw = source.encode()
    return (raw[: change.start] + change.text.encode() + raw[change.end :]).decode()


@cache
def _dumped(source: str) -> str:
    return ast.dump(ast.parse(source))


def differs(source: str, change: Mutation) -> bool:
    """Return whether the changed text is a program, and another one."""
    try:
        return ast.dump(ast.parse(changed(source, change))) != _dumped(source)
    except SyntaxError:
        return False


def further(function: ast.AST, source: str, file: str) -> Iterator[Mutation]:
    """Yield what `model_mutations.changes` does not, since models have no such statements: a part of a condition is
    dropped, a condition negated, a return comes early, an exception is swallowed."""
    starts = [0, *_sums(len(line.encode()) for line in source.splitlines(keepends=True))]

    def made(node: Any, what: str, text: str) -> Mutation:
        at = starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset
        return Mutation(file, node.lineno, what, *at, text)

    for node in ast.walk(function):
        if isinstance(node, ast.BoolOp):
            for part in node.values:
                rest = [other for other in node.values if other is not part]
                text = ast.unparse(rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest))
                yield made(node, "part of a condition dropped", f"({text})")
        elif isinstance(node, ast.If | ast.While | ast.IfExp):
            yield made(node.test, "condition negated", f"(not ({ast.unparse(node.test)}))")
        elif isinstance(node, ast.Return) and node.value is not None:
            yield made(node, "nothing returned", "return None")
        elif isinstance(node, ast.Raise):
            yield made(node, "exception swallowed", "pass")


def drawn(count: int, seed: int, chosen: Sequence[Mistake]) -> list[Mistake]:
    """Return so many mistakes, each in another line of the functions in which others were chosen."""
    by_line: dict[tuple[str, int], list[tuple[Mistake, Mutation]]] = {}
    for file, place in dict.fromkeys((m.file, m.place) for m in chosen if m.place and count):
        source, tree = parsed(file)
        function: Any = scope(tree, place)
        of = next(m for m in chosen if (m.file, m.place) == (file, place))
        for one in chain(changes(source, file), further(function, source, file)):
            if function.lineno < one.line <= function.end_lineno:
                by_line.setdefault((file, one.line), []).append((of, one))
    chance, found = random.Random(seed), list[Mistake]()
    for line in chance.sample(sorted(by_line), len(by_line)):
        of, one = chance.choice(by_line[line])
        if len(found) < count and differs(parsed(one.file)[0], one):
            before, after = before_and_after(one)
            found.append(Mistake(of.area, of.file, of.place, before, after, one.what, of.tests, "", str(seed), one))
    return found


def tried(copy: Copy, mistake: Mistake, change: Mutation) -> tuple[str, str]:
    """Return *killed* and by which test, *survived*, or *undecided*. Errors: PlaceError if there are no such tests."""
    path = copy.place / mistake.file
    right = path.read_text(encoding="utf-8")
    path.write_text(changed(right, change), encoding="utf-8")
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(dir=copy.place)  # nothing that is wrong stays for the next one
    try:
        code, reported = copy.run(*PYTEST, *(f"--deselect={name}" for name in copy.fail_anyway), *mistake.tests)
    finally:
        path.write_text(right, encoding="utf-8")
    if code == 5 or "file or directory not found" in reported:
        raise PlaceError(f"{' '.join(mistake.tests)}: there are no such tests")
    if by := failed(reported)[:1]:
        return "killed", by[0]
    if code == 0:
        return "survived", ""
    return ("undecided", LATE) if code < 0 else ("killed", f"pytest ends with {code}")


def failed(reported: str) -> list[str]:
    """Return the tests that failed, or the files that could not be read, by pytest's summary."""
    lines = (line for line in reported.splitlines() if line.startswith(("FAILED ", "ERROR ")))
    return [line.split(" - ")[0].split(" ", 1)[1] for line in lines]


def in_copy(copy: Copy, mistake: Mistake, change: Mutation) -> tuple[str, str]:
    """Return *killed* and by which test, *survived*, or *undecided*. A test that fails in the copy where nothing is
    wrong is left out. Errors: PlaceError if there are no such tests."""
    while True:
        verdict, by = tried(copy, mistake, change)
        if not by.startswith("tests/") or by in copy.pass_where_right:
            return verdict, by
        code, _ = copy.run(*PYTEST, *([] if "::" in by else ["--collect-only"]), by)
        if code < 0:
            return "undecided", LATE
        (copy.pass_where_right if code == 0 else copy.fail_anyway).append(by)


def outermost(mistake: Mistake) -> str:
    """Return the qualified name of the outermost function in which the mistake is, or an empty string."""
    names = mistake.place.split(".") if mistake.place else []
    tree = parsed(mistake.file)[1]
    for count in range(1, len(names) + 1):
        if isinstance(scope(tree, ".".join(names[:count])), ast.FunctionDef):
            return ".".join(names[:count])
    return ""


def run(file: Path, asked: Sequence[Mistake], minutes: float, seconds: float) -> list[Row]:
    """Try what was not tried yet, and return the rows of all that is asked for: in memory, and in a copy of the
    checkout what is in no function, or was not noticed so."""
    began = time.monotonic()
    rows = {row["key"]: row for row in read_rows(file) if row["verdict"] != "undecided"}
    places = {mistake.key: planted(mistake) for mistake in asked}
    assert len(places) == len(asked), "a mistake is in the table twice"
    left = [m for m in asked if m.key not in rows or rows[m.key]["code"] != m.code]

    def note(mistake: Mistake, verdict: str, by: str, how: str, spent: float) -> None:
        rows[mistake.key] = {
            "key": mistake.key, "area": mistake.area, "file": mistake.file, "place": mistake.place,
            "before": mistake.before, "after": mistake.after, "wrong": mistake.wrong, "drawn": mistake.drawn,
            "verdict": verdict, "by": by, "how": how, "seconds": round(spent, 1), "code": mistake.code,
            "commit": commit(), "date": time.strftime("%Y-%m-%d", time.gmtime()),
        }  # fmt: skip
        write_rows(file, list(rows.values()))
        print(f"{verdict} {mistake.file} {mistake.place}: {mistake.wrong}; {by}", flush=True)

    def goes_on() -> bool:
        return time.monotonic() - began < 60 * minutes

    with tempfile.TemporaryDirectory() as place:
        os.environ["XDG_CACHE_HOME"] = place
        inside = [m for m in left if outermost(m)]
        while inside and goes_on():
            group, inside = inside[:TOGETHER], inside[TOGETHER:]
            texts = [Planted(m.file, outermost(m), changed(parsed(m.file)[0], places[m.key]), m.tests) for m in group]
            for mistake, outcome in zip(group, in_memory(texts, seconds), strict=False):
                if outcome.failed:
                    note(mistake, "killed", outcome.failed[0], "memory", outcome.seconds)
                if not goes_on():
                    break
        left = [m for m in left if m.key not in rows or rows[m.key]["code"] != m.code]
        copy = Copy(Path(tempfile.mkdtemp(dir=place)), seconds) if left and goes_on() else None
        for mistake in left:
            if copy is not None and goes_on():
                started = time.monotonic()
                verdict, by = in_copy(copy, mistake, places[mistake.key])
                note(mistake, verdict, by, "copy", time.monotonic() - started)
    return [rows[mistake.key] for mistake in asked if mistake.key in rows]


HEAD = """# Mistakes planted in fencepost's own tools

Made by `tests/campaigns/support/tools_campaign.py page`. One at a time, in the memory of a process or in a copy of the
checkout, a mistake is planted in what judges, searches, replays or reports, and the tests that are expected to notice
it run. *Killed*: a test fails that passes where nothing is wrong. *Equivalent*: no test fails, and the reason why no
run can differ is there. *Survived*: none of these tests fails; a test or a reason is still to be found. A mistake that
is *drawn* was made by an operator, at random; the others were chosen as those that would make a
tool lie. Seconds are of a machine with much other work.
"""


def page(rows: Sequence[Row], chosen: Sequence[Mistake]) -> str:
    """Return the campaign as Markdown."""
    argued = {mistake.key: mistake.argument for mistake in chosen}
    current = {mistake.key for mistake in chosen}
    tried = [row for row in rows if row["verdict"] != "undecided"]
    rows = [row for row in tried if row["key"] in current or row["drawn"]]

    def comes(row: Row) -> str:
        return "equivalent" if row["verdict"] == "survived" and argued.get(row["key"]) else str(row["verdict"])

    missing = [mistake for mistake in chosen if mistake.key not in {row["key"] for row in rows}]
    counts, by_hand = Counter(map(comes, rows)), sum(not row["drawn"] for row in rows)
    lines = [
        HEAD, f"{len(rows)} mistakes were planted, {by_hand} of them chosen and {len(rows) - by_hand} drawn: "
        + ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
        + f". {len(missing) or 'None'} of the {len(chosen)} chosen ones {'is' if len(missing) == 1 else 'are'} not "
        f"tried yet. At commits {', '.join(sorted({row['commit'] for row in rows}))}.", "",
        "| in | mistakes | killed | equivalent | survived |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for area in dict.fromkeys(row["area"] for row in rows):
        of = Counter(comes(row) for row in rows if row["area"] == area)
        lines.append(f"| {area} | {of.total()} | {of['killed']} | {of['equivalent']} | {of['survived']} |")
    lines += ["", "| file, function | as it is | as it becomes | what goes wrong | what comes of it | seconds |"]
    lines.append("|---|---|---|---|---|---|")
    for row in rows:
        wrong = f"drawn with seed {row['drawn']}: {row['wrong']}" if row["drawn"] else row["wrong"]
        why = argued.get(row["key"], "") if row["verdict"] == "survived" else row["by"].removeprefix("tests/")
        code = (f"`{' '.join(row[name].split())[:100]}`" for name in ("before", "after"))
        cells = (f"{row['file']} {row['place']}", *code, wrong, f"{comes(row)}: {why}".rstrip(": "), row["seconds"])
        lines.append("| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "page"])
    parser.add_argument("file", type=Path)
    parser.add_argument("page", type=Path, nargs="?")
    parser.add_argument(
        "--only", action="append", help="words in the area, the file, the function or what goes wrong; repeatable"
    )
    parser.add_argument("--first", type=int, help="of those, so many")
    parser.add_argument("--drawn", type=int, default=0, help="and so many that are drawn at random")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given = parser.parse_args()
    chosen = mistakes()
    if given.command == "page":
        write_text(given.page, page(json.loads(given.file.read_text(encoding="utf-8")), chosen))
        return 0
    asked = [
        m for m in chosen if any(words in f"{m.area} {m.file} {m.place} {m.wrong}" for words in given.only or [""])
    ][: given.first]
    asked += drawn(given.drawn, given.seed, chosen)
    rows = run(given.file, asked, given.minutes, given.seconds)
    argued = {mistake.key for mistake in asked if mistake.argument}
    return int(any(row["verdict"] == "survived" and row["key"] not in argued for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
