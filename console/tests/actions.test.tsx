/** A command is sent at most once, whatever the network does. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { act, renderHook } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, expect, test, vi } from "vitest";
import { ServiceClient, ServiceContext } from "../src/api/client";
import { useAction } from "../src/api/useAction";
import { ServiceClock } from "../src/time/clock";

afterEach(() => vi.unstubAllGlobals());

type Reply = Response | Error;
const refusal = (status: number, code: string, headers: HeadersInit = {}) => new Response(JSON.stringify({ code, title: code, detail: code, status }), { status, headers });
const done = () => new Response(null, { status: 204, headers: { "Position-Token": "7-42", ETag: '"3"' } });

function service(...replies: Reply[]) {
  const calls: { path: string; headers: Headers }[] = [];
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => {
    calls.push({ path, headers: new Headers(init.headers) });
    const reply = replies.shift();
    return reply instanceof Response ? Promise.resolve(reply) : Promise.reject(reply ?? new TypeError("no reply"));
  });
  const client = new ServiceClient(() => "token", "surface", new ServiceClock());
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={new QueryClient()}>
      <ServiceContext value={client}>{children}</ServiceContext>
    </QueryClientProvider>
  );
  return { calls, client, hook: renderHook(() => useAction("hold_run"), { wrapper }) };
}

test("a command carries the key, the version, the surface and the token", async () => {
  const { calls, hook } = service(done());
  await act(() => hook.result.current.send({ run_id: "a b" }, { etag: '"2"' }));
  const [call] = calls;
  expect(call?.path).toBe("/runs/a%20b/hold");
  expect(call?.headers.get("Idempotency-Key")).toMatch(/^[0-9a-f]{32}$/);
  expect(call?.headers.get("If-Match")).toBe('"2"');
  expect(call?.headers.get("X-Surface-Id")).toBe("surface");
  expect(call?.headers.get("Authorization")).toBe("Bearer token");
  expect(hook.result.current.state.phase).toBe("done");
});

test("a retry after a lost response uses the same key", async () => {
  const { calls, hook } = service(new TypeError("the network is gone"), done());
  await act(() => hook.result.current.send({ run_id: "a" }));
  expect(hook.result.current.state.phase).toBe("unknown");
  await act(() => hook.result.current.send({ run_id: "a" }));
  expect(hook.result.current.state.phase).toBe("done");
  expect(calls[0]?.headers.get("Idempotency-Key")).toBe(calls[1]?.headers.get("Idempotency-Key"));
});

test("a command after a refusal is another command", async () => {
  const { calls, hook } = service(refusal(409, "RunCannotHoldError"), done());
  await act(() => hook.result.current.send({ run_id: "a" }));
  expect(hook.result.current.state.phase).toBe("refused");
  await act(() => hook.result.current.send({ run_id: "a" }));
  expect(calls[0]?.headers.get("Idempotency-Key")).not.toBe(calls[1]?.headers.get("Idempotency-Key"));
});

test("an outcome that the service itself does not know is unknown", async () => {
  const { hook } = service(refusal(503, "OutcomeUnknownError"));
  await act(() => hook.result.current.send({ run_id: "a" }));
  expect(hook.result.current.state.phase).toBe("unknown");
});

test("a command that has to wait is sent once more, with the same key", async () => {
  vi.useFakeTimers();
  const { calls, hook } = service(refusal(429, "TooManyRequestsError", { "Retry-After": "3" }), done());
  let sending: Promise<void> | undefined;
  await act(async () => {
    sending = hook.result.current.send({ run_id: "a" });
    await vi.advanceTimersByTimeAsync(10);
  });
  expect(hook.result.current.state).toEqual({ phase: "waiting", seconds: 3 });
  await act(async () => {
    await vi.advanceTimersByTimeAsync(3000);
    await sending;
  });
  expect(hook.result.current.state.phase).toBe("done");
  expect(calls[0]?.headers.get("Idempotency-Key")).toBe(calls[1]?.headers.get("Idempotency-Key"));
  vi.useRealTimers();
});

test("a command that needs approval leads to its proposal", async () => {
  const { hook } = service(new Response(JSON.stringify({ proposal_id: "p" }), { status: 202 }));
  await act(() => hook.result.current.send({ run_id: "a" }, { note: "grün" }));
  expect(hook.result.current.state).toEqual({ phase: "proposed", proposalId: "p" });
});

test("a read after a command includes the command", async () => {
  const { calls, client, hook } = service(done(), new Response('{"items":[]}'));
  await act(() => hook.result.current.send({ run_id: "a" }));
  await client.read("list_runs", {});
  expect(calls[1]?.path).toBe("/runs?names=true&min_token=7-42");
});

test("a read includes the newest of all positions that were seen", async () => {
  const { calls, client } = service(new Response('{"items":[]}'));
  for (const token of ["9-41", "10-40", "10-5", "9-99", "not a position"]) client.saw(token);
  await client.read("list_runs", {});
  expect(calls[0]?.path).toBe("/runs?names=true&min_token=10-40");
});

test("a repeat of a command whose outcome is unknown is the same command", async () => {
  const { calls, hook } = service(new TypeError("the network is gone"), done());
  await act(() => hook.result.current.send({ run_id: "a" }, { etag: '"3"' }));
  expect(hook.result.current.state.phase).toBe("unknown");
  // Meanwhile the feed has reported that the run has changed.
  await act(() => hook.result.current.send({ run_id: "a" }, { etag: '"4"' }));
  expect(hook.result.current.state.phase).toBe("done");
  for (const name of ["Idempotency-Key", "If-Match"]) expect(calls[1]?.headers.get(name)).toBe(calls[0]?.headers.get(name));
});
