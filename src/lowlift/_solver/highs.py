"""Linear programs as HiGHS takes them."""

from typing import Any

from lowlift._arrays import Floats, Ints


def linear_program(
    entries: tuple[Ints, Ints, Floats],
    cost: Floats,
    columns: tuple[Floats, Floats],
    rows: tuple[Floats, Floats],
    **options: Any,
) -> Any:
    """Return a solver that holds ``min cost . x`` with x and ``A x`` between their ends.

    `entries` are those of A by column: where each column starts, their rows, their values. HiGHS is
    loaded here, on first use; `options` are its own.
    """
    import highspy

    solver, model = highspy.Highs(), highspy.HighsLp()
    for name, value in {"output_flag": False, **options}.items():
        solver.setOptionValue(name, value)
    model.num_row_, model.num_col_ = len(rows[0]), len(cost)
    model.col_cost_, (model.col_lower_, model.col_upper_) = cost, columns
    model.row_lower_, model.row_upper_ = rows
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    starts, index, model.a_matrix_.value_ = entries
    model.a_matrix_.start_, model.a_matrix_.index_ = starts.astype("i4"), index.astype("i4")
    solver.passModel(model)
    return solver
