/** The frame of every screen: rail, top bar, banners, live regions. */
import { Link, useLocation } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useEffect, useMemo, useState, type ReactNode } from "react";
import { useRead, useService } from "../api";
import { readCatalogue } from "../api/useCatalogue";
import { useAuth, useSignIn } from "../auth";
import { useFeed } from "../feed";
import { useAsOf, useNow, useOwnNow } from "../time";
import { AsOfBar, Boundary, Icon, StaleBanner } from "../ui";
import { alert, PaletteContext, PHONE, SCREENS, screenAt, useBeamline, useKeys, useMedia, useOpen, usePreferences, type PaletteRequest, type ScreenPlace } from "../view";
import { useAssertive, usePolite } from "../view/announce";
import { Help } from "./Help";
import { TopBar } from "./TopBar";

const readPalette = () => import("../features/palette");
const Palette = lazy(readPalette);
const PRELOAD_MS = 2000;
const keepUnit = (before: Record<string, unknown>) => ({ unit: before.unit }) as never;

export function Frame({ children }: { children: ReactNode }) {
  const { pathname, searchStr } = useLocation();
  const screen = screenAt(pathname);
  const [palette, setPalette] = useState<{ number: number; request: PaletteRequest }>();
  const [isHelpShown, setHelpShown] = useState(false);
  const [isWall, setWall] = useState(false);
  const { asOf, view } = useAsOf();
  const { status } = useFeed();
  const { clock } = useService();
  const open = useOpen();
  const step = useEventSteps();
  const isPhone = useMedia(PHONE);
  // A palette tells that it was closed a moment later: it must not take the next one with it.
  const openPalette = useCallback((request: PaletteRequest = {}) => setPalette((last) => ({ number: (last?.number ?? 0) + 1, request })), []);
  useTheme(screen);
  useTitle(screen, status.state === "lost");
  usePreload(isPhone);

  const goTo = useMemo(() => Object.fromEntries(SCREENS.map(({ key, path }) => [`G ${key}`, () => open(path)])), [open]);
  useKeys({
    ...goTo,
    "Ctrl K": () => openPalette(),
    "?": () => setHelpShown(true),
    "Shift W": () => setWall(!isWall),
    T: () => view(asOf ? undefined : new Date(Math.floor(clock.now() / 1000) * 1000).toISOString()),
    ...(asOf && {
      "[": () => void step(asOf, "before"),
      "]": () => void step(asOf, "after"),
      Escape: () => view(undefined),
    }),
    ...(isWall && { Escape: () => setWall(false) }),
  });

  return (
    <PaletteContext value={openPalette}>
      <div className={isWall ? "app wall" : "app"}>
        <Boundary what="the top bar">
          <TopBar openPalette={openPalette} />
        </Boundary>
        <nav className="rail" aria-label="Screens">
          {SCREENS.map((each) => (
            <RailLink key={each.name} screen={each} isCurrent={each === screen} />
          ))}
        </nav>
        <main className={asOf ? "content past" : "content"}>
          <div className="banners">
            <NotLive />
            <SessionEnding />
            {asOf && <AsOfBar asOf={asOf} view={view} previous={() => void step(asOf, "before")} next={() => void step(asOf, "after")} />}
          </div>
          {isPhone && screen?.name !== "Board" ? (
            <p className="main dim">Only the Board is shown on a phone.</p>
          ) : (
            <Boundary what={screen ? `the screen «${screen.name}»` : "this screen"} of={pathname + searchStr}>
              {children}
            </Boundary>
          )}
        </main>
      </div>
      <LiveRegions />
      {isHelpShown && <Help close={() => setHelpShown(false)} />}
      {palette && (
        <Boundary what="the palette" of={String(palette.number)}>
          <Suspense fallback={null}>
            <Palette key={palette.number} request={palette.request} close={() => setPalette((shown) => (shown?.number === palette.number ? undefined : shown))} />
          </Suspense>
        </Boundary>
      )}
    </PaletteContext>
  );
}

