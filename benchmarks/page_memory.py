"""Measures the memory that the page of a run takes on a phone.

    kt-exporter --output_dir=RUN --format=html --export_dir=SITE
    python benchmarks/page_memory.py SITE/index.html TEXTS

Chromium emulates a phone. In a new process each time, the page opens,
translates the first 50 lines of TEXTS one by one, and 10,000 characters of it
at once, with the search that it opens with. The result is the peak of the
process' memory (PSS), in MB more than an empty page takes, and the size of
JavaScript's heap outside the worker at the end.
"""

import pathlib
import re
import shutil
import sys
import threading
import time

from playwright.sync_api import sync_playwright

PHONE = "Pixel 5"
NUM_LINES, NUM_CHARACTERS = 50, 10_000
PAUSE = 0.02  # seconds between two looks at the memory
EMPTY = "data:text/html,<!DOCTYPE html><p>An empty page.</p>"
# Without them, a second process would wait for the next page.
FLAGS = ["--no-sandbox", "--disable-features=SpareRendererForSitePerProcess"]
IS_TRANSLATED = """() => status.textContent.startsWith("Translated")
  && !output.classList.contains("waiting")"""


class Meter(threading.Thread):
    """Finds the largest memory that any of some processes takes, in MB."""

    def __init__(self, processes):
        super().__init__(daemon=True)
        self.processes, self.peak, self.is_over = processes, 0, False

    def run(self):
        while not self.is_over:
            self.peak = max([self.peak, *map(read_memory, self.processes)])
            time.sleep(PAUSE)


def read_memory(process):
    """Returns the memory of a process, and 0 if it has ended."""
    try:
        text = pathlib.Path(f"/proc/{process}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(re.search(r"^Pss:\s*(\d+) kB", text, re.MULTILINE)[1]) / 1024


def measure(driver, browser, address, work):
    """Opens a page and works with it; returns the peak and the heap in MB."""
    others = list_processes(browser)
    context = browser.new_context(**driver.devices[PHONE], offline=True)
    page = context.new_page()
    meter = Meter(list_processes(browser) - others)
    meter.start()
    page.goto(address)
    meter.processes = list_processes(browser) - others
    session = context.new_cdp_session(page)
    session.send("Performance.enable")
    work(page)
    metrics = session.send("Performance.getMetrics")["metrics"]
    heap = {each["name"]: each["value"] for each in metrics}["JSHeapUsedSize"]
    meter.is_over = True
    meter.join()
    context.close()
    return meter.peak, heap / 2**20


def list_processes(browser):
    """Returns the ids of the processes that hold pages."""
    session = browser.new_browser_cdp_session()
    every = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    return {each["id"] for each in every if each["type"] == "renderer"}


def translate(*texts):
    """Returns a function that types texts into a page, one after another."""

    def work(page):
        page.evaluate("opened")
        for text in texts:
            page.fill("#text", text)
            page.wait_for_function(IS_TRANSLATED, timeout=0)

    return work


def main(path, texts):
    address = pathlib.Path(path).absolute().as_uri()
    text = pathlib.Path(texts).read_text(encoding="utf-8")
    lines = text.splitlines()[:NUM_LINES]
    works = {
        "opening": translate(),
        f"{NUM_LINES} lines": translate(*lines),
        f"{NUM_CHARACTERS:,} characters": translate(
            text.replace("\n", " ")[:NUM_CHARACTERS]
        ),
    }
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=FLAGS
        )
        empty, _ = measure(driver, browser, EMPTY, lambda page: time.sleep(1))
        print(f"An empty page takes {empty:.0f} MB.")
        for name, work in works.items():
            peak, heap = measure(driver, browser, address, work)
            print(
                f"{name}: {peak - empty:.0f} MB more at the peak; the heap has "
                f"{heap:.1f} MB.",
                flush=True,
            )
        browser.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
