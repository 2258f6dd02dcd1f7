"""What fuzzing found once, and must not find again."""

import gzip
import json

import pytest

import lowlift as ll
from fuzz.seeds import documents
from lowlift.errors import InvalidInput
from lowlift.tables import Each, open_table, parse_bins
from lowlift.tables.sources import parse_source
from lowlift.workflow import estimate_table, parse_numbers, verify

DEEP = "[" * 50_000 + "]" * 50_000


@pytest.fixture
def written(tmp_path):
    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return write


def changed(kind, number, **parts):
    return json.dumps(json.loads(documents()[kind][number]) | parts)


def test_a_stored_audit_too_large_for_a_float(written):
    audit = json.loads(documents()["release"][0])["audit"] | {"nmi": 10**400}
    with pytest.raises(InvalidInput, match="disagrees"):
        ll.Release.from_json(written("r.json", changed("release", 0, audit=audit)))


def test_a_number_that_overflows_to_infinity_is_no_json(written):
    text = changed("release", 0, table={"rows": 0}).replace('"rows": 0', '"rows": 1e999')
    assert "1e999" in text
    with pytest.raises(InvalidInput, match="not JSON"):
        ll.Release.from_json(written("r.json", text))


@pytest.mark.parametrize("texts", [[{}, {}, {}], ["a"], 7, [None, 1, 2]])
def test_a_codebook_whose_columns_have_no_texts(written, texts):
    columns = [{"name": "code", "kind": "integer", "texts": texts}]
    book = written("c.json", changed("codebook", 0, columns=columns))
    with pytest.raises(InvalidInput, match=r"texts|one text per output"):
        estimate_table(written("safe.csv", documents()["published"][0]), book)


@pytest.mark.parametrize(
    "text", [DEEP, '{"format": "lowlift-receipt", "version": 2}', "{}", "1e999"]
)
def test_a_receipt_that_is_none(written, text):
    release = written("safe.release.json", documents()["release"][0])
    published = written("safe.csv", documents()["published"][0])
    written("safe.receipt.json", text)
    with pytest.raises(InvalidInput, match=r"safe\.receipt\.json"):
        verify(release, published=published)


@pytest.mark.parametrize("parts", [{"floor": 10**400}, {"duals": [10**400]}, {"gap": 10**400}])
def test_a_certificate_of_numbers_too_large(written, parts):
    with pytest.raises(InvalidInput, match="certificate"):
        ll.Certificate.from_json(written("c.json", changed("certificate", 0, **parts)))


def test_a_certificate_nested_too_deep(written):
    with pytest.raises(InvalidInput, match="not JSON"):
        ll.Certificate.from_json(written("c.json", DEEP))


def test_numbers_whose_step_is_too_small_to_divide_by():
    with pytest.raises(InvalidInput, match="at most"):
        parse_numbers("0:1e300:1e-300", "epsilon")
    assert len(parse_numbers("1:10000:1", "epsilon")) == 10_000
    with pytest.raises(InvalidInput, match="at most"):
        parse_numbers("0:10000:1", "epsilon")


def test_an_edge_too_large_for_a_float():
    with pytest.raises(InvalidInput, match="below"):
        parse_bins("n=" + "9" * 400)


def test_a_pattern_with_a_nul_byte():
    with pytest.raises(InvalidInput, match="matches none"):
        parse_source("a\0/*.csv")


def test_a_compressed_file_that_is_cut_or_changed(written):
    rows = "".join(f"{n * 7919 % 1000}\n" for n in range(5000))
    whole = gzip.compress(("n\n" + rows).encode(), mtime=0)
    for broken in (whole[:200], whole[:-9], whole[:300] + b"\xff\xff\xff" + whole[303:]):
        with pytest.raises(InvalidInput), open_table(written("n.csv.gz", broken)) as table:
            assert table.rows  # DuckDB may see it only when it reads on


#: More rows than the types of a CSV are told from.
MANY = b"t,n\nq,2\n" + b"k,4\n" * 1_100_000


@pytest.mark.parametrize(
    "last",
    [
        b"k,Zq7marker",
        b'"x\nError when converting column ""Zq7marker"". Could not",zz',
        b'k,"zz\nError when converting column ""Zq7marker"". Could not"',
        b'"x is being converted as type Zq7marker",zz',
    ],
)
def test_a_late_value_of_another_type_is_not_quoted(written, last):
    path = written("people.csv", MANY + last + b"\n")
    with open_table(path) as table:
        columns = [table.column("t"), table.column("n", Each())]
        with pytest.raises(InvalidInput, match=r"people\.csv must hold one type") as caught:
            table.count(columns)
    assert "Zq7marker" not in str(caught.value)


def test_a_late_number_with_a_zero_in_front_is_the_same_number(written):
    with open_table(written("people.csv", MANY + b"k,04\n")) as table:
        counted = table.count([table.column("n", Each())])
    assert dict(zip(counted.symbols, counted.counts, strict=True)) == {(2,): 1, (4,): 1_100_001}
