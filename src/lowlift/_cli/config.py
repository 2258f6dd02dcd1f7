"""``lowlift.toml``: tables, columns and bounds, for `lowlift gate` and `lowlift publish`."""

import difflib
import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lowlift._cli import options as o
from lowlift._cli.bound_options import Bound, Budgets
from lowlift._cli.ledger_options import Ledgered
from lowlift.errors import InvalidInput

if TYPE_CHECKING:
    from lowlift.criteria import Criterion
    from lowlift.workflow import Asked

#: The name that is looked for where none is given.
NAME = "lowlift.toml"
#: What names a bound: a table's own replaces the whole of the default one.
_BOUND = ("at_most", *(field.name for field in fields(Budgets) if field.name != "at_most"))
#: Where things are, which may change without a new release.
_PLACES = ("table", "out", "ledger", "key_file", "engine", "time_limit", "earlier", "continue")
_DRAWS = ("keep", "accept_uncovered", "keep_order", "unseen")


@dataclass(frozen=True)
class Job:
    """A table of the file: what leaves, and the bound that it must keep."""

    name: str
    given: Mapping[str, Any]

    @property
    def source(self) -> str:
        """The table."""
        found: str = self.given["table"]
        return found

    @property
    def out(self) -> str | None:
        """Where the safe table is published; None where the table leaves as it is."""
        return self.given.get("out")

    @property
    def engine(self) -> str | None:
        """What reads the table."""
        return self.given.get("engine")

    @property
    def sensitive(self) -> list[str]:
        """The columns of S."""
        return _texts(self.given.get("sensitive"))

    @property
    def released(self) -> list[str] | None:
        """The columns of X; None where all others are published."""
        return _texts(self.given.get("released")) or None

    @property
    def others_stay(self) -> bool:
        """Whether columns that the file does not name are said not to leave."""
        return bool(self.given.get("others_stay", False))

    @cached_property
    def criterion(self) -> "Criterion":
        """The bound."""
        texts = [str(each) for each in _list(self.given.get("at_most"))]
        named = {key: self.given[key] for key in _BOUND[1:] if key in self.given}
        whom = {"promise": self.given.get("for", "table")}
        level = {key: self.given[key] for key in ("confidence",) if key in self.given}
        return Bound(at_most=texts or None, **named, **whom, **level).made(self.sensitive)

    @cached_property
    def _reading(self) -> o.Reading:
        bins = [f"{name}={_bins(form)}" for name, form in self.given.get("bins", {}).items()]
        return o.Reading(bins or None, self.given.get("missing", "value"))

    @cached_property
    def method(self) -> o.Method:
        """How a release is made and written."""
        names = ("mechanism", "encoding", "escape_formulas")
        return o.Method(**{key: self.given[key] for key in names if key in self.given})

    @property
    def as_it_is(self) -> "Asked":
        """The columns that are published as they are."""
        return self._reading.asked(self.sensitive, self.released)

    @property
    def as_designed(self) -> "Asked":
        """The columns that a release is made of."""
        cells = self.given.get("cells")
        weights = [f"{name}={number}" for name, number in self.given.get("weights", {}).items()]
        rows = o.Rows(
            None if cells is None else str(cells), self.given.get("min_rows"), weights or None
        )
        return rows.asked(self.sensitive, self.released, self._reading, self.method)

    @cached_property
    def draws(self) -> o.Draws:
        """How rows are drawn."""
        key = self.given.get("key_file")
        how = {name: self.given[name] for name in _DRAWS[1:] if name in self.given}
        keep = _texts(self.given.get("keep")) or None
        file = None if key is None else Path(key)
        return o.Draws(keep, id_column=self.given.get("id"), key_file=file, **how)

    @property
    def ledgered(self) -> Ledgered:
        """Which ledger is asked and told."""
        names = ("to", "total", "accept_unaudited")
        given = {key: self.given[key] for key in names if key in self.given}
        ledger = self.given.get("ledger")
        return Ledgered(
            ledger=None if ledger is None else Path(ledger),
            people=self.given.get("people", self.name),
            earlier=[Path(file) for file in _texts(self.given.get("earlier"))],
            **given,
        )

    @property
    def settings(self) -> str:
        """A digest of what is asked for: not of where things are, but of the key."""
        plain = {key: value for key, value in self.given.items() if key not in _PLACES}
        if self.draws.key_file is not None:
            from lowlift.workflow import read_key

            secret = b"lowlift settings" + read_key(self.draws.key_file)
            plain["key"] = hashlib.sha256(secret).hexdigest()
        text = json.dumps(plain, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()


def read_config(path: Path) -> tuple[Job, ...]:
    """Return the tables of a file; relative paths are left as they are.

    Raises
    ------
    InvalidInput
        For a file that is not there or no TOML, an unknown key, a value of the wrong kind, a table
        without columns, or two tables with the same output.
    """
    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise InvalidInput(
            f"the settings must be in a file; {path.name} is not there. Write one "
            "(lowlift explain config), or name it with --config."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path.name} must be TOML; {_place(error)}.") from None
    _refuse_unknown(path.name, content, ("defaults", "tables"))
    tables = content.get("tables")
    if not isinstance(tables, dict) or not tables:
        raise InvalidInput(
            f"{path.name} must name a table; it has none. Add [tables.NAME] with table, sensitive "
            "and a bound."
        )
    defaults = _checked(path.name, "defaults", content.get("defaults", {}))
    jobs = [
        Job(name, _merged(defaults, _checked(path.name, f"tables.{name}", own)))
        for name, own in tables.items()
    ]
    for job in jobs:
        _check_job(path.name, job)
    _refuse_same_output(path.name, jobs)
    return tuple(jobs)


def _place(error: Exception) -> str:
    """Return where a text is no TOML, without the text."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return f"it is not: {str(error)[:1].lower()}{str(error)[1:]}"


def _checked(file: str, where: str, given: Any) -> dict[str, Any]:
    """Return the keys of a table; refuse unknown ones, and values of the wrong kind."""
    from lowlift.schemas import check, load

    if not isinstance(given, dict):
        raise InvalidInput(f"{file}: {where} must be a table, as in [{where}]; it is not.")
    _refuse_unknown(f"{file}: {where}", given, load("config")["$defs"]["settings"]["properties"])
    try:
        check(given, "config", "settings")
    except InvalidInput as error:
        raise InvalidInput(f"{file}: {where}.{error}") from None
    return given


def _refuse_unknown(where: str, given: Mapping[str, Any], known: Any) -> None:
    other = next((key for key in given if key not in known), None)
    if other is None:
        return
    if other in {"password", "key", "seed"}:
        fix = "Secrets and seeds do not stand in this file: give key_file, or set PGPASSWORD."
    else:
        near = difflib.get_close_matches(other.replace("-", "_"), known, 1)
        fix = f"Did you mean {near[0]!r}?" if near else f"It may have: {', '.join(known)}."
    raise InvalidInput(f"{where} has the unknown key {other!r}. {fix}")


def _merged(defaults: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    names_bound = not set(_BOUND).isdisjoint(own)
    kept = {k: v for k, v in defaults.items() if not (names_bound and k in _BOUND)}
    return {**kept, **own}


def _check_job(file: str, job: Job) -> None:
    where = f"{file}: tables.{job.name}"
    if lacking := _lacking(job):
        raise InvalidInput(f"{where}: {lacking}")
    try:
        _ = job.criterion, job.as_it_is if job.out is None else job.as_designed
    except InvalidInput as error:
        error.message = f"{where}: {error.message}"
        raise


def _lacking(job: Job) -> str:
    """Return which key a table must have and has not."""
    if "table" not in job.given:
        return 'say which table it is, for example table = "people.csv".'
    if not job.sensitive:
        return 'sensitive columns: name at least one, for example sensitive = "disease".'
    if job.out is None and not job.released:
        return (
            "a table that leaves as it is must name the released columns, for example released = "
            '["age"]; to publish a safe table instead, give out = "safe.csv".'
        )
    if set(_BOUND).isdisjoint(job.given):
        return "name a bound, for example at_most = 2."
    return ""


def _refuse_same_output(file: str, jobs: list[Job]) -> None:
    from lowlift.workflow.sanitizing import files_beside

    places: dict[Path, str] = {}
    for job in jobs:
        if job.out is None:
            continue
        for place in (Path(job.out), *files_beside(job.out).values()):
            other = places.setdefault(place, job.name)
            if other != job.name:
                raise InvalidInput(
                    f"{file}: each table must have an out of its own; {other!r} and {job.name!r} "
                    f"would both write {place.name}. Rename one."
                )


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def _texts(value: Any) -> list[str]:
    return [str(each) for each in _list(value)]


def _bins(form: Any) -> str:
    """Return bins as the command line takes them; a list is of edges."""
    return ",".join(str(edge) for edge in form) if isinstance(form, list) else str(form)
