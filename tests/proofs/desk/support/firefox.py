"""Firefox as it comes, through the W3C's WebDriver BiDi, which it speaks itself: Debian has no geckodriver."""

import json
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import websocket
from fencepost.reference_impl.live.clusters.ending import started

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
WHY_NO_FIREFOX = "firefox is needed (Debian: firefox-esr)"
ANSWER_S = 60
COMPLAINTS = "log.entryAdded"
PREFERENCES = 'user_pref("{}", false);\n'
QUIET = ("app.update.enabled", "browser.shell.checkDefaultBrowser", "datareporting.policy.dataSubmissionEnabled",
         "toolkit.telemetry.enabled", "network.captive-portal-service.enabled", "network.connectivity-service.enabled",
         "security.sandbox.warn_unprivileged_namespaces")  # fmt: skip
"""What a fresh profile asks other hosts for, or the user, and is not to."""


class Firefox:
    """One window, with what the desk's tests use of `browser.Browser`. AssertionError has Firefox's words."""

    def __init__(self, address: str) -> None:
        self._socket = websocket.create_connection(address, timeout=ANSWER_S, suppress_origin=True)
        self._asked, self._complaints = 0, list[str]()
        self._do("session.new", capabilities={})
        self._do("session.subscribe", events=[COMPLAINTS])
        self._page = self._do("browsingContext.getTree")["contexts"][0]["context"]

    def open(self, url: str) -> None:
        self._do("browsingContext.navigate", context=self._page, url=url, wait="complete")

    def url(self) -> str:
        return str(self.run("return location.href"))

    def resize(self, width: int, height: int) -> None:
        self._do("browsingContext.setViewport", context=self._page, viewport={"width": width, "height": height})

    def run(self, script: str, *given: Any) -> Any:
        """What a script returns, as JSON."""
        body = f"(...given) => JSON.stringify((function () {{ {script} }}).apply(null, JSON.parse(given[0])))"
        came = self._do(
            "script.callFunction", functionDeclaration=body, awaitPromise=True, target={"context": self._page},
            arguments=[{"type": "string", "value": json.dumps(given)}],
        )  # fmt: skip
        assert came["type"] == "success", came
        return json.loads(came["result"].get("value", "null"))

    def text(self, selector: str) -> str:
        return str(self.run("return document.querySelector(arguments[0]).innerText", selector))

    def count(self, selector: str) -> int:
        return int(self.run("return document.querySelectorAll(arguments[0]).length", selector))

    def click(self, selector: str) -> None:
        """Where its middle is, as a person clicks."""
        x, y = self.run("const one = document.querySelector(arguments[0]); one.scrollIntoView({block: 'center'}); "
                        "const box = one.getBoundingClientRect(); "
                        "return [box.x + box.width / 2, box.y + box.height / 2].map(Math.floor)", selector)  # fmt: skip
        pressed = [{"type": f"pointer{way}", "button": 0} for way in ("Down", "Up")]
        steps = [{"type": "pointerMove", "x": x, "y": y}, *pressed]
        mouse = {"type": "pointer", "id": "mouse", "actions": steps}
        self._do("input.performActions", context=self._page, actions=[mouse])

    def until(self, script: str) -> None:
        """Waits for the page to have come to that."""
        end = time.monotonic() + 30
        while not self.run(f"return Boolean({script})"):
            assert time.monotonic() < end, (script, self.text("body"))
            time.sleep(0.03)

    def complaints(self) -> list[str]:
        """Errors of scripts since it was asked last."""
        self.run("return null")
        found, self._complaints = self._complaints, []
        return found

    def close(self) -> None:
        self._do("browser.close")
        self._socket.close()

    def _do(self, method: str, **params: Any) -> Any:
        self._asked += 1
        self._socket.send(json.dumps({"id": self._asked, "method": method, "params": params}))
        while True:
            came = json.loads(self._socket.recv())
            if came.get("method") == COMPLAINTS and came["params"]["level"] == "error":
                self._complaints.append(str(came["params"]["text"]))
            if came.get("id") == self._asked:
                assert came["type"] == "success", f"{method}: {came}"
                return came["result"]


@contextmanager
def firefox() -> Iterator[Firefox]:
    """A Firefox with a profile of its own, which ends with the block."""
    assert FIREFOX is not None, WHY_NO_FIREFOX
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="fencepost-firefox-", ignore_cleanup_errors=True) as profile:
        with open(f"{profile}/user.js", "w", encoding="utf-8") as file:
            file.writelines(PREFERENCES.format(name) for name in QUIET)
        command = [FIREFOX, "--headless", "--no-remote", "--profile", profile, f"--remote-debugging-port={port}"]
        running = started(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            window = Firefox(f"ws://127.0.0.1:{_listening(port, running)}/session")
            try:
                yield window
            finally:
                window.close()
        finally:
            running.terminate()
            running.wait(timeout=20)


def _listening(port: int, running: subprocess.Popen[bytes]) -> int:
    for _ in range(600):
        assert running.poll() is None, "firefox ended at once"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            return port
        except OSError:
            time.sleep(0.1)
    raise AssertionError("firefox does not listen")
