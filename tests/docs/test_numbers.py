"""Numbers that pages say in words are those of the code."""

import inspect
from pathlib import Path

import pytest

from lowlift._certificates import Certificate
from lowlift._exact import MAX_BITS
from lowlift._exposure import FEW
from lowlift._guarantees import stopped_note
from lowlift._mechanisms import optimal_merging, random_response, tightened
from lowlift._population import rows
from lowlift._solver import column_generation, proving
from lowlift.tables import cells, classes, donor_plans, limits, table
from lowlift.tables.engines import keyed_draws
from lowlift.web.limits import Limits
from lowlift.web.server import _LEAST_PASSWORD
from lowlift.workflow import attack
from lowlift.workflow.choices import released_by

DOCS = Path(__file__).resolve().parents[2] / "docs"
WEB = Limits()
GUESSES = WEB.guesses_per_second
STOPPED = Certificate("mechanisms", 0.743, False, 0.258, stopped_after=20.0)
SEEN = stopped_note(STOPPED, "--time-limit {seconds}")
PATIENCE = inspect.signature(released_by).parameters["time_limit"].default

SAID = [
    ("faq.md", f"Up to {classes.MOST_CLASSES} different numbers are taken as classes"),
    ("limits.md", f"need bins beyond {classes.MOST_CLASSES} different values"),
    ("howto.md", f"a sensitive one with at most {classes.MOST_CLASSES} values needs none"),
    ("guide/rows.md", f"if it has at most {classes.MOST_CLASSES} values: each is a class"),
    ("guide/web.md", f"whole numbers with up to {classes.MOST_CLASSES} values need none"),
    ("faq.md", f"may expose counts below {FEW};"),
    ("limits.md", f"up to {optimal_merging.PROVEN_SYMBOLS} values of X; beyond"),
    ("open-questions.md", f"Up to {optimal_merging.PROVEN_SYMBOLS} symbols the best partition"),
    ("reference/index.md", f"proven best up to {optimal_merging.PROVEN_SYMBOLS} symbols"),
    ("limits.md", f"by a key at most 2^{donor_plans.MOST_ROWS.bit_length() - 1} rows"),
    ("format.md", f"With n up to `2**{donor_plans.MOST_ROWS.bit_length() - 1}`"),
    ("install.md", f"`--time-limit`, {PATIENCE:g} seconds if you say nothing"),
    ("howto.md", f"`--time-limit` seconds ({PATIENCE:g} unless you say otherwise)"),
    ("howto.md", SEEN),
    ("install.md", "keyed draw of two million rows or more"),
    ("guide/rows.md", f"one for {cells._ROWS_PER_CELL} rows, {cells._MOST_CELLS} at most"),
    ("guide/population.md", f"The cells are fewer (up to {cells._MOST_FOR_POPULATION})"),
    ("guide/population.md", f"({cells.MOST_ROWS:,} at the most), drawn at random"),
    ("guide/population.md", f"the l1-lift of more than {rows._MOST_VALUES} values of S"),
    ("guide/what-the-analyst-gets.md", f"reads at most {cells.MOST_ROWS:,} rows of each table"),
    ("guide/what-the-analyst-gets.md", f"(of at most {attack._ROWS:,} rows;"),
    ("least-distortion.md", f"learnt from at most {cells.MOST_ROWS:,} rows"),
    ("scaling.md", f"at most {table._MOST_GROUPS:,} combinations of values of S and X"),
    ("scaling.md", f"one in {limits._part_of(table._MOST_GROUPS)} of them is"),
    ("scaling.md", f"in the first {limits._HEAD * table._MOST_GROUPS // 10**6} million rows"),
    ("how-it-runs.md", f"Undecided at {MAX_BITS:,} bits counts as not satisfied"),
    ("how-it-runs.md", f"(up to {tightened.LISTED_SYMBOLS}"),
    ("how-it-runs.md", f"beyond {random_response._MOST_CLASSES:,} of them"),
    ("random-response.md", f"more than {random_response._MOST_CLASSES:,} different columns"),
    ("random-response.md", f"Up to {column_generation._SMALL} symbols, all single symbols"),
    ("random-response.md", f"short ({column_generation._NODES} nodes for a symbol)"),
    ("random-response.md", f"the next target is {column_generation._LEAP:g} times smaller"),
    ("guide/web.md", f"password ({_LEAST_PASSWORD} characters or more)"),
    ("guide/web.md", f"(`/login`, `/open`) | {WEB.login_bytes >> 10} kB |"),
    (
        "guide/web.md",
        f"| {WEB.form_bytes >> 20} MB; `--upload-limit` ({WEB.upload_bytes >> 20} MB) |",
    ),
    ("guide/web.md", f"to the end of its headers | {WEB.head_seconds:g} s |"),
    ("guide/web.md", f"an upload or a download | {WEB.body_seconds:g} s |"),
    ("guide/web.md", f"connections at a time | {WEB.connections};"),
    ("guide/web.md", f"| {GUESSES:g} a second, that is {86_400 * GUESSES:,.0f} a day |"),
    ("guide/web.md", f"a wrong one costs {WEB.wrong_password_seconds:g} s, then"),
    ("guide/web.md", f"at most {16 * WEB.wrong_password_seconds:g} s |"),
    (
        "guide/web.md",
        f"| {WEB.waiting_guesses}, at most {WEB.waiting_guesses // 2} from one address;",
    ),
]


@pytest.mark.parametrize(("page", "words"), SAID)
def test_a_number_in_words_is_that_of_the_code(page, words):
    assert words in " ".join((DOCS / page).read_text("utf-8").split())


def test_one_limit_is_one_number():
    assert proving._SMALL == column_generation._SMALL
    assert cells._PILOT == 1 / 20  # "a twentieth of the rows"
    assert keyed_draws.FEWEST == 2_000_000  # "two million rows"
