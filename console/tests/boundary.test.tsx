/** A part that breaks says so, and leaves the others as they are. */
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Boundary, Panel } from "../src/ui";

beforeEach(() => void vi.spyOn(console, "error").mockImplementation(() => undefined));
afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

let isBroken = true;
function Readings() {
  if (isBroken) throw new Error("value is null");
  return <p>200 mA</p>;
}

test("a broken panel keeps its heading, says that it is broken, and the next panel is shown", () => {
  isBroken = true;
  render(
    <>
      <Panel title="Beam">
        <Readings />
      </Panel>
      <Panel title="Runs">Run 1</Panel>
    </>,
  );
  expect(screen.getByRole("heading", { name: "Beam" })).toBeTruthy();
  expect(screen.getByRole("alert").textContent).toContain("The console failed to show «Beam».");
  expect(screen.getByText("value is null")).toBeTruthy();
  expect(screen.getByText("Run 1")).toBeTruthy();
});

test("a broken part is shown again when it is asked for, and by another address", () => {
  isBroken = true;
  const { rerender } = render(<Boundary what="the screen" of="/runs" children={<Readings />} />);
  isBroken = false;
  fireEvent.click(screen.getByRole("button", { name: "Show again" }));
  expect(screen.getByText("200 mA")).toBeTruthy();
  isBroken = true;
  rerender(<Boundary what="the screen" of="/runs" children={<Readings />} />);
  expect(screen.getByRole("alert")).toBeTruthy();
  isBroken = false;
  rerender(<Boundary what="the screen" of="/data" children={<Readings />} />);
  expect(screen.queryByRole("alert")).toBeNull();
});
