"""Who gets in: Host, Origin, tokens, link, password, TLS; and the headers of every answer."""

import os
import re
import shutil
import ssl
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

import needs
from lowlift.errors import InvalidInput
from lowlift.web import Address
from web.serving import Server, token_of, upload

POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}
#: Every route that changes something, with the fields it needs beside the token.
SHOWN = (
    *("look", "columns", "protection", "publish", "answer", "compare", "compared"),
    *("trade", "rows", "columns/tells", "columns/histogram"),
    *("published/x", "publish/asks", "download/x/out"),
)
FORMS = {
    "/demo": {},
    "/remove": {"table": "1"},
    "/publish": {"setting": "table=1&s=disease&x=zip"},
    "/jobs/unknown/stop": {},
    "/jobs/unknown/cancel": {},
    "/login": {"password": "a wrong password"},
}


# Host and Origin ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    ["attacker.example", "attacker.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "[::1]:x"],
)
def test_other_names_are_refused(server, client, host):
    port = server.url.rsplit(":", maxsplit=1)[1]
    answer = client.get("/", headers={"Host": host.format(port=port)})
    assert answer.status_code == 403
    assert "own address" in answer.text


def test_a_server_of_this_machine_says_so(client):
    for path in ("/", "/login", "/nowhere"):
        assert "on this machine; nothing leaves it" in client.get(path).text
    assert "in a private folder of this machine" in client.get("/").text


def test_a_page_that_is_not_there_leads_to_those_that_are(client):
    answer = client.get("/nowhere")
    assert answer.status_code == 404
    assert "<h1>Page not found</h1>" in answer.text
    assert re.search(r'<nav id="nav".*href="/compare"', answer.text)


def test_localhost_is_a_name_of_the_loopback(server, client):
    port = server.url.rsplit(":", maxsplit=1)[1]
    assert client.get("/login", headers={"Host": f"localhost:{port}"}).status_code == 200


