"""The ledger is asked before each publication and told of it."""

import json
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lowlift as ll
from ledger_entries import entry as ledger_entry
from lowlift import BoundViolated, InvalidInput
from lowlift._ledger import Entry, Ledger
from lowlift.encodings import published
from lowlift.tables import open_table
from lowlift.tables.layouts import overlaps
from lowlift.workflow import Asked, Options, Recording, apply, check_ledger, refine_table, sanitize
from lowlift.workflow.held import Held, Promise, audit_held
from people import write_csv

KEY = bytes(range(32))
WARD, JOB = Asked(("ill",), ("ward",)), Asked(("ill",), ("job",))
N = 2000


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    """Ward and job tell about ill, and together more."""
    rng = np.random.default_rng(7)
    ward, job = rng.integers(0, 5, N), rng.integers(0, 4, N)
    ill = rng.random(N) < 0.1 + 0.1 * ward + 0.1 * job
    rows = [
        (f"p{k}", "yes" if i else "no", f"w{w}", f"j{j}")
        for k, (i, w, j) in enumerate(zip(ill, ward, job, strict=True))
    ]
    where = tmp_path_factory.mktemp("people") / "people.csv"
    return write_csv(where, ("pid", "ill", "ward", "job"), rows)


@pytest.fixture
def publish(people, tmp_path):
    def run(asked, name="safe.csv", criterion=None, key=None, encoding="codes", **more):
        recording = Recording(tmp_path / "ledger.sqlite", **more)
        options = Options(
            id=None if key is None else "pid", key=key, recording=recording, force=True
        )
        target = str(tmp_path / name)
        return sanitize(people, asked, criterion or ll.LIP(0.3), target, options, encoding=encoding)

    return run


def entries(tmp_path):
    with Ledger(tmp_path / "ledger.sqlite", must_exist=True) as ledger:
        return ledger.entries()


def test_a_publication_is_recorded_without_a_value_of_the_data(publish, people, tmp_path):
    made = publish(WARD, to="institute", people="members")
    (found,) = entries(tmp_path)
    assert (found.state, found.recipient, found.people) == ("published", "institute", "members")
    assert (found.sensitive, found.released) == (("ill",), ("ward",))
    assert found.source_sha256 == made.receipt.source_sha256
    assert found.release == made.release.fingerprint
    assert found.release_file == str(tmp_path / "safe.release.json")
    content = (tmp_path / "ledger.sqlite").read_bytes()
    content = content.replace(str(tmp_path.parent).encode(), b"")  # where a worker's name stands
    for value in (b"yes", b"w1", b"w4", b"p17"):
        assert value not in content


def test_beliefs_in_values_are_not_recorded(publish, tmp_path):
    publish(WARD, criterion=ll.AtMost({"yes": 0.6}, 2))
    assert entries(tmp_path)[0].criterion == "AtMost(factor=2.0, share=1.0)"
    assert b"yes" not in (tmp_path / "ledger.sqlite").read_bytes()


def test_a_second_independent_release_that_breaks_the_total_is_refused(publish, tmp_path):
    publish(WARD)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(BoundViolated, match="together with 1 earlier publication") as refused:
        publish(WARD, "again.csv")
    assert "Refine what was published" in str(refused.value)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert [entry.state for entry in entries(tmp_path)] == ["published"]


def test_other_columns_of_the_same_people_are_audited_together(publish, people, tmp_path):
    first = publish(WARD)
    with pytest.raises(BoundViolated, match=r"does not satisfy LIP\(epsilon=0.3\) for 'ill'"):
        publish(JOB, "job.csv")
    made = publish(JOB, "job.csv", total=ll.LIP(2.0))
    with open_table(people) as table:
        held = [Held(first.design.encoded), Held(made.design.encoded)]
        promise = Promise(first.release.origin.sensitive, ll.LIP(2.0))
        found = audit_held(table, held, promise)
    assert found.is_satisfied
    assert found.max_lift_leakage > 0.3


