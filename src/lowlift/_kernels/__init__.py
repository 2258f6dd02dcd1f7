"""Arrays in, arrays out: numerical functions, compiled where it pays.

`lift` is NumPy. The others are compiled by numba on first use; `compilation` says how.
"""
