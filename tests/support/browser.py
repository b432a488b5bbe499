"""A real browser, driven through the W3C's WebDriver protocol: what a page shows once its script has run."""

import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fencepost.reference_impl.live.clusters.ending import started

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
WHY_NOT = "chromium and chromedriver are needed (Debian: chromium, chromium-driver)"
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
"""The name under which WebDriver answers with an element."""


class Browser:
    """One window.  Raises AssertionError with the driver's words where it refuses."""

    def __init__(self, place: str) -> None:
        self._place = place
        wanted = {"browserName": "chrome", "goog:chromeOptions": {
            "binary": BROWSER, "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
        }, "goog:loggingPrefs": {"browser": "ALL"}}  # fmt: skip
        self._session = self._asked("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]

    def open(self, url: str) -> None:
        self._do("/url", {"url": url})

    def url(self) -> str:
        return str(self._asked("GET", f"/session/{self._session}/url"))

    def resize(self, width: int, height: int) -> None:
        self._do("/window/rect", {"width": width, "height": height})

    def run(self, script: str, *given: Any) -> Any:
        """What a script returns."""
        return self._do("/execute/sync", {"script": script, "args": list(given)})

    def text(self, selector: str) -> str:
        """The text of the first element, as it is seen."""
        return str(self.run("return document.querySelector(arguments[0]).innerText", selector))

    def count(self, selector: str) -> int:
        return int(self.run("return document.querySelectorAll(arguments[0]).length", selector))

    def click(self, selector: str) -> None:
        found = self._do("/element", {"using": "css selector", "value": selector})
        self._do(f"/element/{found[ELEMENT]}/click", {})

    def until(self, script: str) -> None:
        """Waits for the page to have come to that."""
        end = time.monotonic() + 30
        while not self.run(f"return Boolean({script})"):
            assert time.monotonic() < end, (script, self.text("body"))
            time.sleep(0.03)

    def press(self, key: str) -> None:
        """A key, as a person presses it."""
        keys = [{"type": kind, "value": key} for kind in ("keyDown", "keyUp")]
        self._do("/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": keys}]})

    def complaints(self) -> list[str]:
        """What the browser had to say of the page: errors of scripts, what the content policy refused."""
        return [one["message"] for one in self._do("/se/log", {"type": "browser"})]

    def close(self) -> None:
        self._asked("DELETE", f"/session/{self._session}")

    def _do(self, what: str, body: dict[str, Any]) -> Any:
        return self._asked("POST", f"/session/{self._session}{what}", body)

    def _asked(self, method: str, what: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._place + what, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {what}: {error.read().decode()[:400]}") from error


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser of its own, which ends with the block."""
    assert DRIVER is not None, WHY_NOT
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    driver = started([DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        place = f"http://127.0.0.1:{port}"
        _wait_for(place, driver)
        window = Browser(place)
        try:
            yield window
        finally:
            window.close()
    finally:
        driver.terminate()
        driver.wait(timeout=20)


def _wait_for(place: str, driver: subprocess.Popen[bytes]) -> None:
    for _ in range(200):
        assert driver.poll() is None, "chromedriver ended at once"
        try:
            with urllib.request.urlopen(f"{place}/status", timeout=5):
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("chromedriver does not answer")
