"""Valid files and texts, made by lowlift itself: where fuzzing starts."""

import gzip
import io
import tempfile
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import lowlift as ll
from lowlift.codebook import Codebook
from lowlift.encodings import encode
from lowlift.tables import Edges
from lowlift.workflow import Asked, Options, sanitize

__all__ = ["MARKER", "PUBLISHED", "TABLES", "documents", "texts"]

#: Stands for a person's value; it must never come back in an error.
MARKER = "Zq7marker"

PEOPLE = (
    "age,region,sick\n"
    + "".join(
        f"{age},{region},{sick}\n" * (age // 15 if sick == "yes" else 7 - age // 15)
        for age in (20, 35, 50, 70)
        for region in ("north", "south", "south")
        for sick in ("yes", "no")
    )
).encode()
PUBLISHED = b"code\n" + b"0\n1\n0\n2\n" * 5


@cache
def documents():
    """Return releases, codebooks, receipts and certificates as bytes, a list of each."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        found = {"release": [], "codebook": [], "receipt": [], "certificate": [], "published": []}
        people = place / "people.csv"
        people.write_bytes(PEOPLE)
        asked = Asked(("sick",), ("age", "region"), {"age": Edges((30, 60))})
        for encoding, mechanism in (("codes", "random-response"), ("groups", "subset-merging")):
            made = sanitize(
                str(people),
                asked,
                ll.ALIP(0.3, 0.2),
                str(place / f"{encoding}.csv"),
                Options(seed=1),
                mechanism=mechanism,
                encoding=encoding,
            )
            for kind, path in made.files.items():
                found[kind].append(path.read_bytes())
            found["published"].append((place / f"{encoding}.csv").read_bytes())
        for path, release in enumerate(_releases()):
            release.to_json(place / f"{path}.json")
            found["release"].append((place / f"{path}.json").read_bytes())
        for number, book in enumerate(_codebooks()):
            book.to_json(place / f"{number}.book")
            found["codebook"].append((place / f"{number}.book").read_bytes())
        proven = ll.random_response(ll.Joint.random(2, 4, seed=1), ll.Chi2Lift(float("inf"), 0.1))
        proven.certificate.to_json(place / "certificate")
        found["certificate"].append((place / "certificate").read_bytes())
    return found


def _releases():
    """One release of every criterion; joints of counts and of probabilities, true and false."""
    counted = ll.Joint.from_counts([[1, 3, 4], [3, 1, 4]], ["p", "q"], ["a", ("b", 1), None])
    given = ll.Joint([[0.25, 0.125, 0.0], [0.25, 0.125, 0.25]])
    bounds = (
        ll.LIP(0.5),
        ll.LDP(1.0),
        ll.MaxLift(0.25),
        ll.ALIP(0.5, float("inf")),
        ll.L1Lift(0.5, 0.5),
        ll.Chi2Lift(float("inf"), 0.5),
        ll.AlphaLift(2.0, 0.5, 0.5),
    )
    for joint in (counted, given):
        for bound in bounds:
            yield ll.subset_merging(joint, bound)
        yield ll.Release.of(joint, ll.Channel.identity(joint), bounds[0])
        yield ll.Release.of(joint, ll.Channel([[3, 5], [4, 4], [8, 0]]), bounds[-1])
    yield ll.optimal_merging(counted, ll.LIP(0.2))


def _codebooks():
    joint = ll.Joint.from_counts([[9, 2, 40], [2, 9, 40]], x_labels="abc")
    merged = ll.subset_merging(joint, ll.LIP(0.1))
    drawn = ll.random_response(joint, ll.LIP(0.1))
    yield Codebook.of(encode(merged, "groups"), round_to=0.1)
    yield Codebook.of(encode(drawn, "values"), round_to=0.05)
    texts = list(encode(drawn, "values").texts)
    yield Codebook.of(encode(drawn, "values"), [{"name": "code", "kind": "text", "texts": texts}])


@cache
def texts():
    """Return what a user may type, by what it is parsed as."""
    words = {
        "bins": [
            "age=0,18,30",
            "a=b=width:0.5",
            "n=each",
            "n=quantiles:4",
            "x=-1e3,2.5,1e18",
            "n=" + "9" * 400,
        ],
        "numbers": ["0.25:8:0.25", "0.5,1,2", "1e-3", "-1:1:0.5", "inf,nan", "0:1e300:1e-300"],
        "source": [
            "people.csv",
            "a/*.parquet",
            "data.duckdb?table=hr.people",
            'data.db?table="a.b"."c"',
            "postgresql://user@host:5432/db?table=hr.people&sslmode=require",
            "postgresql:///db?host=/tmp&table=t",
            "postgres://[::1],b:1/db?table=%22a%22",
            "hdfs://cluster/people.parquet",
            "table:hr.people",
        ],
        "password": [
            "user||db?table=t",
            "user|@|db?table=t",
            "|/a?b#c|x?table=t",
            "a|%40|?table=t",
        ],
    }
    return {kind: [word.encode() for word in found] for kind, found in words.items()}


def _csv():
    rows = [f"{n},{MARKER}{n % 3},{'yes' if n % 2 else 'no'},{n / 4}" for n in range(12)]
    plain = "n,name,flag,x\n" + "\n".join(rows) + "\n"
    return [
        plain.encode(),
        plain.replace(",", ";").encode(),
        f'n,name\n1,"{MARKER}"\n2,"a ""{MARKER}"" b"\n3,"two\nlines"\n'.encode(),
        f"day,n\n2024-01-31,{MARKER}\n2024-02-30,4\n".encode(),
        f"n\n{MARKER}\n\n7\n".encode("utf-16"),
        f"n,b\n1,true\n{MARKER},false,extra\n".encode(),
        b"\xef\xbb\xbfn,m\r\n1,2\r\n9223372036854775808,4\r\n",
    ]


def _parquet():
    table = pa.table(
        {
            "n": [1, 2, None, 4],
            "name": [MARKER, "b", MARKER + "2", None],
            "x": [0.5, float("nan"), 1e300, -0.0],
            "flag": [True, False, None, True],
        }
    )
    found = []
    for options in ({"compression": "none", "use_dictionary": False}, {"compression": "snappy"}):
        stream = io.BytesIO()
        pq.write_table(table, stream, **options)
        found.append(stream.getvalue())
    return found


TABLES = {
    "csv": cache(_csv),
    "tsv": cache(lambda: [data.replace(b",", b"\t") for data in _csv()]),
    "gzip": cache(lambda: [gzip.compress(data, mtime=0) for data in _csv()]),
    "parquet": cache(_parquet),
}
