"""Protocols made of others: what a whole has of its parts, under which names, and what a joint action does."""

import pytest
from fencepost.model.id_blocks.kraft import Kraft
from fencepost.model.language import (
    ModelError,
    Nat,
    Part,
    Properties,
    Protocol,
    Sort,
    action,
    danger,
    each,
    exists,
    fault,
    leads_to,
    lemma,
    not_of_this,
    open_hole,
    part,
    require,
    service,
)  # fmt: skip
from fencepost.model.language import Set as SetOf
from fencepost.model.language.derived.mutations import mutated, mutation, mutations, settle
from fencepost.model.language.tracing.composing import scalars
from fencepost.model.language.tree.terms import subterms
from fencepost.model.language.tree.types import AtomsType, bound_of, evaluate_bound, has_bound
from fencepost.model.task_counts.abstract.core import Instance, Worker
from fencepost.model.task_counts.abstract.cores import ShippedCore
from fencepost.model.task_counts.parts.collisions import CollidingNames
from fencepost.model.task_counts.parts.compaction import ConfigTopic
from fencepost.model.task_counts.parts.connectors import Connectors
from fencepost.model.task_counts.parts.deletion import Deletion
from fencepost.model.task_counts.parts.upgrades import Upgrades
from fencepost.model.task_counts.parts.writing import Writing
from fencepost.model.transactions.abstract.core import Client
from fencepost.model.transactions.abstract.cores import V2Core
from fencepost.proofs.readings.words import say, say_update
from part_protocols import (
    Desk,
    DeskProperties,
    Office,
    OfficeProperties,
    TransactionalId,
    TransactionalIdProperties,
)
from refinement_protocols import AtFinish, TwoSteps
from z3_protocols import Allocation, AllocationProperties, Broker, TicketLock


def whole(**parts):
    """A protocol that adds nothing to its parts."""
    return type(Protocol)("Whole", (Protocol,), {"__annotations__": parts, "__module__": __name__}).spec


@pytest.mark.parametrize(("a", "b"), [(Kraft, V2Core), (Kraft, ShippedCore), (V2Core, ShippedCore)])
def test_every_pair_composes(a, b):
    """Each part has all its variables, constants, actions and conditions of dangers, under its own name."""
    both = whole(a=Part[a], b=Part[b])
    for name, alone in (("a", a.spec), ("b", b.spec)):
        for there, own in (
            (both.types, alone.types),
            (both.constants, alone.constants),
            (both.actions, alone.actions),
            (both.presences, alone.presences),
        ):
            assert [n for n in there if n.startswith(f"{name}.")] == [f"{name}.{n}" for n in own]
    assert len(both.types) == len(a.spec.types) + len(b.spec.types)
    assert set(both.dangers) == {*a.spec.dangers, *b.spec.dangers}


def test_a_joint_action_does_what_all_its_parts_do():
    """Guards and updates of the whole come first, then those of each part with the arguments put in."""
    serve = Desk.spec.actions["serve"]
    assert [say(g.condition) for g in serve.guards] == [
        "lock.mine[c] = t", "ids.has[b]", "ids.cursor[b] < ids.end[b]", "lock.place[c] = INSIDE",
    ]  # fmt: skip
    assert [g.rule for g in serve.guards] == ["730.2", None, "730.12", None]
    assert [say_update(u) for u in serve.updates] == [
        "served[t] := yes",
        "by[t] := ids.cursor[b]",
        "ids.used[ids.cursor[b]] := ids.used[ids.cursor[b]] + 1",
        "ids.cursor[b] := ids.cursor[b] + 1",
        "lock.place[d] := (OUTSIDE if c = d, else lock.place[d]) for every d",
        "lock.mine[c] := none",
        "lock.serving := lock.serving + 1",
    ]


def test_what_is_joint_happens_in_no_other_way():
    """The other actions of the parts happen by themselves."""
    assert list(Desk.spec.actions) == [
        "ids.grant", "ids.give_up", "ids.crash", "lock.draw", "lock.enter", "serve",
    ]  # fmt: skip
    assert "ids.hand_out" in whole(ids=Part[Allocation]).actions


