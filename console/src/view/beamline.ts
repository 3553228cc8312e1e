/** The beamline that the console shows. */
import { createContext, useContext } from "react";
import type { Problem } from "../api";

export interface Beamline {
  /** The root asset of tier Unit, or undefined when there is none. */
  unitId: string | undefined;
  name: string | undefined;
  /** Every beamline that the person may see. */
  all: readonly { id: string; name: string }[];
  isReading: boolean;
  /** Why the beamlines could not be read. */
  problem: Problem | undefined;
}

export const BeamlineContext = createContext<Beamline>({ unitId: undefined, name: undefined, all: [], isReading: true, problem: undefined });

export function useBeamline(): Beamline {
  return useContext(BeamlineContext);
}
