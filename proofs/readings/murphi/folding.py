"""Folding: a long expression is written as a call of the function that the model's helper becomes, or by the local name
that the action gives it.

A function reads the state as it is when it is called, so that a rule calls none that reads what it has assigned
(`rules`).  What a function is given has to be of the type of its parameter: where it need not be, the parameter is any
number, or the call is written out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from fencepost.model.language.tree.terms import Term, free_locals, local, substitute, subterms, term
from fencepost.model.language.tree.types import INT, NAT, NumberType, OptionType, ScalarType, SeqType
from fencepost.proofs.readings.murphi.expressions import MurphiExpressions
from fencepost.proofs.readings.murphi.names import Names
from fencepost.proofs.readings.tla.blocks import Block, closed, hang, indented, remark
from fencepost.proofs.readings.tla.calls import Called, Form, Notes
from fencepost.proofs.readings.tla.expressions import Scope
from fencepost.proofs.readings.tla.folding import ROOM, Folding

COMMENT = "-- "
LOOP = {"LOOP last": "last", "LOOP place": "place"}
"""The names that a search for the latest entry has for itself."""


class MurphiFolding(Folding):
    """Names for terms, as functions."""

    names: Names
    expressions: MurphiExpressions

    def __init__(self, names: Names, notes: Notes, expressions: MurphiExpressions) -> None:
        self.expressions = expressions
        self._latest: dict[tuple[Term, Term, bool], str] = {}
        self._operators = {name: names.named("at", name, f"{name}_at") for name in names.lengths}
        self._operators["minus"] = names.named("operator", "minus")
        super().__init__(names, replace(notes, calls=list(self._sound(notes.calls))))
        expressions.fold, expressions.grouped = self.said, self.grouped
        expressions.latest, expressions.operator = self.latest, self.operator

    def _sound(self, calls: Sequence[Called]) -> Iterator[Called]:
        """Calls that can be ones of a function: each of its parameters has one type, or is a number."""
        first: dict[object, Form] = {}
        for call in calls:
            form = first.setdefault(call.form.key, call.form)
            pairs = zip(call.form.parameters, form.parameters, call.arguments, strict=True)
            if all(
                (isinstance(kind, NumberType) and isinstance(of, NumberType))
                or (kind == of and (not isinstance(kind, OptionType) or self.expressions.inside(given, kind)))
                for (_, kind), (_, of), given in pairs
            ):
                yield call

    def _form(self, calls: Sequence[Called]) -> Form:
        """A parameter that is given a number beyond its type is any number."""
        form, changes = calls[0].form, dict[str, Term]()
        for place, (name, kind) in enumerate(form.parameters):
            given = [call.arguments[place] for call in calls]
            if isinstance(kind, NumberType) and not all(self.expressions.inside(g, kind) for g in given):
                signed = any(map(self.expressions.may_be_negative, given))
                changes[name] = local(name, INT if signed else NAT)
        parameters = tuple((n, changes[n].type if n in changes else kind) for n, kind in form.parameters)
        return Form(form.helper, parameters, form.fixed, substitute(form.body, changes), form.doc)  # type: ignore[arg-type]

    def _applied(self, name: str, given: str) -> str:
        return f"{name}({given})"

    def type_of(self, node: Term) -> str:
        """The type of a variable or a function that holds the value of a term."""
        if node.op in ("latest", "length") and isinstance(node.args[0].type, SeqType):
            return f"0 .. {self.names.limit(node.args[0].type.bound)}"
        kind: ScalarType = node.type  # type: ignore[assignment]
        return self.names.set_of(kind if self.expressions.inside(node, kind) else INT)

    def _definition(self, name: str, form: Form) -> Block:
        scope = self.expressions.bind(form.parameters, LOOP if form.body.op == "latest" else {})
        given = "; ".join(f"{scope[n]}: {self.names.set_of(kind)}" for n, kind in form.parameters)
        head = [*remark(form.doc, word=COMMENT), f"function {name}({given}): {self.type_of(form.body)};"]
        if form.body.op == "latest":
            return [*head, *self._search(form.body, scope)]
        body = hang("return ", self.expressions.block(form.body, scope, ROOM - 10))
        return [*head, "begin", *indented(closed(body, ";"), 2), "end;"]

    def _search(self, node: Term, scope: Scope) -> Block:
        """The body of a function that looks for the latest entry."""
        sequence, upto, body = node.args
        kind = sequence.type
        assert isinstance(kind, SeqType)
        there, length = self.names.variable(sequence.data[0]), self.names.lengths[sequence.data[0]]
        inner = {**scope, node.data[0]: f"{there}[place]"}
        asked = [f"place <= {length}"]
        if upto.op != "length" or upto.args[0] is not sequence:
            asked.append(f"place <= {self.expressions.text(upto, scope, 5)}")
        passes = self.expressions.block(body, inner, ROOM - 14, 3)
        return [
            *("var", f"  last: 0 .. {self.names.limit(kind.bound)};", "begin", "  last := 0;"),
            f"  for place: {self.names.places(kind)} do",
            *indented(hang("if ", [" & ".join(asked), *closed(hang("& ", passes), " then")]), 4),
            *("      last := place;", "    end;", "  end;", "  return last;", "end;"),
        ]

    def operator(self, name: str) -> str:
        """The function that subtracts natural numbers, or that reads a sequence at any place: its name."""
        called = self._operators[name]
        if (called, (), ()) not in self._defined:
            lines = self._reading(name, called) if name in self.names.sequences else self._minus(called)
            self._defined[called, (), ()] = [*lines, "end;"]
        return called

    def _minus(self, called: str) -> Block:
        number = self.names.set_of(INT)
        head = f"function {called}(a: {number}; b: {number}): {number};"
        return [f"{COMMENT}Natural numbers stop at 0.", head, "begin", "  return (b < a ? a - b : 0);"]

    def _reading(self, name: str, called: str) -> Block:
        entry, there = self.names.sequences[name].entry, self.names.variable(name)
        head = f"function {called}(place: {self.names.set_of(INT)}): {self.names.set_of(entry)};"
        inside = f"1 <= place & place <= {self.names.lengths[name]}"
        body = f"  return ({inside} ? {there}[place] : {self.names.zero(entry)});"
        return [f"{COMMENT}Zero outside of the sequence.", head, "begin", body]

    def latest(self, node: Term, scope: Scope) -> str:
        """The call of a function that looks for the latest entry that passes, where no helper does."""
        sequence, upto, body = node.args
        kind, whole = sequence.type, upto.op == "length" and upto.args[0] is sequence
        assert isinstance(kind, SeqType)
        free = sorted(free_locals(body) - {node.data[0]})
        kinds = {n.data: n.type for n in subterms(body) if n.op == "local"}
        key = (sequence, body, whole)
        if key not in self._latest:
            self._latest[key] = name = self.names.named(
                "latest", repr((len(self._latest), *key)), self._called_so(sequence)
            )
            inner = self.expressions.bind([(n, kinds[n]) for n in free], LOOP | {"LOOP upto": "upto"})  # type: ignore[misc]
            given = [] if whole else [f"upto: {self.names.set_of(INT)}"]
            given += [f"{inner[n]}: {self.names.set_of(kinds[n])}" for n in free]  # type: ignore[arg-type]
            lets, self._lets = self._lets, None
            bound = upto if whole else local("LOOP upto", INT)
            again = term("latest", (sequence, bound, body), node.data, node.type)
            head = f"function {name}({'; '.join(given)}): 0 .. {self.names.limit(kind.bound)};"
            self._defined[name, (), ()] = [head, *self._search(again, inner)]
            self._lets = lets
        arguments = ([] if whole else [self.expressions.text(upto, scope)]) + [scope[n] for n in free]
        return f"{self._latest[key]}({', '.join(arguments)})"

    def _called_so(self, sequence: Term) -> str:
        count = sum(known is sequence for known, _, _ in self._latest)
        return f"latest_in_{sequence.data[0]}" + (f"_{count + 1}" if count else "")
