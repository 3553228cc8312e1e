/** Routes of the console, made from the table of screens. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, useParams } from "@tanstack/react-router";
import { Suspense } from "react";
import { EmptyState, Skeleton } from "../ui";
import { SCREENS, type ScreenPlace, type ScreenProps } from "../view";
import { Root } from "./Root";
import { COMPONENTS } from "./screens";

function Shown({ screen }: { screen: ScreenPlace }) {
  const { kind, id }: ScreenProps = useParams({ strict: false });
  const Component = COMPONENTS[screen.name];
  return (
    <Suspense fallback={<Skeleton what={screen.name.toLowerCase()} />}>
      <Component kind={kind} id={id} />
    </Suspense>
  );
}

const root = createRootRoute({
  component: Root,
  // Features keep their view state in the address and read what they need of it.
  validateSearch: (search: Record<string, unknown>) => search,
  notFoundComponent: () => (
    <div className="main">
      <EmptyState>There is no screen at this address.</EmptyState>
    </div>
  ),
});

const screens = SCREENS.flatMap((screen) => screen.paths.map((path) => createRoute({ getParentRoute: () => root, path, component: () => <Shown screen={screen} /> })));
const states = createRoute({
  getParentRoute: () => root,
  path: "/states",
  component: lazyRouteComponent(() => import("./States")),
});

export function newRouter() {
  return createRouter({ routeTree: root.addChildren([...screens, states]), basepath: "/console" });
}
