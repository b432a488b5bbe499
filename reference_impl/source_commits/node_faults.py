"""Faults of a free-running history of a source task: how often they strike, how long they last."""

from dataclasses import dataclass

from fencepost.reference_impl.simulation.config import Natural, Rate
from fencepost.reference_impl.simulation.free_run import NodeFaults
from fencepost.reference_impl.simulation.free_run import Run as AnyRun
from fencepost.reference_impl.source_commits.system import System


@dataclass(frozen=True, slots=True)
class Run(AnyRun):
    """Rates of faults, and the pace of everything. Durations are means, in virtual microseconds."""

    request_failure: Rate = 0.02  # per request: it fails, or its answer is lost
    delay: Rate = 0.05  # per request: it takes `delay_us`, perhaps longer than the time-out
    refusal: Rate = 0.005  # per operation of a thread: it fails at once
    refused_last: Rate = 0.2  # per record that is sent when its task is asked to stop: it is refused
    abort_last: Rate = 0.5  # per history that has a `quiet_end`: what is sent then is aborted at the connector's wish
    linger: Rate = 0.005  # per operation of a thread: it stands still for `delay_us` before
    kill: Rate = 0.02  # per poll: the process is gone
    stop: Rate = 0.02  # per poll: the task is asked to stop
    abort: Rate = 0.02  # per poll: the connector has its transaction aborted
    leave_behind: Rate = 0.02  # per poll: the instance is taken for dead and another one begins, where that may be
    poll_us: Natural = 2_000
    think_us: Natural = 300
    latency_us: Natural = 2_000
    delay_us: Natural = 60_000
    timeout_us: Natural = 50_000  # offset.flush.timeout.ms
    interval_us: Natural = 15_000  # offset.flush.interval.ms
    down_us: Natural = 5_000
    audit_us: Natural = 200_000
    # after `events` there are no faults, and the history goes on until all is committed, or could have been
    quiet_end: bool = False


class Faults(NodeFaults[Run, System]):
    """The faults of a task's life; they strike the newest instance."""

    names = ("kill", "stop", "abort", "leave_behind")

    def kill(self, _: int) -> bool:
        return self.system.kill()

    def stop(self, _: int) -> bool:
        return self.system.stop()

    def abort(self, _: int) -> bool:
        return self.system.abort()

    def leave_behind(self, _: int) -> bool:
        return self.system.env.config.zombies and self.system.start()
