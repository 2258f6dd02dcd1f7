"""Pages that stand alone: one HTML file, no script, font or picture from outside."""

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

from lowlift.errors import MissingExtra

if TYPE_CHECKING:
    from jinja2 import Environment

#: Where templates are looked for after the package's own; packages above use them too.
_SHARED = ("lowlift.report", "lowlift.figures")


class Table(NamedTuple):
    """A table of texts; `hidden` rows are left out at its end."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    #: The columns that hold numbers.
    numeric: tuple[int, ...] = ()
    hidden: int = 0


def render(package: str, template: str, **context: Any) -> str:
    """Return a template of a package's folder ``templates``, filled in and escaped.

    What is not there is looked for in those of the report (``sections.html``) and of the figures
    (``page.html``, ``style.css``).
    """
    return environment_of(package).get_template(template).render(**context)


@cache
def environment_of(package: str) -> "Environment":
    """Return the jinja2 environment of a package, templates compiled once; see `render`."""
    try:
        import jinja2
    except ImportError as error:
        raise MissingExtra("pip install 'lowlift[report]' to write pages.") from error
    folders = [resources.files(name) / "templates" for name in dict.fromkeys((package, *_SHARED))]

    def source(name: str) -> str | None:
        for folder in folders:
            if (folder / name).is_file():
                return (folder / name).read_text("utf-8")
        return None

    return jinja2.Environment(
        loader=jinja2.FunctionLoader(source),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
