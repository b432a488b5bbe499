"""Programs of calls are made on a cluster, and calls that name an absent message are left out."""

from fencepost.properties.calls import Named
from fencepost.properties.driving import Program, Run, columns_of, event_text, read
from fencepost.properties.id_blocks.interface import COLUMNS, Call
from fencepost.reference_impl.systems.id_blocks import reference

CONFIG = {"seed": 0, "brokers": 2, "block_size": 2, "max_id": 10, "mode": "kraft", "prefetch": 0.0}


class Notes:
    """`Notes` is a watcher that remembers every call."""

    def __init__(self):
        self.seen = []

    def watch(self, made, messages):
        self.seen.append((made.text, len(messages)))


def test_calls_are_made_and_written_down():
    """A call finds its message by kind and broker, and its text has the number, so that it can be pasted."""
    notes = Notes()
    run = Run(reference, CONFIG, notes)
    run.call(Call("init_producer_id", 1))
    run.call(Call("deliver", Named(("request", 1)), keep=True))
    assert notes.seen == [
        ("system.init_producer_id(1)", 1), ("system.deliver(0, keep=True)  # request of broker 1", 1)
    ]  # fmt: skip


def test_message_that_is_not_in_flight():
    run = Run(reference, CONFIG, Notes())
    assert run.call(Call("deliver", Named(("response", 0)))) is None
    assert run.call(Call("drop", Named(("request", 1), 3))) is None
    assert run.tried == [] and run.made == []


def test_messages_of_one_kind_are_counted_from_the_oldest():
    run = Run(reference, CONFIG, Notes())
    run.call(Call("init_producer_id", 0))
    run.call(Call("init_producer_id", 1))
    run.call(Call("restart_broker", 1))
    run.call(Call("init_producer_id", 1))
    messages = run.system.messages()
    named = [dict(Call.about("drop", m, messages).arguments)["number"] for m in messages]
    assert named == [Named(("request", 0)), Named(("request", 1)), Named(("request", 1), 1)]
    assert [name.find(messages) for name in named] == list(messages)


def test_error_of_the_implementation_is_kept():
    run = Run(reference, CONFIG, Notes())
    made = run.call(Call("init_producer_id", 7))
    assert isinstance(made.error, IndexError)


def test_events_are_read_either_way():
    event = {"kind": "answer_sent", "broker": 1, "first": -1, "error": 0}
    assert read(event, "broker") == 1 and columns_of(event, COLUMNS) == {"broker": 1}
    run = Run(reference, CONFIG, Notes())
    made = run.call(Call("init_producer_id", 0))
    assert [event_text(e, Call) for e in made.events] == [
        "request_sent(broker=0, broker_epoch=0, request=0)", "id_refused(broker=0, error=COORDINATOR_LOAD_IN_PROGRESS)"
    ]  # fmt: skip


def test_program_without_some_calls():
    program = Program(CONFIG, (Call("commit"), Call("snapshot"), Call("fail_over")))
    assert [c.name for c in program.without(1, 2).calls] == ["commit", "fail_over"]