def test_the_joint_audit_is_that_of_the_definition(publish, people):
    ward, job = publish(WARD), publish(JOB, "job.csv", total=ll.LIP(3.0))
    with open_table(people) as table:
        held = [Held(ward.design.encoded), Held(job.design.encoded)]
        found = audit_held(table, held, Promise(ward.release.origin.sensitive, ll.LIP(0.5)))
    rows = pd.read_csv(people)
    counts = Counter(zip(rows.ill, rows.ward, rows.job, strict=True))
    total, prior = sum(counts.values()), Counter(rows.ill)
    lifts = {}
    x1, x2 = ward.release.joint.x_labels, job.release.joint.x_labels
    a, b = ward.release.channel, job.release.channel
    for y1 in range(a.n_y):
        for y2 in range(b.n_y):
            one, two = dict(zip(*a.atom(y1))), dict(zip(*b.atom(y2)))  # noqa: B905
            mass = Counter()
            for (s, w, j), n in counts.items():
                mass[s] += n * one.get(x1.index(w), 0) * two.get(x2.index(j), 0)
            if sum(mass.values()):
                lifts[y1, y2] = [
                    Fraction(mass[s] * total, sum(mass.values()) * prior[s]) for s in prior
                ]
    assert found.n_outputs == len(lifts)
    largest = max(max(each) for each in lifts.values())
    smallest = min(min(each) for each in lifts.values())
    assert found.lift.max() == pytest.approx(float(largest), rel=1e-12)
    assert found.lift.min() == pytest.approx(float(smallest), rel=1e-12)


def test_the_same_draws_are_not_a_second_release(publish, people, tmp_path):
    first = publish(WARD, key=KEY)
    publish(WARD, "again.csv", key=KEY)
    recording = Recording(tmp_path / "ledger.sqlite", release_file=tmp_path / "safe.release.json")
    options = Options(id="pid", key=KEY, recording=recording)
    apply(people, first.release, str(tmp_path / "third.csv"), options)
    assert [entry.state for entry in entries(tmp_path)] == ["published"] * 3
    with pytest.raises(BoundViolated, match="together with 1 earlier"):
        publish(WARD, "other.csv", key=bytes(32))


def test_a_refinement_says_what_it_refines(publish, people, tmp_path):
    first = publish(WARD, key=KEY)
    recording = Recording(tmp_path / "ledger.sqlite")
    options = Options(id="pid", key=KEY, recording=recording)
    second = refine_table(people, first.release, ll.LIP(0.6), str(tmp_path / "b.csv"), options)
    third = refine_table(people, second.release, ll.LIP(0.8), str(tmp_path / "c.csv"), options)
    assert third.audit.is_satisfied
    found = entries(tmp_path)
    assert [entry.refines for entry in found] == [
        None,
        first.release.fingerprint,
        second.release.fingerprint,
    ]


def test_a_refinement_of_a_table_that_was_drawn_freshly_is_a_further_release(
    publish, people, tmp_path
):
    first = publish(WARD)
    recording = Recording(tmp_path / "ledger.sqlite")
    options = Options(id="pid", key=KEY, recording=recording)
    with pytest.raises(BoundViolated, match="together with 1 earlier"):
        refine_table(people, first.release, ll.LIP(0.4), str(tmp_path / "b.csv"), options)


def test_recipients_hold_what_they_and_everybody_got(publish, tmp_path):
    publish(WARD, to="one")
    publish(WARD, "b.csv", to="two")  # another recipient, who holds nothing
    with pytest.raises(BoundViolated):
        publish(WARD, "c.csv", to="one")
    with pytest.raises(BoundViolated):
        publish(WARD, "c.csv")  # everybody: also those two
    assert len(entries(tmp_path)) == 2