@pytest.mark.parametrize("path", [*FORMS, "/upload"])
@pytest.mark.parametrize(
    "origin", [None, "null", "http://attacker.example", "https://127.0.0.1", "http://127.0.0.1:1"]
)
def test_forms_of_other_pages_are_refused(client, path, origin):
    headers = {} if origin is None else {"Origin": origin}
    del client.headers["Origin"]
    answer = client.post(path, data={"token": "x"}, headers=headers)
    assert answer.status_code == 403
    assert "own pages" in answer.text


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_links_from_other_pages_are_refused(client, site):
    assert client.get("/", headers={"Sec-Fetch-Site": site}).status_code == 403
    assert client.get("/", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 200
    assert client.get("/", headers={"Sec-Fetch-Site": "none"}).status_code == 200


def test_forms_that_are_no_upload_are_short(client):
    token = token_of(client.get("/").text)
    answer = client.post("/demo", data={"token": token, "more": "x" * 2**21})
    assert answer.status_code == 413
    assert "too long" in answer.text
    chunked = client.post(
        "/demo",
        content=iter([f"token={token}".encode()]),
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert chunked.status_code == 411


# Tokens and sessions -----------------------------------------------------------------------------


@pytest.mark.parametrize("path", FORMS)
@pytest.mark.parametrize("token", [None, "", "x", "ä" * 32])
def test_a_form_without_its_token_is_refused(client, path, token):
    given = {} if token is None else {"token": token}
    answer = client.post(path, data=FORMS[path] | given)
    # A field that is missing is an incomplete form, before it is anything else.
    assert answer.status_code in {403, 422}
    assert answer.status_code == 403 or token in {None, ""}


@pytest.mark.parametrize("token", [None, "", "x"])
def test_an_upload_without_its_token_is_refused_and_not_kept(server, client, token):
    given = {} if token is None else {"token": token}
    before = set(server.files())
    answer = client.post("/upload", data=given, files={"file": ("a.csv", b"a,b\n1,2\n")})
    assert answer.status_code == 403
    assert set(server.files()) <= before  # jobs of other tests may end meanwhile
    assert "a.csv" not in client.get("/").text


def test_the_token_of_another_session_is_refused(server, client):
    with server.client() as other:
        token = token_of(other.get("/").text)
    assert client.post("/demo", data={"token": token}).status_code == 403


def test_tables_and_work_of_another_session_are_not_found(server, client, clinic_key):
    address = f"/columns?table={clinic_key}&s=disease&x=zip"
    mine = client.get(address)
    assert mine.status_code == 200
    with server.client() as other:
        assert "not here any more" in other.get(address).text
        assert "clinic" not in other.get("/").text


@pytest.mark.parametrize("path", ["/", *(f"/{name}" for name in SHOWN)])
def test_nothing_is_shown_without_a_session(server, path):
    with server.visitor() as stranger:
        answer = stranger.get(path)
        assert answer.status_code == 303
        assert answer.headers["location"] == "/login"
        stranger.cookies.set(f"lowlift-{server.url.rsplit(':', maxsplit=1)[1]}", "forged")
        assert stranger.get(path).status_code == 303


@pytest.mark.parametrize("path", [*FORMS, "/upload"])
def test_nothing_is_done_without_a_session(server, path):
    with server.visitor() as stranger:
        answer = stranger.post(path, data=FORMS.get(path, {}) | {"token": "x"})
        assert answer.status_code == (403 if path == "/login" else 401)


def test_cookies_are_kept_from_scripts_and_other_sites(server):
    with server.visitor() as stranger:
        said = stranger.get("/login").headers["set-cookie"]
        assert_private(said)
        answer = server.log_in(stranger, server.password)
        assert_private(answer.headers["set-cookie"])


def assert_private(said, *further):
    flags = {part.strip().lower() for part in said.split(";")[1:]}
    assert {"httponly", "samesite=strict", *further} <= flags
    assert not [flag for flag in flags if flag.startswith("domain")]


# Link and password -------------------------------------------------------------------------------


def test_the_link_works_once(tmp_path):
    server = Server(tmp_path, has_password=False)
    try:
        with server.visitor() as first, server.visitor() as second:
            assert first.get("/").status_code == 401
            assert first.get("/login").status_code == 404
            assert first.get("/open?token=wrong").status_code == 403
            assert first.get("/open").status_code == 403
            assert first.get(server.link).status_code == 200
            assert first.get("/").status_code == 200
            closed = second.get(server.link)
            assert closed.status_code == 403
            assert "set-cookie" not in closed.headers
            assert second.get("/").status_code == 401
    finally:
        server.stop()
    assert len(re.findall("open", server.output)) == 1


def test_a_wrong_password_opens_nothing(server):
    with server.visitor() as stranger:
        for guess in ("not the password", ""):
            answer = server.log_in(stranger, guess)
            assert answer.status_code == 403
            assert "This is not the password" in answer.text
            assert "set-cookie" not in answer.headers
        assert stranger.get("/").status_code == 303
        assert server.log_in(stranger, server.password).status_code == 303


def test_guesses_sent_side_by_side_are_all_answered(server):
    with server.visitor() as stranger:
        token = token_of(stranger.get("/login").text)
        with ThreadPoolExecutor(4) as threads:
            wrong = [
                threads.submit(
                    stranger.post, "/login", data={"token": token, "password": f"wrong {k}"}
                )
                for k in range(4)
            ]
            assert [each.result().status_code for each in wrong] == [403] * 4


# Headers -----------------------------------------------------------------------------------------


def test_every_answer_has_the_headers(server, client, clinic_key):
    setting = f"table={clinic_key}&s=disease&x=zip"
    answers = [
        client.get(path)
        for path in (
            "/",
            "/login",
            "/open",
            "/look",
            f"/look?{setting}",
            f"/columns?{setting}",
            f"/protection?{setting}",
            f"/publish?{setting}",
            f"/publish/asks?{setting}",
            f"/answer?{setting}",
            f"/rows?{setting}",
            f"/trade?{setting}",
            "/compare",
            "/nowhere",
            "/static/web.css",
            "/static/app.js",
            "/static/publish.js",
            "/static/nowhere.js",
            "/static/%2e%2e/app.py",
            "/published/x",
            "/download/x/table",
            "/jobs/x/events",
        )
    ]
    answers += [
        client.get("/", headers={"Host": "attacker.example"}),
        client.post("/demo"),
        client.post("/demo", data={"token": "x"}),
        client.delete("/demo"),
        client.post("/login", data={"token": "x"}),
        upload(client, "a.txt", b"a"),
        upload(client, "b.csv", b"a,b\n1,2\n3,4\n"),
    ]
    for answer in answers:
        assert_headers(answer)
    with server.visitor() as stranger:
        assert_headers(stranger.get("/"))
        assert_headers(stranger.post("/demo", data={"token": "x"}))


def assert_headers(answer):
    headers, where = answer.headers, str(answer.url)
    parts = (
        part.strip().split(" ", maxsplit=1)
        for part in headers["content-security-policy"].split(";")
    )
    assert dict(parts) == POLICY, where
    assert headers["x-content-type-options"] == "nosniff", where
    assert headers["x-frame-options"] == "DENY", where
    assert headers["referrer-policy"] == "same-origin", where
    assert headers["cross-origin-opener-policy"] == "same-origin", where
    assert headers["cross-origin-resource-policy"] == "same-origin", where
    expected = "no-cache" if answer.url.path.startswith("/static/") else "no-store"
    assert headers["cache-control"] == expected, where
    assert "server" not in headers, where
    assert "access-control-allow-origin" not in headers, where
    # It would bind every other server of the same name, on any port, for long.
    assert "strict-transport-security" not in headers, where


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/%2e%2e/cli/web.py"]
)
def test_static_files_stay_in_their_folder(client, path):
    assert client.get(path).status_code == 404


def test_no_documentation_of_routes_is_served(client):
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert client.get(path).status_code == 404


# Beyond this machine -----------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "data.lan"])
def test_other_machines_get_in_only_with_password_and_certificate(tmp_path, host):
    file = tmp_path / "file.pem"
    file.touch()
    for given in (
        {},
        {"password": "a long password"},
        {"certificate": file, "key": file},
    ):
        with pytest.raises(InvalidInput, match="reached from other machines"):
            Address(host, **given)
    assert not Address(host, certificate=file, key=file, password="a long password").is_local


def test_an_address_says_what_it_lacks(tmp_path):
    file = tmp_path / "file.pem"
    file.touch()
    with pytest.raises(InvalidInput, match="a certificate and its key"):
        Address(certificate=file)
    with pytest.raises(InvalidInput, match=r"there is no file gone\.pem"):
        Address(certificate=tmp_path / "gone.pem", key=file)
    with pytest.raises(InvalidInput, match="12 characters"):
        Address(password="short")


def test_the_command_refuses_to_listen_to_others():
    command = [sys.executable, "-m", "lowlift._cli", "web", "--no-browser", "--host", "0.0.0.0"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert found.returncode == 2
    assert "--password-file" in found.stderr
    assert "Traceback" not in found.stderr


def test_https_with_a_certificate_of_ones_own(tmp_path):
    openssl = shutil.which("openssl") or needs.without("openssl is not installed")
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    command = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate]
    subprocess.run(command, check=True, capture_output=True, env=os.environ)
    options = ("--host", "0.0.0.0", "--name", "localhost")
    options += ("--certificate", str(certificate), "--certificate-key", str(key))
    server = Server(tmp_path, *options)
    try:
        assert server.url.startswith("https://localhost:")
        trust = ssl.create_default_context(cafile=str(certificate))
        with server.client(verify=trust) as client:
            answer = client.get("/")
            assert answer.status_code == 200
            assert_headers(answer)
            # Others reach it: what is sent to it leaves their machine.
            for page in (answer, client.get("/login")):
                assert "this machine; nothing leaves" not in page.text
            assert "in a private folder of the server" in answer.text
            assert_private(client.get("/login").headers["set-cookie"], "secure")
            plain = f"http://localhost:{answer.url.port}/"
            assert client.post("/demo", headers={"Origin": plain[:-1]}).status_code == 403
        with pytest.raises(httpx.TransportError):
            httpx.get(plain)
    finally:
        server.stop()


def test_a_temporary_folder_with_a_long_path_is_refused(tmp_path):
    folder = tmp_path / ("long" * 20)
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "lowlift._cli", "web", "--no-browser"],
        env=os.environ | {"TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 2
    assert "Set TMPDIR to a shorter one" in done.stderr
