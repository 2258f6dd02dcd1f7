"""P(X) back from what was published."""

import json
from pathlib import Path

import numpy as np
import pytest

import lowlift as ll
from lowlift.codebook import Codebook
from lowlift.workflow import Asked, Options, apply, codebook_of, design, estimate_table
from people import COUNTS, ROWS, WARDS, column_of, write_csv, write_people

ASKED = Asked(("disease",), ("ward",))
SHARES = np.sum(COUNTS, axis=0) / ROWS


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """So many rows that intervals are narrow."""
    counts = [[10 * n for n in row] for row in COUNTS]
    return write_people(tmp_path_factory.mktemp("people") / "people.csv", counts)


def publish(table, folder, mechanism, encoding, bound=0.4, round_to=None):
    made = design(table, ASKED, ll.LIP(bound), mechanism=mechanism, encoding=encoding, time_limit=5)
    codebook_of(made, round_to).to_json(folder / "codebook.json")
    # Seeded: an interval may miss the truth once in a thousand runs.
    apply(table, made.release, str(folder / "safe.csv"), Options(force=True, seed=1))
    return made, str(folder / "safe.csv"), str(folder / "codebook.json")


@pytest.mark.parametrize("encoding", ["codes", "values"])
def test_the_truth_lies_in_the_intervals(people, tmp_path, encoding):
    _, safe, codebook = publish(people, tmp_path, "random-response", encoding)
    found = estimate_table(safe, codebook, level=0.999)
    result = found.estimate
    assert found.rows == 10 * ROWS
    assert result.x_labels == WARDS
    assert result.is_consistent
    assert ((result.low <= SHARES) & (result.high >= SHARES)).all()
    known = result.is_identified
    assert known.any()
    assert ((result.low <= result.p_x) & (result.p_x <= result.high))[known].all()
    assert np.abs(result.p_x - SHARES)[known].max() < 0.15
    assert (result.high - result.low)[known].max() < 0.5


def test_it_is_the_table_that_counts_and_not_the_codebook(people, tmp_path):
    """The codebook's P(x|y) is that of the design; a table of one ward is estimated as one."""
    made, _, codebook = publish(people, tmp_path, "random-response", "codes")
    table = write_csv(tmp_path / "t.csv", ("ward",), [("south",)] * 50_000)
    options = Options(seed=1, accept_unchecked=True)
    apply(table, made.release, str(tmp_path / "south.csv"), options)
    result = estimate_table(str(tmp_path / "south.csv"), codebook, level=0.999).estimate
    truth = np.array([ward == "south" for ward in WARDS], float)
    assert ((result.low <= truth) & (truth <= result.high)).all()
    assert result.p_x[WARDS.index("south")] > 0.9


@pytest.mark.parametrize("encoding", ["codes", "groups", "values"])
def test_what_merges_gives_totals_of_blocks(people, tmp_path, encoding):
    made, safe, codebook = publish(people, tmp_path, "subset-merging", encoding)
    result = estimate_table(safe, codebook, level=0.999).estimate
    assert len(result.blocks) == len(made.release.partition) < len(WARDS)
    for block in result.blocks:
        total = SHARES[list(block.symbols)].sum()
        assert block.low <= total <= block.high
        if encoding != "values":
            assert block.total == pytest.approx(total)
        if len(block.symbols) > 1:
            # Each alone: from nothing up to the whole.
            assert not result.is_identified[list(block.symbols)].any()
            assert (result.low[list(block.symbols)] == 0).all()
            assert (result.high[list(block.symbols)] == block.high).all()
    assert any("totals" in note for note in result.notes)


def test_levels(people, tmp_path):
    _, safe, codebook = publish(people, tmp_path, "random-response", "codes")
    narrow, wide = (estimate_table(safe, codebook, level=p).estimate for p in (0.5, 0.999))
    assert (wide.low <= narrow.low).all()
    assert (narrow.high <= wide.high).all()
    for level in (0, 1, 2, -1, float("nan")):
        with pytest.raises(ll.InvalidInput, match="level"):
            estimate_table(safe, codebook, level=level)


def test_files_that_do_not_fit_together(people, tmp_path):
    _, safe, codebook = publish(people, tmp_path, "random-response", "codes")
    outputs = sorted(set(column_of(safe, "code")))
    other = write_csv(tmp_path / "other.csv", ("code",), [(len(outputs) + 3,), (0,), ("SECRET",)])
    with pytest.raises(ll.InvalidInput, match="2 of 3 rows") as found:
        estimate_table(other, codebook)
    assert "SECRET" not in str(found.value)
    other = write_csv(tmp_path / "other.csv", ("ward",), [("east",)])
    with pytest.raises(ll.InvalidInput, match="code"):
        estimate_table(other, codebook)
    for file in (safe, str(tmp_path / "none.json"), str(tmp_path)):
        with pytest.raises(ll.InvalidInput):
            estimate_table(safe, file)
    with pytest.raises(ll.InvalidInput):
        estimate_table(str(tmp_path / "none.csv"), codebook)


def test_a_rounded_codebook(people, tmp_path):
    """Of codes the channel is still exact; of values it is not known, and that is said."""
    _, safe, codebook = publish(people, tmp_path, "random-response", "codes", round_to=0.05)
    assert estimate_table(safe, codebook).estimate.is_consistent
    _, safe, codebook = publish(people, tmp_path, "random-response", "values", round_to=0.05)
    with pytest.raises(ll.InvalidInput, match="rounded"):
        estimate_table(safe, codebook)


@pytest.mark.parametrize(
    "columns",
    [
        None,
        [],
        [{"name": "code"}],
        [{"name": "code", "kind": "integer", "texts": 3}],
        [{"name": "code", "kind": "integer", "texts": ["0"]}],
        [{"name": "code", "kind": "integer", "texts": ["a", "b"]}],
        [{"name": "code", "kind": "list", "texts": []}],
        [{"name": "code", "kind": "text", "texts": []}],
    ],
)
def test_a_codebook_with_other_columns_is_refused(people, tmp_path, columns):
    made, safe, _ = publish(people, tmp_path, "subset-merging", "codes")
    path = tmp_path / "other.json"
    Codebook.of(made.encoded, columns).to_json(path)
    with pytest.raises(ll.InvalidInput):
        estimate_table(safe, str(path))


def test_a_damaged_codebook_is_refused(people, tmp_path):
    _, safe, codebook = publish(people, tmp_path, "subset-merging", "codes")
    saved = json.loads(Path(codebook).read_text("utf-8"))
    for change in ({"version": 9}, {"denominator": 3}, {"outputs": []}, {"x_labels": ["a"]}):
        (tmp_path / "bad.json").write_text(json.dumps(saved | change))
        with pytest.raises(ll.InvalidInput, match=r"bad\.json"):
            estimate_table(safe, str(tmp_path / "bad.json"))
