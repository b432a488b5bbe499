"""The document of speed: pytest-benchmark's report as tables, and what follows from it for a hundred executors.

    tests/script.py tests/benchmarks/support/speed.py add proofs/verdicts/speed.json LATER.json

adds what some benchmarks alone have measured since, with their own commit and load.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any

EXECUTORS = 100
SIZES = (10**9, 10**10, 10**11)


def of_interest(report: Mapping[str, Any], command: str) -> dict[str, Any]:
    """What is kept of a report, which that command made: no list of every round, and of the processor what the tables
    name."""
    machine = report["machine_info"]
    cpu = machine.get("cpu", {})
    wide = sorted(flag for flag in cpu.get("flags", ()) if flag in ("avx2", "avx512f"))
    return {
        "command": command,
        "datetime": report["datetime"],
        "commit": report["commit_info"].get("id", ""),
        "dirty": bool(report["commit_info"].get("dirty")),
        "machine": {
            "processor": cpu.get("brand_raw", ""), "cores": cpu.get("count", 0), "vectors": wide,
            "memory_gb": machine["memory_gb"], "python": machine["python_version"],
            "load_before": machine["load_before"],
        },
        "benchmarks": [
            {
                "file": bench["fullname"].partition("::")[0], "name": bench["name"],
                "seconds": round(bench["stats"]["median"], 6), "rounds": bench["stats"]["rounds"],
                "figures": bench["extra_info"],
            }
            for bench in sorted(report["benchmarks"], key=lambda bench: bench["fullname"])
        ],
    }  # fmt: skip


def with_later(kept: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """The report with another one, of some files alone, which replaces what it has of these."""
    files = {bench["file"] for bench in later["benchmarks"]}
    others = [each for each in kept.get("later", []) if not files & {bench["file"] for bench in each["benchmarks"]}]
    mine = [bench for bench in kept["benchmarks"] if bench["file"] not in files]
    return {**kept, "benchmarks": mine, "later": [*others, later]}


def document(kept: Mapping[str, Any]) -> str:
    """The Markdown that a kept report says."""
    lines = [
        "# Speed",
        "",
        *_made(kept),
        "Read the ratios: seconds are of this machine and of that minute. Where a peer does the same work it stands in"
        " the same table; what the machine itself allows (a pass over memory, decoding of the same columns, emission"
        " alone) is a figure of the row that it limits.",
    ]
    lines += [*_tables(kept["benchmarks"]), *_hundred(kept["benchmarks"])]
    for later in kept.get("later", []):
        lines += ["", "# Measured later", "", *_made(later), *_tables(later["benchmarks"])]
    return "\n".join(lines) + "\n"


def _made(kept: Mapping[str, Any]) -> list[str]:
    machine, tree = kept["machine"], kept["commit"][:9] + (" with changes" if kept["dirty"] else "")
    return [
        f"Made by `{kept['command']}`.",
        "",
        f"{kept['datetime'][:10]}, commit {tree}, on {machine['processor']} with {machine['cores']} cores"
        f" ({', '.join(machine['vectors']) or 'neither AVX2 nor AVX-512'}), {machine['memory_gb']} GB,"
        f" Python {machine['python']}; load {machine['load_before']} before the first benchmark.",
        "",
    ]


def _tables(benches: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = []
    for file, rows in groupby(benches, key=lambda bench: bench["file"]):
        lines += ["", f"## {_stated_of(file)}", "", "| what | seconds, median | figures |", "|---|---|---|"]
        lines += [f"| `{row['name']}` | {_seconds(row['seconds'])} | {_figures(row['figures'])} |" for row in rows]
    return lines


def _stated_of(file: str) -> str:
    """The first sentence of a benchmark's file."""
    reported = import_module(Path(file).stem).__doc__ or file
    return " ".join(reported.split("\n\n")[0].split()).rstrip(".")


def _seconds(value: float) -> str:
    return f"{value:.4f}" if value < 0.1 else f"{value:.2f}"


def _figures(figures: Mapping[str, Any]) -> str:
    return "; ".join(f"{name}: {_number(value)}" for name, value in figures.items())


def _number(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def _hundred(benches: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the cluster's figures say of a hundred of its executors; nothing where they were not measured."""
    figures = {bench["name"]: bench["figures"] for bench in benches}
    on_cluster = next((found for name, found in figures.items() if name.startswith("test_replay_on[cluster")), None)
    driver = figures.get("test_what_a_piece_costs_the_driver", {}).get("microseconds of a piece")
    if on_cluster is None or driver is None:
        return []
    fixed = on_cluster["seconds of a job with one piece"]
    took = on_cluster["events"] / on_cluster["events/s"]
    per_piece = on_cluster["events"] / on_cluster["pieces"]
    work = on_cluster["cores"] * (took - fixed) / on_cluster["events"]
    lines = [
        "",
        "## A hundred executors, on paper",
        "",
        f"Not run: said from the rows of the cluster above. A job takes {fixed} s whatever it does; an event takes a"
        f" core {work * 1e6:.2f} µs, with all that a core does beside reading and checking; a piece of"
        f" {per_piece:,.0f} events costs the driver {driver} µs, one after another. With {EXECUTORS} executors of one"
        " such core, none slower than the others and storage that feeds them all, the longer of what the driver and the"
        " executors take is:",
        "",
        "| events | executors, s | driver, s | in all, s | events/s |",
        "|---|---|---|---|---|",
    ]
    for events in SIZES:
        executors, alone = events * work / EXECUTORS, events / per_piece * driver / 1e6
        whole = fixed + max(executors, alone)
        lines.append(f"| {events:,} | {executors:,.1f} | {alone:,.1f} | {whole:,.1f} | {events / whole:,.0f} |")
    size = on_cluster["bytes"] / on_cluster["events"]
    bound = int(work * per_piece / (driver / 1e6))
    lines += [
        "",
        f"Files have {size:.1f} bytes an event, so that executors at that rate read"
        f" {EXECUTORS / work * size / 1e9:.2f} GB/s together. The driver is what limits from {bound:,} executors on;"
        " larger pieces move that bound. Skew, stragglers and the network are in none of these figures.",
    ]
    return lines


if __name__ == "__main__":
    _, word, report, further = sys.argv
    assert word == "add", __doc__
    sys.path.insert(0, str(Path(__file__).parents[1]))  # whose first sentences are headings
    whole = with_later(json.loads(Path(report).read_text()), json.loads(Path(further).read_text()))
    Path(report).write_text(json.dumps(whole, indent=4))
    Path(report).with_suffix(".md").write_text(document(whole))
