"""The words by which a model says which dangers it leaves out, each with its reason; see `fencepost.model.dangers`.

``outside = (not_of_this("it has no partitions", "cleaning", "truncation"), open_hole("one record stands for all",
"several-records"))`` in the body of a protocol.
"""

from fencepost.model.dangers import DANGERS
from fencepost.model.language.checks.rule_references import check_dangers
from fencepost.model.language.specs import Outside


def not_of_this(why: str, *dangers: str) -> tuple[Outside, ...]:
    """The danger can't touch what the protocol is about.  Without names: all but those that the model is tagged with,
    of a protocol that is not Kafka's."""
    return tuple(Outside(name, "not of this protocol", why) for name in check_dangers(dangers or tuple(DANGERS)))


def kafka_excludes(why: str, source: str, *dangers: str) -> tuple[Outside, ...]:
    """Kafka does not let it happen.  ``source``: the file, setting or proposal that says so."""
    return tuple(Outside(name, "excluded by Kafka", why, source) for name in check_dangers(dangers))


def open_hole(why: str, *dangers: str) -> tuple[Outside, ...]:
    """Kafka can reach it and the model can't: what it would take to close the hole, or where else it is modelled."""
    return tuple(Outside(name, "open", why) for name in check_dangers(dangers))


def excused(condition: str, *dangers: str) -> tuple[Outside, ...]:
    """The model has the danger only under a condition, which its verdicts therefore name."""
    return tuple(Outside(name, "excused", condition) for name in check_dangers(dangers))
