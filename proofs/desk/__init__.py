"""The desk is a page in which rules are edited and proved, in a folder of static files that any web server serves.

`parts` has what comes from registries, `build` writes the folder, and `questions` has what the first screen asks.
`inside` is what the page's own Python calls: Pyodide in a worker, with z3, and without NumPy.
"""