@pytest.mark.parametrize(
    "name", ["The Ministry", " the  ministry ", "the\u00a0ministry", "\uff34he ministry"]
)
def test_a_name_that_is_typed_differently_holds_what_it_held(publish, people, tmp_path, name):
    publish(WARD, to=name)
    for again in ("the ministry", name):  # the first may be of an old ledger
        with pytest.raises(BoundViolated, match="together with 1 earlier"):
            publish(WARD, "b.csv", to=again)
    assert [entry.recipient for entry in entries(tmp_path)] == [name]  # as it was written
    publish(WARD, "b.csv", to="the ministry", total=ll.LIP(3.0))
    found = check_ledger(tmp_path / "ledger.sqlite", people, total=ll.LIP(3.0)).checks[-1]
    assert (found.name, found.detail) == (
        "what the ministry holds keeps the bound",
        "2 publications",
    )


@pytest.mark.parametrize("name", ["Everybody", "EVERYBODY", " everybody "])
def test_everybody_in_any_case_is_the_public(publish, tmp_path, name):
    publish(WARD, to=name)
    assert [entry.recipient for entry in entries(tmp_path)] == ["everybody"]
    with pytest.raises(BoundViolated):  # whoever is named holds what is public
        publish(WARD, "b.csv", to="one")


def test_a_ledger_that_has_everybody_in_another_case_means_the_public():
    row = ledger_entry(recipient="Everybody").to_row()
    assert row["recipient"] == "Everybody"
    assert Entry.from_row(row).recipient == "everybody"


def test_a_failed_run_is_not_a_release(publish, people, tmp_path, monkeypatch):
    from lowlift._files import Draft

    def fail(self, *, force):
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(Draft, "publish", fail)
        with pytest.raises(OSError, match="the disk is full"):
            publish(WARD)
    assert [entry.state for entry in entries(tmp_path)] == ["failed"]
    publish(WARD)
    assert [entry.state for entry in entries(tmp_path)] == ["failed", "published"]


def test_other_people_are_other_people(publish, tmp_path):
    publish(WARD)
    frame = pd.DataFrame({"ill": ["no", "yes"] * 50, "ward": ["w1", "w2", "w2", "w1"] * 25})
    recording = Recording(tmp_path / "ledger.sqlite", people="others")
    ll.sanitize(frame, sensitive="ill", released="ward", criterion=ll.LIP(0.3), ledger=recording)
    assert len(entries(tmp_path)) == 2
    with pytest.raises(InvalidInput, match="the people of a frame must have a name"):
        ll.sanitize(
            frame,
            sensitive="ill",
            released="ward",
            criterion=ll.LIP(0.3),
            ledger=tmp_path / "ledger.sqlite",
        )


def test_another_file_of_declared_people_is_of_the_same_people(publish, people, tmp_path):
    publish(WARD, people="members")
    copy = tmp_path / "copy.csv"
    copy.write_text(Path(people).read_text() + "p9999,no,w0,j0\n")
    recording = Recording(tmp_path / "ledger.sqlite", people="members")
    options = Options(recording=recording)
    with pytest.raises(BoundViolated, match="together with 1 earlier"):
        sanitize(str(copy), WARD, ll.LIP(0.3), str(tmp_path / "b.csv"), options)


def test_what_cannot_be_audited_is_refused_unless_accepted(publish, tmp_path):
    publish(WARD)
    release = tmp_path / "safe.release.json"
    moved = release.rename(tmp_path / "moved.json")
    with pytest.raises(
        BoundViolated, match=r"safe\.release\.json is gone or is another"
    ) as refused:
        publish(JOB, "job.csv", total=ll.LIP(3.0))
    assert "accept_unaudited" in str(refused.value)
    publish(JOB, "job.csv", total=ll.LIP(3.0), releases=[moved])
    publish(JOB, "more.csv", total=ll.LIP(3.0), accept_unaudited=True)
    assert [entry.is_unaudited for entry in entries(tmp_path)] == [False, False, True]