def test_a_part_has_parts():
    """Names are paths; an action of a part's part is taken as the part has it, and its helpers and variables are read
    from outside."""
    assert {"desk.ids.next", "desk.lock.serving", "desk.served", "clock.now", "last"} <= Office.spec.types.keys()
    assert Office.spec.constants.keys() == {"desk.ids.size"}
    assert Office.spec.actions["desk.ids.crash"].budget == "desk.ids.crashes"
    joint = Office.spec.actions["serve_in_no_time"]
    assert say(joint.guards[0].condition) == "desk.lock.serving = clock.now"
    assert [say_update(u) for u in joint.updates][1:3] == ["desk.served[t] := yes", "desk.by[t] := desk.ids.cursor[b]"]
    assert {"desk.ids.no_id_twice", "desk.ids_differ", "clock.never_back"} <= OfficeProperties.properties.keys()
    assert say(OfficeProperties.properties["last_is_past"].term) == "last <= desk.lock.serving"


def test_bounds_are_looked_for_outwards():
    """What is given for a part is that part's; what is given for the whole is every part's."""
    bounds = {"size": 1, "desk.size": 2, "desk.ids.size": 3, "ids": 7, "desk.ids": 8}
    assert [bound_of(bounds, name) for name in ("size", "clock.size", "desk.lock.size", "desk.ids.size")] == [
        1,
        1,
        2,
        3,
    ]
    assert evaluate_bound("desk.ids.ids + 2 * desk.ids.size", bounds) == 14
    assert not has_bound(bounds, "desk.crashes")
    with pytest.raises(KeyError, match=r"desk\.crashes"):
        bound_of(bounds, "desk.crashes")
    assert Office.spec.types["desk.ids.next"].upto == "desk.ids.ids"


def test_parts_that_name_one_sort_share_it():
    """Brokers of one part are the brokers of the other."""
    both = whole(a=Part[Allocation], b=Part[Allocation])
    assert both.types["a.has"].keys[0] is both.types["b.has"].keys[0] is Broker.type


def test_models_of_connect_share_their_sorts():
    """Workers, instances of tasks and task ids of one are those of the others, so that any of them compose."""
    spec = whole(
        core=Part[ShippedCore],
        writing=Part[Writing],
        names=Part[CollidingNames],
        deletion=Part[Deletion],
        connectors=Part[Connectors],
        compaction=Part[ConfigTopic],
        upgrades=Part[Upgrades],
    )
    for kind, parts in ((Instance.type, {"core", "deletion", "connectors"}), (Worker.type, {"core", "upgrades"})):
        having = {n.partition(".")[0] for n, k in spec.types.items() if any(s is kind for s in scalars(k))}
        assert having >= parts


class Server(Sort, bound="servers"):
    """A broker by another name."""


class Place(Nat, upto="places"):
    """Where a server stands."""


def test_sorts_of_a_part_may_be_others_of_the_whole():
    """A sort is another sort, or a number, in variables, parameters and quantifiers alike."""

    class Two(Protocol):
        a: Part[Allocation] = part(sorts={Broker: Server})
        b: Part[Allocation] = part(sorts={Broker: Place})

        crashed: SetOf[Server]

        @fault(budget="crashes")
        def crash_both(s, v: Server, p: Place):
            s.a.crash(v)
            s.b.crash(p)
            s.crashed[v] = True

    class TwoProperties(Properties, of=Two):
        a: Part[AllocationProperties]
        b: Part[AllocationProperties]

    for name, kind in (("a", Server.type), ("b", Place.type)):
        assert Two.spec.types[f"{name}.cursor"].keys == (kind,)
        assert Two.spec.actions[f"{name}.grant"].parameters == (("b", kind),)
        (bound,) = {k for n in subterms(TwoProperties.properties[f"{name}.blocks_lie_behind"].term)
                    if n.op == "forall" for _, k in n.data}  # fmt: skip
        assert bound == kind


def test_a_sort_of_another_module_is_another_sort_until_it_is_declared_the_same():
    """Instances of a connector's task become the owners of a transactional id."""

    class Source(Protocol):
        tasks: Part[ShippedCore] = part(joint=["open_producer"])
        txn: Part[V2Core] = part(joint=["initialize"], sorts={Client: Instance})

        @action(fair="weak")
        def open_producer(s, k: Instance, to: Nat):
            s.tasks.open_producer(k)
            s.txn.initialize(k, to)

    sorts = {k for kind in Source.spec.types.values() for k in getattr(kind, "keys", ()) if isinstance(k, AtomsType)}
    assert Client.type not in sorts
    assert Source.spec.types["txn.given"].keys[0] is Instance.type
    assert Source.spec.actions["open_producer"].fair == "weak"
    actors = {name: (a.by, a.to) for name, a in Source.spec.actions.items()}
    assert (actors["txn.send"], actors["txn.learn"]) == (("txn.owner", "p"), ("coordinator", "txn.owner"))


