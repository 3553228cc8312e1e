import { useId, type ReactNode } from "react";
import { Icon, type IconName } from "./Icon";

export interface ActionButtonProps {
  children: ReactNode;
  press: () => void;
  /** Why it cannot be pressed; it stays focusable and the reason is shown next to it. */
  reason?: string | undefined;
  icon?: IconName;
  look?: "plain" | "main" | "terminal" | "quiet";
  size?: "normal" | "small" | "big";
  isBusy?: boolean;
  /** Whether what the button opens is open, and its id. */
  opens?: { isOpen: boolean; id: string };
  /** Show the reason only to screen readers and under the pointer, where there is no room for it. */
  hideReason?: boolean;
}

const LOOKS = { plain: "", main: "main-do", terminal: "end-do", quiet: "quiet" };
const SIZES = { normal: "", small: "s", big: "big" };

/** A button that says why it cannot be pressed. */
export function ActionButton({ children, press, reason, icon, look = "plain", size = "normal", isBusy = false, hideReason = false, opens }: ActionButtonProps) {
  const id = useId();
  const isOff = reason !== undefined || isBusy;
  return (
    <>
      <button
        type="button"
        className={`btn ${SIZES[size]} ${reason === undefined ? LOOKS[look] : "off"}`}
        aria-disabled={isOff}
        aria-busy={isBusy}
        aria-expanded={opens?.isOpen}
        aria-controls={opens?.id}
        aria-describedby={reason === undefined ? undefined : id}
        title={hideReason ? reason : undefined}
        onClick={() => {
          if (!isOff) press();
        }}
      >
        {reason !== undefined ? icon && <Icon name="denied" /> : icon && <Icon name={icon} />}
        {children}
      </button>
      {reason !== undefined && (
        <span id={id} className={hideReason ? "hidden" : "why"}>
          {reason}
        </span>
      )}
    </>
  );
}
