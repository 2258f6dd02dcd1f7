"""The public names, and what importing them must not cost."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lowlift

PUBLIC = [
    "ALIP",
    "LDP",
    "LIP",
    "PML",
    "AlphaLift",
    "AtMost",
    "Audit",
    "BetaLikeness",
    "BoundViolated",
    "Certificate",
    "Channel",
    "Chi2Lift",
    "Criterion",
    "DeltaDisclosure",
    "DistortionCertificate",
    "EveryPrior",
    "Infeasible",
    "InvalidInput",
    "Joint",
    "L1Lift",
    "LowliftError",
    "LowliftWarning",
    "MaxLift",
    "MissingExtra",
    "Partition",
    "Population",
    "Refinement",
    "Release",
    "RowsNeeded",
    "Schema",
    "SolverFailed",
    "TCloseness",
    "Tradeoff",
    "audit",
    "audit_table",
    "columns",
    "compare",
    "datasets",
    "draw",
    "errors",
    "estimate",
    "export",
    "high_risk",
    "least_distortion",
    "measures",
    "optimal_merging",
    "random_response",
    "read_joint",
    "refine",
    "rows_needed",
    "sanitize",
    "subset_merging",
    "subset_random_response",
    "tradeoff",
    "verify",
    "verify_certificate",
    "watchdog",
]
MEASURES = [
    "LocalDifferentialPrivacy",
    "alpha_lift",
    "alpha_lift_inverse",
    "arimoto_information",
    "bayes_vulnerability",
    "chi2_divergence",
    "chi2_lift",
    "chi2_lift_inverse",
    "entropy",
    "l1_lift",
    "l1_lift_inverse",
    "lift",
    "local_differential_privacy",
    "log_lift",
    "max_lift",
    "maximal_leakage",
    "min_lift",
    "mutual_information",
    "normalized_mutual_information",
    "sibson_information",
    "total_variation",
]
SOURCES = sorted(Path(lowlift.__file__).parent.rglob("*.py"))


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_has_its_parameters_and_an_example(name):
    thing = getattr(lowlift.measures, name)
    sections = inspect.getdoc(thing).partition("\n\nParameters\n----------\n")[2]
    parameters, _, examples = sections.partition("\n\nExamples\n--------\n")
    assert examples.startswith(">>> ")
    taken = re.findall(r"^(\w.*)\n    \S", parameters, re.MULTILINE)
    assert ", ".join(taken).split(", ") == list(inspect.signature(thing).parameters)


@pytest.mark.parametrize("name", ["Audit", "Certificate", "Joint", "Release", "Tradeoff"])
def test_what_people_are_handed_has_an_example(name):
    assert "    Examples\n    --------\n    >>> " in getattr(lowlift, name).__doc__


def test_the_public_names_are_these():
    assert sorted(lowlift.__all__) == sorted(PUBLIC)
    assert sorted(lowlift.measures.__all__) == sorted(MEASURES)


def test_the_former_name_of_confidence_is_valid():
    from lowlift import confidence, sampling

    assert sorted(sampling.__all__) == sorted(confidence.__all__)
    for name in sampling.__all__:
        assert getattr(sampling, name) is getattr(confidence, name)


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_there_and_says_what_it_is(name):
    thing = getattr(lowlift, name)
    doc = thing.__doc__
    assert doc
    assert not doc.startswith(f"{name}(")  # a dataclass without a docstring gets its signature


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_is_there_and_says_what_it_is(name):
    assert getattr(lowlift.measures, name).__doc__


@pytest.mark.parametrize("name", PUBLIC)
def test_public_methods_say_what_they_do(name):
    for key, member in vars(getattr(lowlift, name)).items():
        if isinstance(getattr(lowlift, name), type) and not key.startswith("_"):
            function = getattr(member, "__func__", member)
            if callable(function) or isinstance(function, property):
                assert function.__doc__, key


def test_errors_form_the_tree_that_is_drawn():
    errors = lowlift.errors
    for name in errors.__all__:
        assert issubclass(getattr(errors, name), errors.LowliftError | UserWarning)
    assert issubclass(errors.InvalidInput, ValueError)
    assert issubclass(errors.MissingExtra, ImportError)
    assert not issubclass(errors.LowliftWarning, errors.LowliftError)
    for name in errors.__all__:
        assert name in errors.__doc__


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_sources_check_input_without_assert(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    assert not [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Assert)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_every_module_lists_names_that_exist(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    defined = set()
    for node in (
        *tree.body,
        *(inner for outer in tree.body for inner in getattr(outer, "body", [])),
    ):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            defined.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                names = target.elts if isinstance(target, ast.Tuple) else [target]
                defined |= {name.id for name in names if isinstance(name, ast.Name)}
        elif isinstance(node, ast.Import | ast.ImportFrom):
            defined |= {alias.asname or alias.name for alias in node.names}
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            listed = ast.literal_eval(node.value)
            assert len(listed) == len(set(listed))
            assert set(listed) <= defined


def modules_after(code):
    script = f"import sys; {code}; print(*sorted(sys.modules), file=sys.stderr)"
    run = [sys.executable, "-W", "error", "-c", script]
    return set(subprocess.run(run, capture_output=True, text=True, check=True).stderr.split())


SOLVERS = {"numba", "scipy", "highspy", "multiprocessing", "llvmlite", "concurrent"}
HEAVY = SOLVERS | {"numpy", "duckdb", "sqlglot", "pandas", "matplotlib", "jinja2"}


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("import lowlift", HEAVY | {"typer", "rich"}),
        ("import lowlift; lowlift.random_response, lowlift.sanitize", SOLVERS | {"duckdb"}),
        ("from lowlift import *", SOLVERS | {"duckdb"}),
        ("from lowlift._cli.app import app; app(['--help'], standalone_mode=False)", HEAVY),
        (
            "from lowlift._cli.app import app; app(['audit', '--help'], standalone_mode=False)",
            HEAVY,
        ),
    ],
)
def test_import_is_light(code, unwanted):
    loaded = {name.partition(".")[0] for name in modules_after(code)}
    assert not loaded & unwanted


def test_names_are_loaded_from_where_types_are_checked():
    tree = ast.parse(Path(lowlift.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    for node in block.body:
        module = importlib.import_module(node.module)
        for alias in node.names:
            assert getattr(lowlift, alias.name) is getattr(module, alias.name)


def test_modules_are_there_without_an_import_of_their_own():
    script = "import lowlift; print(lowlift.criteria.LIP(1.0), lowlift.tables.Schema.__name__)"
    run = [sys.executable, "-c", script]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout
    with pytest.raises(AttributeError, match="no attribute 'lipp'"):
        _ = lowlift.lipp
    with pytest.raises(AttributeError, match=r"mean over outputs: PML\(epsilon\) keeps it"):
        _ = lowlift.MaximalLeakage
    assert dir(lowlift) == sorted(lowlift.__all__)


def test_audits_and_draws_need_no_solver():
    code = (
        "import lowlift as ll; j = ll.Joint.from_counts([[1, 3], [3, 1]]); "
        "c = ll.Channel.identity(j); ll.audit(j, c, ll.AlphaLift(2, 1, 1)); ll.draw(c, [0, 1]); "
        "ll.measures.sibson_information(j, c, 2)"
    )
    loaded = {name.partition(".")[0] for name in modules_after(code)}
    assert not loaded & {"numba", "scipy", "highspy"}