def test_mutations_are_made_in_the_part():
    """One mistake changes whatever takes the part's action; the whole has its own mistakes and those of its parts."""
    names = {(m.rule, m.name) for m in mutations(Desk.spec)}
    parts = {"ids": Allocation.spec, "lock": TicketLock.spec}
    theirs = {(m.rule, f"{name}.{m.name}") for name, spec in parts.items() for m in mutations(spec)}
    assert names == theirs | {("730.2", "serve: guard 1 dropped")}

    made = mutation(Desk.spec, "730.12", "ids.hand_out: guard 1 dropped")
    assert "ids.cursor[b] < ids.end[b]" not in [say(g.condition) for g in made.apply().actions["serve"].guards]
    assert len(mutations(TransactionalId.spec)) == len(mutations(Kraft.spec)) + len(mutations(V2Core.spec))


def test_mutations_of_a_part_of_a_part_and_several_at_once():
    """Each is found by its path, and they are made together."""
    made = mutated(Office.spec, [("730.8", "desk.ids.overlap"), ("730.2", "desk.serve: guard 1 dropped")])
    joint = made.actions["serve_in_no_time"]
    assert "desk.lock.mine[c] = t" not in [say(g.condition) for g in joint.guards]
    assert [say_update(u) for u in made.actions["desk.ids.grant"].updates][-1] == (
        "desk.ids.next := desk.ids.next + desk.ids.size - 1"
    )


def test_an_action_that_a_mutation_takes_out_takes_the_joint_one_along():
    """A mechanism that never happens does not happen together with another either."""

    class Closing(Protocol):
        open: SetOf[Broker]

        @action(rule="730.10")
        def close(s, b: Broker):
            s.open[b] = False

    class Twice(Protocol):
        door: Part[Closing]
        ids: Part[Allocation]

        @action
        def close_with_an_id(s, b: Broker):
            s.door.close(b)
            s.ids.hand_out(b)

    made = mutation(Twice.spec, "730.10", "door.close: never").apply()
    assert set(Twice.spec.actions) - set(made.actions) == {"door.close", "close_with_an_id"}


def test_dangers_are_those_of_the_parts():
    """A joint step is what its parts' steps are; what one part has is not outside of the whole; of two reasons the one
    that admits a hole is kept, unless the whole says what it means itself."""

    class Left(Protocol):
        on: SetOf[Broker]
        outside = (
            *not_of_this("it keeps no log", "cleaning", "truncation", "failed-append"),
            *not_of_this("it has no groups", "several-groups"),
        )

        @action(danger="duplicate")
        def go(s, b: Broker):
            s.on[b] = True

    class Right(Protocol):
        off: SetOf[Broker]
        outside = open_hole("nothing is cut off", "truncation", "several-groups")

        @action(danger=("late-copy", "failed-append"))
        def go(s, b: Broker):
            s.off = each(lambda c: s.off[c] | (c == b))

        @danger("several-partitions")
        def some(s):
            return exists(Broker, lambda b: s.off[b])

    class Both(Protocol):
        left: Part[Left]
        right: Part[Right]
        outside = not_of_this("whatever is cut off is not asked for", "several-groups")

        @action(danger="lost-answer")
        def together(s, b: Broker):
            s.left.go(b)
            s.right.go(b)

    spec = Both.spec
    assert spec.actions["together"].dangers == ("lost-answer", "duplicate", "late-copy", "failed-append")
    assert spec.presences["right.some"].danger == "several-partitions"
    assert {name: str(item) for name, item in spec.outside.items()} == {
        "cleaning": "not of this protocol: left: it keeps no log",
        "truncation": "open: right: nothing is cut off",
        "several-groups": "not of this protocol: whatever is cut off is not asked for",
    }


