"""Arrays in, arrays out: the numerical rooms, compiled where it pays.

`lift` is NumPy; `merging` and `partitions` are compiled by numba and imported by the mechanisms on
first use.
"""
