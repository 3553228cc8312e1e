/** What the window and its screen allow. */
import { useCallback, useSyncExternalStore } from "react";

/** A narrow window on a small screen; one on a large screen is zoomed in or shares it with others. */
export const PHONE = "(max-width: 767px) and (max-device-width: 767px)";

/** Return whether a media query matches. */
export function useMedia(query: string): boolean {
  const follow = useCallback(
    (changed: () => void) => {
      const media = matchMedia(query);
      media.addEventListener("change", changed);
      return () => media.removeEventListener("change", changed);
    },
    [query],
  );
  return useSyncExternalStore(follow, () => matchMedia(query).matches);
}
