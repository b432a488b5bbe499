"""The TLA+ reading: a protocol under bounds as a module that TLC checks, written as a person would write it.

``of_variant`` gives the text of a module and of its configuration.  TLC finds in them the states that the explorer
finds, and counts as many steps: the bounds that the explorer cuts at stand in each action as conditions.  Two things
differ.  To TLA+ a property of steps says nothing of a step that changes nothing.  And where a property fails, TLC stops
at once, and the explorer at the end of the level, so that their counts are those of different parts of the search.

To read the code, begin with `module`, then `actions` and `expressions`; `calls` and `folding` find out what a person
would name; `liveness` has what comes in the end.
"""

from fencepost.proofs.readings.tla.files import ExportError, files, of_variant, stem_of, write
from fencepost.proofs.readings.tla.module import Exported

__all__ = ["ExportError", "Exported", "files", "of_variant", "stem_of", "write"]
