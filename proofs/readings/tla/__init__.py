"""This package is the TLA+ reading, which writes a protocol under bounds as a module that TLC checks, in a form that a
person would write.

``of_variant`` returns the text of a module and of its configuration. TLC finds in them the same states as the explorer,
and counts as many steps, because the bounds at which the explorer cuts are conditions of each action. The two tools
differ in two ways. In TLA+ a property of steps does not constrain a step that changes nothing. And where a property
fails, TLC stops at once, and the explorer at the end of the level, so that their counts belong to different parts of
the search.

To read the code, begin with `module`, then `actions` and `expressions`. `calls` and `folding` find out what a person
would name, and `liveness` has the progress properties.
"""

from fencepost.proofs.readings.tla.files import ExportError, files, of_variant, stem_of, write
from fencepost.proofs.readings.tla.module import Exported

__all__ = ["ExportError", "Exported", "files", "of_variant", "stem_of", "write"]
