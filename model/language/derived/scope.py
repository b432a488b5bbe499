"""With the functions of this module a model declares which dangers it leaves out, each with its reason; see
`fencepost.model.dangers`.

``outside = (not_of_this("it has no partitions", "cleaning", "truncation"), open_hole("one record stands for all",
"several-records"))`` stands in the body of a protocol.
"""

from fencepost.model.dangers import DANGERS
from fencepost.model.language.checks.rule_references import check_dangers
from fencepost.model.language.specs import Outside


def not_of_this(why: str, *dangers: str) -> tuple[Outside, ...]:
    """Declare dangers that can't affect what the protocol is about. Without names, all dangers are meant except those
    that the model is tagged with, which suits a protocol that is not Kafka's."""
    return tuple(Outside(name, "not of this protocol", why) for name in check_dangers(dangers or tuple(DANGERS)))


def kafka_excludes(why: str, source: str, *dangers: str) -> tuple[Outside, ...]:
    """Declare dangers that Kafka prevents. ``source`` is the file, setting or proposal that states it."""
    return tuple(Outside(name, "excluded by Kafka", why, source) for name in check_dangers(dangers))


def open_hole(why: str, *dangers: str) -> tuple[Outside, ...]:
    """Declare dangers that Kafka can reach and the model can't. ``why`` states how to close the hole."""
    return tuple(Outside(name, "open", why) for name in check_dangers(dangers))


def excused(condition: str, *dangers: str) -> tuple[Outside, ...]:
    """Declare dangers that the model has only under a condition, which its verdicts therefore name."""
    return tuple(Outside(name, "excused", condition) for name in check_dangers(dangers))
