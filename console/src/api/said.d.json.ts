import type { EventName } from "./names";

/** What an event says after the name of its object, and the state that it leads to. */
export interface Said {
  text: string;
  schema?: string;
  state?: string;
}

declare const said: Record<EventName, Said>;
export default said;
