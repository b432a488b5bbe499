"""This module has the words of messages: the names that an unknown name may have meant, names as they are printed
(``ids unique``), how many of a thing there are, and Kafka's names of its error codes."""

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from functools import cache

TERMS = {"txn": "transaction"}
"""`TERMS` maps names of columns and sorts that are no word to a word."""
FEW = 6
"""Up to this many names are listed in full, where none is near."""


def underscored(name: str) -> str:
    """Return a name as it stands in the code, where it was given as it is printed."""
    return "_".join(name.split())


def in_words(name: str) -> str:
    return name.replace("_", " ")


def quantity(count: int, noun: str) -> str:
    """Return a number with its noun, such as ``1 history`` or ``2,000 histories``."""
    ending = ("ies" if noun[-2:-1] not in "aeiou" else "ys") if noun.endswith("y") else noun[-1] + "s"
    return f"{count:,} {noun if count == 1 else noun[:-1] + ending}"


def times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


@cache
def error_name(code: int) -> str:
    """Return the name that Kafka gives an error code, such as ``INVALID_PRODUCER_EPOCH``, or the number where it gives
    none. The names are those of kio, which has them from Kafka's own list (Errors.java)."""
    from kio.schema.errors import ErrorCode  # it takes 0.2 s to import

    return ErrorCode(code).name.upper() if code in {*ErrorCode} else str(code)


def error_text(code: int) -> str:
    """Return an error in words, such as ``error INVALID_PRODUCER_EPOCH (47)``."""
    name = error_name(code)
    return f"error {name}" if name == str(code) else f"error {name} ({code})"


def instead(wrong: str, known: Collection[str], where: str = "") -> str:
    """Return what to write instead of a name that is not ``known``: the nearest, or all if they are few, or ``where``
    they are listed. An example is ``did you mean kraft or kraft-threads? fencepost list id-blocks names all``. Where
    they are listed nowhere else, all are named."""
    near = nearest(wrong, known)
    if near and not where:
        return f"did you mean {_either(near)}? there are {', '.join(known)}"
    if near:
        return f"did you mean {_either(near)}? {where} names all {len(known)}"
    if len(known) <= FEW or not where:
        return f"there {'is' if len(known) == 1 else 'are'} {', '.join(known) or 'none'}"
    return f"{where} names all {len(known)}"


def nearest(wrong: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Return the names that are most similar to this one, those that begin with it or contain it first."""
    names = {_plain(name): name for name in known}
    asked = _plain(wrong)
    inside = sorted((n for n in names if asked and asked in n), key=lambda n: (not n.startswith(asked), len(n), n))
    found = dict.fromkeys([*inside, *get_close_matches(asked, names, n=most, cutoff=0.6)])
    return [names[n] for n in found][:most]


def _plain(name: str) -> str:
    return name.lower().replace("_", " ").replace("-", " ")


def _either(names: list[str]) -> str:
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
