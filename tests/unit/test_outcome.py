"""The three states of an answer, and plain numbers on what is kept."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import lowlift as ll
from lowlift._wording import capital
from lowlift.encodings import Encoded
from lowlift.report.outcome import (
    AVERAGE,
    CANNOT,
    EMPTY,
    MOVED,
    PROVES,
    USEFUL,
    kept_share,
    most_words,
    outcome_of,
    shares_moved,
)
from lowlift.report.promises import MARKS, promise, unmarked
from lowlift.web.pages import emphasised
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
    assert said.sentence == (
        "Seeing a published row makes no value of ill more than 3 times as likely as it was, nor "
        "less than a third as likely."
    )
    assert said.most is not None
    assert said.most >= said.share
    assert said.worst.factor == max(belief.factor for belief in said.beliefs)


def test_a_release_that_can_prove_a_value_is_not_shown_as_useful():
    _, said = outcome(ll.MaxLift(1.7), np.array([[60, 25, 0, 5], [20, 25, 30, 40]]))
    assert (said.state, said.shown) == (USEFUL, PROVES)
    assert said.title == "Holds, but can prove a value"
    assert said.certain == ("ill = no",)
    assert said.proves == (
        "A published row can make it certain that the value is ill = no: 100% after."
    )
    # Both sides bounded: no value becomes certain, as no other can be ruled out.
    _, said = outcome(ll.LIP.at_most(5), np.array([[60, 25, 0, 5], [20, 25, 30, 40]]))
    assert (said.shown, said.certain, said.proves) == (USEFUL, (), "")


def test_what_was_certain_before_is_not_proven_by_a_row():
    _, said = outcome(ll.MaxLift(1.7), np.array([[60, 25, 0, 5], [0, 0, 0, 0]]))
    assert said.certain == ()


def test_a_bound_on_an_average_names_the_values():
    assert not outcome(ll.LIP.at_most(3))[1].is_average
    _, said = outcome(ll.AlphaLift(2.0, 0.6, 0.6))
    assert said.is_average
    assert (said.state, said.shown) == (USEFUL, AVERAGE)
    assert said.title == "Holds on average; one value can go further"
    assert "makes the values of ill, on average, no more than" in said.sentence


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        (
            ll.LIP.at_most(1.5),
            "more than 1.5 times as likely as it was, nor less than two thirds as likely",
        ),
        (
            ll.ALIP(1.38, 0.69),
            "more than 2 times as likely as it was, nor less than 0.251 times as likely",
        ),
        (ll.MaxLift(0.69), "no value of ill more than 2 times as likely as it was."),
        (ll.ALIP(1.38, math.inf), "no value of ill less than 0.251 times as likely as it was."),
        (ll.LIP(0.0), "Seeing a published row tells nothing about the values of ill."),
    ],
)
def test_a_limit_is_said_in_one_form_on_both_sides(bound, words):
    assert words in outcome(bound)[1].sentence


def test_a_bound_of_one_holds_and_keeps_nothing():
    made, said = outcome(ll.LIP.at_most(1), TWO)
    assert made.is_satisfied
    assert (said.state, said.share) == (EMPTY, pytest.approx(0, abs=1e-6))
    assert said.why == (
        "The column tells so much of what is protected that the limit holds only if nearly "
        "every published row tells almost nothing."
    )
    assert said.beliefs[0].words == said.beliefs[0].words.replace("up to", "at most")
    # What is left by chance does not stand first.
    assert [kept.words for kept in said.kept[:2]] == [
        "of the information",
        "of rows happen to stay as they are",
    ]


def test_a_small_sample_says_that_it_is_one():
    _, said = outcome(ll.Population(ll.LIP.at_most(1.1)), TWO // 5)
    assert said.state == EMPTY
    assert "prove little about the people behind the sample, with 95% confidence" in said.why
    assert said.sentence.endswith("are a random sample of, with 95% confidence.")
    _, said = outcome(ll.Population(ll.LIP.at_most(1.1), 0.975), TWO // 5)
    assert "with 97.5% confidence" in said.sentence
    assert "with 97.5% confidence" in said.why


def test_what_does_not_hold_is_never_useful():
    joint = ll.Joint.from_counts(COUNTS, ["yes", "no"])
    made, _ = outcome(ll.LIP.at_most(3))
    said = outcome_of(made.encoded, made.audit, is_satisfied=False, sensitive=("ill",))
    assert (said.state, said.title) == (CANNOT, "Cannot be promised")
    assert said.sentence == "Seeing a row may tell more about ill than you allowed."
    assert said.why.startswith("Asked for: seeing a published row makes no value of ")
    two = outcome_of(made.encoded, made.audit, is_satisfied=False, sensitive=("ill", "old"))
    assert two.sentence.endswith(
        "The limit holds for ill and old taken together, but not for each of them by itself."
    )
    assert joint.n_s == 2


def test_of_columns_that_fail_alone_the_answer_says_which_and_shows_their_beliefs():
    table = {"ill": ["yes", "no"] * 30, "old": ["yes"] * 50 + ["no"] * 10, "job": ["a", "b"] * 30}
    bound = ll.LIP.at_most(3)
    made = design(pd.DataFrame(table), ll.Schema(["ill", "old"], "job"), bound)
    failing = (("old", dict(made.columns)["old"]),)
    how = {"is_satisfied": False, "sensitive": ("ill", "old"), "failing": failing}
    said = outcome_of(made.encoded, made.audit, **how)
    assert said.sentence == (
        "Seeing a row may tell more about old than you allowed. The limit holds for ill and old "
        "taken together, but not for old by itself."
    )
    assert [belief.value for belief in said.beliefs] == ["old = no", "old = yes"]
    assert not any(belief.is_kept for belief in said.beliefs)
    first, last = MARKS
    assert said.marked.count(f"{first}old{last}") == 3


@pytest.mark.parametrize(
    ("bound", "words"),
    [
        (ll.L1Lift(0.3, 0.2), "moves at most 11.1% of the belief in some values of ill"),
        (
            ll.L1Lift(0.605, 9.0),
            (
                "On average over the values of ill, the chance before seeing a published row may "
                "differ from the chance after by at most 83.2% of the chance after."
            ),
        ),
        (
            ll.Chi2Lift(0.605, 2.0),
            (
                "As a root mean square over the values of ill, the chance after seeing a published "
                "row may differ from the chance before by at most 639% of the chance before, and "
                "the chance before from the chance after by at most 83.2% of the chance after."
            ),
        ),
        (
            ll.Chi2Lift(math.inf, 3.0),
            (
                "the chance after seeing a published row may differ from the chance before by at "
                "most 19.1 times the chance before."
            ),
        ),
        (ll.L1Lift(math.inf, 9.0), "Nothing is bounded."),
        (
            ll.AlphaLift(2.0, 0.6, 0.69),
            (
                "makes the values of ill, on average, no more than 2 times as likely as they were, "
                "and no less than 0.548 times as likely."
            ),
        ),
        (ll.AlphaLift(2.0, 0.69, math.inf), "no less than half as likely as they were."),
    ],
)
def test_a_bound_on_an_average_has_a_sentence_whatever_its_budgets(bound, words):
    assert words in unmarked(f"{capital(promise(bound, ('ill',)))}.")


def test_of_a_column_that_fails_alone_the_answer_says_how_far_it_goes():
    """The number is the mean of the promise, of the column by itself, rounded up."""
    counts = {
        ("a0", "b0"): (2, 11),
        ("a0", "b1"): (2, 15),
        ("a1", "b0"): (9, 17),
        ("a1", "b1"): (11, 3),
    }
    rows = [
        (a, b, x)
        for (a, b), numbers in counts.items()
        for x, number in zip("uv", numbers, strict=True)
        for _ in range(number)
    ]
    table = pd.DataFrame(rows, columns=["a", "b", "x"])
    bound = ll.L1Lift.split(9.605, 0.062988)
    made = design(table, ll.Schema(["a", "b"], "x"), bound)
    failing = tuple(part for part in made.columns if not part[1].is_satisfied)
    assert [name for name, _ in failing] == ["a"]
    how = {"is_satisfied": False, "sensitive": ("a", "b"), "failing": failing}
    said = outcome_of(made.encoded, made.audit, **how)
    shares = pd.crosstab(table["a"], table["x"])
    before = shares.sum(axis=1) / len(table)
    after = shares / shares.sum()
    mean = (before.to_numpy()[:, None] * (before.to_numpy()[:, None] / after - 1).abs()).sum().max()
    reached = float(unmarked(said.why).partition("Reached for a by itself: ")[2].rstrip("%."))
    assert reached / 100 == pytest.approx(mean, rel=1e-2)
    assert reached / 100 >= mean > math.expm1(bound.lower)
    assert unmarked(said.why).startswith(
        "Asked for: on average over the values of a and b, the chance before seeing a published "
        "row may differ from the chance after by at most 83.2% of the chance after. Reached"
    )


def test_names_of_columns_are_emphasised_and_escaped():
    name = "<b>&\x02\x03"
    words = emphasised(promise(ll.LIP.at_most(2), (name, "old")))
    assert "no value of <em>&lt;b&gt;&amp;</em> or <em>old</em> more than" in words


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
    made = [design(frame, schema, ll.LIP.at_most(f)) for f in (1.000001, 1.5)]
    found = [kept_share(each.encoded, each.kept) for each in made]
    assert found[0] < found[1] <= 1
    strict, loose = (
        outcome_of(each.encoded, each.audit, is_satisfied=True, sensitive=("ill",), kept=each.kept)
        for each in made
    )
    assert (strict.state, loose.state) == (EMPTY, USEFUL)
    assert [kept.words for kept in loose.kept[:2]] == [
        "of values as they are",
        "how close rows stay to the originals",
    ]
    assert strict.kept[0].words == "of values happen to stay as they are"
    # Of a release in a file it is not known, and how many stay in their cell is not said for it.
    alone = outcome_of(made[1].encoded, made[1].audit, is_satisfied=True, sensitive=("ill",))
    assert [kept.words for kept in alone.kept] == [MOVED]


def test_fewer_kinds_of_rows_do_not_look_better():
    """Rows of few kinds stay in their kind more often, and keep fewer of their values."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"age": rng.integers(18, 90, 6000), "pay": rng.integers(0, 50, 6000)})
    frame["ill"] = rng.random(6000) < 0.1 + 0.3 * (frame["age"] > 60)
    few, many = (
        design(frame, ll.Schema("ill", ["age", "pay"], cells=cells), ll.LIP.at_most(1.5))
        for cells in (2, 100)
    )
    assert few.encoded.share_changed < many.encoded.share_changed
    assert kept_share(few.encoded, few.kept) < kept_share(many.encoded, many.kept)