def test_properties_of_parts_are_those_of_the_whole():
    """Each under its path, with the same words and witnesses."""
    lifted = DeskProperties.properties["ids.no_id_twice"]
    own = AllocationProperties.properties["no_id_twice"]
    assert (lifted.role, lifted.rule, lifted.doc) == (own.role, own.rule, own.doc)
    assert say(lifted.term) == say(own.term).replace("used", "ids.used")
    assert DeskProperties.properties["ids.one_id"].of == "ids.no_id_twice"
    assert lifted.source.spec is Allocation.spec
    assert lifted.name_in_part == "no_id_twice"
    assert DeskProperties.properties["ids_differ"].source is None
    assert {n for n in TransactionalIdProperties.properties if n.startswith("ids.")} > {"ids.no_id_twice"}


def test_what_ceases_in_a_part_ceases_in_the_joint_steps_that_take_it():
    """A service names actions of the part, and the whole takes these in steps of other names."""

    class Asking(Protocol):
        asked: SetOf[Broker]
        copies: SetOf[Broker]

        @action
        def copy(s, b: Broker):
            s.copies[b] = True

        @action(fair="weak")
        def answer(s, b: Broker):
            s.asked[b] = False

    class AskingProperties(Properties, of=Asking):
        @service(rule="730.P3", ceasing=("copy",))
        def answered(s, b: Broker):
            """Every question is answered."""
            return leads_to(s.asked[b], ~s.asked[b])

    class Pair(Protocol):
        one: Part[Asking]
        other: Part[Asking]

        @action
        def copy_both(s, b: Broker):
            s.one.copy(b)
            s.other.copy(b)

    class PairProperties(Properties, of=Pair):
        one: Part[AskingProperties]

    assert PairProperties.properties["one.answered"].ceasing == ("one.copy", "copy_both")
    assert PairProperties.properties["one.answered"].parameters == (("b", Broker.type),)
    assert PairProperties.properties["one.answered"].serves


def test_the_same_protocol_may_be_several_parts():
    """Each has its own variables, and a joint step takes one action of each."""

    class Two(Protocol):
        first: Part[Allocation]
        second: Part[Allocation]

        @action
        def hand_over(s, b: Broker):
            require(s.first.cursor[b] == s.second.cursor[b])
            s.first.hand_out(b)
            s.second.give_up(b)

    spec = settle(Two.spec)
    assert [say_update(u) for u in spec.actions["hand_over"].updates] == [
        "first.used[first.cursor[b]] := first.used[first.cursor[b]] + 1",
        "first.cursor[b] := first.cursor[b] + 1",
        "second.has[b] := no",
    ]


def test_helpers_of_a_part_are_asked_from_outside():
    """With quantifiers of the part's own sorts inside, and whatever stands for its arguments."""

    class Holding(Protocol):
        held: SetOf[Broker]

        def alone(s, b):
            return ~s.held[b]

    class Outer(Protocol):
        inner: Part[Holding] = part(sorts={Broker: Server})

        chosen: Server

        @action
        def choose(s, v: Server):
            require(s.inner.alone(v) & s.inner.alone(s.chosen))
            s.chosen = v

    class OuterProperties(Properties, of=Outer):
        @lemma
        def chosen_is_alone(s):
            """The one that is chosen is held by none."""
            return s.inner.alone(s.chosen)

    assert [say(g.condition) for g in Outer.spec.actions["choose"].guards] == [
        "not inner.held[v]", "not inner.held[chosen]",
    ]  # fmt: skip
    assert say(OuterProperties.properties["chosen_is_alone"].term) == "not inner.held[chosen]"


def test_a_refinement_of_a_part_is_one_of_the_whole():
    """A part that refines its core does so in the whole."""

    class Two(Protocol):
        steps: Part[TwoSteps]
        ids: Part[Allocation]

    class TwoProperties(Properties, of=Two):
        steps: Part[AtFinish]

    (name,) = (n for n, p in AtFinish.properties.items() if p.role == "refinement")
    own, lifted = AtFinish.properties[name], TwoProperties.properties[f"steps.{name}"]
    assert lifted.mapping.keys() == own.mapping.keys()
    assert set(lifted.hints) == {f"steps.{a}" for a in own.hints}
    assert lifted.kind == "step" and lifted.initially is not None


def test_a_mistake_that_is_not_there_is_reported_by_path():
    """The names of mutations are those of the whole."""
    with pytest.raises(ModelError, match=r"ids\.hand_out: guard"):
        mutation(Desk.spec, "730.12", "hand_out: guard 1 dropped")
