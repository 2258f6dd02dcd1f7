"""The three states of an answer, and plain numbers on what is kept."""

import numpy as np
import pandas as pd
import pytest

import lowlift as ll
from lowlift.report.outcome import CANNOT, EMPTY, USEFUL, kept_share, most_words, outcome_of
from lowlift.workflow.rows import design

TWO = np.array([[60, 15], [20, 40]])
COUNTS = np.array([[60, 25, 15, 5], [20, 25, 30, 40]])


def people(counts=COUNTS, scale=20):
    rows = [
        {"ill": s, "job": f"job{x}"}
        for s, row in zip(("yes", "no"), counts, strict=True)
        for x, number in enumerate(row)
        for _ in range(int(number) * scale)
    ]
    return {name: [row[name] for row in rows] for name in ("ill", "job")}


def outcome(bound, counts=COUNTS, encoding=None):
    made = design(pd.DataFrame(people(counts)), ll.Schema("ill", "job"), bound, encoding=encoding)
    said = outcome_of(made.encoded, made.audit, is_satisfied=made.is_satisfied, sensitive=("ill",))
    return made, said


def test_a_loose_bound_is_useful():
    made, said = outcome(ll.LIP.at_most(3))
    assert (said.state, said.title, said.why) == (USEFUL, "Holds, and is useful", "")
    assert said.share == pytest.approx(made.encoded.nmi)
    assert said.sentence.startswith("Seeing a published value makes no value of ill more than 3 ")
    assert said.most is not None
    assert said.most >= said.share
    assert said.worst.factor == max(belief.factor for belief in said.beliefs)


def test_a_bound_of_one_holds_and_keeps_nothing():
    made, said = outcome(ll.LIP.at_most(1), TWO)
    assert made.is_satisfied
    assert (said.state, said.share) == (EMPTY, pytest.approx(0, abs=1e-6))
    assert "would say the same" in said.why
    assert said.beliefs[0].words == said.beliefs[0].words.replace("up to", "at most")


def test_a_small_sample_says_that_it_is_one():
    _, said = outcome(ll.Population(ll.LIP.at_most(1.1)), TWO // 5)
    assert said.state == EMPTY
    assert "prove little about the people they were drawn from, with 95% confidence" in said.why


def test_what_does_not_hold_is_never_useful():
    joint = ll.Joint.from_counts(COUNTS, ["yes", "no"])
    made, _ = outcome(ll.LIP.at_most(3))
    said = outcome_of(made.encoded, made.audit, is_satisfied=False, sensitive=("ill",))
    assert (said.state, said.title) == (CANNOT, "Cannot be promised")
    assert joint.n_s == 2


def test_rows_in_one_cell_keep_nothing():
    frame = pd.DataFrame(people(COUNTS, 1)).head(30)
    made = design(frame, ll.Schema("ill", "job", cells="auto"), ll.LIP.at_most(2))
    assert made.encoded.release.joint.n_x == 1
    said = outcome_of(made.encoded, made.audit, is_satisfied=True, sensitive=("ill",))
    assert (said.state, said.share) == (EMPTY, 0)
    assert "one kind" in said.why


def test_rows_keep_what_chance_alone_does_not():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"age": rng.integers(18, 90, 4000), "job": rng.choice(list("abcd"), 4000)})
    frame["ill"] = rng.random(4000) < 0.1 + 0.3 * (frame["age"] > 60)
    schema = ll.Schema("ill", ["age", "job"], cells="auto")
    found = [kept_share(design(frame, schema, ll.LIP.at_most(f)).encoded) for f in (1.000001, 1.5)]
    assert found[0] < found[1] <= 1


def test_numbers_are_of_the_form_that_is_published():
    for encoding, words in (
        ("values", "of rows as they are"),
        ("codes", "codes for 4 values"),
    ):
        made, said = outcome(ll.LIP.at_most(2), encoding=encoding)
        assert made.encoded.name == encoding
        assert any(words in kept.words for kept in said.kept)
    assert most_words(None) == ""
    assert most_words(0.74) == "No method keeps more than 74% at this limit (proven)."
