/** Parts of the console in front of a service whose answers the test gives. */
import { QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, createRootRoute, createRouter, RouterProvider } from "@tanstack/react-router";
import { configure, render } from "@testing-library/react";
import { Suspense, type ReactNode } from "react";
import { vi } from "vitest";
import { newQueryClient } from "../src/api/useRead";
import { ServiceClient, ServiceContext } from "../src/api/client";
import { ServiceClock } from "../src/time/clock";

// A loaded computer is slow.
configure({ asyncUtilTimeout: 30_000 });

export interface Call {
  method: string;
  path: string;
  query: URLSearchParams;
  headers: Headers;
  body: Record<string, unknown> | undefined;
}

/** What the service answers: JSON, a response, or an error of the network. */
type Reply = Record<string, unknown> | Response | Error;
export type Answers = Record<string, Reply | ((call: Call) => Reply)>;

/** Who is signed in, with these commands. */
export const self = (permitted: readonly string[], proposable: readonly string[] = []) => ({
  surface: { surface_id: "s", name: "Floor" },
  permitted_commands: permitted,
  proposable_commands: proposable,
});

export const refusal = (code: string, extensions: Record<string, unknown> = {}, status = 409) =>
  Response.json({ code, title: `${code} title`, detail: `${code} detail`, status, ...extensions }, { status });

/** Return the calls that were made of the service, which answers `GET /self` and such, and else 404. */
export function served(answers: Answers): { calls: Call[]; client: ServiceClient; sent: (path: string) => Call[] } {
  const calls: Call[] = [];
  vi.stubGlobal("fetch", (address: string, init: RequestInit) => {
    const { pathname, searchParams } = new URL(address, "http://service");
    const method = (init.method ?? "GET") + (searchParams.has("dry_run") ? " dry" : "");
    const body = typeof init.body === "string" ? (JSON.parse(init.body) as Record<string, unknown>) : undefined;
    const call = { method, path: pathname, query: searchParams, headers: new Headers(init.headers), body };
    calls.push(call);
    const given = answers[`${method} ${pathname}`] ?? refusal("NotFoundError", {}, 404);
    const reply = typeof given === "function" ? given(call) : given;
    if (reply instanceof Error) return Promise.reject(reply);
    return Promise.resolve(reply instanceof Response ? reply.clone() : Response.json(reply));
  });
  return { calls, client: new ServiceClient(() => "token", "s", new ServiceClock()), sent: (path) => calls.filter((call) => `${call.method} ${call.path}` === path) };
}

/** Show an element as a part of the console at an address. */
export function shown(element: ReactNode, answers: Answers, address = "/") {
  const service = served(answers);
  const root = createRootRoute({ component: () => <Suspense fallback="reading">{element}</Suspense> });
  const router = createRouter({ routeTree: root, history: createMemoryHistory({ initialEntries: [address] }) });
  const page = render(
    <QueryClientProvider client={newQueryClient()}>
      <ServiceContext value={service.client}>
        <RouterProvider router={router} />
      </ServiceContext>
    </QueryClientProvider>,
  );
  return { ...service, ...page, router };
}
