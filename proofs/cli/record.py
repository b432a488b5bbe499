"""The command ``record`` makes histories from the logs of real clusters, and from what their clients saw."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click
from fencepost.proofs.cli.shared.options import JSON, config_option, configured
from fencepost.proofs.cli.shared.output import SIGNS, console, errors
from fencepost.proofs.cli.shared.progress import spinner
from fencepost.proofs.report import SCHEMA, write_json
from fencepost.properties.nearest import quantity
from fencepost.properties.registry import PROTOCOLS, folder

if TYPE_CHECKING:
    from fencepost.proofs.recording.command import Recorded, Recorder

_HERE = Path(__file__).parents[1] / "recording"
RECORDED = [protocol for protocol in PROTOCOLS if (_HERE / folder(protocol) / "recorder.py").is_file()]
"""Recorders exist for these protocols."""

USUAL = {"block_size": 1000, "quiet_end": False, "incomplete": False, "kafka_version": "unknown"}


@click.command()
@click.argument("log_dirs", nargs=-1, type=click.Path(path_type=Path), metavar="LOG_DIR...")
@click.option(
    "--protocol",
    type=click.Choice(RECORDED),
    default=RECORDED[0],
    show_default=True,
    help="Whose events to look for.",
)
@click.option(
    "--clients", type=click.Path(path_type=Path), help="What clients asked and were answered: one JSON object a line."
)  # fmt: skip
@click.option(
    "--seen", type=click.Path(path_type=Path), help="Task counts: calls of a connector, answers by proxies: JSON lines."
)
@click.option(
    "--worker-logs",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Task counts: a worker's log, or its folder; once for each worker.",
)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Directory to write the history to.")
@click.option(
    "--topic",
    "topics",
    multiple=True,
    help="Transactions: of data only this topic; may be repeated. Task counts: the config topic.",
)
@config_option(
    "block_size=1000: ids in a block.  quiet_end=true: all had come to rest before the logs were copied.  "
    "incomplete=true: of transactions, some logs are lost, and what is there is recorded.  kafka_version=4.3: what the "
    "manifest says of the cluster.",
)
@JSON
def record(
    log_dirs: tuple[Path, ...], protocol: str, clients: Path | None, seen: Path | None, worker_logs: tuple[Path, ...],
    out: Path, topics: tuple[str, ...], pairs: tuple[str, ...], json_file: Path | None,
) -> int:  # fmt: skip
    """Make a history of a cluster's logs, or of what its clients saw.

    LOG_DIR is a node's log directory (log.dirs), of a running node or copied. For producer id blocks, name those of all
    controllers, since only a majority determines what is committed. For transactions and for groups, name those of all
    brokers, since every replica counts. For task counts, these are the brokers of a Connect cluster.

    Example: fencepost record --protocol transactions node1 node2 node3 --clients seen.jsonl --out DIR
    """
    if not log_dirs and clients is None:
        raise click.UsageError("name log directories, or --clients FILE, or both")
    from fencepost.properties.history.claiming import require_free
    from fencepost.properties.history.location import Location

    options = configured(pairs, USUAL)
    options |= {"log_dirs": log_dirs, "clients": clients, "seen": seen, "worker_logs": worker_logs, "topics": topics}
    recorder: Recorder = import_module(f"fencepost.proofs.recording.{folder(protocol)}.recorder").RECORDER
    require_free(Location.of(out))
    with _reading() as progress:
        recorded = recorder({**options, "out": out, "progress": progress})
    _print(recorded)
    if json_file is not None:
        write_json(json_file, {"schema": SCHEMA, **recorded.report})
    errors.print(f"written to {out}; check it with: fencepost replay {out}", markup=False)
    return 0


def _print(recorded: "Recorded") -> None:
    from fencepost.proofs.cli.shared.replay_lines import by_reason, some
    from fencepost.properties.history.properties_of import properties_of

    for line in str(recorded).splitlines():
        console.print(line, markup=False)
    found, unknown, absent = recorded.decidable, recorded.undecidable, recorded.not_promised
    every = quantity(len(found) + len(unknown) + len(absent), "property")
    console.print(f"{len(found)} of {every} can be decided from it" + (f" ({some(found)})" if found else ""))
    rest = [
        (name, SIGNS[sign], why)
        for sign, those in (("unknown", unknown), ("not promised", absent))
        for name, why in those.items()
    ]
    for line in by_reason(rest, properties_of(recorded.manifest.protocol).vocabulary):
        console.print(line)


@contextmanager
def _reading() -> Iterator[Callable[[Path, int], None]]:
    """Display on a terminal which segment was read last, and how many bytes have been read."""
    done = 0
    with spinner("reading logs") as spinning:

        def progress(file: Path, size: int) -> None:
            nonlocal done
            done += size
            spinning.show(f"{done / 1e6:,.0f} MB of logs read, last {file.parent.name}/{file.name}")

        yield progress
