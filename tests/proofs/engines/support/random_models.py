"""Small models drawn at random: variables of three values, steps that read and write some of them, and properties."""

import random

from fencepost.model.language.properties import Property
from fencepost.model.language.specs import Action, Spec
from fencepost.model.language.tracing.recording import Guard, Update
from fencepost.model.language.tree.terms import Term, boolean, both, constant, negation, state, term
from fencepost.model.language.tree.types import NumberType

VALUE = NumberType("Value", upto="top")
BOUNDS = {"top": 2}
HERE = ("", 0)


def model(seed: int, variables: int = 5, actions: int = 13) -> tuple[Spec, dict[str, Property]]:
    """A model, and four properties of it of three kinds; of most models some hold and some do not."""
    draw = random.Random(seed)
    names = [f"x{n}" for n in range(variables)]

    def read(primed: bool = False) -> Term:
        return state(draw.choice(names), VALUE, primed)

    def literal(primed: bool = False) -> Term:
        op = draw.choice(("eq", "eq", "le"))
        right = constant(draw.randrange(3), VALUE) if draw.random() < 0.8 else read(primed)
        found = boolean(op, read(primed), right)
        return negation(found) if draw.random() < 0.3 else found

    def condition() -> Term:
        return boolean("or", literal(), both(literal(), literal())) if draw.random() < 0.2 else literal()

    def value() -> Term:
        kind = draw.random()
        if kind < 0.5:
            return constant(draw.randrange(3), VALUE)
        if kind < 0.7:
            return read()
        return term("add", (read(), constant(1, VALUE)), None, VALUE)

    def action(name: str, mine: str, old: int) -> Action:
        """A step of one variable, perhaps where others allow it, perhaps with another."""
        new = (old + 1) % 3 if draw.random() < 0.8 else (old + 2) % 3
        guards = [boolean("eq", state(mine, VALUE), constant(old, VALUE))]
        guards += [condition() for _ in range(draw.choice((0, 0, 1, 1, 2)))]
        updates = [Update(mine, constant(new, VALUE), None, HERE)]
        if draw.random() < 0.4:
            updates.append(Update(draw.choice([v for v in names if v != mine]), value(), None, HERE))
        taken = tuple(Guard(guard, None, HERE) for guard in guards)
        return Action(name, (), taken, (), tuple(updates), "", None, None, None, "", HERE)

    def asked(name: str, role: str, shape: Term) -> Property:
        return Property(name, role, None, (shape,), (), None, "drawn at random")

    def rare() -> Term:
        chosen = draw.sample(names, draw.choice((2, 3)))
        return both(*(boolean("eq", state(v, VALUE), constant(draw.randrange(3), VALUE)) for v in chosen))

    taken = {f"a{n}": action(f"a{n}", names[n % variables], n // variables % 3) for n in range(actions)}
    spec = Spec("Drawn", "", dict.fromkeys(names, VALUE), frozenset(), {}, (), (), taken)
    properties = [
        asked("one", "lemma", negation(rare())),
        asked("other", "lemma", negation(boolean("or", rare(), rare()))),
        asked("there", "witness", rare()),
        asked("step", "step", negation(both(literal(), literal(), literal(primed=True)))),
    ]
    return spec, {item.name: item for item in properties}
