export { alert, announce } from "./announce";
export { useKeys, type Keys } from "./keys";
export { PHONE, useMedia } from "./media";
export { placeOf, useOpen, useSearchParam } from "./places";
export { preferences, setPreferences, usePreferences, type Preferences } from "./preferences";
export { PaletteContext, usePalette, type PaletteRequest } from "./palette";
export type { ScreenProps } from "./screen";
export { useBeamline, BeamlineContext, type Beamline } from "./beamline";
export { SCREENS, screenAt, type ScreenName, type ScreenPlace } from "./screens";
