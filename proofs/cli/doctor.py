"""The command ``doctor`` says what is wrong with the transactions of a cluster, how it came, and what to do."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from fencepost.proofs.cli.shared.gate import Gate, gated
from fencepost.proofs.cli.shared.options import CLIENT_CONFIG, JSON, MASTER
from fencepost.proofs.cli.shared.output import console, wrapped
from fencepost.proofs.cli.shared.progress import spinner
from fencepost.proofs.report import SCHEMA, write_json

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from fencepost.proofs.doctor.report import Line
    from fencepost.proofs.doctor.source import Source
    from fencepost.proofs.recording.logs.log_dirs import Place

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
FEW = 6
"""This many findings are printed in full, so that they fit a screen; `--verbose` prints all."""


@click.command()
@click.argument("log_dirs", nargs=-1, type=click.Path(path_type=Path), metavar="[DIR]...")
@click.option("--bootstrap", metavar="HOST:PORT", help="A broker of the cluster; nothing but read rights is needed.")
@CLIENT_CONFIG
@click.option("--logs", multiple=True, type=click.Path(path_type=Path), metavar="DIR...",
              help="Log directories (log.dirs) of all nodes instead, of brokers that run or do not.")  # fmt: skip
@click.option("--topic", "topics", multiple=True, help="Only this topic; may be repeated.")
@click.option("--transactional-id", "ids", multiple=True, help="Only this transactional id; may be repeated.")
@click.option("--since", metavar="TIME", help="Only what is newer: 2026-11-30T09:00:00Z, or 90s, 30m, 2h, 7d.")
@click.option("--same-key", "same", is_flag=True, help="Also: the same key and value in two committed transactions?")
@click.option(
    "--follow", "follows", is_flag=True, help="Stay, and print what breaks a rule as it comes; Ctrl-C ends it."
)
@click.option("--checkpoint", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
              help="With --follow: go on from this file, and write there how far it came.")  # fmt: skip
@MASTER
@JSON
@click.option("--verbose", is_flag=True, help="Print every finding, and the runs of the model behind it.")
@gated
def doctor(
    log_dirs: tuple[Path, ...], bootstrap: str | None, client_config: Path | None, logs: tuple[Path, ...],
    topics: tuple[str, ...], ids: tuple[str, ...], since: str | None, same: bool, follows: bool,
    checkpoint: Path | None, master: str | None, json_file: Path | None, verbose: bool, gate: Gate,
) -> int:  # fmt: skip
    """Say what is wrong with a cluster's transactions, and what to do.

    Open transactions are hanging, slow or, in a two-phase commit, undecided, and for each it is explored in the model
    of the cluster's release whether COMMIT or ABORT can break a promise from this state. Nothing is written to the
    cluster.

    Example: fencepost doctor --logs node1 node2 node3 --topic payments
    """
    if (bootstrap is None) == (not logs):
        raise click.UsageError("name either --bootstrap HOST:PORT or --logs DIR...")
    if log_dirs and not logs:
        raise click.UsageError(f"directories are named after --logs, as in --logs {log_dirs[0]}")
    if checkpoint is not None and not follows:
        raise click.UsageError("--checkpoint is for --follow; leave it out")
    if follows and (ids or same):
        raise click.UsageError(f"{'--same-key' if same else '--transactional-id'} is not for --follow; leave it out")
    if master is not None and (follows or bootstrap is not None):
        other = "--follow" if follows else "--bootstrap"
        raise click.UsageError(f"--master reads --logs DIR... on Spark, and is not for {other}; leave it out")
    from fencepost.proofs.doctor.diagnosis import examine
    from fencepost.proofs.doctor.report import cases, headline, lines, report
    from fencepost.proofs.doctor.same_key import same_key

    if follows:
        with closing(_source(bootstrap, client_config, (*logs, *log_dirs))) as source:
            return _follow(source, topics, _since(since, source.now_ms()), checkpoint, json_file, gate)
    with _reading() as reading, closing(_source(bootstrap, client_config, (*logs, *log_dirs))) as source:
        begin = _since(since, source.now_ms())
        found = examine(source, topics, ids, begin, reading, None if master is None else partial(_tasks, master))
        again = same_key(source, found.places, begin) if same else None
    rows = lines(found)
    console.print(headline(found, rows), markup=False)
    _print(rows, FEW if not verbose else len(rows), verbose)
    if verbose and rows:
        console.print("client hosts: no request of Kafka names the host of a producer", markup=False)
    if again is not None:
        of = f"{again.repeated:,} of {again.records:,} records of committed transactions"
        console.print(f"same key: {of} have key and value of one in an earlier committed transaction", markup=False)
        for pair in again.pairs[: None if verbose else FEW]:
            key = pair.key.decode(errors="backslashreplace")
            console.print(
                f"   {pair.second}@{pair.second_offset} as {pair.first}@{pair.first_offset}, key {key!r}", markup=False
            )
    for gap in found.gaps:
        console.print(f"not decided: {gap}", markup=False)
    if json_file is not None:
        write_json(json_file, {"schema": SCHEMA, **report(found, rows, again)})
    gate.write(cases(found, rows, again))
    return int(any(line.wrong for line in rows) or bool(found.gaps) or (again is not None and again.repeated > 0))


def _follow(
    source: "Source", topics: tuple[str, ...], since_ms: int, checkpoint: Path | None, json_file: Path | None,
    gate: Gate,
) -> int:  # fmt: skip
    """Print what breaks a rule as it comes, until it is interrupted."""
    from fencepost.proofs.doctor.diagnosis import begun
    from fencepost.proofs.doctor.following import follow, stopping
    from fencepost.proofs.doctor.report import cases, of_broken, report
    from fencepost.proofs.doctor.scanning import MOST
    from fencepost.proofs.doctor.traces import Broken

    found, rows = begun(source), list["Line"]()

    def on_broken(broken: Broken) -> None:
        if broken.second.producer_id not in found.names:
            found.names |= {each.producer_id: each.transactional_id for each in source.listed(())}
        found.count += 1
        line = of_broken(broken, found)
        rows.extend([line] if len(rows) < MOST else [])
        _print([line], 1, True)

    with stopping() as stop:
        counts = follow(
            source, on_broken=on_broken, stop=stop.is_set, topics=topics, since_ms=since_ms, checkpoint=checkpoint
        )
    found.batches, found.gaps = counts.batches, [*source.gaps, *filter(None, [counts.without])]
    console.print(f"{found.count:,} findings in {counts.batches:,} batches that were followed", markup=False)
    for gap in found.gaps:
        console.print(f"not decided: {gap}", markup=False)
    if json_file is not None:
        write_json(json_file, {"schema": SCHEMA, **report(found, rows, None)})
    gate.write(cases(found, rows, None))
    return int(any(line.wrong for line in rows) or bool(found.gaps))


def _tasks(master: str, number: int) -> "Executor":
    from fencepost.proofs.scale.spark import Tasks
    from fencepost.proofs.scale.units import SparkSettings

    return Tasks(SparkSettings(master), number)


def _source(bootstrap: str | None, client_config: Path | None, logs: tuple[Path, ...]) -> "Source":
    if bootstrap is None:
        from fencepost.proofs.doctor.source import DiskSource

        return DiskSource(list(dict.fromkeys(logs)))
    from fencepost.proofs.doctor.network import NetworkSource
    from fencepost.reference_impl.live.tcp.connection import PLAINTEXT
    from fencepost.reference_impl.live.tcp.security import client_security

    return NetworkSource(bootstrap, client_security(client_config) if client_config else PLAINTEXT)


def _since(text: str | None, now_ms: int) -> int:
    """Return the time in ms since 1970 that an option names, or -1."""
    if text is None:
        return -1
    if found := re.fullmatch(r"(\d+)([smhd])", text):
        return now_ms - int(found[1]) * UNITS[found[2]] * 1000
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise click.UsageError(
            f"--since {text!r} is no time; write 2026-11-30T09:00:00Z, or 90s, 30m, 2h, 7d"
        ) from None
    return int((time if time.tzinfo is not None else time.replace(tzinfo=UTC)).timestamp() * 1000)


def _print(rows: "list[Line]", most: int, verbose: bool) -> None:
    """Print findings in full, of each kind that is not wrong only one, unless all are wanted."""
    kinds = [line.kind for line in rows]
    printed = [line for at, line in enumerate(rows) if verbose or line.wrong or line.kind not in kinds[:at]][:most]
    for number, line in enumerate(printed, 1):
        for text in wrapped(f"{line.where} {line.kind}: {line.says}", f"{number}. ", "   "):
            console.print(text, markup=False)
        breaks = f"breaks {', '.join(line.rules)}" if line.rules else ""
        known = f"known: {'; '.join(line.known)}" if line.known else ""
        for text in filter(None, ("; ".join(filter(None, (breaks, known))), *line.todo)):
            for part in wrapped(text, "   ", "     "):
                console.print(part, markup=False)
        for way in line.futures if verbose else ():
            _print_way(way)
    if len(rows) > len(printed):
        rest = Counter(line.kind for line in rows) - Counter(line.kind for line in printed)
        more = ", ".join(f"{count} {kind}" for kind, count in rest.items())
        console.print(f"and further: {more}; --verbose prints all", markup=False)


def _print_way(way: dict[str, Any]) -> None:
    bounds = ", ".join(f"{name} {size}" for name, size in way["bounds"].items() if size)
    more = f" with {', '.join(way['elsewhere'])}" if way["elsewhere"] else ""
    more += ", and markers that come late" if way["late_markers"] else ""
    more += f", and {way['store']} in the store" if way["store"] else ""
    console.print(f"   {way['variant']}{more} within {bounds}: {way['states']:,} states look so", markup=False)
    console.print(f"     a shortest run to one: {'; '.join(way['came'])}", markup=False)
    for each in way["decisions"]:
        for broken in each["breaks"]:
            run = "; ".join(broken["run"]) or "at once"
            console.print(f"     {each['decision']} breaks {broken['rule']} ({broken['promise']}): {run}", markup=False)


@contextmanager
def _reading() -> "Iterator[Callable[[Place, int], None]]":
    """Display on a terminal which partition is read, and how many bytes have been read."""
    done = 0
    with spinner("reading") as spinning:

        def reading(place: "Place", size: int) -> None:
            nonlocal done
            done += size
            spinning.show(f"{done / 1e6:,.0f} MB read, last {place}")

        yield reading
