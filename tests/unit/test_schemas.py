"""The published JSON Schemas: what lowlift writes fits them, what is damaged does not."""

import copy
import json
from dataclasses import fields
from pathlib import Path

import pytest

import lowlift as ll
from json_schema import faults
from lowlift import Certificate, InvalidInput, Release, schemas
from lowlift._cells.tree import Split, Tree
from lowlift.codebook import Codebook
from lowlift.criteria import _BY_NAME, to_dict
from lowlift.encodings import ENCODINGS
from lowlift.tables import Calendar, Column, DateEdges, Days, Each, Edges, Width
from lowlift.tables.cells import CellBins
from lowlift.tables.columns import KINDS
from lowlift.workflow import Asked, Options, apply, design, read_receipt, sanitize
from lowlift.workflow.choices import MECHANISMS
from people import write_people

FILES = Path(__file__).parents[1] / "package" / "files"
READERS = {"release": Release.from_json, "codebook": Codebook.from_json, "receipt": read_receipt}
CRITERIA = {
    "ALIP": ll.ALIP(0.3, 0.5),
    "LIP": ll.LIP(0.3),
    "LDP": ll.LDP(0.7),
    "MaxLift": ll.MaxLift(0.3),
    "L1Lift": ll.L1Lift(0.3, float("inf")),
    "Chi2Lift": ll.Chi2Lift(float("inf"), 0.3),
    "AlphaLift": ll.AlphaLift(2.0, 0.3, 0.3),
    "AtMost": ll.AtMost({"cholera": 0.3}, 2),
    "BetaLikeness": ll.BetaLikeness(0.25),
    "DeltaDisclosure": ll.DeltaDisclosure(0.5, "bits"),
    "TCloseness": ll.TCloseness(0.1),
    "EveryPrior": ll.EveryPrior(0.1, 0.5, float("inf")),
    "Population": ll.Population(ll.LIP(0.5), 0.9),
}
ASKED = Asked(("disease",), ("ward",))


def saved(path):
    return json.loads(Path(path).read_text("utf-8"))


def faults_of(name, content):
    return list(faults(content, schemas.load(name)))


def check_files(folder):
    """Every file of a run fits its schema."""
    for name in schemas.SCHEMAS:
        assert faults_of(name, saved(folder / f"safe.{name}.json")) == []


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    return write_people(tmp_path_factory.mktemp("people") / "people.csv")


def published(people, folder, criterion=CRITERIA["LIP"], **more):
    return sanitize(people, ASKED, criterion, str(folder / "safe.csv"), time_limit=5, **more)


@pytest.mark.parametrize("name", CRITERIA)
def test_files_of_every_criterion_fit(people, tmp_path, name):
    published(people, tmp_path, CRITERIA[name])
    check_files(tmp_path)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_files_of_every_mechanism_fit(people, tmp_path, mechanism):
    published(people, tmp_path, mechanism=mechanism)
    check_files(tmp_path)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("round_to", [None, 0.05])
def test_files_of_every_encoding_fit(people, tmp_path, encoding, round_to):
    published(people, tmp_path, mechanism="subset-merging", encoding=encoding, round_to=round_to)
    check_files(tmp_path)


@pytest.mark.parametrize(
    "options",
    [
        {"id": "pid", "key": bytes(32)},
        {"seed": 1},
        {"keep": ("year",), "keep_order": True, "accept_uncovered": True},
    ],
)
def test_receipts_of_every_draw_fit(people, tmp_path, options):
    release = design(people, ASKED, CRITERIA["LIP"], mechanism="subset-merging").release
    apply(people, release, str(tmp_path / "safe.csv"), Options(**options))
    assert faults_of("receipt", saved(tmp_path / "safe.receipt.json")) == []


def test_a_release_of_probabilities_and_no_table_fits(tmp_path):
    joint = ll.Joint([[0.1, 0.2, 0.05], [0.3, 0.1, 0.25]])
    for release in (
        ll.subset_merging(joint, ll.ALIP(0.2, float("inf"))),
        ll.Release.of(joint, ll.Channel.identity(joint), ll.AlphaLift(float("inf"), 0.1, 0.1)),
    ):
        release.to_json(tmp_path / "r.json")
        assert faults_of("release", saved(tmp_path / "r.json")) == []


@pytest.mark.parametrize("name", schemas.SCHEMAS)
def test_files_of_version_1_fit(name):
    assert faults_of(name, saved(FILES / f"safe.{name}.json")) == []


