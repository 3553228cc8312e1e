/** The settings that the service gives the console before anybody has signed in. */

export interface ConsoleSettings {
  issuer: string | null;
  client_id: string | null;
  scope: string | null;
  resource: string | null;
  /** Whether people may work without signing in, or with a token that they paste. */
  development: boolean;
  version: string;
  facility_name: string;
  timezone: string;
}

const DEFAULTS: ConsoleSettings = {
  issuer: null,
  client_id: null,
  scope: null,
  resource: null,
  development: true,
  version: "",
  facility_name: "Beamkeep",
  timezone: "UTC",
};

/** Read the settings. Throw when the service does not answer. */
export async function readSettings(): Promise<ConsoleSettings> {
  const response = await fetch(`${import.meta.env.BASE_URL}settings.json`, { cache: "no-store" });
  const isJson = response.headers.get("Content-Type")?.includes("json") ?? false;
  // The development server is used with services that have no console of their own.
  if (import.meta.env.DEV && (!response.ok || !isJson)) return DEFAULTS;
  if (!response.ok) throw new Error(`The service answered ${response.status}.`);
  return { ...DEFAULTS, development: false, ...((await response.json()) as Partial<ConsoleSettings>) };
}
