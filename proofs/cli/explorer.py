"""The command ``explorer`` serves a page to this machine alone, on which a user walks through a model in a browser, or
looks at what was found in histories, in an implementation or by a proof."""

import hashlib
import secrets
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from fencepost.proofs.cache_folder import cache_folder
from fencepost.proofs.cli.shared.options import (
    BOUND,
    PROFILE,
    complete_variant,
    import_from_here,
    parse_bounds,
    public_name,
    the_one,
)
from fencepost.proofs.cli.shared.output import console, errors
from fencepost.properties.catalogue import CatalogueError, Profile, bounds_of
from fencepost.properties.nearest import quantity

if TYPE_CHECKING:
    from fencepost.proofs.explorer.server import Application, Explorer


@click.command()
@click.argument("name", metavar="PROTOCOL/VARIANT|DIRECTORY", shell_complete=complete_variant)
@BOUND
@PROFILE
@click.option(
    "--from", "source", type=click.Choice(("model", "proof")), default="model", show_default=True,
    help="Where to begin; proof: at the steps that break an attempt to prove it by induction.",
)  # fmt: skip
@click.option(
    "--implementation", metavar="MODULE:FACTORY",
    help="Drive this against the variant, as agree does, and show the program that fails.",
)  # fmt: skip
@click.option(
    "--examples", type=click.IntRange(1, 10_000_000), default=100, show_default=True, help="Clusters to drive."
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of what drives them.")
@click.option("--no-browser", is_flag=True, help="Only say where the page is.")
def explorer(
    name: str, changes: tuple[str, ...], profile: Profile, source: str, implementation: str | None, examples: int,
    seed: int, no_browser: bool,
) -> int:  # fmt: skip
    """Walk through a variant, or what was found, in a browser.

    The user takes steps and takes them back, sees what each changes and why others are not possible, gets a rule wrong,
    and has the shortest run found that breaks a promise. The command serves a page to this machine alone until Ctrl-C,
    at the address that it had last time, and loads the model again when its files are edited. Example: fencepost
    explorer transactions/v1-verified

    For a DIRECTORY that `fencepost generate` or `fencepost record` wrote, the page lists what is violated, and displays
    the relevant events of each violation. With --implementation, the command drives that implementation, and displays
    the calls of the failing program and their results. With --from proof, it tries to prove the variant by induction,
    and displays each step that breaks the attempt, whether a run reaches the state in which the step begins, and what
    can follow.
    """
    is_directory, proof = _is_directory(name), source == "proof"
    if is_directory and (implementation is not None or changes or proof):
        raise CatalogueError(f"{name}: histories are judged as they are; leave --implementation, --from, --bound out")
    if changes and (proof or implementation is not None):
        raise CatalogueError("--bound is of searches in the model: leave it out with --from proof and --implementation")
    if proof and implementation is not None:
        raise CatalogueError("--from proof is about a model, --implementation about what is driven: leave one out")
    asked, name = name, name if is_directory else public_name(name)

    # Flask is imported here because it is slow, and no other command needs it.
    from fencepost.proofs.explorer.reloading import keep_answering
    from fencepost.proofs.explorer.server import address, listen, server

    answer: Callable[[], None]
    port, token = _address_of(name)
    with listen(port) as listening:
        if is_directory:
            answer = server(_of_histories(name), listening, token).serve_forever
        elif implementation is not None:
            answer = server(_of_implementation(name, implementation, examples, seed), listening, token).serve_forever
        elif proof:
            answer = server(_of_proof(name), listening, token).serve_forever
        else:
            load = partial(load_model, asked, changes, profile)
            answer = partial(keep_answering, load(), load, listening, token)
        url = address(listening, token)
        _remember(name, listening.getsockname()[1], token)
        console.print(url, markup=False, soft_wrap=True)
        console.file.flush()
        if not no_browser:
            threading.Thread(target=_open, args=(url,), daemon=True).start()
        answer()
    raise KeyboardInterrupt  # the server ends on an interrupt


def _file_of(name: str) -> Path:
    return cache_folder() / "explorer" / hashlib.sha256(name.encode()).hexdigest()[:16]


def _address_of(name: str) -> tuple[int, str]:
    """Return the port and the token that the last explorer of this had, so that links to its page go on working, or a
    free port and a new token."""
    with suppress(OSError, ValueError):
        port, token = _file_of(name).read_text(encoding="ascii").split()
        return int(port), token
    return 0, secrets.token_urlsafe(24)


def _remember(name: str, port: int, token: str) -> None:
    """Store an address for the user alone, where that can be done."""
    file = _file_of(name)
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file.touch(mode=0o600)
        file.write_text(f"{port} {token}", encoding="ascii")


def _is_directory(name: str) -> bool:
    """Return whether the name is a directory or a remote address, which hold histories, and not a protocol."""
    return "://" in name or Path(name).is_dir()


def load_model(name: str, changes: tuple[str, ...], profile: Profile) -> "Explorer":
    """Load a variant to walk through."""
    from fencepost.proofs.explorer.server import Explorer
    from fencepost.proofs.explorer.session import Session, place_of

    entry, variant = the_one(public_name(name))
    bounds = bounds_of(variant, profile, parse_bounds(changes))
    session = Session(place_of(f"{entry.name}/{variant.name}", variant, bounds))
    session.run("")
    return Explorer(session)


def _of_histories(directory: str) -> "Application":
    from fencepost.proofs.cli.replay import CONFORMANCE, Asked, datasets_of, judged, violating
    from fencepost.proofs.explorer.shelves import application, of_histories
    from fencepost.proofs.traces import conformance_of
    from fencepost.properties.history import HistoryDirectory
    from fencepost.properties.history.location import Location
    from fencepost.properties.history.sets import datasets_in

    there = datasets_in(Location.of(directory)) or {"": Location.of(directory)}
    shelves = []
    for dataset in datasets_of(there, directory, (), Asked((), (), True, ())):
        report = judged(dataset, None, None, {})
        rows = violating(dataset, report, None, None)
        kernels = {CONFORMANCE: conformance_of(dataset.manifest)} if CONFORMANCE in report.violations else {}
        where = f"{directory}/{dataset.name}" if dataset.name else directory
        shelves.append(of_histories(where, HistoryDirectory.open(dataset.place), report, rows, kernels))
    return partial(application, shelves)


def _of_implementation(name: str, implementation: str, examples: int, seed: int) -> "Application":
    from fencepost.proofs.cli.agree import driven_variant
    from fencepost.proofs.cli.shared.progress import spinner
    from fencepost.proofs.explorer.shelves import application, of_implementation
    from fencepost.proofs.testing import agree

    agreeing, variant = driven_variant(name)
    import_from_here()
    with spinner(f"agreement of {implementation}", examples) as bar:
        report = agree(
            implementation, protocol=agreeing, variant=variant, seed=seed, max_examples=examples, progress=bar.advance
        )
    if not (report.failure or report.differences or report.predicted):
        errors.print(f"{quantity(examples, 'cluster')}, and nothing is found: {report.verdict}", markup=False)
    return partial(application, [of_implementation(report)])


def _of_proof(name: str) -> "Application":
    from fencepost.proofs.cli.prove import reached_by_runs
    from fencepost.proofs.cli.shared.pages import attempted
    from fencepost.proofs.cli.shared.progress import spinner
    from fencepost.proofs.engines.induction import number_of_obligations, prove
    from fencepost.proofs.explorer.server import Explorer
    from fencepost.proofs.explorer.session import Place, Session
    from fencepost.proofs.explorer.shelves import application, of_proof

    entry, variant = the_one(name)
    title = f"{entry.name}/{variant.name}"
    with spinner(f"proving {title}", number_of_obligations(variant.spec, variant.promised)) as bar:
        made = prove(variant.spec, variant.promised, progress=lambda _: bar.advance())
        stories = [
            (failed, words, story)
            for failed, words in reached_by_runs(variant, made)
            for story in attempted(entry, variant, [(failed, words)])
            if words is not None
        ]
    shelf, starts = of_proof(title, variant, made, stories)
    explorer = Explorer(Session(Place(title)), starts=starts) if starts else None
    return partial(application, [shelf], explorer=explorer)


def _open(url: str) -> None:
    with suppress(webbrowser.Error):
        webbrowser.open(url)
