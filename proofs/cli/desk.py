"""The command ``desk`` writes a page in which rules are edited and proved, and can serve it to this machine."""

import threading
import webbrowser
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import click
from fencepost.proofs.cli.export import OutputFolder
from fencepost.proofs.cli.shared.output import console
from fencepost.proofs.cli.shared.progress import spinner

HOST = "127.0.0.1"


class Served(SimpleHTTPRequestHandler):
    """A `Served` answers with files of a folder, and logs nothing, since the terminal is for the page's address."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | {
        ".js": "text/javascript", ".mjs": "text/javascript", ".wasm": "application/wasm",
    }  # fmt: skip

    def log_message(self, *_: Any) -> None:
        return


@click.command()
@click.argument("folder", metavar="DIR", type=OutputFolder())
@click.option("--serve", is_flag=True, help="Serve it to this machine alone, until Ctrl-C, and open it in a browser.")
@click.option("--no-browser", is_flag=True, help="With --serve, only say where the page is.")
def desk(folder: Path, serve: bool, no_browser: bool) -> int:
    """Write a page in which rules are edited and proved.

    DIR gets static files, which any web server serves. In the page, a user edits the rules of a variant, and has its
    promises proved by this package and Z3, in the browser's own Python; nothing leaves the browser. Pyodide, Z3 for it
    and the editor come from npm and PyPI, and are stored in the user's cache. Example: fencepost desk DIR --serve
    """
    from fencepost.proofs.desk.build import build
    from fencepost.proofs.desk.parts import PARTS

    with spinner("fetching the desk's parts", len(PARTS)) as bar:
        size = build(folder, bar.advance)
    console.print(f"{folder / 'index.html'}: {size / 1e6:.1f} MB; any web server serves the folder", markup=False)
    if not serve:
        return 0
    with ThreadingHTTPServer((HOST, 0), partial(Served, directory=str(folder))) as server:
        url = f"http://{HOST}:{server.server_address[1]}/"
        console.print(url, markup=False, soft_wrap=True)
        console.file.flush()
        if not no_browser:
            threading.Thread(target=_open, args=(url,), daemon=True).start()
        server.serve_forever()
    raise KeyboardInterrupt  # the server ends on an interrupt


def _open(url: str) -> None:
    with suppress(webbrowser.Error):
        webbrowser.open(url)
