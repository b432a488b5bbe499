"""A story as a Mermaid sequence diagram, which GitHub draws where it stands in a comment or a README."""

import re
from collections.abc import Iterator

from fencepost.proofs.pages.stories import Step, Story

NOT_IN_TEXT = re.compile(r"[#;:<>%\n\r`\"]")
"""What Mermaid would read as more than text."""


def mermaid(story: Story) -> str:
    """The diagram, without the fence around it."""
    return "\n".join(_lines(story)) + "\n"


def _lines(story: Story) -> Iterator[str]:
    yield "sequenceDiagram"
    yield f"    title {_text(f'{story.title}, {story.asked} {story.verdict}')}"
    yield "    autonumber"
    for place, lane in enumerate(story.lanes):
        yield f"    participant l{place} as {_text(lane)}"
    for number, step in enumerate(story.steps, 1):
        yield f"    {_message(step)}"
        for further in step.reaches[1:]:
            yield f"    Note over l{further}: reached by it too"
        if step.dangers:
            yield f"    Note over l{step.lane}: {_text(', '.join(step.dangers))}"
        if story.broken_at == number:
            yield f"    Note over l0,l{len(story.lanes) - 1}: {_text(story.asked)} does not hold any more"
    if story.loop is not None:
        again = f"goes on as after step {story.loop}" if story.loop < len(story.steps) else "stays so"
        yield f"    Note over l0,l{len(story.lanes) - 1}: it {again}, for ever"


def _message(step: Step) -> str:
    to = step.reaches[0] if step.reaches else step.lane
    arrow = "-x" if "loss" in step.dangers else "->>"
    return f"l{step.lane}{arrow}l{to}: {_text(f'{step.action} {step.words}'.strip())}"


def _text(words: str) -> str:
    return NOT_IN_TEXT.sub(" ", words)