def test_values_that_are_no_words_have_the_name_of_their_column():
    _, said = outcome(ll.LIP.at_most(3))
    assert [belief.value for belief in said.beliefs] == ["ill = no", "ill = yes"]


def test_numbers_are_of_the_form_that_is_published():
    for encoding, words in (
        ("values", "of rows as they are"),
        ("codes", "codes for 4 values"),
    ):
        made, said = outcome(ll.LIP.at_most(2), encoding=encoding)
        assert made.encoded.name == encoding
        assert any(words in kept.words for kept in said.kept)
        assert (said.kept[2].words == MOVED) == (encoding == "values")
    assert most_words(None) == ""
    assert f"more than 74% {said.kept[1].words} at this limit (proven)." in most_words(0.74)


def published(weights, y_labels):
    """Return what is said of a channel to the values themselves: 80 rows are a, 55 are b."""
    joint = ll.Joint.from_counts(TWO, ["yes", "no"], list("ab"))
    release = ll.Release.of(joint, ll.Channel(weights, "ab", y_labels), ll.LIP.at_most(99))
    how = {"is_satisfied": False, "sensitive": ("ill",)}
    return outcome_of(Encoded("values", release), release.audit, **how)


@pytest.mark.parametrize(
    ("weights", "y_labels", "points"),
    [
        ([[4, 0], [0, 4]], "ab", "0"),
        ([[0, 4], [4, 0]], "ba", "0"),
        ([[3, 1], [0, 4]], "ab", "14.9"),  # 20 of 135 rows: 14.81 points, rounded up
        ([[1, 3], [4, 0]], "ba", "14.9"),
        ([[4], [4]], "a", "40.8"),  # b, 55 rows, is never published
        ([[2**20 - 1, 1], [0, 2**20]], "ab", "<0.1"),
    ],
)
def test_how_much_shares_change_is_measured_and_rounded_up(weights, y_labels, points):
    *moved, number = published(weights, y_labels).kept[2]
    assert tuple(moved) == (f"{points} points", "largest expected change of any share")
    # What the text rounds, for comparisons; nothing where it is the rounding of the channel.
    assert number is None if points == "<0.1" else 0 <= float(points) - 100 * number < 0.1


def test_values_drawn_within_their_groups_keep_their_shares():
    made, said = outcome(ll.LIP.at_most(2), encoding="values")
    assert shares_moved(made.encoded) < Fraction(1, 10**6)
    assert said.kept[2].value in {"0 points", "<0.1 points"}