CELLS = CellBins(Tree(("age", "job"), (Split(0, -1, -2, most=3),)), ("integer", "text"))
BINS = (
    Edges((0, 1.5)), Width(10), Width(0.1), Each(), Calendar("quarter"), Days(7),
    DateEdges(("2024-01-01",)),
)  # fmt: skip


def test_every_kind_of_column_and_bins_fits():
    content = saved(FILES / "safe.release.json")
    made = [
        Column(kind, kind, bins) for kind in KINDS for bins in (None, *BINS) if fits(kind, bins)
    ]
    assert {column.kind for column in made} == {*KINDS} - {"other"}
    assert {type(column.bins) for column in made} == {type(None), *map(type, BINS)}
    content["table"]["released"] = [column.to_dict() for column in made]
    assert faults_of("release", content) == []


def fits(kind, bins):
    try:
        Column(kind, kind, bins)
    except InvalidInput:
        return False
    return True


def objects_in(content, place=()):
    """Every mapping in a file, with the way to it."""
    if isinstance(content, dict):
        yield place, content
    parts = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in parts:
        if isinstance(value, dict | list):
            yield from objects_in(value, (*place, key))


def damaged(content):
    """Copies with an unknown key, without a key, and with a value of another type, everywhere.

    Numbers and booleans become texts, everything else becomes true.
    """
    for place, part in objects_in(content):
        if place[:1] == ("columns",):
            continue  # said by whoever makes a codebook: anything goes
        for key in (None, *part):
            copied = copy.deepcopy(content)
            found = copied
            for step in place:
                found = found[step]
            if key is None:
                found["colour"] = "red"
                yield (*place, "colour"), copied
                continue
            value = found.pop(key)
            yield (*place, key), copied
            other = copy.deepcopy(copied)
            found = other
            for step in place:
                found = found[step]
            found[key] = "1" if isinstance(value, int | float) else True
            yield (*place, key, "type"), other


#: What a release may lack: keys that later versions added.
OPTIONAL = {("certificate", "stopped_after"), ("certificate", "bins")}
#: Labels may be anything.
LABELS = {"label"}


@pytest.mark.parametrize("name", schemas.SCHEMAS)
def test_damaged_files_do_not_fit(people, tmp_path, name):
    published(people, tmp_path, mechanism="random-response", encoding="codes")
    seen = 0
    for place, wrong in damaged(saved(tmp_path / f"safe.{name}.json")):
        if place in OPTIONAL or (place[-1] == "type" and place[-2] in LABELS):
            continue
        assert faults_of(name, wrong), place
        seen += 1
        if place[-1] == "colour":  # where a schema admits no other key, the reader does not either
            (tmp_path / "wrong.json").write_text(json.dumps(wrong))
            with pytest.raises(InvalidInput):
                READERS[name](tmp_path / "wrong.json")
    assert seen > 20


def places_in(content, place=()):
    """The way to every value in a file."""
    yield place
    if isinstance(content, dict | list):
        parts = content.items() if isinstance(content, dict) else enumerate(content)
        for key, value in parts:
            yield from places_in(value, (*place, key))


def replaced(content, place, value):
    """The content with another value at this place."""
    if not place:
        return value
    copied = copy.copy(content)
    copied[place[0]] = replaced(content[place[0]], place[1:], value)
    return copied


def refusal(name, path):
    """What the reader says against a file; nothing where it reads it."""
    try:
        READERS[name](path)
    except InvalidInput as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", schemas.SCHEMAS)
@pytest.mark.parametrize("encoding", ["codes", "values"])
def test_what_a_schema_refuses_the_reader_refuses(people, tmp_path, name, encoding):
    made = published(people, tmp_path, mechanism="random-response", encoding=encoding)
    content = saved(tmp_path / f"safe.{name}.json")
    wrong, seen = tmp_path / "wrong.json", 0
    for place in places_in(content):
        for value in (None, True, "x", "0", 1.5, -1, [], {}, ["x"], {"x": 1}):
            changed = replaced(content, place, value)
            if not faults_of(name, changed):
                continue
            seen += 1
            wrong.write_text(json.dumps(changed))
            message = refusal(name, wrong)
            assert message.endswith("."), (place, value)
            assert "\n" not in message
            assert not any(repr(label) in message for label in made.release.joint.s_labels)
    assert seen > 100


# --- the schemas and the code cannot drift apart ---------------------------------------------


def keys_of(schema):
    return set(schema["properties"])


def variants(schema, key):
    """The constants that tell the variants of a definition apart, and their keys."""
    return {part["properties"][key]["const"]: keys_of(part) for part in schema["anyOf"]}


