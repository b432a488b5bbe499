"""How fast a cluster's logs are followed and judged, from the bytes that brokers answer, on one core.

    pytest -n 0 -s -m nightly tests/benchmarks/test_following_rates.py

The stream is prepared (`prepared_stream`): 1,000 producers, 20 partitions, all of transaction version 2. What is
measured is `follow`, with finding the batches and their CRC-32C, in seconds of a processor core, since the machine may
be shared. The best figure published of a checker at work is AION's, 12,000 transactions a second.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fencepost.proofs.doctor.following import follow
from prepared_stream import Prepared, Stream, planted

pytestmark = pytest.mark.nightly

PEER = 12_000
CHUNKS_A_SECOND = 4
RESTS = 6  # rounds without news, after which all is settled


def followed(source: Prepared, reported: Callable[[Any], object]) -> None:
    """Follow it to its end, and until all is settled."""
    rests = iter(range(RESTS))
    follow(source, on_broken=reported, stop=lambda: source.over and next(rests, None) is None)


@pytest.mark.parametrize("spread", [1, 2])
def test_transactions_a_second(benchmark: Any, spread: int) -> None:
    """More than the peer by far; `spread` is how many partitions a transaction writes to."""
    stream = Stream(spread=spread, rounds=50)
    chunks = list(stream.chunks(4))
    times: list[float] = []

    def run() -> None:
        found: list[object] = []
        began = time.process_time()
        followed(Prepared(stream, chunks), found.append)
        times.append(time.process_time() - began)
        assert found == []

    benchmark.pedantic(run, rounds=3, warmup_rounds=1)
    many, seconds = 4 * stream.transactions, min(times)
    of_peer = "times AION (12,000/s, published, not run here)"
    benchmark.extra_info |= {
        "transactions": many, "transactions/s of a core": round(many / seconds),
        "batches/s of a core": round(4 * stream.batches / seconds), of_peer: round(many / seconds / PEER, 1),
        "seconds of a core at 100,000/s": round(100_000 * seconds / many, 2),
    }  # fmt: skip
    assert many / seconds > 2 * PEER


@pytest.mark.parametrize(("rate", "soon_s"), [(20_000, 2.0), (100_000, 4.0)])
def test_delay(benchmark: Any, rate: int, soon_s: float) -> None:
    """A stream of that many transactions a second, as it comes: what is wrong in a batch, and a marker that is not as
    prepared, are reported that soon after the answer that has them. A core that does 63,000 to 75,000 a second, as on
    2026-12-02, was 2.0 to 2.7 s behind a stream of 100,000."""
    stream = Stream(spread=1, rounds=rate // 1000 // CHUNKS_A_SECOND)
    chunks = list(stream.chunks(16))
    chunks[8] = planted(chunks[8])
    delays: dict[str, float] = {}

    def run() -> None:
        source = Prepared(stream, chunks, every_s=1 / CHUNKS_A_SECOND)
        followed(source, lambda each: delays.update({each.kind: source.now - source.due[8]}))

    benchmark.pedantic(run, rounds=1)
    benchmark.extra_info |= {f"seconds to {kind}": round(delay, 2) for kind, delay in delays.items()}
    assert set(delays) == {"gap", "both_outcomes"}
    assert max(delays.values()) < soon_s


def test_memory(benchmark: Any) -> None:
    """Ten times as many transactions take no more memory."""
    stream, used = Stream(spread=2, rounds=5), list[int]()

    def watched(chunks: int) -> Any:
        for chunk in stream.chunks(chunks):
            used.append(_resident())
            yield chunk

    def run() -> None:
        followed(Prepared(stream, watched(100)), lambda each: pytest.fail(str(each)))

    benchmark.pedantic(run, rounds=1)
    early, late = max(used[5:10]), max(used[90:])
    benchmark.extra_info |= {
        "transactions": 100 * stream.transactions, "MB after a tenth": round(early / 1e6),
        "MB in the end": round(late / 1e6),
    }  # fmt: skip
    assert late < early + 8_000_000


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
