"""This bench has one producer, for which a test plays coordinator and partitions and answers each request by hand."""

from fencepost.reference_impl.kafka.clients.producer import Producer
from fencepost.reference_impl.kafka.environment import Config, DrivenPace, Environment, readable
from fencepost.reference_impl.kafka.messages import (
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    InitProducerIdResponse,
    ProduceResponse,
    ResponseBody,
)
from fencepost.reference_impl.simulation import Kernel, Network

ANSWERS = {
    "init": InitProducerIdResponse,
    "add": AddPartitionsToTxnResponse,
    "end": EndTxnResponse,
    "produce": ProduceResponse,
}


class Bench:
    """A `Bench` has one producer, and its unanswered requests."""

    def __init__(self, **config):
        kernel = Kernel(0)
        checked = Config.parse({"partitions": 2, "groups": 1, **config})
        self.env = Environment(checked, kernel, Network(kernel), DrivenPace())
        self.producer = Producer(self.env, 0)
        self.env.network.nodes["client-0"] = self.producer

    def sent(self, kind=""):
        return [message for message in self.env.network.in_flight.values() if message.kind.startswith(kind)]

    def answer(self, kind, *fields, keep=False):
        """Answer the oldest request of this kind, which with `keep` can be answered again."""
        message = self.sent(kind)[0]
        if not keep:
            self.env.network.drop(message.number)
        self.producer.arrive(answer_to(message, ANSWERS[kind](*fields)))
        return message.body.data

    def events(self, *kinds):
        events = [readable(row) for row in self.env.log.drain_rows()]
        return [event for event in events if not kinds or event.kind in kinds]

    def in_transaction(self, *partitions):
        """Bring the producer into a transaction under the pair (7, 3), with a record in flight to each partition."""
        self.producer.init()
        self.answer("init", 0, 7, 3)
        self.producer.begin()
        for partition in partitions:
            self.producer.send(partition)
            if not self.env.config.is_v2:
                self.answer("add", 0)
        return self.producer

    def advance(self, ms):
        self.env.kernel.advance(ms * 1000)


def answer_to(message, data):
    answer = type(message)(-1, f"{message.kind}_answer", message.target, message.source, None)
    answer.body = ResponseBody(message.body.number, data)
    return answer
