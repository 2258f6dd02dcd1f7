"""Commands, options, extras and files that the documentation names are there."""

import importlib.machinery
import importlib.util
import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest
import typer.main

from lowlift._cli.app import app
from lowlift._kernels import compilation

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "howto"
PAGES = [*ROOT.glob("*.md"), *sorted((ROOT / "docs").rglob("*.md"))]
#: What tells of the past may name what is gone.
PRESENT = [path for path in PAGES if path.name != "CHANGELOG.md"]
SOURCES = ("src", "tests", "benchmarks", "examples")
TEXTS = [
    *PRESENT,
    *sorted((ROOT / "docs").rglob("*.rst")),
    *(path for folder in SOURCES for path in sorted((ROOT / folder).rglob("*.py"))),
]
#: Languages of blocks that are shown, not run.
SHOWN = {"json", "text", "yaml", "toml", "sql"}
CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)
#: Folders by which a word in code is a file of this repository.
FOLDERS = ("src", "tests", "docs", "scripts", "benchmarks", "examples", r"\.ci", r"\.github")
FILE = re.compile(rf"(?<![\w./])(?:{'|'.join(FOLDERS)})/[\w./*-]*\w|\b[A-Z]{{3,}}\.md\b")


@pytest.fixture(scope="module")
def howto():
    loader = importlib.machinery.SourceFileLoader("howto", str(SCRIPT))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "dont_write_bytecode", True)
        spec = importlib.util.spec_from_loader("howto", loader)
        module = importlib.util.module_from_spec(spec)
        patch.setitem(sys.modules, "howto", module)  # dataclasses look their module up
        loader.exec_module(module)
    return module


def ids(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("page", PRESENT, ids=ids)
def test_every_block_is_run_or_is_no_command(page, howto):
    text = page.read_text("utf-8")
    blocks = howto.steps(text)
    fences = re.findall(r"^\s*(?:```|~~~)", text, re.MULTILINE)
    assert len(fences) == 2 * len(blocks), "a block must begin at the margin with ```"
    for language, block in blocks:
        known = language.startswith("{") or language in SHOWN
        known |= language in {"python", "js", "console", *howto.SHELLS}
        assert known, f"a block must say its language; got {language!r} before {block[:40]!r}"
        if language in {*howto.SHELLS, "console"}:
            assert page in howto.pages()


@pytest.mark.parametrize("page", PRESENT, ids=ids)
def test_commands_are_complete(page, howto):
    for language, block in howto.steps(page.read_text("utf-8")):
        if language in howto.SHELLS:
            for command in howto.commands(block):
                assert "..." not in shlex.split(command.replace("\\\n", " "), comments=True)
        elif language == "console":
            assert not re.search(r"^\$ .* \.\.\.", block, re.MULTILINE)


def test_what_is_not_run_has_a_reason_that_holds(howto):
    used = set()
    for page in PRESENT:
        for language, block in howto.steps(page.read_text("utf-8")):
            if language in howto.SHELLS:
                used |= {howto.not_run(command) for command in howto.commands(block)}
    assert used - {None} <= set(howto.NOT_RUN)
    assert all(known.why for known in howto.NOT_RUN)


@pytest.mark.parametrize(
    ("command", "wrong"),
    [
        ("pip install 'lowlift[nothing]'", "not in pyproject.toml: ['nothing']"),
        ("pip install other", "must install lowlift"),
        ("make docs NOTHING=1 nothing", None),
        ("make nothing", None),
        ("lowlift demo", None),
    ],
)
def test_a_command_that_is_not_listed_is_run(command, wrong, howto):
    if wrong is None:
        assert howto.not_run(command) is None
    else:
        with pytest.raises(howto.Fault, match=re.escape(wrong)):
            howto.not_run(command)


def test_a_reason_that_no_longer_holds_is_found(howto):
    assert "does not hold" in howto.has("Makefile", "no such line")("make docs")
    assert "does not hold" in howto.has("no/such/file", "")("make docs")
    assert howto.has("Makefile", "docs:")("make docs") is None
    assert "nothing" in howto.has("Makefile", "docs:")("make nothing")


def test_commands_are_read_with_their_continuations(howto):
    block = "# words\na --b \\\n    c  # d\n\ne\n"
    assert howto.commands(block) == ["a --b \\\n    c  # d", "e"]


@pytest.mark.parametrize(
    ("block", "is_fine"),
    [
        ("true", True),
        ("false", False),
        ("false  # exit code 1: as it should", True),
        ("true  # exit code 1", False),
        ("sh -c 'exit 2'  # exit code 1", False),
        ("export A=1\ntest $A = 1", True),
        ("false\ntrue", False),
        ("false | true", False),
    ],
)
def test_a_block_must_end_as_it_says(block, is_fine, howto, tmp_path):
    place = howto.Place(str(tmp_path), {"PATH": "/usr/bin:/bin"})
    if is_fine:
        place.script(block)
    else:
        with pytest.raises(howto.Fault):
            place.script(block)


# Names in running text.


def codes(path):
    """Return what stands in code within a text; of Python, in comments and docstrings."""
    text = path.read_text("utf-8")
    if path.suffix == ".md":
        text = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return [" ".join(found.split()) for _, found in CODE.findall(text)]


def options_of(command):
    return {name for option in command.params for name in (*option.opts, *option.secondary_opts)}


def faults_of(words):
    """Return what is wrong with a command of lowlift in running text."""
    group = typer.main.get_command(app)
    command = group.commands.get(words[1]) if len(words) > 1 else group
    if command is None:
        return [f"no command {words[1]}"] if re.fullmatch(r"[a-z]+", words[1]) else []
    for word in words[2:]:
        command = getattr(command, "commands", {}).get(word, command)
    named = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    return [f"no option {name}" for name in named if name not in options_of(command) | {"--help"}]


def test_commands_in_sentences_are_there():
    wrong = []
    for path in TEXTS:
        for code in codes(path):
            if re.match(r"lowlift( |$)", code):
                words = code.split()
                wrong += [f"{ids(path)}: `{code}`: {fault}" for fault in faults_of(words)]
    assert wrong == []
    assert faults_of(["lowlift", "audit", "a.csv", "--nothing"]) == ["no option --nothing"]
    assert faults_of(["lowlift", "nothing"]) == ["no command nothing"]


def test_extras_that_are_named_are_there():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = set(extras["optional-dependencies"])
    for path in TEXTS:
        if path == Path(__file__):
            continue
        for named in re.findall(r"lowlift\[([a-z,]+)\]", path.read_text("utf-8")):
            assert set(named.split(",")) <= extras, ids(path)
    table = (ROOT / "docs" / "versioning.md").read_text("utf-8").partition("| extra |")[2]
    listed = re.findall(r"`([a-z]+)`", "\n".join(re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)))
    assert extras <= set(listed), extras - set(listed)