def test_an_earlier_promise_about_another_column_is_kept(people, tmp_path):
    recording = Recording(tmp_path / "ledger.sqlite")
    options = Options(recording=recording)
    job = Asked(("job",), ("ward",))
    sanitize(people, job, ll.LIP(0.0001), str(tmp_path / "a.csv"), options)
    with pytest.raises(BoundViolated, match="for 'job'"):
        sanitize(people, WARD, ll.LIP(1.0), str(tmp_path / "b.csv"), options)


def test_kept_columns_are_part_of_what_is_held(people, tmp_path):
    recording = Recording(tmp_path / "ledger.sqlite", total=ll.LIP(0.45))
    options = Options(keep=("job",), accept_uncovered=True, recording=recording)
    sanitize(people, WARD, ll.LIP(0.05), str(tmp_path / "a.csv"), options)
    with pytest.raises(BoundViolated, match="together with 1 earlier"):
        sanitize(people, WARD, ll.LIP(0.05), str(tmp_path / "b.csv"), Options(recording=recording))


def test_the_same_column_with_other_bins_is_counted_twice(tmp_path):
    rng = np.random.default_rng(3)
    age = rng.integers(0, 60, N)
    ill = np.where(rng.random(N) < 0.2 + age / 100, "yes", "no")
    where = write_csv(tmp_path / "ages.csv", ("ill", "age"), zip(ill, age, strict=True))
    recording = Recording(tmp_path / "ledger.sqlite", total=ll.LIP(3.0))
    for k, width in enumerate((10, 7)):
        asked = Asked(("ill",), ("age",), {"age": f"width:{width}"})
        made = sanitize(
            where, asked, ll.LIP(0.2), str(tmp_path / f"{k}.csv"), Options(recording=recording)
        )
    assert made.verification.is_ok
    assert len(entries(tmp_path)) == 2


def test_rows_from_cells_are_audited_on_their_table(publish, people, tmp_path):
    rows = Asked(("ill",), ("ward", "job"), cells=4)
    recording = Recording(tmp_path / "ledger.sqlite", total=ll.LIP(3.0))
    options = Options(recording=recording)
    sanitize(people, rows, ll.LIP(0.3), str(tmp_path / "rows.csv"), options)
    with pytest.raises(BoundViolated, match="together with 1 earlier"):
        publish(WARD, "b.csv")
    publish(WARD, "b.csv", total=ll.LIP(3.0))


def test_ids_that_repeat_are_refused_and_not_recorded(tmp_path):
    rows = [("p1", "no", "w1"), ("p1", "yes", "w2")] * 20
    where = write_csv(tmp_path / "twice.csv", ("pid", "ill", "ward"), rows)
    recording = Recording(tmp_path / "ledger.sqlite")
    options = Options(id="pid", key=KEY, recording=recording)
    with pytest.raises(InvalidInput, match="id"):
        sanitize(where, WARD, ll.LIP(0.3), str(tmp_path / "a.csv"), options)
    assert entries(tmp_path) == []


def test_bad_names_are_refused():
    with pytest.raises(InvalidInput, match="to must be a name on one line"):
        Recording("ledger.sqlite", to=" ")
    with pytest.raises(InvalidInput, match="people must be a name on one line"):
        Recording("ledger.sqlite", people="a\nb")
    with pytest.raises(InvalidInput, match="ledger must be a path or a Recording; got int"):
        Recording.of(7)


def test_the_release_file_is_read_and_its_fingerprint_compared(publish, tmp_path):
    publish(WARD)
    other = publish(JOB, "job.csv", total=ll.LIP(3.0))
    assert published(other.release).release.fingerprint == other.release.fingerprint
    (tmp_path / "job.release.json").replace(tmp_path / "safe.release.json")
    with pytest.raises(BoundViolated, match="is gone or is another one"):
        publish(WARD, "b.csv", total=ll.LIP(3.0))
    assert json.loads((tmp_path / "safe.release.json").read_text())["mechanism"]


