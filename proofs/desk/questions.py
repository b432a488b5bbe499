"""The first screen asks these questions. Each names a variant, a line of its rules, and another line in its place."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """A `Question` is answered by a proof of ``name`` in which ``line`` of ``file`` reads ``instead``, or is left out
    if that is empty. ``rule`` is the number of the rule. ``after`` is a line before it, where the line is not the only
    one."""

    asks: str
    says: str
    name: str
    rule: str
    file: str
    line: str
    instead: str
    after: str = ""


QUESTIONS = (
    Question(
        "What if the answer left before the commit?",
        "KIP-730: a controller grants producer ids, and answers when the record of the block is committed.",
        "id-blocks/kraft",
        "730.7",
        "model/id_blocks/kraft.py",
        'require(s.block_end(r) <= s.committed, rule="730.7")',
        "",
    ),
    Question(
        "What if offsets were compared with the last commit only?",
        "KIP-447: the draft's hole. A zombie commits before its successor's first commit, and is taken.",
        "group-fencing/draft-repaired-by-generation",
        "447.8",
        "model/group_fencing/classic.py",
        "return s.newest == e",
        "return Draft.takes_of(s, m, p, e)",
        "class ByGeneration(Draft):",
    ),
    Question(
        "What if one new task were enough to skip fencing?",
        "KIP-618: the shortcut. Fencing is skipped where one task replaces one task, since they share an id.",
        "task-counts/core-shipped",
        "618.5",
        "model/task_counts/abstract/core.py",
        "single = (count == 1) & (size == 1)",
        "single = size == 1",
    ),
)
