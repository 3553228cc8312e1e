/** Everything that surrounds a screen: the beamline, its surface, the feed and the frame. */
import { Outlet, useParams, useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, type ReactNode } from "react";
import { useRead } from "../api";
import { ServiceClient, ServiceContext, useService } from "../api/client";
import { useAuth, useMe, useSignIn } from "../auth";
import { FeedProvider } from "../feed";
import { Zone, ZoneContext } from "../time";
import { Skeleton } from "../ui";
import { BeamlineContext, useBeamline, type Beamline } from "../view";
import { Frame } from "./Frame";
import { SignInPage } from "./SignInPage";

export function Root() {
  return (
    <Admitted>
      <AtBeamline>
        <Live>
          <Frame>
            <Screen />
          </Frame>
        </Live>
      </AtBeamline>
    </Admitted>
  );
}

/** Show the console to people whom the service knows, and the sign-in to others. */
function Admitted({ children }: { children: ReactNode }) {
  const signIn = useSignIn();
  const { data, problem } = useMe();
  if (signIn.kind === "ended") return <SignInPage reason="You are signed out." />;
  if (!data && problem?.status === 401) return <SignInPage reason={problem.message} />;
  return children;
}

/** Find the beamline that the address names, and call the service at its surface. */
function AtBeamline({ children }: { children: ReactNode }) {
  const service = useService();
  const { login } = useAuth();
  const { unit: inPath }: { unit?: string } = useParams({ strict: false });
  const { unit: inSearch }: { unit?: string } = useSearch({ strict: false });
  const units = useRead("list_assets", { tier: "Unit", limit: 100 }, { current: true });
  const all = useMemo(
    () => (units.data?.items ?? []).filter((asset) => asset.parent_id === null && asset.lifecycle !== "Decommissioned").map((asset) => ({ id: asset.asset_id, name: asset.name })),
    [units.data],
  );
  const unitId = inPath ?? inSearch ?? all[0]?.id;
  const surfaces = useRead("list_surfaces", { unit_asset_id: unitId ?? "", limit: 10 }, { when: unitId !== undefined && service.surfaceId === undefined, current: true });
  const surface = surfaces.data?.items.find(({ kind }) => kind === "HTTP");
  const surfaceId = service.surfaceId ?? surface?.surface_id;
  const me = useMe();
  // A refused call is recorded as a denial: nobody calls at a surface where nothing is permitted.
  const isKnownThere = surfaceId !== undefined && (me.data?.surface_ids.includes(surfaceId) ?? false);
  const here = useMemo(() => (isKnownThere ? new ServiceClient(login.token, surfaceId, service.clock, service.denied) : service), [isKnownThere, login, service, surfaceId]);
  const isReading = units.isReading || surfaces.isReading || me.isReading;
  const beamline = useMemo<Beamline>(
    () => ({ unitId, name: all.find(({ id }) => id === unitId)?.name, all, isReading, problem: units.problem }),
    [all, isReading, unitId, units.problem],
  );
  return (
    <ServiceContext value={here}>
      <BeamlineContext value={beamline}>{children}</BeamlineContext>
    </ServiceContext>
  );
}

/** Show the screen once its surface is known: with another surface, the screen begins again. */
function Screen() {
  const { isReading } = useBeamline();
  return isReading ? <Skeleton what="the beamline" /> : <Outlet />;
}

/** Keep what is shown current, in the zone of the facility. */
function Live({ children }: { children: ReactNode }) {
  const { settings } = useAuth();
  const { data: me } = useMe();
  const { clock } = useService();
  const name = me?.facility.timezone ?? settings.timezone;
  const zone = useMemo(() => new Zone(name), [name]);
  useEffect(() => {
    if (me) clock.heard(new Date(me.now).toUTCString());
  }, [clock, me]);
  return (
    <ZoneContext value={zone}>
      <FeedProvider principal={me?.actor_id}>{children}</FeedProvider>
    </ZoneContext>
  );
}
