"""A browser's visit: one page or more, and all that they asked for and complained of."""

import re
from urllib.parse import urlsplit

from playwright.sync_api import expect

#: Milliseconds; the first answer of a server compiles.
PATIENCE = 180_000
expect.set_options(timeout=PATIENCE)


class Visit:
    """A browser that is let in; its requests and the errors of its console are kept.

    Parameters
    ----------
    browser
        Chromium.
    server
        Its address, and the session of `client`, are used.
    client
        Whose session it shares.
    options
        Of the browser's context: size, theme.
    """

    def __init__(self, browser, server, client, **options):
        self.server, self.client = server, client
        self.context = browser.new_context(accept_downloads=True, **options)
        self.context.set_default_timeout(PATIENCE)
        self.requests, self.errors = [], []
        self.context.on("request", lambda request: self.requests.append(request.url))
        self.context.on("console", self._hear)
        self.context.on("weberror", lambda error: self.errors.append(str(error.error)))
        if client is not None:
            self.context.add_cookies(
                [
                    {"name": cookie.name, "value": cookie.value, "url": server.url}
                    | {"httpOnly": True, "sameSite": "Strict"}
                    for cookie in client.cookies.jar
                ]
            )
        self.page = self.context.new_page()

    def _hear(self, message):
        # A question that another replaced is no error, though htmx tells of it.
        is_replaced = message.text.startswith(("htmx:sendAbort", "htmx:afterRequest"))
        if message.type in {"error", "warning"} and not is_replaced:
            self.errors.append(message.text)

    def go(self, path, page=None):
        """Open an address of the server."""
        (page or self.page).goto(self.server.url + path)

    def check(self, *expected):
        """Fail for a request that left this server, and for an error that was not expected."""
        home = urlsplit(self.server.url).netloc
        outside = [
            url
            for url in self.requests
            if not url.startswith(("data:", "blob:", "about:")) and urlsplit(url).netloc != home
        ]
        assert not outside, outside
        unexpected = [
            text for text in self.errors if not any(re.search(each, text) for each in expected)
        ]
        assert not unexpected, unexpected

    def close(self):
        """End it."""
        self.context.close()


def ready(page, control):
    """Wait for a control and for the scripts that hear of it."""
    control.wait_for()
    page.wait_for_load_state()


def answer(page, state="useful", *, is_best=True):
    """Return the answer once it is there, is of this very setting and has this state.

    With `is_best`, nothing better is searched for any more.
    """
    best = ":not(:has(.better))" if is_best else ""
    found = page.locator(f'#answer[data-state="{state}"]:not([aria-busy]){best}')
    expect(found).to_be_visible()
    return found


def limit(page, factor):
    """Write the limit: how many times as likely."""
    field = page.get_by_label("or another factor")
    ready(page, field)
    field.fill(str(factor))


def go_to(page, step):
    """Go to a step by the bar."""
    page.get_by_role("navigation", name="Steps").get_by_role("link", name=step).click()
    expect(page.locator('#steps [aria-current="step"]')).to_contain_text(step)


def advanced(page):
    """Open the fields of the criterion and the mechanism."""
    fold = page.locator("details.fold", has_text="Advanced")
    ready(page, fold)
    if fold.get_attribute("open") is None:
        fold.locator("summary").click()


def choose(page, column, role):
    """Say what a column is for: "Protect", "Publish" or "Leave out"."""
    radio = page.get_by_role("radio", name=f"{role}: {column}", exact=True)
    ready(page, radio)
    radio.check()


def upload_file(page, file):
    """Choose a file (a path or a payload) and send it."""
    page.get_by_label("Drop a CSV or Parquet file").set_input_files(file)
    page.get_by_role("button", name="Read the table").click()


def payload(name, text):
    """Return a file for `upload_file`."""
    return {"name": name, "mimeType": "application/octet-stream", "buffer": text.encode()}
