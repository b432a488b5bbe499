"""Kafka's error codes that producer id blocks can meet, with the protocol's numbers (Errors.java)."""

from enum import IntEnum


class ErrorCode(IntEnum):
    """An error code on the wire; `meaning` says what it tells the broker or the client here."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> "ErrorCode":
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    UNKNOWN_SERVER_ERROR = -1, "the ids are exhausted (730.16), or something unexpected failed on the controller"
    NONE = 0, "no error"
    NETWORK_EXCEPTION = 13, "the broker is not running: nobody answers the client"
    COORDINATOR_LOAD_IN_PROGRESS = 14, "to the client: no id at hand, a block is on its way; ask again"
    CLUSTER_AUTHORIZATION_FAILED = 31, "the broker lacks CLUSTER_ACTION: fatal by the KIP, retried as shipped (730.5)"
    NOT_CONTROLLER = 41, "this node is not the active controller (any more)"
    STALE_BROKER_EPOCH = 77, "the broker id is registered under another epoch; in KRaft also: not registered (730.18)"
    BROKER_ID_NOT_REGISTERED = 102, "ZooKeeper mode: no broker of that id is registered (730.18)"
