"""How events become steps of the models where they differ in grain: of runs that are driven (`guessing`,
`driven`, `wire`), and of histories (`one_id`, `conforming`; `showing` is the way back).
"""
