/** Who is signed in, and what this person may do. */
import { createContext, useCallback, useContext, useSyncExternalStore } from "react";
import type { OperationName } from "../api/names";
import { routes } from "../api/routes";
import type { Answer } from "../api/types";
import { useRead, type Read } from "../api/useRead";
import { useAsOf } from "../time/asOf";
import { useZone } from "../time/zone";
import type { Login, SignIn } from "./login";
import type { ConsoleSettings } from "./settings";

export interface Auth {
  settings: ConsoleSettings;
  login: Login;
}
export const AuthContext = createContext<Auth | undefined>(undefined);

export function useAuth(): Auth {
  const auth = useContext(AuthContext);
  if (!auth) throw new Error("This component is shown before the settings were read.");
  return auth;
}

/** Return the state of the sign-in. */
export function useSignIn(): SignIn {
  const { login } = useAuth();
  return useSyncExternalStore(login.subscribe, login.state);
}

/** Return who is signed in. */
export function useMe(): Read<Answer<"get_self">> {
  return useRead("get_self", {});
}

export type Verdict = "permitted" | "proposable" | "denied" | "unknown";

/** Whether an action can be offered, and why not. */
export interface Offer {
  verdict: Verdict;
  isEnabled: boolean;
  /** Why the button is disabled; undefined when it is enabled. */
  reason: string | undefined;
}

/** Return a function that says whether an operation can be offered for an object in these states. */
export function useMay(): (operation: OperationName, states?: Record<string, string | null | undefined>) => Offer {
  const { data: me } = useMe();
  const { asOf } = useAsOf();
  const zone = useZone();
  return useCallback(
    (operation, states = {}) => {
      const verdict = verdictOn(operation, me);
      if (asOf) return { verdict, isEnabled: false, reason: `Viewing ${zone.time(asOf)}` };
      if (verdict === "denied") return { verdict, isEnabled: false, reason: `Not permitted on ${me?.surface.name ?? "this surface"}` };
      const fitting = (routes[operation].moves ?? []).filter(({ axis }) => states[axis] !== undefined);
      const isPossible = fitting.length === 0 || fitting.some(({ axis, from }) => from.includes(String(states[axis])));
      if (isPossible) return { verdict, isEnabled: true, reason: undefined };
      const from = [...new Set(fitting.flatMap((move) => move.from))];
      return { verdict, isEnabled: false, reason: `only from ${from.join(" or ")}` };
    },
    [asOf, me, zone],
  );
}

function verdictOn(operation: string, me: Answer<"get_self"> | undefined): Verdict {
  if (!me) return "unknown";
  if (me.permitted_commands.includes(operation)) return "permitted";
  if (me.proposable_commands.includes(operation)) return "proposable";
  return "denied";
}
