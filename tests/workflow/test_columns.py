"""What a table's columns are, before any is chosen."""

import pytest

from lowlift.errors import InvalidInput
from lowlift.workflow import (
    Asked,
    audit_counted,
    audit_table,
    columns_of,
    count_table,
    criterion_of,
)
from people import write_people


def test_columns_have_their_kind_different_values_and_missing_ones(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("name,age,is_ill\na,1,true\nb,,false\na,3,true\n")
    rows, found = columns_of(str(path))
    assert rows == 3
    assert [(c.name, c.kind, c.values, c.missing) for c in found] == [
        ("name", "text", 2, 0),
        ("age", "integer", 2, 1),
        ("is_ill", "boolean", 2, 0),
    ]


def test_too_many_columns_to_choose_from_are_refused(tmp_path):
    path = tmp_path / "wide.csv"
    names = [f"c{k}" for k in range(2001)]
    path.write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    with pytest.raises(InvalidInput, match="2,001"):
        columns_of(str(path))


def test_a_table_counted_first_has_the_same_audit(tmp_path):
    source = write_people(tmp_path / "people.csv")
    asked, bound = Asked(("disease",), ("ward",)), criterion_of("alip", epsilon=1.0)
    whole = audit_table(source, asked, bound)
    steps = audit_counted(*count_table(source, asked), bound)
    assert steps.spec == whole.spec
    assert steps.audit.leakage == whole.audit.leakage
    assert list(steps.audit.violations) == list(whole.audit.violations)
