"""Wrong arguments, everywhere: only an error of ours, or TypeError for a wrong signature."""

import inspect
import math
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import lowlift as ll
from lowlift import workflow
from lowlift.errors import InvalidInput, LowliftError
from lowlift.sklearn import LiftPrivatizer

JOINT = ll.Joint.random(3, 4, seed=0)
CHANNEL = ll.Channel.identity(JOINT)
RELEASE = ll.subset_merging(JOINT, ll.LIP(0.5))
ASKED = workflow.Asked(("survived",), ("class", "sex"))
#: An argument that is right, by the parameter's name.
RIGHT = {
    "alpha": 2.0,
    "asked": ASKED,
    "blocks": [["a"], ["b"]],
    "certificate": RELEASE.certificate,
    "channel": CHANNEL,
    "counts": [[1, 2], [3, 4]],
    "criteria": [ll.LIP(0.5)],
    "criterion": ll.LIP(0.5),
    "epsilon": 0.5,
    "joint": JOINT,
    "joints": [JOINT],
    "lower": 0.5,
    "mechanism": ll.subset_merging,
    "p": [0.5, 0.5],
    "p_sx": [[0.1, 0.2], [0.3, 0.4]],
    "release": RELEASE,
    "released": "class",
    "sensitive": "survived",
    "size": 3,
    "symbols": [0, 1],
    "upper": 0.5,
}
WRONG = {
    "none": None,
    "a class": ll.LIP,
    "a text": "text",
    "an empty text": "",
    "a ragged list": [[1, 2], [3]],
    "three axes": np.zeros((2, 2, 2)),
    "a scalar array": np.array(1.0),
    "NaN": math.nan,
    "an array of NaN": np.full((2, 2), math.nan),
    "negative": -1,
    "negative array": -np.eye(2),
    "complex": 1j,
    "a complex array": np.eye(2) * 1j,
    "objects": np.array([[object(), None], [1, "a"]], dtype=object),
    "bytes": b"\x00",
    "a dict": {"a": 1},
    "an array": np.eye(2),
    "a huge number": 10**400,
    "a bool": True,
    "an object": object(),
}
NOT_SWEPT = {
    "Criterion",
    "Audit",
    "Certificate",
    "Release",
    "Tradeoff",
    "datasets",
    "errors",
    "measures",
}


def calls():
    """Every public function and constructor, by name."""
    for name in ll.__all__:
        found = getattr(ll, name)
        is_error = isinstance(found, type) and issubclass(found, BaseException | Warning)
        if name not in NOT_SWEPT and not is_error:
            yield name, found
    for name in ll.measures.__all__:
        if inspect.isfunction(getattr(ll.measures, name)):
            yield f"measures.{name}", getattr(ll.measures, name)
    yield from (
        ("Joint.from_counts", ll.Joint.from_counts),
        ("Joint.random", ll.Joint.random),
        ("Channel.identity", ll.Channel.identity),
        ("Channel.from_partition", ll.Channel.from_partition),
        ("Channel.from_probabilities", ll.Channel.from_probabilities),
        ("Channel.from_atoms", ll.Channel.from_atoms),
        ("ALIP.split", ll.ALIP.split),
        ("AlphaLift.split", ll.AlphaLift.split),
        ("Release.of", ll.Release.of),
        ("Release.from_json", ll.Release.from_json),
        ("workflow.Asked", workflow.Asked),
        ("workflow.criterion_of", workflow.criterion_of),
    )


CALLS = dict(calls())


def right(parameter, name):
    if parameter.name in RIGHT:
        return RIGHT[parameter.name]
    pytest.fail(f"{name} has a new parameter {parameter.name!r}: add a right value to RIGHT")


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("wrong", WRONG)
def test_only_our_errors_come_out(name, wrong):
    function = CALLS[name]
    for place in inspect.signature(function).parameters.values():
        if place.kind in {place.VAR_POSITIONAL, place.VAR_KEYWORD}:
            continue
        arguments = {
            other.name: RIGHT[other.name]
            for other in inspect.signature(function).parameters.values()
            if other.default is other.empty and other.name in RIGHT
        }
        arguments[place.name] = WRONG[wrong]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                function(**arguments)
            except LowliftError:
                pass
            except TypeError:
                # A missing argument, not what became of a wrong one inside.
                with pytest.raises(TypeError, match="missing a required argument"):
                    inspect.signature(function).bind(**arguments)


