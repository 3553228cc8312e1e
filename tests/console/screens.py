"""Every screen of the console, and how a test goes from one to the next."""

from collections.abc import Iterable, Mapping

from playwright.sync_api import Page, expect

from tests.console.visit import PREFERENCES, Beamline

QUIET = """
{
  const asked = window.fetch, waiting = new Set();
  window.fetch = (...call) => {
    const request = asked(...call);
    const url = String(call[0]?.url ?? call[0]);
    // The feed never ends.
    if (new URL(url, location.href).pathname !== "/events") {
      waiting.add(request);
      request.catch(() => undefined).finally(() => waiting.delete(request));
    }
    return request;
  };
  window.quiet = () => new Promise(done => {
    let calm = 0;
    const timer = setInterval(() => {
      const reading = document.querySelector(".main:not(.states) .skeleton");
      calm = waiting.size || reading ? 0 : calm + 1;
      if (calm > 5) { clearInterval(timer); done(); }
    }, 100);
  });
}
"""
"""Runs before the page: `quiet()` ends when the page has nothing more to read."""
GO = """path => {
  history.pushState(null, "", "/console" + path);
  dispatchEvent(new PopStateEvent("popstate"));
}"""


def themed(theme: str) -> str:
    """Return a script that chooses a theme before the page is shown."""
    return f"localStorage.setItem('{PREFERENCES}', JSON.stringify({{theme: '{theme}'}}));{QUIET}"


def paths(beamline: Beamline) -> Mapping[str, str]:
    """Return the address of every screen, and of every part of a screen with its own picture."""
    ids, seeded = beamline.ids, beamline.seeded
    procedures = beamline.do("list_procedures", {"limit": 50})["items"]
    conducted = {each["name"]: each["procedure_id"] for each in procedures}["Reboot the hexapod"]
    return {
        "board": "/",
        "runs": "/runs",
        "run": f"/runs/{seeded.run_id}",
        "procedures": "/procedures",
        "procedure": f"/procedures/{conducted}",
        "equipment": f"/equipment/{ids['sample.hexapod']}",
        "custody": f"/data/Dataset/{ids['raw']}",
        "lineage": f"/data/Dataset/{ids['raw']}?tab=lineage",
        "calibrations": "/data?tab=calibrations",
        "impact": f"/data/CalibrationRevision/{ids['revision']}",
        "editions": "/data?tab=editions",
        "decisions": "/decisions",
        "proposal": f"/proposals/{seeded.proposal_id}",
        "handover": "/handover",
        "access": "/access",
        "states": "/states",
    }


def show(page: Page, path: str) -> None:
    """Go to a path under /console without a new sign-in, and wait until everything is read."""
    show_at_once([page], path)


def show_at_once(pages: Iterable[Page], path: str) -> None:
    """Show a path on several pages, which read at the same time."""
    pages = [*pages]
    for page in pages:
        page.evaluate(GO, path)
    for page in pages:
        expect(page.locator("main h1").first).to_be_attached()
        page.evaluate("quiet()")
