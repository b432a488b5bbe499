"""``explorer``: a variant to walk through in a browser, served to this machine alone."""

import secrets
import threading
import webbrowser
from contextlib import suppress

import click
from fencepost.proofs.cli.shared.options import BOUND, PROFILE, PROTOCOL, complete_variant, parse_bounds, the_one
from fencepost.proofs.cli.shared.output import console
from fencepost.properties.catalogue import Profile, bounds_of


@click.command()
@click.argument("name", metavar="PROTOCOL/VARIANT", shell_complete=complete_variant, type=PROTOCOL)
@BOUND
@PROFILE
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    metavar="N",
    help="Listen on this port, not on one that is free.",
)
@click.option("--browser/--no-browser", default=True, help="Open the page in a browser, or only say where it is.")
@click.option(
    "--max-states", type=click.IntRange(min=1), default=2_000_000, show_default=True, metavar="N",
    help="End a search undecided after so many states.",
)  # fmt: skip
def explorer(
    name: str, changes: tuple[str, ...], profile: Profile, port: int, browser: bool, max_states: int
) -> int:  # fmt: skip
    """Walk through a variant step by step, in a browser.

    Take steps and take them back, see what each changes and why others are not possible, get a rule wrong, and have the
    shortest run found that breaks a promise.  Serves a page to this machine alone until Ctrl-C, and writes nothing.
    Example: fencepost explorer transactions/v1-verified
    """
    entry, variant = the_one(name)
    bounds = bounds_of(variant, profile, parse_bounds(changes))

    # Flask takes its time, which no other command need wait for.
    from fencepost.proofs.explorer.server import Explorer, address, listen, server
    from fencepost.proofs.explorer.session import Session, place_of

    with listen(port) as listening:
        session = Session(place_of(f"{entry.name}/{variant.name}", variant, bounds))
        session.run("")
        token = secrets.token_urlsafe(24)
        made, url = server(Explorer(session, max_states), listening, token), address(listening, token)
        console.print(url, markup=False, soft_wrap=True)
        console.file.flush()
        if browser:
            threading.Thread(target=_open, args=(url,), daemon=True).start()
        made.serve_forever()
    raise KeyboardInterrupt  # which the server takes for its end


def _open(url: str) -> None:
    with suppress(webbrowser.Error):
        webbrowser.open(url)
