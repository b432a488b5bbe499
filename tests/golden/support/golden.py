"""The yardstick of equality: what the project computes, as text, against which a change that should change nothing is
compared line by line.

    python tests/script.py tests/golden/support/golden.py write|compare|add [PART...] [--protocol PROTOCOL]

Parts: `verdicts` (each verdict of ``verify --profile ci --fresh``, without seconds), `necessity` (each mutation and
what came of it), `histories` (a digest of simulated histories of each variant, what violates in them, and what the
model could not follow), `agreement` (clusters until each planted defect is found, seeds 0 to 9) and `commands` (exit
code and text of command lines).  `write` computes them into ``tests/golden/kept``; `compare` prints the lines that
differ from what is there, and exits with 1 if any does; `add agreement` computes the lines of defects that have none.
With ``--protocol`` only the lines of that protocol.
"""

import argparse
import difflib
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

import commands
import detection_runs
from command_line import process, read_json, untimed
from fencepost.proofs.scale.generate import generate, generate_set, vocabularies_of
from fencepost.proofs.scale.jobs import Jobs
from fencepost.proofs.scale.replay import replay
from fencepost.proofs.traces import conformance_of, predicted_of
from fencepost.properties.catalogue import protocols
from fencepost.properties.conformance_spec import DRIVEN
from fencepost.properties.history.location import Location
from fencepost.properties.history.reader import HistoryDirectory, read_piece
from fencepost.properties.history.sets import datasets_in

KEPT = Path(__file__).parents[1] / "kept"
RECORDED = Path(__file__).parents[3] / "properties" / "recorded"
HISTORIES = 200
"""Histories of each variant: violations that a variant is predicted to have appear within so many."""
SEEDS = range(10)


