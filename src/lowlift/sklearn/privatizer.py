"""The transformer: design a release at fit, draw it at transform."""

# ruff: noqa: N803 (X is scikit-learn's name)

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn import get_config
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from lowlift.criteria import Criterion
from lowlift.encodings import Encoded
from lowlift.errors import BoundViolated, InvalidInput, LowliftWarning
from lowlift.sklearn import frames
from lowlift.sklearn.parameters import MERGING, check_parameters, replaced, schema_of, seed_of
from lowlift.tables import Column, Counts, open_table
from lowlift.tables.frames import dtypes_of, framed, published_type
from lowlift.tables.schema import column_names
from lowlift.workflow import design_counted
from lowlift.workflow.bounds import broken_words, first_broken
from lowlift.workflow.columns import count

_TARGET, _BESIDE = "y", "sensitive_features"
#: How scikit-learn is to check arrays: values of any type, some missing.
_ARRAYS: Mapping[str, Any] = {"dtype": None, "ensure_all_finite": False}


class LiftPrivatizer(TransformerMixin, BaseEstimator):
    """Replace the columns of X by released ones that bound what they reveal of a sensitive S.

    `fit` counts S by X, designs a release and audits it; `transform` draws a released row for each
    row, and drops the sensitive columns.

    Parameters
    ----------
    sensitive
        Where S is. Names of columns of X: several are one S, each is audited on its own too.
        ``"y"``: the target given to `fit` (write ``["y"]`` for a column of that name).
        None: `fit` is given ``sensitive_features``. It must be said: there is no default.
    criterion
        The bound, in nats, such as ``lowlift.LIP(0.5)``. It must be said: there is no default.
    mechanism
        A name of ``lowlift.workflow.MECHANISMS``; "auto" takes the best that the size allows.
    columns
        The columns to release, jointly; None: all but the sensitive ones. Others are dropped.
    bins
        How numeric columns become symbols: by name, or one declaration for every numeric column
        that is released. A declaration is a list of edges, ``"width:10"``, ``"each"`` (whole
        numbers only) or ``"quantiles:4"``, which takes edges from the data and warns. Whole
        numbers in S are taken one by one; real numbers in S need bins by name.
    encoding
        "values": the released columns, with values of X drawn from P(x | y); types are kept, a
        binned column becomes text. "codes": one column, the number of the output. "groups": one
        column of texts that list the values merged, for mechanisms that merge.
    missing
        What a missing value is: a symbol of its own, or refused.
    unseen
        What `transform` does with a combination of values that `fit` did not see: refuse it, or
        treat it as the most common one.
    on_violation
        What `transform` does when S is in X and the bound does not hold on that table: refuse,
        or, in an evaluation that publishes nothing, go on.
    time_limit
        Seconds after which a search stops with the best release so far.
    random_state
        None draws from the operating system's entropy. A whole number repeats the draws, for
        tests: who knows it can undo them. It is not for publication.

    Attributes
    ----------
    release_
        What the mechanism made. Confidential: it has the counts of S by X.
    encoded_
        The release in the form that is published, audited in that form.
    audit_
        The audit of what is published.
    leakage_
        The leakages of what is published, below and above, in nats.
    nmi_
        I(X;Y) / H(X) of what is published.
    share_changed_
        The expected share of rows whose released values are not their own.
    n_features_in_
        Columns seen at fit, the sensitive ones among them.
    feature_names_in_
        Their names, when X had some.

    Guarantee
        At the table that was fitted, one drawn row satisfies the criterion by the exact audit of
        the channel that is drawn. On another table the bound is checked when sensitive columns
        are in it; without S it cannot be. Rows keep their order and index, as scikit-learn needs:
        shuffle them before you publish. Transforming the same rows twice makes two releases.

    Examples
    --------
    >>> import pandas as pd
    >>> from lowlift import LIP
    >>> table = pd.DataFrame({"ward": list("aabbcccc") * 9, "ill": [1, 1, 0, 0, 1, 0, 1, 0] * 9})
    >>> privatizer = LiftPrivatizer(sensitive="ill", criterion=LIP(0.5)).fit(table)
    >>> privatizer.audit_.is_satisfied, round(privatizer.nmi_, 4)
    (True, 0.6725)
    >>> privatizer.transform(table).columns.tolist()
    ['ward']
    """

    release_: Any
    encoded_: Any
    audit_: Any
    leakage_: Any
    nmi_: float
    share_changed_: float
    n_features_in_: int
    feature_names_in_: npt.NDArray[Any]
    _dtypes: dict[str, Any]
    _library: str

    def __init__(
        self,
        sensitive: str | Sequence[str] | None = None,
        criterion: Criterion | None = None,
        mechanism: str = "auto",
        *,
        columns: Sequence[str] | None = None,
        bins: Any = None,
        encoding: str = "values",
        missing: str = "value",
        unseen: str = "error",
        on_violation: str = "raise",
        time_limit: float = 60.0,
        random_state: int | None = None,
    ) -> None:
        self.sensitive = sensitive
        self.criterion = criterion
        self.mechanism = mechanism
        self.columns = columns
        self.bins = bins
        self.encoding = encoding
        self.missing = missing
        self.unseen = unseen
        self.on_violation = on_violation
        self.time_limit = time_limit
        self.random_state = random_state

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``criterion__epsilon`` and the like replace the criterion by a new one.

        Raises
        ------
        InvalidInput
            For a parameter that the criterion does not have, or a budget that it refuses.
        """
        prefix = "criterion__"
        nested = {name: params.pop(name) for name in list(params) if name.startswith(prefix)}
        if nested:
            changed = {name.removeprefix(prefix): value for name, value in nested.items()}
            criterion = params.get("criterion", self.criterion)
            params["criterion"] = replaced(criterion, changed)
        super().set_params(**params)
        return self

    def __sklearn_tags__(self) -> Tags:
        """Say what the input may be."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.input_tags.allow_nan = True
        tags.target_tags.required = self._is_target
        is_drawn = self.mechanism not in MERGING or self.encoding == "values"
        tags.non_deterministic = is_drawn and self.random_state is None
        tags.transformer_tags.preserves_dtype = []
        return tags

    def fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None) -> Self:
        """Count S by X and design a release.

        Parameters
        ----------
        X
            A pandas or polars frame, or an array, whose columns are then x0, x1, and so on.
        y
            The sensitive values when ``sensitive="y"``; else it is not looked at.
        sensitive_features
            The sensitive values when `sensitive` is None.

        Raises
        ------
        InvalidInput
            For parameters or columns that do not fit; a ValueError.
        BoundViolated
            When no release of that encoding satisfies the bound.
        """
        check_parameters(self)
        criterion: Any = self.criterion
        frame, library = self._frame(X, reset=True)
        frame, sensitive = self._with_sensitive(frame, X, y, sensitive_features)
        names = tuple(map(str, frame.columns))
        released = (
            [name for name in names if name not in sensitive]
            if self.columns is None
            else column_names(self.columns, "columns")
        )
        names = tuple(name for name in names if name in {*sensitive, *released})
        frame = frame[list(names)]
        with open_table(frame) as table:
            if tuple(table.kinds) != names:
                raise InvalidInput(
                    "columns of X must have different names, upper and lower case being the same; "
                    "some have not. Rename them."
                )
            schema = schema_of(sensitive, released, self.bins, self.missing, table.kinds)
            joint, _ = count(table, schema)
        made = design_counted(
            joint,
            joint.origin,
            criterion,
            mechanism=self.mechanism,
            encoding=self.encoding,
            time_limit=self.time_limit,
        )
        if not made.is_satisfied:
            raise BoundViolated(
                f"{made.chosen.name} does not satisfy {criterion} for each sensitive column alone. "
                "Use ALIP, LIP, LDP or AlphaLift, which protect each of them."
            )
        self.release_, self.encoded_ = made.release, made.encoded
        self.audit_, self._library = made.release.audit, library
        self.leakage_, self.nmi_ = self.audit_.leakage, self.audit_.nmi
        self.share_changed_ = made.encoded.share_changed
        dtypes = dtypes_of(frame, "polars" if library == "polars" else "pandas")
        self._dtypes = {
            output.name: published_type(dtypes[output.name], output)
            for output, column in zip(made.encoded.columns, made.spec.released, strict=False)
            if made.encoded.name == "values" and column.output_kind == column.kind
        }
        return self

    def transform(self, X: Any) -> Any:
        """Draw a released row for each row of X.

        Parameters
        ----------
        X
            As at fit; sensitive columns may be left out of a frame, and are dropped.

        Returns
        -------
        A frame of the library of X, or an array; or what `set_output` asked for.

        Raises
        ------
        InvalidInput
            For other columns or kinds than at fit, or unseen values that are refused.
        BoundViolated
            When S is in X, the bound does not hold there, and `on_violation` is "raise".
        """
        check_is_fitted(self)
        check_parameters(self)
        frame, library = self._frame(X, reset=False)
        sensitive = self._sensitive_in(frame)
        numbers, counts = frames.numbers_of(frame, self.encoded_, sensitive, self.unseen)
        if sensitive:
            self._check_here(counts)
        drawn = self.release_.sample_indices(numbers, seed_of(self.random_state))
        asked = getattr(self, "_sklearn_output_config", {}).get("transform")
        wanted = asked or get_config()["transform_output"]
        wanted = library if wanted == "default" else wanted
        if wanted not in {"pandas", "polars"}:
            return frames.array_of(self.encoded_.columns, drawn)
        index = getattr(X, "index", None) if library != "polars" else None
        dtypes = self._dtypes if wanted == self._library else None
        return framed(self.encoded_.columns, drawn, wanted, index=index, dtypes=dtypes)

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the names of the released columns.

        Parameters
        ----------
        input_features
            Names of the columns of an array; those of a frame must be its own.
        """
        check_is_fitted(self)
        known = self._names_in
        given = known if input_features is None else tuple(input_features)
        if hasattr(self, "feature_names_in_") and given != known:
            raise InvalidInput("input_features is not equal to feature_names_in_")
        if len(given) != len(known):
            raise InvalidInput(
                "input_features should have length equal to number of features "
                f"({len(known)}), got {len(given)}"
            )
        named = dict(zip(known, map(str, given), strict=True))
        origin = self.encoded_.origin
        renamed = tuple(replace(column, name=named[column.name]) for column in origin.released)
        release = self.release_.with_table(replace(origin, released=renamed))
        made = Encoded(self.encoded_.name, release).columns
        return np.array([column.name for column in made], dtype=object)

    @property
    def _is_target(self) -> bool:
        return isinstance(self.sensitive, str) and self.sensitive == _TARGET

    @property
    def _has_columns(self) -> bool:
        return self.sensitive is not None and not self._is_target

    @property
    def _names_in(self) -> tuple[str, ...]:
        names = getattr(self, "feature_names_in_", None)
        return tuple(f"x{k}" for k in range(self.n_features_in_)) if names is None else tuple(names)

    def _frame(self, X: Any, *, reset: bool) -> tuple[Any, str]:
        """Return X as a frame, and what it was; refuse other columns than at fit, S aside."""
        library = frames.library_of(X)
        if library == "array":
            is_frame = hasattr(X, "columns")  # its names are no texts: like an array it has none
            checked = validate_data(
                self, X, reset=reset, skip_check_array=is_frame, **({} if is_frame else _ARRAYS)
            )
            return frames.frame_of(X, checked, self._names_in), library
        names = tuple(map(str, X.columns))
        if reset or not self._differs_in_sensitive(names):
            # Not every pair of versions of scikit-learn and polars lets it read the names of X.
            named = pd.DataFrame(columns=list(names))
            validate_data(self, named, reset=reset, skip_check_array=True)
        return X, library

    def _differs_in_sensitive(self, names: Sequence[str]) -> bool:
        """Tell whether these are the columns of fit, in order, but for some of S."""
        if not (self._has_columns and hasattr(self, "feature_names_in_")):
            return False
        hidden = set(self.release_.schema.sensitive) - set(names)
        return list(names) == [name for name in self.feature_names_in_ if name not in hidden]

    def _with_sensitive(self, frame: Any, X: Any, y: Any, beside: Any) -> tuple[Any, list[str]]:
        """Return the frame with S among the columns, and its names."""
        if self._has_columns:
            if beside is not None:
                raise InvalidInput(
                    "sensitive_features must be left out when sensitive names columns of X."
                )
            return frame, column_names(self.sensitive, "sensitive")
        name, values = (_TARGET, y) if self._is_target else (_BESIDE, beside)
        if values is None:
            raise InvalidInput(
                "S is the target: fit requires y to be passed, but the target y is None."
                if self._is_target
                else "fit must know S; it does not. Name columns of X (sensitive=[...]), the "
                "target (sensitive='y'), or pass sensitive_features to fit."
            )
        if name in frame.columns:
            raise InvalidInput(
                f"X must not have a column {name!r} when S is given beside it. Write "
                f"sensitive=[{name!r}] if the column is meant, or rename it."
            )
        return frames.with_column(frame, name, frames.target_of(X, values, name)), [name]

    def _sensitive_in(self, frame: Any) -> tuple[Column, ...]:
        """Return the sensitive columns that are there to be checked."""
        if not self._has_columns or self.on_violation == "ignore":
            return ()
        return tuple(c for c in self.encoded_.origin.sensitive if c.name in frame.columns)

    def _check_here(self, counts: Counts) -> None:
        """Audit the channel under the counts of this table."""
        found = first_broken(counts, self.encoded_)
        if found is None:
            return
        if self.on_violation == "warn":
            warnings.warn(f"{broken_words(found)} Do not publish it.", LowliftWarning, stacklevel=4)
            return
        raise BoundViolated(
            f"{broken_words(found)} Nothing was released. Fit on this table to publish it; where "
            "nothing is published, as in cross-validation, set on_violation='warn'."
        )