function RailLink({ screen, isCurrent }: { screen: ScreenPlace; isCurrent: boolean }) {
  return (
    <>
      {screen.name === "Access" && <div className="sep" />}
      <Link to={screen.path} search={keepUnit} className={isCurrent ? "on" : ""} activeProps={{}} aria-current={isCurrent ? "page" : undefined}>
        <Icon name={screen.icon} />
        {screen.name}
        {screen.name === "Decisions" && (
          <Boundary what="the open proposals">
            <OpenProposals />
          </Boundary>
        )}
      </Link>
    </>
  );
}

function OpenProposals() {
  const { data } = useRead("list_proposals", { open: true, count: true, limit: 1 }, { current: true });
  const total = data?.total ?? 0;
  if (total === 0) return null;
  return (
    <span className="num">
      {total}
      <span className="hidden"> open proposals</span>
    </span>
  );
}

/** Say that the feed is lost. */
function NotLive() {
  const { status, reconnect } = useFeed();
  const [own, now] = [useOwnNow(1000), useNow(1000)];
  const isLost = status.state === "lost";
  useEffect(() => {
    if (isLost) alert("The connection to the service is lost. The values shown may be outdated.");
  }, [isLost]);
  if (!isLost) return null;
  const seconds = Math.ceil((status.retryAt - own) / 1000);
  return <StaleBanner since={status.since + (now - own)} retryIn={seconds > 0 ? seconds : undefined} reconnect={reconnect} />;
}

const WARN_MS = 120_000;

/** Ask for a new sign-in before the token ends, when it cannot be renewed silently. */
function SessionEnding() {
  const signIn = useSignIn();
  const { login } = useAuth();
  const now = useOwnNow(1000);
  if (signIn.kind !== "signed-in" || signIn.canRenew || signIn.expiresAt === undefined) return null;
  const left = signIn.expiresAt - now;
  if (left > WARN_MS) return null;
  return (
    <div className="callout warn row" role="status">
      <Icon name="caution" className="warn" />
      <span>Your session ends in {Math.max(0, Math.ceil(left / 1000))} s.</span>
      <button type="button" className="btn s end" onClick={() => void login.signIn()}>
        Renew
      </button>
    </div>
  );
}

function LiveRegions() {
  return (
    <>
      <div className="hidden" role="status" aria-live="polite">
        {usePolite()}
      </div>
      <div className="hidden" role="alert" aria-live="assertive">
        {useAssertive()}
      </div>
    </>
  );
}

/** Return a function that views the time of the event before or after a time. */
function useEventSteps(): (from: string, direction: "before" | "after") => Promise<void> {
  const service = useService();
  const { view } = useAsOf();
  return useCallback(
    async (from, direction) => {
      const isBefore = direction === "before";
      // `until` leaves its own moment out; `since` includes it, so a later event may have the same time.
      const { answer } = await service.read("list_events", {
        limit: isBefore ? 1 : 50,
        order: isBefore ? "newest" : "oldest",
        ...(isBefore ? { until: from } : { since: from }),
      });
      const found = answer.items.find(({ recordedtime }) => Date.parse(recordedtime) !== Date.parse(from));
      if (found) view(found.recordedtime);
    },
    [service, view],
  );
}

/** Read what every form needs once the screen is shown, so that the first press need not wait for it. */
function usePreload(isPhone: boolean): void {
  useEffect(() => {
    if (isPhone) return;
    const timer = setTimeout(() => void Promise.allSettled([readPalette(), readCatalogue()]), PRELOAD_MS);
    return () => clearTimeout(timer);
  }, [isPhone]);
}

/** Dark on the Board, as the system elsewhere, unless the person has chosen. */
function useTheme(screen: ScreenPlace | undefined): void {
  const { theme, density } = usePreferences();
  const isLightSystem = useMedia("(prefers-color-scheme: light)");
  const automatic = screen?.name === "Board" || !isLightSystem ? "dark" : "light";
  useEffect(() => {
    document.documentElement.dataset.theme = theme === "auto" ? automatic : theme;
    document.documentElement.dataset.density = density;
  }, [automatic, density, theme]);
}

function useTitle(screen: ScreenPlace | undefined, isLost: boolean): void {
  const { name } = useBeamline();
  const title = [screen?.name, name, "Beamkeep"].filter(Boolean).join(" · ");
  useEffect(() => {
    document.title = isLost ? `Not live · ${title}` : title;
  }, [isLost, title]);
}
