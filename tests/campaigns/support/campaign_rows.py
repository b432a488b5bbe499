"""The rows of a campaign of hours, one for each seed, in a file: a run that was stopped goes on where it was.

A row has the commit, a hash of the code that it depends on, the date, how long it took, and the machine's load.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count, groupby
from pathlib import Path
from typing import Any

from checked_out import commit
from fencepost.proofs.report import write_text

Row = Mapping[str, Any]
Part = Callable[[int, Sequence[Row]], dict[str, Any] | None]


def read_rows(place: Path) -> list[Row]:
    return json.loads(place.read_text(encoding="utf-8")) if place.exists() else []


def write_rows(place: Path, rows: Sequence[Row]) -> None:
    """A line for each row."""
    write_text(place, "[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")


def by_seed(place: Path, same: Mapping[str, Any], code: str, first: int, minutes: float, part: Part) -> Iterator[Row]:
    """Yield a new row for each seed from the first on that this code has not done, until the time is over or `part`,
    which is given the seed and the rows that are done, returns None. `same` has what rows of one series have in common;
    of a seed the file has one row, the newest."""
    began, rows = time.monotonic(), read_rows(place)
    done = [row for row in rows if same.items() <= row.items() and row["code"] == code]
    for seed in count(first):
        if seed in {row["seed"] for row in done}:
            continue
        started = time.monotonic()
        if started - began >= 60 * minutes or (came := part(seed, done)) is None:
            return
        row = {
            **same, "seed": seed, **came, "seconds": round(time.monotonic() - started),
            "load": round(os.getloadavg()[1], 1), "code": code, "commit": commit(),
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
        }  # fmt: skip
        done.append(row)
        mine = {**same, "seed": seed}.items()
        rows = [*(each for each in rows if not mine <= each.items()), row]
        write_rows(place, sorted(rows, key=lambda each: (*(each[name] for name in same), each["commit"], each["seed"])))
        yield row


def seeds(rows: Sequence[Row]) -> str:
    """Return the seeds in words: those that follow one another as one range."""
    found = sorted(row["seed"] for row in rows)
    runs = [[*each] for _, each in groupby(enumerate(found), lambda at: at[1] - at[0])]
    return ", ".join(f"{run[0][1]} to {run[-1][1]}" if len(run) > 1 else f"{run[0][1]}" for run in runs)


def loads(rows: Sequence[Row]) -> str:
    return f"{min(row['load'] for row in rows):.0f} to {max(row['load'] for row in rows):.0f}"


def total(rows: Sequence[Row], name: str) -> int:
    return sum(row[name] for row in rows)
