"""A model to walk through in a browser: take steps, take them back, ask for the shortest run that breaks a promise.

Read `session` (what is at the end of a path of steps, as plain data), `choices` (which steps are possible there, and
why others are not), `searching` (what is looked for from there, while the page stays usable), `server` (these over
HTTP, to this machine alone).  `shelves` lists what was found in histories, of implementations and by proofs,
from which one may walk on.  The page is made of the same parts as those of `fencepost.proofs.pages`.
"""
