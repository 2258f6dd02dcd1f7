"""``lowlift web``: the local web app."""

from pathlib import Path
from typing import Annotated

import typer

from lowlift._cli import options as o
from lowlift._cli import output

_PEM = "PEM file for https, e.g. "


def web(
    source: Annotated[
        str | None, typer.Argument(metavar="[TABLE]", help="A table to offer; others are uploaded.")
    ] = None,
    engine: o.Engine = None,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Where it listens, e.g. 8080; 0: a free one.")
    ] = 0,
    host: Annotated[
        str,
        typer.Option(
            help="Other than loopback, e.g. 0.0.0.0, only with a password and a certificate."
        ),
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A name that browsers use for HOST, e.g. data.lan."),
    ] = None,
    password_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Its first line lets a browser in, e.g. password.txt, instead of the link.",
        ),
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(metavar="FILE", help=_PEM + "cert.pem.")
    ] = None,
    certificate_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help=_PEM + "key.pem.")
    ] = None,
    upload_limit: Annotated[
        int, typer.Option(min=1, metavar="MB", help="The largest upload, e.g. 2000.")
    ] = 512,
    browser: Annotated[bool, typer.Option(help="Open it in the browser.")] = True,
) -> None:
    """See it: choose a table, move the budget, compare, and download what may be published.

    It listens on this machine only, and its link works once.
    """
    from lowlift.errors import InvalidInput
    from lowlift.web import Address, serve

    password = None
    if password_file is not None:
        try:
            password = password_file.read_text("utf-8").split("\n", maxsplit=1)[0].strip()
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{password_file.name} must be text in UTF-8.") from error
    address = Address(host, port, tuple(name or ()), certificate, certificate_key, password)
    serve(
        source,
        engine=engine,
        address=address,
        upload_limit=upload_limit * 2**20,
        opens_browser=browser,
        say=output.say,
    )
