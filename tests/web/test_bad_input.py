"""Files that are no tables, and questions that have no answer: the page says what to do."""

import contextlib
import io
import random
import re
import socket
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from playwright.sync_api import expect

from web.browsing import Visit, answer, choose, payload, upload_file
from web.serving import Server, clinic, form_of, post, problem_of, settled, token_of, upload

MARKER = "MARKERsecret"


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A server that takes files of up to 1 MB."""
    running = Server(tmp_path_factory.mktemp("small"), "--upload-limit", "1")
    yield running
    running.stop()


def parquet(damage=lambda content: content):
    """Return a Parquet file, perhaps damaged."""
    buffer = io.BytesIO()
    pq.write_table(pa.table({"a": [MARKER, "b"] * 500, "b": list(range(1000))}), buffer)
    return damage(buffer.getvalue())


def cut(content):
    """Leave the middle out; both ends are as they were."""
    return content[:200] + content[-40:]


def scramble(content):
    """Change the footer; both ends and the length are as they were."""
    return content[:-60] + random.Random(1).randbytes(52) + content[-8:]


BAD_FILES = {
    "picture": ("a.csv", b"\x89PNG\r\n\x1a\n" + bytes(200), "a.csv is not a CSV file"),
    "other ending": ("a.xlsx", b"PK\x03\x04", "a.xlsx is not a CSV or Parquet"),
    "no ending": ("table", b"a,b\n1,2\n", "CSV or Parquet"),
    "two endings": ("a.csv.exe", b"a,b\n1,2\n", "CSV or Parquet"),
    "empty": ("a.csv", b"", "a.csv is empty"),
    "empty parquet": ("a.parquet", b"", "empty"),
    "blank": ("a.csv", b"\n\n\n", "one column only"),
    "header only": ("a.csv", b"a,b\n", "row"),
    "csv as parquet": ("a.parquet", b"a,b\n1,2\n", "a.parquet is not a Parquet file"),
    "cut parquet": ("a.parquet", parquet(cut), "arquet"),
    "scrambled parquet": ("a.parquet", parquet(scramble), "arquet"),
    "not utf-8": ("a.csv", f"a,b\n{MARKER},\xe4\xf6\n".encode("latin-1") * 99, "UTF-8"),
    "utf-16": ("a.csv", f"a,b\n{MARKER},1\n".encode("utf-16"), "CSV"),
    "ragged": ("a.csv", f"a,b\n{MARKER},1\n".encode() * 9 + b"1,2,3,4,5\n" * 9 + b'"x', ""),
    "name of a folder": ("../../../a.csv", b"", "empty"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_is_refused_with_what_to_do(server, client, name):
    file, content, expected = BAD_FILES[name]
    answer = upload(client, file, content)
    page = answer.text
    if answer.status_code == 303:  # read later, by the page that shows it
        page = settled(client, answer.headers["location"])
    said = problem_of(page)
    assert expected.lower() in said.lower(), said
    assert said.endswith("."), said
    assert_discreet(page, server)
    assert client.get("/").status_code == 200


def assert_discreet(page, server):
    for word in (MARKER, "Traceback", str(server.temporary), "File &#34;", "lowlift-web-"):
        assert word not in page, word


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "multipart/form-data; boundary=x"),
        (b"--x\r\nnonsense", "multipart/form-data; boundary=x"),
        (b"--y\r\n\r\n--y--", "multipart/form-data; boundary=x"),
        (b"a=b", "application/x-www-form-urlencoded"),
        (b"{}", "application/json"),
        (b"--\r\n", "multipart/form-data"),
        (b"", ""),
    ],
)
def test_a_damaged_form_is_refused(client, content, kind):
    answer = client.post("/upload", content=content, headers={"Content-Type": kind})
    assert answer.status_code in {403, 422}
    assert client.get("/").status_code == 200


def test_a_form_without_a_file_says_so(client):
    token = token_of(client.get("/").text)
    answer = client.post("/upload", files={"token": (None, token)})
    assert answer.status_code == 422
    assert "choose a file" in problem_of(answer.text).lower()


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd.csv", "C:\\data\\my table.csv", ".csv", "a\0b.csv", "a" * 300 + ".csv"],
)
def test_file_names_have_no_folders(server, client, name):
    before, content, found = set(server.files()), b"a,b\nx,1\ny,2\n", []
    answer = upload(client, name, content)
    assert answer.status_code == 303
    for path in set(server.files()) - before:
        with contextlib.suppress(FileNotFoundError):  # jobs have files of their own, for a time
            found += [path] if path.read_bytes() == content else []
    (new,) = found
    assert new.is_relative_to(server.temporary)
    assert re.fullmatch(r"[\w.-]+\.csv", new.name)


@pytest.mark.parametrize("letter", ["表", "𠀀"])
def test_long_names_in_other_scripts_reach_the_end(client, letter):
    answer = upload(client, letter * 90 + ".csv", clinic().encode())
    assert answer.status_code == 303
    setting = answer.headers["location"].removeprefix("/columns?") + "&s=disease&x=zip"
    page, _ = post(client, setting)
    assert "Written and verified" in page, problem_of(page)


def test_names_of_columns_are_text_and_no_markup(client):
    name = "<img src=x onerror=alert(1)>"
    table = clinic().replace("zip", name, 1).encode()
    address = upload(client, "a.csv", table).headers["location"]
    page = settled(client, address)
    assert "<img" not in page
    assert "&lt;img src=x" in page
    asked = client.get(f"{address}&s=disease&x={name.replace(' ', '%20').replace('=', '%3D')}").text
    assert "<img" not in asked


# Too large ---------------------------------------------------------------------------------------


def test_two_gigabytes_are_refused_with_a_message_and_nothing_is_kept(small):
    size, chunk = 2 * 2**30, b"a,b,c\n1,2,3\n" * 87381
    with small.client() as client:
        token = token_of(client.get("/").text)
        head = (
            f'--x\r\nContent-Disposition: form-data; name="token"\r\n\r\n{token}\r\n--x\r\n'
            'Content-Disposition: form-data; name="file"; filename="big.csv"\r\n\r\n'
        ).encode()

        def body():
            yield head
            for _ in range(size // len(chunk) + 1):
                yield chunk
            yield b"\r\n--x--\r\n"

        kind = {"Content-Type": "multipart/form-data; boundary=x"}
        answer = client.post("/upload", content=body(), headers=kind)
        assert answer.status_code in {413, 422}
        said = problem_of(answer.text)
        assert "at most 1 MB" in said
        assert "larger upload limit" in said
        assert client.get("/").status_code == 200
    assert not small.files()


def test_a_file_of_two_gigabytes_is_stopped_before_it_is_sent(chromium, server, client, tmp_path):
    large = tmp_path / "large.csv"
    with large.open("wb") as file:
        file.truncate(2 * 2**30)
    visit = Visit(chromium, server, client)
    visit.go("/")
    page = visit.page
    page.get_by_label("Drop a CSV or Parquet file").set_input_files(large)
    expect(page.get_by_role("alert")).to_contain_text("larger than 512 MB")
    page.get_by_role("button", name="Read the table").click()
    expect(page.get_by_role("alert")).to_contain_text("larger than 512 MB")
    assert not [url for url in visit.requests if url.endswith("/upload")]
    page.get_by_label("Drop a CSV or Parquet file").set_input_files(payload("a.csv", clinic()))
    expect(page.locator("#upload-note")).to_be_empty()
    page.get_by_role("button", name="Read the table").click()
    expect(page.locator("#steps")).to_contain_text("a.csv")
    visit.check()
    visit.close()


def test_an_upload_that_is_cut_off_leaves_nothing(small):
    where = urlsplit(small.url)
    with small.client() as client:
        token = token_of(client.get("/").text)
        cookies = "; ".join(f"{each.name}={each.value}" for each in client.cookies.jar)
        head = (
            f"POST /upload HTTP/1.1\r\nHost: {where.netloc}\r\nOrigin: {small.url}\r\n"
            f"Cookie: {cookies}\r\nContent-Type: multipart/form-data; boundary=x\r\n"
            "Content-Length: 100000\r\n\r\n"
            f'--x\r\nContent-Disposition: form-data; name="token"\r\n\r\n{token}\r\n--x\r\n'
            'Content-Disposition: form-data; name="file"; filename="cut.csv"\r\n\r\na,b\n1,2\n'
        )
        with socket.create_connection((where.hostname, where.port)) as raw:
            raw.sendall(head.encode())
        assert "cut.csv" not in client.get("/").text
        for _ in range(50):  # the server hears of it a little later
            client.get("/")
            if not small.files():
                break
    assert not small.files()


# Questions without an answer ---------------------------------------------------------------------


def asked(client, key, query):
    """Return what the page of a setting says is wrong."""
    page = settled(client, f"/columns?table={key}&{query}")
    assert "Traceback" not in page
    return problem_of(page)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("s=zip&x=zip", "either sensitive or released"),
        ("s=disease&x=nowhere", "column"),
        ("s=disease&x=age&mechanism=watchdog", "needs groups of 'age'"),
        ("s=disease&x=age&bin:age=width:x", "got 'width:x'"),
        ("s=disease&x=age&bin:age=width:-1", "positive"),
        ("s=disease&x=age&bin:age=9,3", "age: each group must start above the one before; 3 comes"),
        ("s=disease&x=age&bin:age=2024-02-01,2024-01-01", "2024-01-01 comes after 2024-02-01"),
        ("s=disease&x=age&bin:age=odd", "Bins of 'age' must be edges (0,18,30,45), width:10"),
        ("s=disease&x=zip&epsilon=x", "Budget in nats must be a number"),
        ("s=disease&x=zip&epsilon=-1", "0 or more"),
        ("s=disease&x=zip&epsilon=nan", "number"),
        ("s=disease&x=zip&epsilon=1e300", ""),
        ("s=disease&x=zip&split=2", "Lambda must be a number from 0 to 1"),
        ("s=disease&x=zip&criterion=alpha&alpha=0.5", "Order must be a number, 1 or more"),
        ("s=disease&x=zip&criterion=odd", "one of"),
        ("s=disease&x=zip&mechanism=odd", "one of"),
        ("s=disease&x=zip&missing=odd", "value, drop, error"),
        ("s=disease&x=zip&seconds=0", "between 1 and 3600"),
    ],
)
def test_a_wrong_setting_says_what_is_wrong(client, clinic_key, query, expected):
    said = asked(client, clinic_key, query)
    assert expected in said
    assert client.get("/").status_code == 200


@pytest.mark.parametrize(
    ("query", "field", "expected"),
    [
        ("criterion=alpha&alpha=0.5", "alpha", "Order must be a number, 1 or more, such as 2."),
        ("criterion=every-prior&at_least=0.4", "at_least", "Least belief before must be at most"),
        ("mechanism=subset-random-response&audience=population", "mechanism", "choose another"),
        ("criterion=l1&mechanism=random-response", "criterion", "choose another criterion"),
        ("criterion=chi2&cells=auto&mechanism=auto", "criterion", "choose another criterion"),
        ("cells=auto&mechanism=watchdog", "cells", "Automatic or Least distortion"),
        ("cells=auto&encoding=codes", "cells", "Automatic or Least distortion"),
    ],
)
def test_what_is_refused_names_the_field_as_the_page_does(
    client, clinic_key, query, field, expected
):
    page = settled(client, f"/protection?table={clinic_key}&s=disease&x=zip&{query}")
    said = problem_of(page)
    assert expected in said
    assert not re.search("at_least|epsilon|alpha|inf|L1Lift|Chi2Lift|-response", said), said
    assert "One field must be corrected first." in page
    assert f'<a href="#field-{field}" data-field="{field}"' in page
    assert f'id="field-{field}"' in page
    assert "A field above must be corrected first." in page


def test_choices_that_do_not_go_together_are_marked_at_once_and_until_they_do(visit, clinic_key):
    page = visit.page
    query = "mechanism=subset-random-response&audience=population"
    visit.go(f"/protection?table={clinic_key}&s=disease&x=zip&{query}")
    answer(page, "waiting")
    choice, line = page.get_by_label("Mechanism", exact=True), page.locator("#mechanism-error")
    expect(choice).to_have_attribute("aria-invalid", "true")
    expect(choice).to_be_visible()  # in the fold, which opens
    expect(line).to_contain_text("Subset random response is for rows that are everybody")
    choice.select_option("auto")
    page.locator("#answer:not([data-state=waiting]):not([aria-busy])").wait_for()
    expect(choice).not_to_have_attribute("aria-invalid", "true")
    expect(line).to_be_empty()


def test_a_refusal_of_no_field_leads_to_the_columns(visit, clinic_key):
    page = visit.page
    visit.go(f"/protection?table={clinic_key}&s=disease&x=age&mechanism=watchdog")
    found = page.locator("#answer:has(.problem)")
    expect(found.get_by_role("heading", level=2)).to_have_text("No answer")
    expect(page.locator("#go-on + p")).to_have_text("There is no answer to this setting.")
    found.get_by_role("link", name="Change the columns").click()
    expect(page).to_have_url(re.compile("/columns[?].*mechanism=watchdog"))


def test_why_nothing_is_written_is_said_in_the_words_of_the_page(client, clinic_key):
    query = f"table={clinic_key}&s=disease&x=age&mechanism=watchdog"
    page = settled(client, f"/publish?{query}")
    assert "Nothing to write yet" in page
    assert page.count("What is chosen under Advanced needs groups of &#39;age&#39;") >= 2
    assert "declared bins" not in page


def test_a_wrong_field_has_what_was_written_and_is_marked(visit, clinic_key):
    page = visit.page
    visit.go(f"/protection?table={clinic_key}&s=disease&x=zip&criterion=alpha&alpha=0.5")
    order = page.get_by_label("Order", exact=True)
    expect(order).to_have_value("0.5")
    expect(order).to_have_attribute("aria-invalid", "true")
    expect(page.locator("#alpha-error")).to_have_text(
        "Order must be a number, 1 or more, such as 2."
    )
    found = answer(page, "waiting")
    found.get_by_role("link", name="Go to the field").click()
    expect(page.locator("#field-alpha")).to_be_in_viewport()
    order.fill("1.5")
    answer(page, "average")
    expect(order).not_to_have_attribute("aria-invalid", "true")
    expect(page.locator("#alpha-error")).to_be_empty()


def test_a_table_that_is_not_there(client):
    answer = client.get("/columns?table=nowhere")
    assert answer.status_code == 422
    assert "Choose or upload it again" in problem_of(answer.text)


def test_one_column_only(visit):
    visit.go("/")
    upload_file(visit.page, payload("one.csv", "a\nx\ny\nx\n"))
    expect(visit.page.get_by_role("alert")).to_contain_text("one column only")
    expect(visit.page.get_by_role("alert")).to_contain_text("needs two")
    choose(visit.page, "a", "Protect")
    expect(answer(visit.page, "waiting")).to_contain_text("No column is left to publish")


def test_a_bad_file_shows_its_error_in_the_browser(visit):
    visit.go("/")
    upload_file(visit.page, payload("notes.csv", "\0\0\0"))
    field, note = visit.page.get_by_label("Drop a CSV"), visit.page.locator("#upload-note")
    expect(note).to_contain_text("notes.csv is not a CSV file")
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    upload_file(visit.page, payload("good.csv", clinic()))
    expect(visit.page.locator("#steps")).to_contain_text("good.csv")


def test_a_million_values_are_refused_and_the_server_stays_up(server, client, visit):
    ids = "\n".join(f"{'ab'[k % 2]},id{k:07}" for k in range(1_000_000))
    answer = upload(client, "million.csv", f"s,x\n{ids}\n".encode())
    assert answer.status_code == 303
    address = answer.headers["location"]
    settled(client, address)
    visit.go(f"{address}&s=s&x=x")
    expect(visit.page.locator("#answer .problem")).to_be_visible()
    said = visit.page.locator("#answer .problem").inner_text()
    assert re.search(r"500,000 combinations.*about [0-9]{3},[0-9]{3}|1,?000,?000", said), said
    assert "id0" not in said
    assert client.get("/").status_code == 200
    assert server.process.poll() is None


def test_kept_columns_that_break_the_bound_are_refused(client, clinic_key):
    setting = f"table={clinic_key}&s=disease&x=zip"
    assert "is a column of S or X" in settled(client, f"/publish?{setting}&keep=disease")
    page, where = post(client, setting, keep="disease")
    assert (where, bool(problem_of(page))) == ("", True)
    assert "published this table" not in client.get(f"/publish?{setting}").text


@pytest.mark.parametrize("round_to", ["x", "0", "nan", "-1", "2"])
def test_a_rounding_that_is_none_is_refused(client, clinic_key, round_to):
    setting = f"table={clinic_key}&s=disease&x=zip"
    page = settled(client, f"/publish?{setting}")
    data = form_of(page) | {"setting": setting, "round_to": round_to}
    answer = client.post("/publish", data=data)
    page = answer.text if answer.status_code != 303 else settled(client, answer.headers["location"])
    assert problem_of(page)
    assert "Traceback" not in page


def test_where_all_other_columns_identify_people_it_is_said_what_to_do(client):
    names = (f"N{k} Ada,m{k}@example.org,{9000 + k},{'abc'[k % 3]}" for k in range(60))
    table = "\n".join(["name,email,id,disease", *names]) + "\n"
    address = upload(client, "names.csv", table.encode()).headers["location"]
    for step in ("columns", "protection"):
        page = settled(client, f"{address.replace('columns', step)}&s=disease")
        assert "Released columns" not in page
        assert "No column is left to publish. All columns but disease were left out" in page
        assert "name, email, id. Use a table with other columns too" in page
