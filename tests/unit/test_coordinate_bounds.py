"""Bounds of the coordinates of allowed posteriors, where many symbols tie."""

import numpy as np
from scipy.optimize import linprog

import lowlift as ll
from lowlift._solver.polytope import Polytope
from lowlift._solver.proving import coordinate_bounds


def test_bounds_of_coordinates_are_tight_where_many_symbols_tie():
    polytope = Polytope(ll.Joint.random(15, 600, seed=0), ll.LIP(1.0))
    upper = coordinate_bounds(polytope)
    (lo, hi), lift = polytope.outer, polytope.rows[1:]
    for x in range(0, 600, 40):
        found = linprog(
            -np.eye(600)[x],
            A_ub=np.concatenate([lift, -lift]),
            b_ub=np.concatenate([hi[1:], -lo[1:]]),
            A_eq=np.ones((1, 600)),
            b_eq=[1.0],
        )
        assert -found.fun - 1e-9 <= upper[x] <= -found.fun + 1e-6
