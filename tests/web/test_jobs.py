"""Work goes on in processes of its own: watched, stopped, and ended with the tab that asked."""

import asyncio
import os
import re
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

from lowlift.web import progress
from lowlift.web.jobs import Job
from lowlift.web.sessions import Session
from web import tasks
from web.browsing import Visit
from web.processes import is_alive, workers
from web.serving import Server, clinic, problem_of, settled, token_of, until, until_page, upload

#: Seconds that something may take that takes parts of one.
PATIENCE = 60.0


def run(story):
    """Run a coroutine in a thread of its own: the browser's driver has a loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, story).result()


async def finished(function, *arguments):
    job = Job(function, *arguments)
    assert await job.wait(PATIENCE)
    return job


async def first_step(job):
    async with asyncio.timeout(PATIENCE):
        while not job.steps:
            await job.change(1.0)
    return job.steps[0]


async def gone(number):
    """Wait for the end of a process."""
    for _ in range(600):
        if not is_alive(number):
            return True
        await asyncio.sleep(0.1)
    return False


def test_an_outcome_is_told_at_once_whatever_the_pause_between_two_events(monkeypatch):
    monkeypatch.setattr(progress, "_PAUSE", 10 * PATIENCE)

    async def story():
        job = Job(tasks.work_until_stopped)
        async with asyncio.timeout(PATIENCE):
            stream = progress._stream(job, has_first=True)
            assert (await anext(stream)).startswith("event: step")
            job.stop()
            return [event async for event in stream][-1]

    assert run(story()).startswith("event: done")


def test_what_columns_a_table_has_is_kept_when_old_results_are_forgotten(tmp_path):
    session, kept = Session(tmp_path), ("inspect", "1", (0, 0))
    done = SimpleNamespace(is_running=False)
    session._jobs.update({kept: done} | {("answer", k): done for k in range(60)})
    session._make_room()
    assert kept in session._jobs
    assert len(session._jobs) < 50


# Jobs --------------------------------------------------------------------------------------------


def test_a_job_gives_its_result_and_its_steps():
    job = run(finished(tasks.add, 2, 3))
    assert (job.state, job.result, job.error) == ("done", 5, "")
    assert job.steps == [("adding",)]
    assert not job.is_running


def test_a_job_is_another_process():
    assert run(finished(tasks.own_process)).result != os.getpid()


def test_a_refusal_is_told_as_it_is():
    job = run(finished(tasks.refuse))
    assert (job.state, job.error) == ("refused", "the number must be even. Use another one.")


def test_a_fault_is_told_by_kind_and_place_only():
    job = run(finished(tasks.break_down, "MARKER"))
    assert job.state == "failed"
    assert "KeyError at tasks.py:" in job.error
    assert "MARKER" not in job.error


def test_want_of_memory_and_of_files_is_told():
    assert "memory" in run(finished(tasks.run_out)).error
    job = run(finished(tasks.lose_file, "/nowhere/MARKER.csv"))
    assert "No such file" in job.error
    assert "MARKER" not in job.error


def test_a_result_that_cannot_be_sent_is_a_failure():
    assert run(finished(tasks.unpicklable)).state == "failed"


def test_a_job_that_is_asked_to_stop_gives_its_best():
    async def story():
        job = Job(tasks.work_until_stopped)
        await first_step(job)
        job.stop()
        assert await job.wait(PATIENCE)
        return job

    job = run(story())
    assert job.state == "done"
    assert job.result >= 0


def test_a_job_that_is_cancelled_ends_at_once():
    async def story():
        job = Job(tasks.sleep_long)
        (number,) = await first_step(job)
        assert is_alive(number)
        job.cancel()
        assert job.state == "cancelled"
        assert await gone(number)
        job.stop()
        job.cancel()
        return job

    job = run(story())
    assert (job.state, job.result) == ("cancelled", None)


def test_a_job_that_is_cancelled_before_it_starts_never_runs():
    async def story():
        job = Job(tasks.sleep_long)
        job.cancel()
        return job

    job = run(story())
    until(lambda: not Path(job._folder).exists())  # removed when its process has ended
    assert job.state == "cancelled"
    assert not job.steps


def test_a_job_whose_process_is_killed_says_so():
    async def story():
        job = Job(tasks.sleep_long)
        (number,) = await first_step(job)
        os.kill(number, signal.SIGKILL)
        assert await job.wait(PATIENCE)
        return job

    job = run(story())
    assert job.state == "failed"
    assert "memory" in job.error


def test_many_steps_keep_the_first_and_the_last():
    job = run(finished(tasks.talk, 5000))
    assert len(job.steps) <= 400
    assert job.steps[0] == (0,)
    assert job.steps[-1] == (4999,)
    assert job.steps == sorted(job.steps)


def test_many_steps_keep_a_step_of_another_kind():
    job = run(finished(tasks.answer_and_talk, 5000))
    assert job.steps[:3] == ["reading", {"first": "answer"}, (0,)]
    assert job.steps[-1] == (4999,)
    assert len(job.steps) <= 400


def test_waiting_counts_as_looking():
    async def story():
        job = Job(tasks.sleep_long)
        await first_step(job)
        waiting = asyncio.create_task(job.wait(0.3))
        await asyncio.sleep(0.05)
        listeners, before = job.listeners, job.last_seen
        assert not await waiting
        job.cancel()
        return listeners, job.listeners, job.last_seen > before

    assert run(story()) == (1, 0, True)


def test_jobs_do_not_wait_for_each_other():
    async def story():
        long = Job(tasks.sleep_long)
        await first_step(long)
        quick = await finished(tasks.add, 1, 1)
        state = long.state
        long.cancel()
        return quick.state, state

    assert run(story()) == ("done", "running")


# In the server -----------------------------------------------------------------------------------


def search(client, table):
    """Start a search that takes long; return the part of the page that tells of it, and its id."""
    key = upload(client, "long.csv", table.read_bytes()).headers["location"]
    address = f"{key}&s=s&x=x&mechanism=random-response"
    page = until_page(client, address, "No method keeps more")
    return page, re.search(r"/jobs/([^/]+)/events", page)[1]


class Listener:
    """A page that listens to a job, in a thread."""

    def __init__(self, client, job):
        self.events, self.is_over = [], threading.Event()
        self._client, self._job = client, job
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def _listen(self):
        with self._client.stream("GET", f"/jobs/{self._job}/events") as stream:
            for line in stream.iter_lines():
                if line.startswith(("event:", "data:")):
                    self.events.append(line)
        self.is_over.set()

    def join(self):
        self._thread.join(PATIENCE)
        assert self.is_over.is_set()


def test_tables_are_read_while_the_solvers_compile(chromium, tmp_path):
    (tmp_path / "numba").mkdir()
    server = Server(tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "numba"))
    try:
        with server.client() as client:
            address = upload(client, "clinic.csv", clinic().encode()).headers["location"]
            columns = settled(client, address)
            assert "zip" in columns
            rows = f"{address}&s=disease&x=zip&x=age"  # which need no solver that is compiled
            assert 'data-events="/compiling"' not in client.get(rows).text
            assert re.search(r'data-state="(useful|empty|tells)"', settled(client, rows))
            chosen = f"{address}&s=disease&x=zip&mechanism=random-response"
            page = until_page(client, chosen, 'data-events="/compiling"')
            assert "Cancel</button>" not in page
            with client.stream("GET", "/compiling") as stream:
                first = next(line for line in stream.iter_lines() if line.startswith("data:"))
            assert "compiled once per machine" in first
            visit = Visit(chromium, server, client, viewport={"width": 390, "height": 844})
            visit.go(chosen)
            visit.page.locator("#answer .bar").click()
            progress = visit.page.locator("#answer .working")
            expect(progress).to_contain_text("compiled once per machine")
            expect(progress.get_by_role("progressbar", name="Solvers compiled")).to_be_visible()
            visit.check()
            visit.close()
    finally:
        server.stop()


def test_two_sessions_do_not_block_each_other(server, client, long_table):
    page, job = search(client, long_table)
    listener = Listener(client, job)
    with server.client() as other:
        token = token_of(other.get("/").text)
        address = other.post("/demo", data={"token": token}).headers["location"]
        assert 'data-state="useful"' in settled(other, address)
        assert not listener.is_over.is_set(), "the search was over before the other was answered"
    client.post(f"/jobs/{job}/cancel", data={"token": token_of(page)})
    listener.join()
    assert listener.events[-2] == "event: end"
    assert "Cancelled" in "".join(listener.events)


def test_the_proven_bound_tightens_and_stop_keeps_the_best(client, long_table):
    page, job = search(client, long_table)
    listener = Listener(client, job)

    def bounds():
        found = re.findall(r"so far: (\d+)%.*?more than ([\d.]+)%", "\n".join(listener.events))
        return [(float(low), float(high)) for low, high in found]

    until(lambda: len({high for _, high in bounds()}) > 1)
    assert client.post(f"/jobs/{job}/stop", data={"token": token_of(page)}).status_code == 204
    listener.join()
    assert listener.events[-2] == "event: done"
    lows, highs = zip(*bounds(), strict=True)
    assert list(lows) == sorted(lows)
    assert list(highs) == sorted(highs, reverse=True)
    again = re.search(r'hx-get="(/answer[?][^"]+)"', page)[1].replace("&amp;", "&")
    result = client.get(again, headers={"HX-Request": "true"}).text
    assert 'data-state="useful"' in result
    assert re.search(r"The search stopped after [\d.]+ s\.", result)
    kept = float(re.search(r"<b>(\d+)%</b><span[^>]*>of the information", result)[1])
    proven = float(re.search(r"No method keeps more than ([\d.]+)%", result)[1])
    assert kept >= lows[-1] - 1  # whole percents
    assert proven >= kept - 0.5  # which is rounded


def test_a_search_that_stopped_on_time_says_so(client, long_table):
    key = upload(client, "long.csv", long_table.read_bytes()).headers["location"]
    address = f"{key}&s=s&x=x&mechanism=random-response&seconds=2"
    result = settled(client, address)
    assert 'data-state="useful"' in result
    assert "The search stopped after 2 s.</strong>" in result
    assert re.search(r'<a href="/protection\?[^"]*seconds=6">search for 6 s</a>', result)


@pytest.mark.second_lane
def test_a_closed_tab_ends_its_job(server, visit, client, long_table):
    page, _ = search(client, long_table)
    before = workers(server)
    visit.go(re.search(r'href="(/columns[^"]+)"', page)[1].replace("&amp;", "&"))
    expect(visit.page.locator("#answer .working")).to_be_visible()
    running = workers(server) & before
    assert running
    # Longer than the server waits for a tab: this one is open.
    progress = visit.page.locator("#answer .working .progress")
    expect(progress).to_contain_text(re.compile(r"\d+ seconds"))
    shown = int(re.search(r"(\d+) seconds", progress.inner_text())[1])
    later = "|".join(str(shown + 4 + more) for more in range(60))
    expect(progress).to_contain_text(re.compile(rf" ({later}) seconds"))
    expect(visit.page.locator("#answer .working")).to_be_visible()
    assert running & workers(server)
    visit.page.close()
    until(lambda: not running & workers(server))


def test_a_page_that_is_late_to_listen_asks_again(server, client, long_table):
    others = workers(server)
    _, job = search(client, long_table)
    until(lambda: not workers(server) - others)  # ended: no page listened
    events = client.get(f"/jobs/{job}/events").text
    assert "Cancelled" not in events
    assert events.endswith("event: done\ndata: -\n\n")


def test_a_page_from_before_the_first_answer_asks_again(client, long_table):
    key = upload(client, "long.csv", long_table.read_bytes()).headers["location"]
    page = until_page(client, f"{key}&s=s&x=x&limit=1.5", "is being searched for")
    job = re.search(r"/jobs/([^/]+)/events\?has_first=true", page)[1]
    # A page that has the first answer goes on listening; one that lacks it is told at once.
    with client.stream("GET", f"/jobs/{job}/events?has_first=true") as stream:
        assert next(stream.iter_lines()) == "event: step"
    assert client.get(f"/jobs/{job}/events").text == "event: done\ndata: -\n\n"
    client.post(f"/jobs/{job}/cancel", data={"token": token_of(page)})


def test_a_killed_process_is_reported_and_the_server_stays_up(server, visit, client, long_table):
    others = workers(server)
    page, _ = search(client, long_table)
    visit.go(re.search(r'href="(/columns[^"]+)"', page)[1].replace("&amp;", "&"))
    expect(visit.page.locator("#answer .working")).to_be_visible()
    for number in workers(server) - others:
        os.kill(number, signal.SIGKILL)
    expect(visit.page.locator("#answer .problem")).to_contain_text("ended early")
    assert server.process.poll() is None
    assert client.get("/").status_code == 200


def test_work_of_another_session_is_not_there(server, client, long_table):
    page, job = search(client, long_table)
    with server.client() as other:
        token = token_of(other.get("/").text)
        assert other.get(f"/jobs/{job}/events").status_code == 422
        assert other.post(f"/jobs/{job}/cancel", data={"token": token}).status_code == 422
    token = token_of(page)
    assert client.post(f"/jobs/{job}/odd", data={"token": token}).status_code == 404
    answer = client.post(f"/jobs/{job}/cancel", data={"token": token})
    assert "Cancelled" in answer.text


def test_too_much_at_once_is_refused(client, long_table):
    key = upload(client, "long.csv", long_table.read_bytes()).headers["location"]
    jobs, said = set(), ""
    with ThreadPoolExecutor(12) as pool:
        addresses = [
            f"{key}&s=s&x=x&mechanism=random-response&epsilon={1 + k / 10}" for k in range(12)
        ]
        until_page(client, addresses[0], "No method keeps more")
        for answer in pool.map(client.get, addresses):
            jobs |= set(re.findall(r"/jobs/([^/]+)/events", answer.text))
            said = problem_of(answer.text) or said
    token = token_of(client.get("/").text)
    for job in jobs:
        client.post(f"/jobs/{job}/cancel", data={"token": token})
    assert "computations are running" in said
    assert client.get("/").status_code == 200


def test_removing_a_table_ends_its_work(server, client, long_table):
    others = workers(server)
    page, _ = search(client, long_table)
    assert workers(server) - others
    key = re.search(r"table=(\d+)", page)[1]
    client.post("/remove", data={"token": token_of(page), "table": key})
    until(lambda: not workers(server) - others)
