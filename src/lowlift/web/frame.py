"""The frame of every page: the four steps, what was decided in each, and where a page leads."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from fastapi import Depends, Request

from lowlift._wording import counted
from lowlift.tables.classes import MOST_CLASSES
from lowlift.tables.columns import NUMERIC
from lowlift.web.cards import Way
from lowlift.web.grouping import mending
from lowlift.web.pages import show
from lowlift.web.sessions import Session
from lowlift.web.settings import MOST_PINNED, Setting, pinned_of
from lowlift.workflow.overview import Overview

STEPS = ("table", "columns", "protection", "publish")
#: What the last step says on the page of a publication, once it is written.
WRITTEN = "written"


@dataclass(frozen=True)
class Place:
    """Where a user is: a step, its setting, what is wrong with it, and settings to compare."""

    step: str
    setting: Setting
    pinned: tuple[Setting, ...] = ()
    #: What is wrong, by the name of the field.
    faults: Mapping[str, str] = field(default_factory=dict, compare=False)
    #: What was written into wrong fields, which the setting has not.
    written: Mapping[str, str] = field(default_factory=dict, compare=False)
    #: What corrects them by one click.
    ways: tuple[Way, ...] = field(default=(), compare=False)
    #: The columns beside the protected ones, where all of them were left out as identifiers.
    identifiers: tuple[str, ...] = field(default=(), compare=False)
    #: How far the publication is whose page this is.
    publication: str = field(default="", compare=False)

    @property
    def query(self) -> str:
        """The setting and those to compare, as a query."""
        return "&".join(filter(None, (self.setting.query, self.pins)))

    @property
    def pins(self) -> str:
        """The settings to compare, as a query."""
        return urlencode([("setting", other.query) for other in self.pinned])

    def address(self, step: str = "", **changes: Any) -> str:
        """Return the address of a step with this setting, or with some of it changed."""
        there = replace(self, setting=replace(self.setting, **changes))
        return f"/{step or self.step}?{there.query}"

    def field_address(self, name: str) -> str:
        """Return the address of a field: on this page, or on that of the step that has it."""
        step = _step_of(name)
        there = "" if step == self.step else self.address(step)
        return f"{there}#field-{quote(name)}"

    @property
    def elsewhere(self) -> str:
        """The step that has the first wrong field; empty where one is on this page."""
        wrong = [_step_of(name) for name in self.faults]
        return "" if not wrong or self.step in wrong else wrong[0].capitalize()

    def known(self, overview: Overview) -> "Place":
        """Return the place in a table that was looked at: columns named, bins checked by kind."""
        setting = self.setting.on(overview)
        faults = {**setting.wrong_bins(overview.kinds), **self.faults}
        faults = {**_wrong_sensitive(setting, overview), **faults}
        known = replace(self, setting=setting, faults=faults)
        rest = [each for each in overview.columns if each.name not in setting.sensitive]
        is_left_out = setting.is_empty and all(each.is_withheld for each in rest)
        names = tuple(each.name for each in rest) if is_left_out else ()
        return replace(known, ways=mending(known, overview), identifiers=names)

    @property
    def comparison(self) -> str:
        """The address that compares this setting with the others."""
        others = [other for other in self.pinned if other != self.setting][: MOST_PINNED - 1]
        queries = [("setting", other.query) for other in (self.setting, *others)]
        return f"/compare?{urlencode(queries)}"


def _step_of(name: str) -> str:
    """Return the step whose page has a field."""
    return "columns" if name.startswith(("bin:", "role:")) else "protection"


def _wrong_sensitive(setting: Setting, overview: Overview) -> dict[str, str]:
    """Return what is wrong with the columns to protect, by the name of the field."""
    found = {column.name: column for column in overview.columns}
    chosen = [found[name] for name in setting.sensitive if name in found]
    if chosen and all("constant" in column.flags for column in chosen):
        message = (
            f"{chosen[0].name!r} has the same value in every row: there is nothing to protect. "
            "Protect another column."
        )
        return {f"role:{chosen[0].name}": message}
    lacking = [column for column in chosen if column.missing]
    if setting.missing == "drop" and lacking:
        rows = counted(max(1, round((lacking[0].missing or 0) * overview.rows)), "row")
        have = "has" if rows == "1 row" else "have"
        message = (
            f"{rows} {have} no value of {lacking[0].name!r}, but would be published all the same. "
            "Take missing values as values of their own, or remove such rows from the table."
        )
        return {"missing": message}
    return {
        f"bin:{column.name}": f"{column.name!r} has {column.different:,} different numbers: to "
        "protect it, group them."
        for column in chosen
        if column.kind in NUMERIC and (column.different or 0) > MOST_CLASSES
        if column.name not in dict(setting.bins)
    }


def _place(request: Request) -> Place:
    query = request.query_params.multi_items()
    step = request.query_params.get("step", "") or request.url.path.split("/")[1]
    setting, faults = Setting.read(query)
    written = {name: value for name, value in query if name in faults}
    pinned = tuple(pinned_of(query))
    return Place(step if step in STEPS else "columns", setting, pinned, faults, written)


InPlace = Annotated[Place, Depends(_place)]


@dataclass(frozen=True)
class Step:
    """A step in the bar: its number, name, what was decided, and where it leads."""

    number: int
    name: str
    said: str
    address: str
    is_done: bool
    is_current: bool


def steps(session: Session, place: Place) -> list[Step]:
    """Return the bar: steps that cannot be gone to have no address."""
    setting = place.setting
    table = session.tables.get(setting.table)
    overview = None if table is None else session.found(("inspect", setting.table, table.version))
    rows = f", {counted(overview.rows, 'row')}" if isinstance(overview, Overview) else ""
    n_s, n_x = len(setting.sensitive), 0 if setting.is_empty else len(setting.released)
    can_publish = setting.is_chosen and not place.faults
    is_number_wrong = any(
        _step_of(name) == "protection" for name in place.faults if name in place.written
    )
    said = {
        "table": "choose one" if table is None else f"{table.name}{rows}",
        "columns": f"{n_s} protected, {n_x} to publish" if n_s else "choose what to protect",
        # A wrong number is not in the setting, which has another one for it.
        "protection": "a number must be corrected" if is_number_wrong else _limit(setting),
        "publish": _published(session, place) if can_publish else "",
    }
    may_go = {"table": True, "columns": table is not None, "publish": can_publish}
    here = STEPS.index(place.step)
    return [
        Step(
            number + 1,
            name.capitalize(),
            said[name] if may_go.get(name, setting.is_chosen) else "",
            _address(place, name) if may_go.get(name, setting.is_chosen) else "",
            number < here or (name == "publish" and said[name] == WRITTEN),
            number == here,
        )
        for number, name in enumerate(STEPS)
    ]


def _limit(setting: Setting) -> str:
    """Return the limit in a few words; one that is no number of times is said under Advanced."""
    return setting.promise if setting.factor else "a limit set under Advanced"


def _published(session: Session, place: Place) -> str:
    """Return how far the publication of this page is; on other pages, whether there is one."""
    is_published = session.n_published(place.setting.table) > 0
    return place.publication or ("published before" if is_published else "not yet written")


def _address(place: Place, name: str) -> str:
    return "/" if name == "table" else place.address(name)


def page(template: str, session: Session, place: Place, **context: Any) -> str:
    """Return the page of a step in its frame."""
    bar = steps(session, place)
    return show(template, session=session, place=place, steps=bar, **context)
