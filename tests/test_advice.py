"""What to do about an error is said in the words of Python, of the command line and of the web."""

import ast
import functools
import pickle
from pathlib import Path
from string import Formatter

import pandas as pd
import pytest

import lowlift as ll
from lowlift import errors, workflow
from lowlift._cli import words as cli
from lowlift.errors import LowliftError
from lowlift.web import words as web

SOURCE = Path(ll.__file__).parent
INTERFACES = {"Python": errors.ADVICE, "command line": cli.ADVICE, "web": web.ADVICE}
FRAME = pd.DataFrame({"s": ["a", "b"] * 4, "age": range(8)})


def test_every_interface_has_words_for_every_advice():
    assert set(cli.ADVICE) == set(web.ADVICE) == set(errors.ADVICE)


@functools.cache
def raised():
    """Every error of the source, as (place, texts, keywords)."""
    return list(found_in_the_source())


def found_in_the_source():
    for path in sorted(SOURCE.rglob("*.py")):
        if path.parent.name == "_cli":
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            name = getattr(getattr(node, "func", None), "id", "")
            if isinstance(node, ast.Call) and isinstance(getattr(errors, name, None), type):
                texts = [
                    part.value
                    for argument in node.args
                    for part in ast.walk(argument)
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                ]
                given = {key.arg: key.value for key in node.keywords}
                yield f"{path.relative_to(SOURCE)}:{node.lineno}", texts, given


def test_no_error_of_the_library_speaks_command_line():
    assert len(raised()) > 200
    commands = ("lowlift design", "lowlift key", "lowlift audit", "lowlift tradeoff", "(-x)")
    for place, texts, _ in raised():
        for text in texts:
            assert "--" not in text, place
            assert not any(command in text for command in commands), place


def test_every_advice_is_known_and_gets_its_values():
    used = set()
    for place, _, given in raised():
        if "advice" in given:
            key = given["advice"].value
            used.add(key)
            for words in INTERFACES.values():
                needed = {
                    name.split("!")[0] for _, name, _, _ in Formatter().parse(words[key]) if name
                }
                assert needed <= set(given), place
    assert used == set(errors.ADVICE)


def no_bins():
    workflow.audit_table(FRAME, workflow.Asked(("s",), ("age",)), ll.LIP(1.0))


def exists(folder):
    (folder / "safe.receipt.json").touch()
    frame = FRAME.astype({"age": str})
    workflow.sanitize(
        frame, workflow.Asked(("s",), ("age",)), ll.LIP(9.0), str(folder / "safe.csv")
    )


@pytest.mark.parametrize(
    ("interface", "bins", "overwrite"),
    [
        (
            "Python",
            "Declare them, such as bins={'age': '0,18,30'}; other forms: 'width:10' or 'each'.",
            "pass force=True.",
        ),
        (
            "command line",
            "Add them with --bin, such as --bin age=0,18,30; other forms: 'width:10' or 'each'.",
            "use --force.",
        ),
        (
            "web",
            "Write them under its name, such as 0,18,30; other forms: 'width:10' or 'each'.",
            "Try again.",
        ),
    ],
)
def test_the_same_error_in_each_interface(interface, bins, overwrite, tmp_path):
    with pytest.raises(LowliftError) as without:
        no_bins()
    with pytest.raises(LowliftError) as there:
        exists(tmp_path)
    words = INTERFACES[interface]
    what = "column 'age' is numeric (integer) and must have declared bins; got none."
    assert without.value.said(words) == f"{what} {bins}"
    assert there.value.said(words).endswith(overwrite)
    if interface == "Python":
        assert str(without.value) == f"{what} {bins}"


def test_errors_survive_pickling():
    error = errors.InvalidInput("a.csv exists.", advice="overwrite")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.said(cli.ADVICE)) == (str(error), error.said(cli.ADVICE))
    assert isinstance(errors.MissingExtra("pip install it."), ImportError)