def test_the_file_of_a_refinement_fits(people, tmp_path):
    first = published(people, tmp_path, mechanism="random-response", encoding="codes")
    ll.refine(first.release, ll.LIP(0.6)).to_json(tmp_path / "second.json")
    content, release = saved(tmp_path / "second.json"), schemas.load("release")
    assert faults_of("release", content) == []
    assert content.keys() == keys_of(release)
    for part in ("draws", "refines"):
        assert keys_of(release["properties"][part]) == content[part].keys()


def test_the_schemas_have_the_keys_that_the_code_writes(people, tmp_path):
    made = published(people, tmp_path)
    release = schemas.load("release")
    content = saved(tmp_path / "safe.release.json")
    assert keys_of(release) - {"draws", "refines"} == content.keys()
    for part in ("audit", "channel"):
        assert keys_of(release["properties"][part]) == content[part].keys()
    parts = release["$defs"]
    spec = made.design.spec
    written = spec.to_dict().keys() | {"escape_formulas", "pilot"}
    assert keys_of(parts["table"]) == written
    assert keys_of(parts["column"]) == spec.released[0].to_dict().keys()
    assert keys_of(parts["certificate"]) == {field.name for field in fields(Certificate)}
    assert variants(parts["bins"], "bins") == {
        bins.to_dict()["bins"]: set(bins.to_dict()) for bins in (*BINS, CELLS)
    }
    for name in ("receipt", "codebook"):
        assert keys_of(schemas.load(name)) == saved(tmp_path / f"safe.{name}.json").keys()
    assert set(CRITERIA) == set(_BY_NAME)
    expected = {name: set(to_dict(criterion)) for name, criterion in CRITERIA.items()}
    for name in ("release", "codebook"):
        plain, population = schemas.load(name)["$defs"]["criterion"]["anyOf"]
        assert plain == {"$ref": "#/$defs/plain_criterion"}
        parts = schemas.load(name)["$defs"]["plain_criterion"]["anyOf"] + [population]
        assert variants({"anyOf": parts}, "name") == expected


def test_definitions_in_two_schemas_are_the_same():
    release, book = schemas.load("release")["$defs"], schemas.load("codebook")["$defs"]
    assert book == {name: release[name] for name in book}


@pytest.mark.parametrize("name", schemas.SCHEMAS)
def test_a_schema_says_what_each_key_means_and_admits_no_others(name):
    schema = schemas.load(name)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    for _, part in objects_in(schema):
        if "properties" in part and "required" in part:
            assert part["additionalProperties"] is False
            assert part["required"]
            for key, value in part["properties"].items():
                assert "description" in value or "$ref" in value, key


def test_what_the_schema_of_a_certificate_refuses_its_reader_refuses(tmp_path):
    content = saved(FILES / "certificate.json")
    head = {key: content.pop(key) for key in ("format", "version")}
    release = schemas.load("release")
    wrong, seen = tmp_path / "wrong.json", 0
    for place in places_in(content):
        for value in (None, True, "x", "0", 1.5, -1, [], {}, ["x"]) if place else ():
            changed = replaced(content, place, value)
            if any(faults(changed, release["$defs"]["certificate"], release)):
                seen += 1
                wrong.write_text(json.dumps(head | changed))
                with pytest.raises(InvalidInput, match=r"wrong\.json is damaged: .*\.$"):
                    Certificate.from_json(wrong)
    assert seen > 30


@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        (("table", "rows"), "8", "table.rows must be a whole number; it is a text."),
        (("table", "rows"), -1, "table.rows must be at least 0; it is not."),
        (("table", "sha256"), "x", r"table.sha256 must match ^[0-9a-f]{64}$ or be null; it does"),
        (("certificate", "scope"), 5, "certificate.scope must be 'partitions' or 'mechanisms'; it"),
        (("criterion", "epsilon"), "x", "criterion.epsilon must be a number; it is a text."),
        (("criterion", "name"), "DP", "criterion.name must be 'ALIP' or be 'LIP' or be"),
        (("channel", "atoms", 0, 1, 0), None, "channel.atoms[0][1][0] must be a whole number; it"),
        (("audit",), {}, "audit must have 'is_satisfied'; it has not."),
    ],
)
def test_a_release_that_does_not_fit_is_refused_with_the_place(
    people, tmp_path, place, value, words
):
    published(people, tmp_path)
    changed = replaced(saved(tmp_path / "safe.release.json"), place, value)
    (tmp_path / "wrong.json").write_text(json.dumps(changed))
    assert f"wrong.json is damaged: {words}" in refusal("release", tmp_path / "wrong.json")


def test_an_unknown_schema_is_refused():
    with pytest.raises(InvalidInput, match="release, codebook, receipt, config; got 'curve'"):
        schemas.load("curve")
