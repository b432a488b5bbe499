"""Scripts that make broken implementations of transactions show their symptom, collected by name.

    @exposes(symptom.read_twice, "sequence_unchecked")
    def copy_older_than_the_window(script): ...

The name of a script says what happens; it is the same with the defect and without.
"""

EXPOSED = {}  # name of a broken implementation -> (symptom, script)


def exposes(symptom_of_it, *names):
    """The decorated script makes the symptom show in these implementations."""

    def register(play):
        for name in names:
            EXPOSED[name] = (symptom_of_it, play)
        return play

    return register
