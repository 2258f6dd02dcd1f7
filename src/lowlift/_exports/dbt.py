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

#: The environment variable that dbt reads the subkey from.
VARIABLE = SUBKEY.upper()
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

    def variable(self, name: str) -> Expression:
        """Return the text of an environment variable."""
        return exp.Literal.string(self._place(f'{{{{ env_var("{name}") }}}}'))

    def text(self, query: Expression, dialect: str) -> str:
        """Return a query as dbt reads it: Jinja finds nothing to run but the places."""
        sql = query.sql(dialect, pretty=True, identify=True)
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
    dialect = statement.dialect.name
    check = Check(statement, template.table(model), sides).select()
    drawn = template.text(statement.select(), dialect)
    settings = '{{ config(materialized="table") }}'
    return Export(
        {
            f"models/{model}.sql": f"{head}{settings}\n{drawn}\n",
            f"tests/{model}_is_protected.sql": f"{head}{template.text(check, dialect)}\n",
        }
    )
