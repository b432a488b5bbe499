"""How events become steps of the models where they differ in grain: of runs that are driven (`driven`), of
histories (`conforming`), and the way back (`showing`).
"""