_KILLED = """
import os, sys
sys.path.insert(0, {tests!r})
import lowlift as ll
from lowlift.workflow import Asked, Options, Recording, sanitize, sanitizing
from lowlift._ledger import Ledger
{patch}
options = Options(recording=Recording({ledger!r}))
sanitize({people!r}, Asked(("ill",), ("ward",)), ll.LIP(0.3), {target!r}, options)
"""
_AFTER = "Ledger.end = lambda *_, **__: os._exit(9)"
_BEFORE = "sanitizing.commit = lambda *_, **__: os._exit(9)"


@pytest.mark.parametrize(("patch", "is_held"), [(_AFTER, True), (_BEFORE, False)])
def test_a_kill_leaves_what_was_published_and_nothing_else(
    publish, people, tmp_path, patch, is_held
):
    target = tmp_path / "killed.csv"
    code = _KILLED.format(
        tests=str(Path(__file__).parents[1]),
        patch=patch,
        ledger=str(tmp_path / "ledger.sqlite"),
        people=people,
        target=str(target),
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 9
    (found,) = entries(tmp_path)
    assert found.state == "pending"
    assert (found.is_held, target.exists()) == (is_held, is_held)
    if is_held:
        with pytest.raises(BoundViolated, match="together with 1 earlier"):
            publish(WARD)
    else:
        publish(WARD)


def test_two_refinements_of_one_release_are_audited_as_they_were_drawn(publish, people, tmp_path):
    first = publish(WARD, key=KEY)
    coarse = ll.refine(first.release, ll.LIP(0.5)).release
    fine = ll.refine(first.release, ll.LIP(0.9)).release
    with open_table(people) as table:
        held = [Held(published(each), draws="the same key") for each in (coarse, fine)]
        promise = Promise(first.release.origin.sensitive, ll.LIP(1.5))
        coupled = audit_held(table, held, promise)
        apart = audit_held(table, [replace(each, draws=None) for each in held], promise)
    # By the definition: which numbers draw which two outputs.
    prior, joint, masses = first.release.joint.prior, first.release.joint, {}
    for x in range(joint.n_x):
        pieces = [coarse.draws.pieces[x], fine.draws.pieces[x]]
        for drawn, size in overlaps(pieces).items():
            column = masses.setdefault(drawn, [0] * joint.n_s)
            for s in range(joint.n_s):
                column[s] += int(joint.counts[s, x]) * size
    lifts = [
        Fraction(mass * sum(prior), sum(column) * p)
        for column in masses.values()
        for mass, p in zip(column, prior, strict=True)
    ]
    assert coupled.n_outputs == len(masses) < apart.n_outputs
    assert coupled.lift.max() == pytest.approx(float(max(lifts)), rel=1e-12)
    assert coupled.lift.min() == pytest.approx(float(min(lifts)), rel=1e-12)


def test_the_web_app_asks_and_tells_the_ledger(people, tmp_path, monkeypatch):
    from lowlift.web.work import Wishes
    from lowlift.web.work import publish as from_the_web
    from lowlift.workflow import design

    monkeypatch.setenv("LOWLIFT_LEDGER", str(tmp_path / "ledger.sqlite"))
    made = design(people, WARD, ll.LIP(0.3))

    def run(name):
        return from_the_web(people, None, made, tmp_path / name, Wishes(), "", lambda _: None)

    assert run("a.csv").made.verification.is_ok
    with pytest.raises(BoundViolated, match="together with 1 earlier"):
        run("b.csv")
    assert len(entries(tmp_path)) == 1


def test_a_ledger_is_consulted_without_a_word_in_it(people, tmp_path):
    """What it says before a publication is what publishing would do."""
    from lowlift.workflow import design, publish
    from lowlift.workflow.consulting import consult

    made = design(people, WARD, ll.LIP(0.3))
    path = tmp_path / "ledger.sqlite"

    def asked(to, **more):
        with open_table(people) as table:
            return consult(table, made.encoded, Options(recording=Recording(path, to=to, **more)))

    first = asked("a")
    assert (first.has_ledger, first.earlier, first.holds) == (True, (), True)
    assert not path.exists()
    options = Options(recording=Recording(path, to="a"))
    publish(people, made, str(tmp_path / "a.csv"), options)
    found = asked("a")
    assert found.holds is False
    assert [each.entry.recipient for each in found.earlier] == ["a"]
    assert float(found.most) > 1.35 > float(found.least)
    assert asked("b").holds is True
    # Everybody means a too.
    assert asked("everybody").holds is False
    assert asked("b").recipients == ("a",)
    (tmp_path / "a.release.json").rename(tmp_path / "moved.json")
    gone = asked("a")
    assert gone.holds is None
    assert [each.is_there for each in gone.earlier] == [False]
    assert asked("a", releases=[tmp_path / "moved.json"]).holds is False
    assert len(entries(tmp_path)) == 1


def test_what_recipients_would_hold_is_what_the_ledger_says_of_each(people, tmp_path):
    from lowlift.workflow import design, publish
    from lowlift.workflow.consulting import consult, sums

    path, made = tmp_path / "ledger.sqlite", design(people, WARD, ll.LIP(0.3))
    options = Options(recording=Recording(path))

    def asked(what=made):
        with open_table(people) as table:
            return {each.recipient: each for each in sums(table, what, options, ("a", "b"))}

    def consulted(to):
        with open_table(people) as table:
            return consult(table, made.encoded, Options(recording=Recording(path, to=to)))

    assert asked() == {}
    publish(people, made, str(tmp_path / "a.csv"), Options(recording=Recording(path, to="a")))
    found = asked()
    assert list(found) == ["a", "b", "everybody"]
    assert found["a"][1:4] == (consulted("a").most, consulted("a").least, False)
    # Who got nothing holds this one alone: exactly its bound, e**0.3 rounded up.
    alone = float(made.audit.lift.max())
    assert alone <= float(found["b"].most) < alone + 0.01
    assert (found["b"].most, found["b"].holds) == (found["everybody"].most, True)
    # For a population or other readers, what is promised is said, not what these rows show.
    population = asked(design(people, WARD, ll.Population(ll.MaxLift(2.0))))
    assert (population["a"].most, population["a"].holds) == ("7.39", True)
    readers = asked(design(people, WARD, ll.EveryPrior(0.1, 0.01, 0.01)))
    assert readers["a"][1:4] == ("", "", False)
    assert readers["everybody"].most == "1.02"
    publish(
        people,
        design(people, WARD, ll.MaxLift(2.0)),
        str(tmp_path / "all.csv"),
        Options(recording=Recording(path)),
    )
    assert float(asked()["everybody"].most) > float(found["everybody"].most)
    (tmp_path / "a.release.json").unlink()
    assert (asked()["a"].holds, asked()["a"].is_missing) == (None, True)
    assert asked()["b"].holds is not None


def two_columns(seed, rows):
    """Return a population of S by two columns, (2, 3, 3), and a sample of it as a frame."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(18, 3.0)).reshape(2, 3, 3)
    drawn = rng.choice(18, rows, p=truth.ravel())
    parts = np.unravel_index(drawn, truth.shape)
    return truth, pd.DataFrame(dict(zip("sab", ([f"{v}" for v in part] for part in parts))))  # noqa: B905 (all have three)


def kept_with(strength):
    rows = np.ones((3, 3)) + strength * np.eye(3)
    return rows / rows.sum(axis=1, keepdims=True)


def blurred(joint, strength, bound):
    """Return a release of one column that keeps its value with this probability, else any."""
    channel = ll.Channel.from_probabilities(kept_with(strength), joint.x_labels, ("0", "1", "2"))
    release = ll.Release.of(joint, channel, bound)
    return published(release.with_table(replace(joint.origin, encoding="codes")))


def test_two_releases_for_the_population_hold_together_in_the_population():
    """The sharpest pair that the joint audit allows never breaks the bound of the population."""
    limit, bound = 0.5, ll.Population(ll.LIP(0.5))
    allowed = 0
    for seed in range(40):
        truth, frame = two_columns(seed, 4000)
        people = ll.Joint(truth.reshape(2, 9))
        strongest = None
        joints = [ll.read_joint(frame, Asked(("s",), (name,))) for name in "ab"]
        with open_table(frame) as table:
            for strength in (12, 5, 2, 1):
                held = [Held(blurred(joint, strength, ll.LIP(5.0))) for joint in joints]
                promise = Promise(held[0].sensitive, bound)
                if audit_held(table, held, promise).is_satisfied:
                    strongest = strength
                    break
        if strongest is None:
            continue
        allowed += 1
        keep = kept_with(strongest)
        pair = np.einsum("ai,bj->abij", keep, keep).reshape(9, 9)
        masses = truth.reshape(2, 9) @ pair
        lifts = masses / masses.sum(axis=0) / people.p_s[:, None]
        assert np.abs(np.log(lifts)).max() <= limit
    assert allowed > 20


def test_a_pair_that_holds_for_the_table_alone_is_refused_for_the_population(publish, tmp_path):
    publish(WARD, criterion=ll.LIP(0.2), to="one")
    pair = ll.LIP(1.1)
    publish(JOB, "table.csv", ll.LIP(0.2), to="one", total=pair)
    publish(WARD, "ward.csv", ll.LIP(0.2), to="two")
    with pytest.raises(BoundViolated, match=r"does not satisfy Population\(criterion=LIP"):
        publish(JOB, "job.csv", ll.LIP(0.2), to="two", total=ll.Population(ll.LIP(0.6), 0.999))
    assert not (tmp_path / "job.csv").exists()
    publish(JOB, "job.csv", ll.LIP(0.2), to="two", total=ll.Population(ll.LIP(3.0)))


def test_rows_from_cells_are_not_audited_together_for_the_population(people, tmp_path):
    bound = ll.Population(ll.LIP(0.9))
    recording = Recording(tmp_path / "ledger.sqlite")
    rows = Asked(("ill",), ("ward", "job"), cells="auto")
    sanitize(people, rows, bound, str(tmp_path / "a.csv"), Options(recording=recording))
    with pytest.raises(BoundViolated, match="rows that the cells were learnt from"):
        sanitize(people, WARD, bound, str(tmp_path / "b.csv"), Options(recording=recording))
    assert not (tmp_path / "b.csv").exists()


def test_a_table_that_grew_is_published_by_the_same_draws_for_the_population(people, tmp_path):
    recording = Recording(tmp_path / "ledger.sqlite", people="members")
    options = Options(id="pid", key=KEY, recording=recording)
    bound = ll.Population(ll.LIP(0.3))
    made = sanitize(people, WARD, bound, str(tmp_path / "a.csv"), options, encoding="codes")
    lines = Path(people).read_text(encoding="utf-8").splitlines()
    more = [line.replace("p", "q", 1) for line in lines[1::100]]
    grown = tmp_path / "grown.csv"
    grown.write_text("\n".join([*lines, *more]) + "\n", encoding="utf-8")
    release = ll.Release.from_json(made.files["release"])
    file = replace(recording, release_file=made.files["release"])
    receipt = apply(str(grown), release, str(tmp_path / "b.csv"), replace(options, recording=file))
    assert receipt.rows_out == N + len(more)
    assert [entry.state for entry in entries(tmp_path)] == ["published", "published"]
