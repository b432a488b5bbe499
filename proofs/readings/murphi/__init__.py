"""The Murphi reading: a protocol under bounds as one module that Rumur checks, written as a person would write it.

``of_variant`` gives the text of a module.  Rumur finds in it the states that the explorer finds: the bounds that the
explorer cuts at stand in each rule as conditions.  It says "N states, M rules fired": N are the distinct states, and M
is one less than what the explorer has generated.  Both count each step that is taken, for each choice of an action's
parameters, and also to a state that is known; the explorer counts the start besides.  Where an invariant fails, Rumur
stops at once, and the explorer at the end of the level, so that their counts are those of different parts of the
search.

Not exported is all that is not said of single states: properties of steps, refinements, and what comes in the end.

To read the code, begin with `module`, then `rules`, `effects` and `expressions`; `names` has the types, and `folding`
the functions.  What does not depend on the language is shared with the TLA+ reading.
"""

from fencepost.proofs.readings.murphi.files import files, of_variant
from fencepost.proofs.readings.murphi.module import Exported

__all__ = ["Exported", "files", "of_variant"]
