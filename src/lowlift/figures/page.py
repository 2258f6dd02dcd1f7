"""Pages that stand alone: one HTML file, no script, font or picture from outside."""

from importlib import resources
from typing import Any

from lowlift.errors import MissingExtra

__all__ = ["render"]


def render(package: str, template: str, **context: Any) -> str:
    """Return a template of a package, which may extend ``page.html``, filled in and escaped.

    Parameters
    ----------
    package
        The package whose folder ``templates`` has the template.
    template
        Its file name.
    context
        What it shows. Text is escaped; markup is passed as ``markupsafe.Markup``.
    """
    try:
        import jinja2
    except ImportError as error:
        raise MissingExtra("pip install 'lowlift[report]' to write pages.") from error
    folders = [resources.files(name) / "templates" for name in (package, "lowlift.figures")]

    def source(name: str) -> str | None:
        for folder in folders:
            if (folder / name).is_file():
                return (folder / name).read_text("utf-8")
        return None

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(source),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.get_template(template).render(**context)
