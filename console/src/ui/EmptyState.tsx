import type { ReactNode } from "react";

/** Say which object is missing, and offer the action that creates one. */
export function EmptyState({ children, action }: { children: ReactNode; action?: ReactNode }) {
  return (
    <div className="empty">
      <p>{children}</p>
      {action !== undefined && <div className="row wrap">{action}</div>}
    </div>
  );
}
