"""That tasks get to poll, in the cores: what keeps a rule that stops all starts from counting as redundant."""

from fencepost.model.language import Properties, exists, leads_to, service, witness
from fencepost.model.task_counts.abstract.core import Instance, Stage


class Serving(Properties):
    """Services of starts that are not stopped, do not fail, and are not overtaken by a newer set."""

    @service(rule="618.P4")
    def polls_or_stops(s, k: Instance):
        """A task of the newest set that is to start polls in the end, unless it is stopped, or there is a newer set."""
        return leads_to(
            s.is_starting(k) & (s.of[k] == s.generation),
            (s.stage[k] == Stage.RUNNING) | (s.stage[k] == Stage.NONE) | (s.of[k] < s.generation),
        )

    def is_starting(s, k):
        return (s.stage[k] != Stage.NONE) & (s.stage[k] != Stage.RUNNING)

    @witness(of="polls_or_stops")
    def starts_beside_an_earlier_one(s):
        """A task of the newest set is to start, while one of an earlier set can still commit."""
        return exists(
            Instance, Instance,
            lambda j, k: s.can_commit(j) & s.is_starting(k) & (s.of[j] < s.of[k]) & (s.of[k] == s.generation),
        )  # fmt: skip