TITANIC = {"survived": ["yes", "no", "yes", "no"] * 9, "class": ["a", "b", "b", "b"] * 9}
STEPS = {
    "audit_table": lambda **a: workflow.audit_table(
        **({"source": pd.DataFrame(TITANIC), "asked": SIMPLE, "criterion": ll.LIP(2.0)} | a)
    ),
    "design": lambda **a: workflow.design(
        **({"source": pd.DataFrame(TITANIC), "asked": SIMPLE, "criterion": ll.LIP(2.0)} | a)
    ),
    "sanitize": lambda **a: workflow.sanitize(
        **(
            {"source": pd.DataFrame(TITANIC), "asked": SIMPLE, "criterion": ll.LIP(2.0)}
            | {"target": "never.csv"}
            | a
        )
    ),
    "read_joint": lambda **a: ll.read_joint(
        **({"source": pd.DataFrame(TITANIC), "sensitive": "survived", "released": "class"} | a)
    ),
}
SIMPLE = workflow.Asked(("survived",), ("class",))
STEP_PARAMETERS = [
    *(
        (step, name)
        for step in ("audit_table", "design")
        for name in ("source", "asked", "criterion")
    ),
    ("design", "mechanism"),
    ("design", "encoding"),
    ("sanitize", "target"),
    ("sanitize", "options"),
    ("sanitize", "round_to"),
    *(("read_joint", name) for name in ("source", "sensitive", "released", "bins", "missing")),
]


@pytest.mark.parametrize(("step", "parameter"), STEP_PARAMETERS)
def test_steps_refuse_wrong_types(step, parameter, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    optional = {"options", "encoding", "round_to", "bins", "target"}
    for name, wrong in WRONG.items():
        if wrong is None and parameter in optional:
            continue
        try:
            STEPS[step](**{parameter: wrong})
        except LowliftError:
            continue
        except Exception as error:
            raise AssertionError(f"{step}({parameter}={name})") from error
        assert (parameter, name) == ("round_to", "a bool"), f"{name} was accepted"
    assert list(tmp_path.iterdir()) == []


# --- what D1 named ---------------------------------------------------------------------------


def test_labels_of_a_crosstab_are_kept():
    frame = pd.DataFrame(
        {
            "s": ["ill", "well", "ill", "well"],
            "x": ["u", "v", "v", "u"],
            "z": [1, 2, 1, 2],
            "w": pd.cut([1, 5, 1, 5], [0, 3, 9]),
        }
    )
    table = pd.crosstab(frame["s"], frame["x"])
    for joint in (ll.Joint.from_counts(table), ll.Joint(table / 4)):
        assert (joint.s_labels, joint.x_labels) == (("ill", "well"), ("u", "v"))
    several = ll.Joint.from_counts(pd.crosstab(frame["s"], [frame["x"], frame["z"]]))
    assert several.x_labels == (("u", 1), ("u", 2), ("v", 1), ("v", 2))
    binned = ll.Joint.from_counts(pd.crosstab(frame["s"], frame["w"]))
    assert binned.x_labels == ("(0, 3]", "(3, 9]")
    named = ll.Joint.from_counts(table, s_labels=["a", "b"])
    assert (named.s_labels, named.x_labels) == (("a", "b"), ("u", "v"))


@pytest.mark.parametrize("bins", ["width:10", [0, 30, 60], (0, 30, 60), np.array([0, 30, 60])])
def test_read_joint_takes_bins_in_every_form(bins):
    frame = pd.DataFrame({"s": ["a", "b"] * 6, "age": range(12, 72, 5)})
    joint = ll.read_joint(frame, "s", "age", bins={"age": bins})
    assert all(label.startswith(("[", "<", ">")) for label in joint.x_labels)
    asked = workflow.Asked(("s",), ("age",), {"age": bins})
    assert workflow.audit_table(frame, asked, ll.LIP(9.0)).audit.joint.x_labels == joint.x_labels


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ll.measures.lift(JOINT, np.eye(2)), "Use Channel.from_probabilities"),
        (lambda: ll.Partition(None), r"blocks must be collections of labels"),
        (lambda: ll.Partition([1, 2]), r"block 0 is a int"),
        (lambda: ll.subset_merging(JOINT, ll.LIP), r"Write LIP\(0\.5\)"),
        (
            lambda: workflow.sanitize(pd.DataFrame(TITANIC), SIMPLE, ll.LIP(2.0), 3),
            "target must be",
        ),
        (
            lambda: LiftPrivatizer("survived", ll.LIP(0.5)).fit(pa.table(TITANIC)),
            r"Pass X\.to_pandas\(\)",
        ),
    ],
)
def test_what_was_a_raw_error_says_what_to_write(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()
