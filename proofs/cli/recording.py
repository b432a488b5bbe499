"""``record``: histories taken from the logs of real clusters, and from what their clients saw."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
from fencepost.proofs.cli.options import JSON
from fencepost.proofs.cli.output import SIGNS, console, errors, spinner
from fencepost.proofs.readings.words import name_in_words
from fencepost.proofs.report import SCHEMA, write_json
from rich.markup import escape

PROTOCOLS = ("id-blocks", "transactions")


@click.command()
@click.argument("log_dirs", nargs=-1, type=click.Path(path_type=Path), metavar="LOG_DIR...")
@click.option(
    "--protocol",
    type=click.Choice(PROTOCOLS),
    default=PROTOCOLS[0],
    show_default=True,
    help="Whose events to look for.",
)
@click.option(
    "--clients", type=click.Path(path_type=Path), help="What clients did and were told: one JSON object a line."
)  # fmt: skip
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Directory to write the history to.")
@click.option("--block-size", type=click.IntRange(1), default=1000, show_default=True, help="Ids in a block.")
@click.option("--topic", "topics", multiple=True, help="Transactions: of data only this topic; may be repeated.")
@click.option("--quiet-end", is_flag=True, help="Transactions: all had come to rest before the logs were copied.")
@click.option("--kafka-version", default="unknown", show_default=True, help="What the manifest says of the cluster.")
@JSON
def record(
    log_dirs: tuple[Path, ...], protocol: str, clients: Path | None, out: Path, block_size: int,
    topics: tuple[str, ...], quiet_end: bool, kafka_version: str, json_file: Path | None,
) -> int:  # fmt: skip
    """Make a history of a cluster's logs, or of what its clients saw.

    LOG_DIR is a node's log directory (log.dirs), of a node at work or copied.  For producer id blocks name those of all
    controllers, since only a majority says what is committed; for transactions those of all brokers, since every
    replica counts.  Example: fencepost record --protocol transactions node1 node2 node3 --clients seen.jsonl --out DIR
    """
    if not log_dirs and clients is None:
        raise click.UsageError("name log directories, or --clients FILE, or both")
    if protocol == "transactions":
        _transactions(log_dirs, clients, out, topics, quiet_end, kafka_version, json_file)
    elif not log_dirs:
        _ids_alone(clients, out, json_file)
    else:
        _id_blocks(log_dirs, clients, out, block_size, kafka_version, json_file)
    errors.print(f"written to {out}; check it with: fencepost replay {out}", markup=False)
    return 0


def _id_blocks(
    log_dirs: tuple[Path, ...], clients: Path | None, out: Path, block_size: int, kafka_version: str,
    json_file: Path | None,
) -> None:  # fmt: skip
    from fencepost.proofs.recording import record as run

    summary = run(list(log_dirs), clients, out, block_size=block_size, kafka_version=kafka_version)
    for line in str(summary).splitlines():
        console.print(line, markup=False)
    if json_file is not None:
        write_json(
            json_file,
            {"schema": SCHEMA, "events": summary.counts, "unanswered": summary.unanswered, "notes": summary.notes},
        )


def _ids_alone(clients: Path | None, out: Path, json_file: Path | None) -> None:
    """What clients were given says whether ids are unique, and nothing of blocks."""
    from fencepost.proofs.recording import read_observations, record_observations

    assert clients is not None, "asked for before"
    counts = record_observations(read_observations(clients), out)
    console.print(", ".join(f"{count:,} {name}" for name, count in counts.items()) or "nothing", markup=False)
    if json_file is not None:
        write_json(json_file, {"schema": SCHEMA, "events": counts})


def _transactions(
    log_dirs: tuple[Path, ...], clients: Path | None, out: Path, topics: tuple[str, ...], quiet_end: bool,
    kafka_version: str, json_file: Path | None,
) -> None:  # fmt: skip
    from fencepost.proofs.recording import record_transactions

    with _reading() as progress:
        recorded = record_transactions(
            log_dirs, clients, out, topics=topics, quiet_end=quiet_end, kafka_version=kafka_version, progress=progress
        )
    for line in str(recorded).splitlines():
        console.print(line, markup=False)
    console.print(f"decidable from it are {len(recorded.decidable)} properties:")
    for name in recorded.decidable:
        console.print(f"    {name_in_words(name)}")
    console.print(f"undecidable are {len(recorded.undecidable)}:")
    for name, reason in recorded.undecidable.items():
        console.print(f"    {name_in_words(name):<28} [yellow]unknown[/]: {escape(reason)}")
    for name, reason in recorded.not_promised.items():
        console.print(f"    {name_in_words(name):<28} {SIGNS['not promised']}: {escape(reason)}")
    if json_file is not None:
        told = {"schema": SCHEMA, "events": recorded.counts, "bytes": recorded.bytes_read, "seconds": recorded.seconds}
        told |= {
            "committed": recorded.committed,
            "decidable": recorded.decidable,
            "undecidable": recorded.undecidable,
            "not_promised": recorded.not_promised,
            "notes": recorded.notes,
        }
        write_json(json_file, told)


@contextmanager
def _reading() -> Iterator[Callable[[Path, int], None]]:
    """Tells on a terminal which segment was read, and how much so far."""
    done = 0
    with spinner("reading logs") as shown:

        def told(file: Path, size: int) -> None:
            nonlocal done
            done += size
            label = f"{done / 1e6:,.0f} MB of logs read, last {file.parent.name}/{file.name}"
            shown.update(shown.task_ids[0], description=label)

        yield told
