/** A command from its button to its outcome. */
import { act, cleanup, fireEvent, renderHook, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { coverageOf } from "../src/actions/ClearanceReview";
import { OperationButton, OperationForm, OperationMenu, usePick, type OperationFormProps } from "../src/actions";
import { ServiceContext } from "../src/api/client";
import { listenToKeys } from "../src/view/keys";
import { refusal, self, served, shown, type Answers } from "./served";

beforeAll(() => {
  vi.spyOn(window, "scrollTo").mockImplementation(() => undefined);
  // Dialogs are not a part of jsdom.
  HTMLDialogElement.prototype.showModal = function () {
    this.open = true;
  };
  listenToKeys();
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const RUN = { run_id: "r" };
const held = { events: [{ event_type: "RunHeld", payload: { reason: "Sample" } }] };
const ok = () => new Response(null, { status: 204 });

/** Show the form of a command, and its two parts. */
function form(props: OperationFormProps, answers: Answers) {
  return shown(
    <OperationForm {...props}>
      {({ body, footer }) => (
        <>
          <div>{body}</div>
          <footer>{footer}</footer>
        </>
      )}
    </OperationForm>,
    answers,
  );
}

const holding = (answers: Answers = {}) =>
  form({ operation: "hold_run", about: RUN, name: "Run 1", etag: '"2"' }, { "GET /self": self(["hold_run"]), "POST dry /runs/r/hold": held, "POST /runs/r/hold": ok, ...answers });
const send = () => screen.findByRole("button", { name: "Hold Run 1" });
const isOff = (button: HTMLElement) => button.getAttribute("aria-disabled") === "true";
const reasonOf = (button: HTMLElement) => button.parentElement?.querySelector(".why")?.textContent;
const pressed = async (button: Promise<HTMLElement>) => {
  await waitFor(async () => expect(isOff(await button)).toBe(false));
  fireEvent.click(await button);
};

describe("the form of a command", () => {
  test("shows the events of a dry run, and sends nothing before the button is pressed", async () => {
    const { sent } = holding();
    expect(await screen.findByText("RunHeld")).toBeTruthy();
    expect(sent("POST /runs/r/hold")).toEqual([]);
    await pressed(send());
    await waitFor(() => expect(sent("POST /runs/r/hold")).toHaveLength(1));
    const [call] = sent("POST /runs/r/hold");
    expect(call?.headers.get("If-Match")).toBe('"2"');
    expect(call?.headers.get("Idempotency-Key")).toMatch(/^[0-9a-f]{32}$/);
  });

  test("asks for the dry run of other values once more before it sends them", async () => {
    const { sent } = holding();
    await screen.findByText("RunHeld");
    fireEvent.change(screen.getByLabelText(/Reason/), { target: { value: "Sample" } });
    expect(isOff(await send())).toBe(true);
    await waitFor(() => expect(sent("POST dry /runs/r/hold").at(-1)?.body).toEqual({ reason: "Sample" }));
    await pressed(send());
    await waitFor(() => expect(sent("POST /runs/r/hold").map(({ body }) => body)).toEqual([{ reason: "Sample" }]));
  });

  test("names the required fields that are missing and asks for no dry run without them", async () => {
    const { sent } = form({ operation: "abort_run", about: RUN, name: "Run 1" }, { "GET /self": self(["abort_run"]) });
    const button = await screen.findByRole("button", { name: "Abort Run 1 permanently" });
    expect(reasonOf(button)).toBe("Missing: Reason");
    expect(screen.getByText(/ends as aborted.*This cannot be undone\./)).toBeTruthy();
    fireEvent.click(button);
    expect(sent("POST dry /runs/r/abort")).toEqual([]);
  });

  test("shows why a dry run was refused, with the operations that clear the facts", async () => {
    const facts = [{ kind: "Supply", id: "b", name: "Ring beam", state: "Unavailable" }];
    holding({
      "GET /self": self(["hold_run", "mark_supply_recovering"]),
      "POST dry /runs/r/hold": refusal("RunCannotHoldError", { facts, cleared_by: ["mark_supply_recovering"] }),
    });
    const alert = await screen.findByRole("alert");
    expect(alert.textContent).toContain("Ring beam is Unavailable");
    expect(isOff(within(alert).getByRole("button", { name: "Mark recovering…" }))).toBe(false);
    expect(reasonOf(await send())).toBe("The dry run was refused");
  });

  test("shows what is wrong with a field at the field", async () => {
    holding({ "POST dry /runs/r/hold": refusal("ValidationError", { errors: [{ field: "reason", problem: "Too long" }] }, 422) });
    await screen.findByText("Reason: Too long");
    expect(screen.getByLabelText(/Reason/).getAttribute("aria-invalid")).toBe("true");
  });

  test("shows no fields of a command that asks for nothing", async () => {
    form({ operation: "hold_run", about: RUN, isBare: true }, { "GET /self": self(["hold_run"]), "POST dry /runs/r/hold": held });
    expect(await screen.findByText("RunHeld")).toBeTruthy();
    expect(screen.queryByLabelText(/Reason/)).toBeNull();
  });

  test("repeats a command whose outcome is unknown with the same key", async () => {
    const replies = [new TypeError("the network is gone"), ok()];
    const { sent } = holding({ "POST /runs/r/hold": () => replies.shift() ?? ok() });
    await pressed(send());
    expect(await screen.findByText("Unknown whether this was done: Hold Run 1.")).toBeTruthy();
    fireEvent.click(screen.getByRole("button", { name: "Retry with the same key" }));
    await waitFor(() => expect(sent("POST /runs/r/hold")).toHaveLength(2));
    expect(new Set(sent("POST /runs/r/hold").map(({ headers }) => headers.get("Idempotency-Key"))).size).toBe(1);
  });

  test("asks for a review when the object has changed", async () => {
    const { sent } = holding({ "POST /runs/r/hold": refusal("PreconditionFailedError", {}, 412) });
    await pressed(send());
    expect(await screen.findByText("Run 1 has changed.")).toBeTruthy();
    const before = sent("POST dry /runs/r/hold").length;
    fireEvent.click(screen.getByRole("button", { name: "Review the change" }));
    await waitFor(() => expect(sent("POST dry /runs/r/hold").length).toBeGreaterThan(before));
    expect(isOff(await send())).toBe(false);
  });

  test("proposes a command that needs approval, with the note to the approver", async () => {
    const { sent } = holding({
      "GET /self": self([], ["hold_run"]),
      "POST /runs/r/hold": Response.json({ proposal_id: "p" }, { status: 202 }),
    });
    fireEvent.change(await screen.findByLabelText(/Note to the approver/), { target: { value: "Größer" } });
    await pressed(screen.findByRole("button", { name: "Propose…" }));
    expect(await screen.findByRole("button", { name: "Open the proposal" })).toBeTruthy();
    expect(decodeURIComponent(sent("POST /runs/r/hold")[0]?.headers.get("Proposal-Note") ?? "")).toBe("Größer");
  });

  test("asks for an acknowledgement and keeps in view what the run continues in spite of", async () => {
    const facts = [{ kind: "Supply", id: "b", name: "Ring beam", state: "Unavailable" }];
    form(
      { operation: "resume_run", about: RUN },
      {
        "GET /self": self(["resume_run"]),
        "POST dry /runs/r/resume": ({ body }) =>
          body?.acknowledgement ? { events: [{ event_type: "RunResumed", payload: { acknowledged: facts } }] } : refusal("RunResumeRequiresAcknowledgementError", { facts }),
      },
    );
    const field = await screen.findByLabelText(/Acknowledgement/);
    await waitFor(() => expect(field.getAttribute("aria-invalid")).toBe("true"));
    fireEvent.change(field, { target: { value: "Test without beam" } });
    expect(await screen.findByText("The run continues although this is in the way:")).toBeTruthy();
    expect(screen.getByText("Ring beam is Unavailable.")).toBeTruthy();
  });

  test("asks for the parameters that the method declares, with their present values", async () => {
    form(
      { operation: "adjust_run", about: RUN },
      {
        "GET /self": self(["adjust_run"]),
        "GET /runs/r": { run_id: "r", method_id: "m", effective_parameters: { energy: 25 } },
        "GET /methods/m": { parameters_schema: { type: "object", properties: { energy: { type: "number", unit: { code: "keV" } } }, required: ["energy"] } },
      },
    );
    expect(await screen.findByText("Now 25")).toBeTruthy();
    expect(screen.getByLabelText(/Energy.*optional/)).toBeTruthy();
  });
});

describe("the button of a command", () => {
  const button = (states: Record<string, string>, permitted: string[], address = "/") =>
    shown(<OperationButton operation="hold_run" about={RUN} name="Run 1" states={states} />, { "GET /self": self(permitted), "POST dry /runs/r/hold": held }, address);
  const shownButton = () => screen.findByRole("button", { name: "Hold…" });

  test.each([
    ["the state of the object", { status: "Held" }, ["hold_run"], "/", "only from Running"],
    ["the policy", { status: "Running" }, [], "/", "Not permitted on Floor"],
    ["the viewed time", { status: "Running" }, ["hold_run"], "/?as_of=2026-11-18T08:44:18Z", "Viewing 08:44:18"],
  ])("says that %s is in the way", async (_, states, permitted, address, reason) => {
    button(states, permitted, address);
    await waitFor(async () => expect(reasonOf(await shownButton())).toBe(reason));
    fireEvent.click(await shownButton());
    expect(screen.queryByRole("dialog")).toBeNull();
  });

  test("opens a sheet, which closes when the command was carried out", async () => {
    const { sent } = shown(<OperationButton operation="hold_run" about={RUN} name="Run 1" />, {
      "GET /self": self(["hold_run"]),
      "POST dry /runs/r/hold": held,
      "POST /runs/r/hold": ok,
    });
    fireEvent.click(await shownButton());
    expect(await screen.findByRole("dialog", { name: "Hold Run 1" })).toBeTruthy();
    await pressed(send());
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    expect(sent("POST /runs/r/hold")).toHaveLength(1);
  });

  test("of a command that asks for nothing opens a popover without fields", async () => {
    shown(<OperationButton operation="activate_asset" about={{ asset_id: "a" }} name="Stage" />, {
      "GET /self": self(["activate_asset"]),
      "POST dry /assets/a/activate": { events: [{ event_type: "AssetActivated", payload: {} }] },
    });
    fireEvent.click(await screen.findByRole("button", { name: "Activate…" }));
    const popover = await screen.findByRole("dialog", { name: "Activate an asset" });
    expect(await within(popover).findByText("AssetActivated")).toBeTruthy();
    expect(popover.querySelector("[data-field]")).toBeNull();
  });

  test("of several commands opens with a key and tells two of one verb apart", async () => {
    shown(<OperationMenu label="Actions on the run" operations={["hold_run", "add_asset_family", "add_asset_alternate_identifier"]} about={RUN} />, {
      "GET /self": self(["hold_run", "add_asset_family", "add_asset_alternate_identifier"]),
    });
    await screen.findByRole("button", { name: /Actions/ });
    fireEvent.keyDown(document.body, { key: "." });
    const menu = await screen.findByRole("dialog", { name: "Actions on the run" });
    expect(
      within(menu)
        .getAllByRole("button")
        .map(({ textContent }) => textContent),
    ).toEqual(["Hold…", "Add a family to an asset…", "Add an alternate identifier to an asset…"]);
  });
});

describe("an object for a form", () => {
  const found = { id: "1", kind: "Plan", name: "Tomography", status: "Active" };
  const list = { items: [{ actor_id: "2", name: "Olga" }, { actor_id: "3", name: "Ben" }, { actor_id: 4 }] };
  function picking() {
    const { calls, client } = served({
      "GET /search": { items: [found] },
      "GET /names": { items: [found] },
      "GET /plans": { items: [{ plan_id: "1", name: "Tomography", status: "Active" }] },
      "GET /actors": list,
    });
    const { result } = renderHook(() => usePick(), { wrapper: ({ children }) => <ServiceContext value={client}>{children}</ServiceContext> });
    return { calls, pick: (kind: string, text: string) => act(() => result.current(kind, text)) };
  }

  test("is searched by its name among those of its kind", async () => {
    const { calls, pick } = picking();
    expect(await pick("Plan", " tomo ")).toEqual([found]);
    expect(calls.map(({ path, query }) => [path, query.get("q"), query.get("kind")])).toEqual([["/search", "tomo", "Plan"]]);
  });

  test("is found by its id", async () => {
    const { calls, pick } = picking();
    await pick("Plan", "01890a5d-ac96-774b-bcce-b302099a8057");
    expect(calls.map(({ path }) => path)).toEqual(["/names"]);
  });

  test("is one of the newest before anything is typed", async () => {
    expect(await picking().pick("Plan", "")).toEqual([found]);
    expect(await picking().pick("", "")).toEqual([]);
  });

  test("that is a person is found in the list, because names of people are not searched", async () => {
    expect(await picking().pick("Actor", "OL")).toEqual([{ id: "2", kind: "Actor", name: "Olga", status: null }]);
  });
});

test("a clearance covers its objects by their kinds, in the order of the form", () => {
  const names = { a: { kind: "Asset", name: "Stage", status: null, link: "" } };
  const bindings = [
    { kind: "Subject", id: "s" },
    { kind: "Asset", id: "a" },
    { kind: "External", scheme: "proposal", value: "42" },
  ] as Parameters<typeof coverageOf>[0];
  expect(coverageOf(bindings, names)).toEqual([
    { kind: "Subject", covered: ["subject (no access)"] },
    { kind: "Asset", covered: ["Stage with everything below it"] },
    { kind: "External", covered: ["Proposal 42"] },
  ]);
});
