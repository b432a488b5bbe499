"""What the steps of the model show, so that its runs can be made histories."""

from fencepost.properties.showing import Row, Showing

from tests.lock.model import Lock


def _its_token(s, p):
    return s.held[p.c]


SHOWING = {
    Lock: Showing(
        "fenced",
        {
            "acquire": [Row("granted", client="c", token="t")],
            "expire": [Row("expired")],
            "write": [Row("written", client="c", token=_its_token)],
            "refuse": [Row("refused", client="c", token=_its_token)],
        },
    )
}
