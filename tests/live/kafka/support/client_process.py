"""A real producer in a process of its own, so that it can be stopped in the middle of anything and go on later.

    with ClientProcess("librdkafka", bootstrap, "txn-id", client_id="a") as client:
        client.do("init")                       # Told(code=0, severity="")
        client.pause(); client.resume()         # SIGSTOP, SIGCONT
        client.do("commit")                     # Told(code=90, severity="FATAL")

Run as a program it is the other end: a call a line on standard input, an answer a line on standard output.
"""

from __future__ import annotations

import json
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from fencepost.reference_impl.live.clusters.ending import started
from fencepost.reference_impl.live.transactions.clients.real_client import ClientError, RealProducer, send

PATIENCE_S = 15.0


class Reported(NamedTuple):
    """What a call came to: Kafka's error code (0: none), and what the library says can still be done."""

    code: int
    severity: str = ""
    text: str = ""


class ClientProcess:
    """One instance. Every call waits for its answer, with a bound, except where `start` and `answer` are called."""

    def __init__(self, library: str, bootstrap: str, txn_id: str, client_id: str) -> None:
        command = [sys.executable, __file__, library, bootstrap, txn_id, client_id]
        self._process = started(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._answers: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, name=f"client-{client_id}", daemon=True)
        self._reader.start()

    def __enter__(self) -> ClientProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()  # the broker hears nothing of its end
        self._process.wait()
        self._reader.join(PATIENCE_S)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def do(self, method: str, *arguments: Any) -> Reported:
        """Call a method of `RealProducer` and wait for what comes of it."""
        self.start(method, *arguments)
        return self.answer()

    def start(self, method: str, *arguments: Any) -> None:
        """Only call it."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([method, *arguments]) + "\n")
        self._process.stdin.flush()

    def answer(self) -> Reported:
        """What has come of the oldest call. Raises TimeoutError; ChildProcessError if the process has ended."""
        try:
            line = self._answers.get(timeout=4 * PATIENCE_S)
        except queue.Empty:
            raise TimeoutError(f"client {self._process.pid} did not answer within {4 * PATIENCE_S:g} s") from None
        if not line:
            raise ChildProcessError(f"client {self._process.pid} ended with {self._process.wait(PATIENCE_S)}")
        return Reported(*json.loads(line))

    def pause(self) -> None:
        """SIGSTOP; returns when every thread stands still."""
        self._process.send_signal(signal.SIGSTOP)
        deadline = time.monotonic() + PATIENCE_S
        while any(state != "T" for state in self._thread_states()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"client {self._process.pid} does not stop")
            time.sleep(0.01)

    def resume(self) -> None:
        """SIGCONT: it does not know that time went by."""
        self._process.send_signal(signal.SIGCONT)

    def _thread_states(self) -> list[str]:
        tasks = Path(f"/proc/{self._process.pid}/task").iterdir()
        return [(task / "stat").read_text().rpartition(")")[2].split()[0] for task in tasks]

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put("")  # it has ended


def make(library: str, bootstrap: str, txn_id: str, client_id: str) -> RealProducer:
    """A producer of one of the two libraries."""
    if library == "librdkafka":
        from fencepost.reference_impl.live.transactions.clients.real_client_librdkafka import LibrdkafkaProducer

        return LibrdkafkaProducer(bootstrap, txn_id, client_id, PATIENCE_S)
    from fencepost.reference_impl.live.transactions.clients.real_client_kafka_python import KafkaPythonProducer

    return KafkaPythonProducer(bootstrap, txn_id, client_id, PATIENCE_S)


def serve(producer: RealProducer) -> None:
    """Answer calls until standard input ends."""
    for line in sys.stdin:
        method, *arguments = json.loads(line)
        reported = Reported(0)
        try:
            if method == "send":
                send(producer, arguments[0], arguments[1], str(arguments[2]).encode())
            else:
                getattr(producer, method)(*arguments)
        except ClientError as error:
            reported = Reported(error.code, error.severity.name, str(error))
        print(json.dumps(reported), flush=True)


if __name__ == "__main__":
    serve(make(*sys.argv[1:]))
