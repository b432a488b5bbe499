"""A run of a model of transactions, turned into calls.

The models differ in how much they spell out: where one has no step for an answer that arrives, the step that needs it
brings it about.  A call about a message that is not in flight is not made, so that an implementation which has done a
step already, or refuses it, is led on all the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fencepost.properties.transactions.driving.programs import Call, message
from fencepost.properties.transactions.scenarios.shared import CHECK_MS, TIME_OUT_MS

COORDINATOR = "coordinator"
BY_ITSELF = frozenset({"straggle", "take_out_again"})
AGAIN = frozenset({"answer_again", "end_again"})


class _Turning:
    """``owner``: of each transaction; ``sent``: to which partitions it has sent."""

    def __init__(self, steps: Sequence[tuple[str, Mapping[str, Any]]]) -> None:
        self.steps = steps
        self.owner: dict[int, int] = {}
        self.sent: dict[int, set[int]] = {}
        names = {name for name, _ in steps}
        self.late_init, self.late_end = "come_late" in names, bool(names & AGAIN)
        self.late_marker = "mark_late" in names

    def calls(self, action: str, of: Mapping[str, Any]) -> Iterator[Call]:
        """Those for one step.  Raises KeyError for a step that has none."""
        match action:
            case "start":
                yield Call("init", of["c"])
            case "ask_for_epoch" | "fence_first" | "answer_init_again" | "initialize_again":
                yield self._init(of["c"])
            case "initialize":
                yield Call("init", of["c"])
                yield self._init(of["c"])
                yield Call("log_append")
            case "come_late":
                yield self._init(of["c"])
            case "take":
                yield self._answer("init", of["c"])
            case "lose_answer":
                yield Call("drop", message("init_answer", COORDINATOR, f"client-{of['c']}"))
                yield Call("advance", TIME_OUT_MS // 2)
            case "refuse_init" | "fail_init":
                yield self._init(of["c"])
                yield self._answer("init", of["c"])
            case "time_out":
                for _ in range(TIME_OUT_MS // CHECK_MS + 1):
                    yield Call("advance", CHECK_MS)
            case "take_over" | "complete":
                yield Call("log_append")
            case "append_fails":
                yield Call("log_append", False)
            case "fail_over":
                yield Call("fail_over")
            case "expire":
                yield Call("expire")
            case "fence_producers":
                yield Call("fence")
            case "begin":
                self.owner[of["t"]] = of["c"]
                yield self._answer("init", of["c"])
                yield Call("begin", of["c"])
            case "mark" | "mark_late" | "mark_unheard":
                yield self._deliver("marker", COORDINATOR, f"partition-{of['p']}", self.late_marker)
                answer = message("marker_answer", f"partition-{of['p']}", COORDINATOR)
                yield Call("drop" if action == "mark_unheard" else "deliver", answer)
            case _:
                yield from self._of_transaction(action, of["t"], of)

    def _of_transaction(self, action: str, t: int, of: Mapping[str, Any]) -> Iterator[Call]:
        client = self.owner[t]
        partition = f"partition-{of['p']}" if "p" in of else ""
        name = f"client-{client}"
        match action:
            case "send":
                self.sent.setdefault(t, set()).add(of["p"])
                yield Call("send", client, of["p"])
            case "ask":
                yield self._deliver("produce", name, partition)
            case "ask_to_verify":
                yield self._deliver("check", partition, COORDINATOR)
            case "verify":
                yield self._deliver("check", partition, COORDINATOR)
                yield Call("log_append")
            case "ask_to_add_partition":
                yield self._deliver("add", name, COORDINATOR)
            case "add_partition" | "refuse_add":
                yield self._deliver("add", name, COORDINATOR)
                yield Call("log_append")
                yield self._answer("add", client)
            case "append":
                yield self._deliver("produce", name, partition)
                yield self._deliver("check_answer", COORDINATOR, partition)
            case "commit" | "abort":
                for each in sorted(self.sent.get(t, ())):
                    yield self._deliver("produce_answer", f"partition-{each}", name)
                yield Call(action, client)
            case "ask_to_end" | "answer_again" | "end_again":
                yield self._deliver("end", name, COORDINATOR, self.late_end)
            case "end":
                yield self._deliver("end", name, COORDINATOR, self.late_end)
                yield Call("log_append")
            case "learn" | "refuse_end":
                yield self._deliver("end", name, COORDINATOR)
                yield self._answer("end", client)
            case _:
                raise KeyError(action)

    def _init(self, client: int) -> Call:
        return self._deliver("init", f"client-{client}", COORDINATOR, self.late_init)

    def _answer(self, kind: str, client: int) -> Call:
        return self._deliver(f"{kind}_answer", COORDINATOR, f"client-{client}")

    @staticmethod
    def _deliver(kind: str, source: str, target: str, keep: bool = False) -> Call:
        return Call("deliver", message(kind, source, target), keep)


def turned(steps: Sequence[tuple[str, Mapping[str, Any]]]) -> tuple[dict[str, Any], list[Call], str]:
    """The size of the cluster, the calls, and the first step for which there is none; empty if there is no such
    step."""
    turning, calls = _Turning(steps), list[Call]()
    for action, of in steps:
        try:
            calls += turning.calls(action, of) if action not in BY_ITSELF else ()
        except KeyError:
            return {}, [], action
    clients = 1 + max((of["c"] for _, of in steps if "c" in of), default=0)
    partitions = 1 + max((of["p"] for _, of in steps if "p" in of), default=0)
    return {"clients": clients, "partitions": partitions, "groups": 0}, calls, ""
