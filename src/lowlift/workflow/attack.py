"""How well a model guesses S, or does a task, from rows as they are and as they are published."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import numpy.typing as npt

from lowlift._arrays import Bools, Floats, Ints
from lowlift._cells.utility import Score, Values
from lowlift.errors import InvalidInput, MissingExtra

#: Rows that models see, half of them to learn from; values of S that are told apart.
_ROWS, _MOST_CLASSES = 20_000, 20


def attacks(source: Values, sensitive: Sequence[Any], rows: Ints, donors: Ints) -> list[Score]:
    """Return how well gradient boosting guesses S from the columns.

    It learns on half of the rows, with their S, and guesses the S of the other half: from the rows
    as they are, and from what is published for them. Of the published rows, the better of two
    attackers counts: one learnt on rows as they are, the other on published ones.

    Parameters
    ----------
    source
        The columns.
    sensitive
        The value of S of each row.
    rows, donors
        Rows, and which row is published for each.
    """
    values, s = np.unique([repr(value) for value in sensitive], return_inverse=True)
    if not 2 <= len(values) <= _MOST_CLASSES:
        raise InvalidInput(
            f"an attack needs 2 to {_MOST_CLASSES} values of S; there are {len(values)}. "
            "Leave the attack out."
        )
    chosen = np.random.default_rng(0).permutation(len(rows))[:_ROWS]
    rows, donors = rows[chosen], donors[chosen]
    half = len(rows) // 2
    train, test = slice(half), slice(half, None)
    table, is_category = _matrix(source)
    learn = _learner("classifier", is_category)
    truth = s[rows[test]]
    if len(np.unique(s[rows[train]])) < len(values) or len(np.unique(truth)) < len(values):
        raise InvalidInput("an attack needs more rows of each value of S. Leave the attack out.")
    with _one_thread():
        learnt = learn(table[rows[train]], s[rows[train]])
        adapted = learn(table[donors[train]], s[rows[train]])
        raw = learnt.predict_proba(table[rows[test]])
        public = [one.predict_proba(table[donors[test]]) for one in (learnt, adapted)]
    base = float(np.bincount(truth).max() / len(truth))
    right = [float((part.argmax(axis=1) == truth).mean()) for part in (raw, *public)]
    curves = [_area(truth, part) for part in (raw, *public)]
    learned = f", learnt from {half:,} rows"
    return [
        Score(f"Guess of S{learned}", "share that is right", base, right[0], max(right[1:])),
        Score(f"Guess of S{learned}", "area under the ROC curve", 0.5, curves[0], max(curves[1:])),
    ]


def task_score(
    source: Values, name: str, publish: Callable[[Ints], tuple[Ints, Ints]]
) -> list[Score]:
    """Return how well one column is predicted from the others, learnt raw and learnt published.

    Both models are scored on the other half of the rows as they are, of which none is published in
    what the second one learns from.
    """
    chosen = np.random.default_rng(0).permutation(len(source[name]))[:_ROWS]
    half = len(chosen) // 2
    train, test = chosen[:half], chosen[half:]
    donors = train[publish(train)[1]]
    table, is_category = _matrix({k: v for k, v in source.items() if k != name})
    y = source[name]
    if y.dtype.kind == "f":
        train, test, donors = (part[~np.isnan(y[part])] for part in (train, test, donors))
        kind, measure, base = "regressor", "share of the variance", 0.0
    else:
        y = np.unique([repr(value) for value in y.tolist()], return_inverse=True)[1]
        kind, measure = "classifier", "share that is right"
        base = float(np.bincount(y[test]).max() / len(test))
    learn = _learner(kind, is_category)
    with _one_thread():
        models = [learn(table[part], y[part]) for part in (train, donors)]
        raw, published = (float(model.score(table[test], y[test])) for model in models)
    task = f"Task: {name} from the other columns, learnt from {len(train):,} rows"
    return [Score(task, measure, base, raw, published)]


def _learner(kind: str, is_category: Bools) -> Callable[[Floats, npt.NDArray[Any]], Any]:
    """Return what makes a model of columns and what it is to guess."""
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    except ImportError as error:
        raise MissingExtra("pip install 'lowlift[sklearn]' to score an attack.") from error
    made: Any = (
        HistGradientBoostingClassifier if kind == "classifier" else HistGradientBoostingRegressor
    )
    # Small trees with a penalty: rare values of S would else make them unstable.
    options = {
        "max_iter": 40,
        "max_leaf_nodes": 8,
        "min_samples_leaf": 40,
        "l2_regularization": 5.0,
    }
    options |= {"early_stopping": False, "random_state": 0}

    return lambda x, y: made(categorical_features=is_category, **options).fit(x, y)


def _one_thread() -> AbstractContextManager[object]:
    """Let models learn and guess in one thread: many wait for each other where cores are shared."""
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[object] = threadpool_limits(1, "openmp")
    return limits


def _matrix(source: Values) -> tuple[Floats, Bools]:
    """Return columns as numbers, and which are categories; the rarest beyond 250 are one."""
    found, is_category = [], []
    for values in source.values():
        is_category.append(values.dtype.kind != "f")
        if values.dtype.kind == "f":
            found.append(values)
            continue
        _, codes, counts = np.unique(
            [repr(value) for value in values.tolist()], return_inverse=True, return_counts=True
        )
        rank = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")
        found.append(np.minimum(rank[codes], 250).astype(np.float64))
    return np.column_stack(found), np.array(is_category)


def _area(truth: Ints, scores: Floats) -> float:
    """Return the area under the ROC curve, the mean of one against the rest over values of S."""
    from sklearn.metrics import roc_auc_score

    if scores.shape[1] == 2:
        return float(roc_auc_score(truth, scores[:, 1]))
    return float(roc_auc_score(truth, scores, multi_class="ovr"))
