import { useEffect, useId, useRef, useState, type ReactNode, type RefObject } from "react";
import type { Problem } from "../api/problems";
import { operationTitle } from "../text/operations";
import { Boundary } from "./Boundary";
import { CopyButton } from "./CopyButton";
import { Icon, type IconName } from "./Icon";
import { Timestamp } from "./Timestamp";

interface PanelProps {
  title: ReactNode;
  icon?: IconName;
  /** Next to the title, quieter. */
  note?: ReactNode;
  /** At the right end of the header. */
  end?: ReactNode;
  footer?: ReactNode;
  /** Leave out the padding, for lists and tables. */
  flush?: boolean;
  className?: string;
  children?: ReactNode;
}

/** A part of a screen with a heading. A panel that fails does not affect others. */
export function Panel({ title, icon, note, end, footer, flush = false, className = "", children }: PanelProps) {
  const id = useId();
  const body = useScrollable();
  return (
    <section className={`panel ${className}`} aria-labelledby={id}>
      <header>
        {icon && <Icon name={icon} />}
        <h2 id={id}>{title}</h2>
        {note !== undefined && <span className="dim sm cut">{note}</span>}
        {end !== undefined && <span className="end row">{end}</span>}
      </header>
      <div ref={body} className={flush ? "body flush" : "body"}>
        <Boundary what={typeof title === "string" ? `«${title}»` : "this panel"}>{children}</Boundary>
      </div>
      {footer !== undefined && <footer>{footer}</footer>}
    </section>
  );
}

/** Return a ref for an element that the keyboard reaches only while it has more than it shows. */
function useScrollable(): RefObject<HTMLDivElement | null> {
  const ref = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const measure = () => {
      const element = ref.current;
      if (!element) return;
      if (element.scrollHeight > element.clientHeight + 1) element.tabIndex = 0;
      else element.removeAttribute("tabindex");
    };
    measure();
    // What is read later is put into the panel without the panel being rendered again.
    const added = new MutationObserver(measure);
    if (ref.current) added.observe(ref.current, { childList: true, subtree: true });
    addEventListener("resize", measure);
    return () => {
      added.disconnect();
      removeEventListener("resize", measure);
    };
  }, []);
  return ref;
}

function Outdated({ what, at, again }: { what: string; at: number | undefined; again: () => void }) {
  return (
    <div className="callout unk row" role="status">
      <Icon name="unknown" className="unk" />
      <span>
        Reading {what} failed.{" "}
        {at !== undefined && (
          <>
            Shown as of <Timestamp at={at} />.
          </>
        )}
      </span>
      <button type="button" className="btn s end" onClick={again}>
        Read again
      </button>
    </div>
  );
}

interface LoadedProps<T> {
  /** A read, as `useRead` returns it. */
  read: { data: T | undefined; at?: number | undefined; problem: Problem | undefined; again: () => void };
  /** What is read: «runs». */
  what: string;
  /** The read's operation, for the text of a denial. */
  operation?: string;
  children: (data: T) => ReactNode;
}

/** Show an answer, or that it is read, denied or failed; an answer that could not be read again says so. */
export function Loaded<T>({ read, what, operation, children }: LoadedProps<T>) {
  if (read.data !== undefined)
    return (
      <>
        {read.problem && <Outdated what={what} at={read.at} again={read.again} />}
        {children(read.data)}
      </>
    );
  if (read.problem) return <Failure problem={read.problem} what={what} operation={operation} again={read.again} />;
  return <Skeleton what={what} />;
}

/** Show that something is read: nothing for 300 ms, then lines. */
export function Skeleton({ what }: { what: string }) {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 300);
    return () => clearTimeout(timer);
  }, []);
  if (!isLate) return null;
  return <SkeletonLines what={what} />;
}

export function SkeletonLines({ what }: { what: string }) {
  return (
    <div className="skeleton">
      <div className="sk w52" />
      <div className="sk w84" />
      <div className="sk w67" />
      <p className="faint sm" role="status">
        Reading {what}…
      </p>
    </div>
  );
}

interface FailureProps {
  problem: Problem;
  what: string;
  operation?: string | undefined;
  surface?: string | undefined;
  again?: () => void;
}

/** Show why a read failed, and what helps. */
export function Failure({ problem, what, operation, surface, again }: FailureProps) {
  if (problem.isDenied) {
    const title = operation ? operationTitle(operation) : `Read ${what}`;
    const asked = `${operation ?? what} on ${surface ? `surface ${surface}` : "the surface of this console"}`;
    return (
      <div className="failure">
        <div className="row">
          <Icon name="denied" className="dim" />
          <b className="b">You are not permitted to {title.charAt(0).toLowerCase() + title.slice(1)}.</b>
        </div>
        <p className="dim sm">
          {asked}. An administrator of this surface can grant it. <CopyButton text={`Please grant me ${asked}.`}>Copy request</CopyButton>
        </p>
      </div>
    );
  }
  return (
    <div className="failure">
      <div className="row">
        <Icon name="blocks" className="alarm" />
        <b className="b">{problem.message}</b>
      </div>
      <p className="dim sm">
        {problem.code} {problem.status || ""}
        {problem.correlationId && (
          <>
            {" "}
            · correlation {short(problem.correlationId)} <CopyButton text={problem.correlationId} label="Copy correlation id" />
          </>
        )}
      </p>
      {again && (
        <div>
          <button type="button" className="btn s" onClick={again}>
            <Icon name="back" />
            Try again
          </button>
        </div>
      )}
    </div>
  );
}

/** `01a1…45b6` */
export function short(id: string): string {
  return `${id.slice(0, 4)}…${id.slice(-4)}`;
}
