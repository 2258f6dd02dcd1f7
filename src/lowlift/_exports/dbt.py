"""A release in a dbt project: a model that draws, and a test that fails where it must."""

import json
import re
import secrets
from dataclasses import dataclass, field

from sqlglot import exp

from lowlift._exports.checks import Check, limits_of
from lowlift._exports.dialects import SUBKEY
from lowlift._exports.files import Export
from lowlift._exports.statements import Statement
from lowlift.errors import InvalidInput
from lowlift.tables.dialects import Expression, table_named

_MODEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,59}")
#: Where Jinja would begin to read, and line ends that it would change.
_MARKS = re.compile(r"\{(?=[{%#])|\r")


@dataclass(frozen=True)
class Template:
    """SQL with places that dbt fills.

    A place has a random name while the SQL is written, so that no name or value of a table can be
    taken for one.
    """

    places: dict[str, str] = field(default_factory=dict)

    def _place(self, content: str) -> str:
        name = f"place_{secrets.token_hex(16)}"
        self.places[name] = content
        return name

    def table(self, *name: str) -> Expression:
        """Return a model, or a table of a source, by its name."""
        words = ", ".join(json.dumps(part) for part in name)
        return table_named(
            self._place(f"{{{{ {'ref' if len(name) == 1 else 'source'}({words}) }}}}")
        )

    def subkey(self, model: str) -> Expression:
        """Return the text of the environment variable that has the subkey of a model.

        Each model has its own: with that of another release its draws would follow those of that
        release. Where it is not set, the statement refuses an empty text; dbt itself would refuse
        every command of the whole project.
        """
        name = f"{SUBKEY}_{model}".upper()
        return exp.Literal.string(self._place(f'{{{{ env_var("{name}", "") }}}}'))

    def text(self, sql: str) -> str:
        """Return SQL as dbt reads it: Jinja finds nothing to run but the places."""
        found = _MARKS.sub(lambda mark: "{{ '{' }}" if mark[0] == "{" else "{{ '\\r' }}", sql)
        for name, content in self.places.items():
            # A table loses its quotes, which dbt writes itself; a text keeps them.
            for quoted in (f'"{name}"', f"`{name}`", name):
                found = found.replace(quoted, content)
        return found


def project_files(
    statement: Statement, template: Template, model: str, head: str, *, accept_unchecked: bool
) -> Export:
    """Return the two files: the model and its test.

    Raises
    ------
    InvalidInput
        When the model cannot have that name, or the test cannot check the criterion.
    """
    if not _MODEL.fullmatch(model):
        raise InvalidInput(
            f"a dbt model must be named by letters, digits and underscores; got {model!r}."
        )
    sides = [] if accept_unchecked else limits_of(statement.encoded.release.criterion)
    check = Check(statement, template.table(model), sides).select()
    drawn = template.text(statement.write(statement.select()))
    settings = '{{ config(materialized="table") }}'
    return Export(
        {
            f"models/{model}.sql": f"{head}{settings}\n{drawn}\n",
            f"tests/{model}_is_protected.sql": f"{head}{template.text(statement.write(check))}\n",
        }
    )
