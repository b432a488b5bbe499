"""`fencepost explorer` in a process of its own, which ends as it does by Ctrl-C."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from command_line import SCRIPT, clean_environment
from ending import started


@contextmanager
def serving(*words: object) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """The process and the address that it prints; after the block it is interrupted, and ends with exit code 130."""
    command = [str(SCRIPT), "explorer", *map(str, words)]
    with started(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment()
    ) as running:
        try:
            assert running.stdout is not None
            # What it has judged, it says before.
            url = next((line.strip() for line in running.stdout if line.startswith("http://")), "")
            assert url, running.stderr and running.stderr.read()
            yield running, url
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=30)
            assert (running.returncode, out, err) == (130, "", "\nfencepost: interrupted\n")
        finally:
            running.kill()
