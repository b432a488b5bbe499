"""This package lets a user walk through a model in a browser, take steps and take them back, and ask for the shortest
run that breaks a promise.

`session` describes the end of a path of steps as plain data, and `choices` which steps are possible there, and why
others are not. `searching` runs searches from there, while the page stays usable, and `server` serves all of it over
HTTP, to this machine alone. `shelves` lists what was found in histories, in implementations and by proofs, from which
one may walk on. The page is made of the same parts as those of `fencepost.proofs.pages`.
"""
