"""Tiny protocols whose progress is known: each has one way to wait for ever, and a variant without it."""

from fencepost.model.language import (
    Bool,
    Enumeration,
    Map,
    Nat,
    Properties,
    Protocol,
    Sort,
    action,
    fault,
    leads_to,
    limit,
    progress,
    require,
    service,
)  # fmt: skip


class Switch(Protocol):
    """The switch goes up and down; work can be finished only while it is down."""

    up: Bool
    done: Bool

    @action(fair="weak")
    def flip(s):
        require(~s.done)
        s.up = ~s.up

    @action(fair="weak")
    def finish(s):
        require(~s.up & ~s.done)
        s.done = True


class StrongSwitch(Switch):
    """The same, where finishing is owed if it is possible again and again."""

    @action(fair="strong")
    def finish(s):
        require(~s.up & ~s.done)
        s.done = True


class IdleSwitch(Switch):
    """The same, where no actor has to do anything."""

    @action
    def flip(s):
        require(~s.done)
        s.up = ~s.up

    @action
    def finish(s):
        require(~s.up & ~s.done)
        s.done = True


class Reach(Nat, upto="most"):
    """How far a counter gets."""


class Counter(Protocol):
    """Counts for ever; a bound stops it in exploration only."""

    n: Reach

    @action(fair="weak")
    def grow(s):
        s.n = s.n + 1


class LimitedCounter(Counter):
    """The same, stopped by a limit."""

    @action(fair="weak")
    def grow(s):
        limit(s.n <= 1)
        s.n = s.n + 1


class DeadCounter(Counter):
    """The same, stopped by a rule of its own."""

    @action(fair="weak")
    def grow(s):
        require(s.n <= 1)
        s.n = s.n + 1


class Step(Enumeration):
    """How far a worker is."""

    IDLE = 0
    HALF = 1
    DONE = 2


class Worker(Sort, bound="workers"):
    """Who works."""


class Crashing(Protocol):
    """Two steps of work, each of which a crash throws away."""

    at: Map[Worker, Step]

    @action(fair="weak")
    def begin(s, w: Worker):
        require(s.at[w] == Step.IDLE)
        s.at[w] = Step.HALF

    @action(fair="weak")
    def end(s, w: Worker):
        require(s.at[w] == Step.HALF)
        s.at[w] = Step.DONE

    @fault(budget="crashes")
    def crash(s, w: Worker):
        require(s.at[w] == Step.HALF)
        s.at[w] = Step.IDLE


class Abandoning(Crashing):
    """The same, where a worker may give up as often as it likes, and finishing is owed weakly: a livelock."""

    @action
    def give_up(s, w: Worker):
        require(s.at[w] == Step.HALF)
        s.at[w] = Step.IDLE


class SwitchProperties(Properties, of=Switch):
    @progress(rule="730.P3")
    def finished(s):
        """The work is finished in the end."""
        return leads_to(~s.done, s.done)


class ServedSwitch(SwitchProperties, of=Switch):
    @service(rule="730.P3", ceasing=("flip",))
    def served(s):
        """Work that could be finished is, once the switch is left alone."""
        return leads_to(~s.done & ~s.up, s.done)

    @service(rule="730.P3", ceasing=("flip",))
    def served_or_up(s):
        """It is, unless the switch is left up."""
        return leads_to(~s.done & ~s.up, s.done | s.up)


class CounterProperties(Properties, of=Counter):
    @progress(rule="730.P3")
    def five(s):
        """Five is reached, far beyond the bound of every test."""
        return leads_to(s.n >= 0, s.n >= 5)


class CrashingProperties(Properties, of=Crashing):
    @progress(rule="730.P3")
    def finished(s, w: Worker):
        """Every worker is done in the end."""
        return leads_to(s.at[w] == Step.IDLE, s.at[w] == Step.DONE)