def _short(values: Mapping[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in sorted(values.items()))


def _scope(dangers: list[str]) -> str:
    """How many dangers, and a digest of which: their names would be most of the file."""
    return f"{len(dangers)} {hashlib.sha256(' '.join(sorted(dangers)).encode()).hexdigest()[:8]}" if dangers else ""


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def verdicts(protocol: str) -> Iterator[str]:
    """A line a verdict."""
    for row in _report("verify", protocol, "--profile", "ci", "--fresh", "--seed", 1)["results"]:
        evidence = row["evidence"]
        counts = {key: evidence[key] for key in ("steps", "distinct", "generated", "depth", "role") if key in evidence}
        named = (row[key] for key in ("variant", "property", "engine", "verdict", "expected"))
        yield " | ".join((*named, _short(row["bound"] or {}), _short(counts), _scope(row["scope"])))


def necessity(protocol: str) -> Iterator[str]:
    """A line a mutation of each rule."""
    for row in _report("necessity", protocol):
        yield " | ".join(_text(each) for name, each in untimed(row).items() if name not in ("evidence", "sources"))


def _report(command: str, *words: object) -> Any:
    """What a command writes as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        ran = process(command, *words, "--json", Path(folder, "report.json"))
        if ran.code not in (0, 1):
            raise SystemExit(f"fencepost {command} {' '.join(map(str, words))}: exit code {ran.code}\n{ran.err}")
        return read_json(Path(folder, "report.json"))


def histories(protocol: str) -> Iterator[str]:
    """Lines for each variant that can be simulated, in each vocabulary that its simulator has, and for each recording
    that the project carries."""
    for recording in sorted(RECORDED.glob(f"{protocol}-*")):
        yield from (f"{recording.name} | {line}" for line in _judged(Location.of(recording)))
    for variant, simulator, config in protocols()[protocol].simulators:
        several = bool(vocabularies_of(simulator, config))
        with tempfile.TemporaryDirectory() as folder:
            (generate_set if several else generate)(
                Path(folder, "h"), simulator, histories=HISTORIES // 10 if several else HISTORIES, seed=1,
                config=config, protocol=protocol, variant=variant,
            )  # fmt: skip
            there = datasets_in(Location.of(Path(folder, "h"))) or {protocol: Location.of(Path(folder, "h"))}
            for vocabulary, place in there.items():
                yield from (f"{variant} | {vocabulary} | {line}" for line in _judged(place))


def _judged(place: Location) -> Iterator[str]:
    """What the rows are and what is found in them; which of them is found first, and about what."""
    opened, rows = HistoryDirectory.open(place), hashlib.sha256()
    manifest = opened.manifest
    for piece in opened.pieces:
        for name, column in sorted(read_piece(piece, opened.vocabulary, opened.vocabulary.columns)[0].items()):
            rows.update(name.encode() + column.astype("int64").tobytes())
    yield f"{manifest.totals.histories} histories, {manifest.totals.rows} events, sha256 {rows.hexdigest()}"
    report = replay(place, further={"conformance": conformance_of(manifest)}, excuses=predicted_of(manifest))
    found = untimed(report.as_dict())
    for key in ("violations", "predicted", "undecided", "unknown", "not_promised", "judged"):
        yield from (f"{key} | {name} | {_text(each)}" for name, each in sorted(found[key].items()))


def agreement(protocol: str, recorded: Collection[str] = ()) -> Iterator[str]:
    """A line for each defect that is not `recorded`: for each seed the clusters until it is found by the model, as
    `fencepost agree` does."""
    if protocol not in DRIVEN:
        return
    runs = [
        detection_runs.Run("defect", protocol, name, seed, "model", detection_runs.EXAMPLES)
        for name in detection_runs.defects(protocol) if name not in recorded for seed in SEEDS
    ]  # fmt: skip
    with Jobs(len(runs)) as jobs:
        came = [handed() for handed in [jobs.hand_in(detection_runs.done, run) for run in runs]]
    for name, found in groupby(came, key=lambda run: run["of"]):
        yield f"{name} | {' '.join(str(run['found'] or '-') for run in found)}"


PARTS: dict[str, Callable[[str], Iterator[str]]] = {
    "verdicts": verdicts, "necessity": necessity, "histories": histories, "agreement": agreement,
}  # fmt: skip
COMMANDS = "commands"
NAMES = (*PARTS, COMMANDS)


def computed(part: str, protocol: str) -> list[str]:
    """The lines of a part that are of a protocol, each with its name in front, sorted; commands as they were run."""
    if part == COMMANDS:
        return list(commands.lines())
    return sorted(f"{protocol} | {line}" for line in PARTS[part](protocol))


def recorded(part: str, protocol: str = "") -> list[str]:
    """The lines that are there, of one protocol or of all."""
    file = KEPT / f"{part}.txt"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [line for line in lines if not protocol or part == COMMANDS or line.startswith(f"{protocol} | ")]


def differences(part: str, protocol: str) -> list[str]:
    """Lines that are not equal, as a unified diff without context."""
    was, now = recorded(part, protocol), computed(part, protocol)
    return [
        line for line in difflib.unified_diff(was, now, "recorded", "computed", lineterm="", n=0) if line[:2] != "@@"
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("write", "compare", "add"))
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(NAMES))
    parser.add_argument("--protocol", action="append", choices=list(protocols()))
    given = parser.parse_args()
    if strange := set(given.parts) - set(NAMES):
        parser.error(f"no part is named {', '.join(sorted(strange))}; there are {', '.join(NAMES)}")
    if given.what == "add" and given.parts != ["agreement"]:
        parser.error("lines are added to agreement alone")
    verified = [entry.name for entry in protocols().values() if entry.verified]
    differing = 0
    for part in given.parts or NAMES:
        for protocol in [""] if part == COMMANDS else given.protocol or verified:
            began = time.monotonic()
            if given.what == "compare":
                lines = differences(part, protocol)
                print("".join(f"{line}\n" for line in lines), end="")
                differing += bool(lines)
            else:
                others = [line for line in recorded(part) if part != COMMANDS and not line.startswith(f"{protocol} | ")]
                was = recorded(part, protocol) if given.what == "add" else []
                names = {line.split(" | ")[1] for line in was}
                new = (
                    [f"{protocol} | {line}" for line in agreement(protocol, names)] if was else computed(part, protocol)
                )
                lines = [*others, *was, *new]
                text = "".join(f"{line}\n" for line in (lines if part == COMMANDS else sorted(lines)))
                (KEPT / f"{part}.txt").write_text(text, encoding="utf-8")
            print(f"{part} {protocol}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main())
