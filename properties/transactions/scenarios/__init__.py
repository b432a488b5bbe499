"""How implementations are driven: `steps` and `shared`, then the runs themselves, what is watched meanwhile
(`monitoring`), and `agreement`, in which all of it comes together.
"""
