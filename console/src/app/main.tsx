import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "../ui/tokens.css";
import "../ui/base.css";
import "../ui/components.css";
import { ServiceClient, ServiceContext } from "../api/client";
import { newQueryClient } from "../api/useRead";
import { AuthContext, Login, readSettings } from "../auth";
import { ClockContext, ServiceClock, Zone, ZoneContext } from "../time";
import { listenToKeys } from "../view/keys";
import { newRouter } from "./router";

const place = document.getElementById("root");
if (!place) throw new Error("The page has no place for the console.");
const page = createRoot(place);

async function start(): Promise<void> {
  const settings = await readSettings();
  const login = new Login(settings);
  if (!(await login.begin())) return;
  const clock = new ServiceClock();
  const queries = newQueryClient();
  // People who are permitted only at one surface, such as visitors, open the console at its address.
  const surface = new URLSearchParams(location.search).get("surface") ?? undefined;
  const service = new ServiceClient(login.token, surface, clock, (status, path) => {
    if (status === 401) login.refused();
    // The permissions are read again after a denial, unless reading them is what was denied.
    else if (!path.startsWith("/self")) void queries.invalidateQueries({ queryKey: ["get_self"] });
  });
  // Nothing that one person has read is shown to the next.
  login.subscribe(() => {
    if (login.state().kind === "ended") queries.clear();
  });
  listenToKeys();
  page.render(
    <StrictMode>
      <AuthContext value={{ settings, login }}>
        <ClockContext value={clock}>
          <ZoneContext value={new Zone(settings.timezone)}>
            <QueryClientProvider client={queries}>
              <ServiceContext value={service}>
                <RouterProvider router={newRouter()} />
              </ServiceContext>
            </QueryClientProvider>
          </ZoneContext>
        </ClockContext>
      </AuthContext>
    </StrictMode>,
  );
}

start().catch((error: unknown) => {
  page.render(
    <main className="sign-in">
      <h1 className="screen-title">The console cannot start</h1>
      <p className="dim">{error instanceof Error ? error.message : "The service did not answer."}</p>
      <button type="button" className="btn" onClick={() => location.reload()}>
        Try again
      </button>
    </main>,
  );
});
