"""Arrays in, arrays out: the numerical rooms, compiled where it pays.

`lift` is NumPy; `merging` is compiled by numba and is imported by the mechanisms on first use.
"""