def test_make_targets_that_are_named_are_there():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    wrong = []
    for path in TEXTS:
        for code in codes(path):
            found = re.match(r"make ([a-z-]+)", code)
            if found and path != Path(__file__) and found[1] not in targets:
                wrong.append(f"{ids(path)}: `{code}`")
    assert wrong == []


def test_files_that_are_named_are_there():
    wrong = []
    for path in TEXTS:
        if path == Path(__file__):
            continue
        named = FILE.findall(path.read_text("utf-8"))
        # A decision goes by its number, hence the star.
        wrong += [f"{ids(path)}: {word}" for word in named if not any(ROOT.glob(f"{word}*"))]
    assert wrong == []


def test_a_page_that_is_not_what_its_commands_print_is_found(howto):
    page = ROOT / "docs" / "howto.md"
    old = "$ a\nrows: 12\nVerified.\n"
    assert howto.differences(page, old, old.replace("12", "3,456")) == []
    wrong = howto.differences(page, old, old.replace("Verified.", "NOT verified."))
    assert wrong[0].startswith("docs/howto.md is not what its commands print")
    assert wrong[-2:] == ["-Verified#", "+NOT verified#"]
    assert "+more" in howto.differences(page, old, old + "more\n")


def test_one_command_compiles_all_that_mechanisms_need(monkeypatch):
    text = (ROOT / "docs" / "install.md").read_text("utf-8").replace("\\\n", "")
    programs = re.findall(r'python -c "(.*?)"$', text, re.MULTILINE)
    assert len(programs) == 2  # in a shell, and while a container is built
    assert programs[0] == programs[1]
    monkeypatch.setattr(compilation, "_ready", set())
    exec(programs[0], {})
    assert compilation._ready == set(compilation._MODULES) - {"digests"}
