/** One connection for all tabs of a browser: the tab that holds a lock reads for the others. */
import { follow, FeedRefused, type FeedMessage } from "./follow";

export type FeedStatus =
  | { state: "connecting" }
  | { state: "live" }
  /** Nothing is known since `since`; the next attempt is at `retryAt` (both by Date.now). */
  | { state: "lost"; since: number; retryAt: number }
  | { state: "refused"; status: number };

export interface Sharing {
  /** Tabs with the same name share a connection: one person at one surface. */
  name: string;
  headers: () => Headers;
  heard: (message: FeedMessage) => void;
  changed: (status: FeedStatus) => void;
  /** So much was missed, or may have been before the feed began, that everything must be read again. */
  missed: () => void;
  /** The feed is back: its events follow, but row notices and failed reads are not repeated. */
  returned: () => void;
}

/** What one tab sends to the others. */
type TabMessage =
  { kind: "message"; message: FeedMessage; cursor: string | undefined } | { kind: "status"; status: FeedStatus } | { kind: "missed" } | { kind: "hello" } | { kind: "reconnect" };

const FIRST_RETRY_MS = 1000;
const LAST_RETRY_MS = 15_000;
const MISSED_MS = 10 * 60_000;
const MISSED_EVENTS = 2000;
/** After this time without a word, a tab that does not read by itself says that it is not live. */
const HEARD_MS = 25_000;

/** Keeps a tab informed, whether it reads the feed itself or hears it from another tab. */
export class SharedFeed {
  private readonly channel: BroadcastChannel | undefined;
  private readonly stopped = new AbortController();
  private status: FeedStatus = { state: "connecting" };
  private isLeader = false;
  private wasLive = false;
  /** What was heard last, in whichever tab: a tab that takes over continues there. */
  private cursor: string | undefined;
  private lastAt = Date.now();
  private retryNow: () => void = () => undefined;
  private readonly watch: ReturnType<typeof setInterval>;

  constructor(private readonly sharing: Sharing) {
    this.channel = typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel(sharing.name);
    this.channel?.addEventListener("message", ({ data }: MessageEvent<TabMessage>) => this.receive(data));
    this.channel?.postMessage({ kind: "hello" } satisfies TabMessage);
    this.watch = setInterval(() => this.requireWord(), 1000);
    void this.lead();
  }

  close(): void {
    clearInterval(this.watch);
    this.stopped.abort();
    this.channel?.close();
  }

  /** Try again now, in whichever tab reads. */
  reconnect(): void {
    if (this.isLeader) this.retryNow();
    else this.channel?.postMessage({ kind: "reconnect" } satisfies TabMessage);
  }

  private async lead(): Promise<void> {
    const { signal } = this.stopped;
    // The lock manager exists only over HTTPS; without it every tab reads for itself.
    const locks = (navigator as { locks?: LockManager }).locks;
    if (!locks || !this.channel) return this.read();
    try {
      await locks.request(this.sharing.name, { signal }, () => this.read());
    } catch {
      // The tab was closed while it waited.
    }
  }

  private async read(): Promise<void> {
    this.isLeader = true;
    const { signal } = this.stopped;
    let pause = FIRST_RETRY_MS;
    let lostAt: number | undefined;
    let hasEndedQuietly = false;
    while (!signal.aborted) {
      let caughtUp = 0;
      const began = Date.now();
      try {
        await follow({
          headers: this.sharing.headers(),
          after: this.cursor,
          signal,
          heard: (message, id) => {
            pause = FIRST_RETRY_MS;
            hasEndedQuietly = false;
            if (lostAt !== undefined) {
              if (message.kind === "event") caughtUp += 1;
              const isLong = Date.now() - lostAt > MISSED_MS || caughtUp > MISSED_EVENTS;
              if (isLong) this.publish({ kind: "missed" });
              const isCaughtUp = message.kind === "beat" && message.beat.head === id;
              if (isLong || isCaughtUp) lostAt = undefined;
            }
            if (message.kind !== "end") this.publish({ kind: "status", status: { state: "live" } });
            this.publish({ kind: "message", message, cursor: id });
          },
        });
        // The service ends a stream whose token has expired; the next one has another token.
        if (Date.now() - began > FIRST_RETRY_MS && this.status.state === "live" && !hasEndedQuietly) {
          hasEndedQuietly = true;
          continue;
        }
      } catch (error) {
        if (error instanceof FeedRefused && (error.status === 401 || error.status === 403)) this.publish({ kind: "status", status: { state: "refused", status: error.status } });
      }
      if (signal.aborted) return;
      lostAt ??= this.lastAt;
      if (this.status.state !== "refused") this.publish({ kind: "status", status: { state: "lost", since: this.lastAt, retryAt: Date.now() + pause } });
      await new Promise<void>((resolve) => {
        this.retryNow = resolve;
        setTimeout(resolve, pause);
      });
      pause = Math.min(pause * 2, LAST_RETRY_MS);
    }
  }

  /** Give a message to this tab and to the others. */
  private publish(sent: TabMessage): void {
    if (sent.kind === "status" && sent.status.state === "live" && this.status.state === "live") {
      this.lastAt = Date.now();
      return;
    }
    this.channel?.postMessage(sent);
    this.take(sent);
  }

  /** Take a message of another tab. */
  private receive(sent: TabMessage): void {
    if (sent.kind === "hello") {
      if (this.isLeader) this.channel?.postMessage({ kind: "status", status: this.status } satisfies TabMessage);
    } else if (sent.kind === "reconnect") {
      if (this.isLeader) this.retryNow();
    } else if (!this.isLeader) this.take(sent);
  }

  private take(sent: TabMessage): void {
    if (sent.kind === "message") {
      this.lastAt = Date.now();
      if (sent.cursor) this.cursor = sent.cursor;
      this.sharing.heard(sent.message);
      if (!this.isLeader) this.become({ state: "live" });
    } else if (sent.kind === "status") {
      if (sent.status.state === "live") this.lastAt = Date.now();
      this.become(sent.status);
    } else if (sent.kind === "missed") this.sharing.missed();
  }

  private become(status: FeedStatus): void {
    if (status.state === "live" && this.status.state === "live") return;
    this.status = status;
    this.sharing.changed(status);
    if (status.state !== "live") return;
    if (this.wasLive) this.sharing.returned();
    else this.sharing.missed();
    this.wasLive = true;
  }

  private requireWord(): void {
    if (!this.isLeader && this.status.state === "live" && Date.now() - this.lastAt > HEARD_MS)
      this.become({ state: "lost", since: this.lastAt, retryAt: Date.now() + FIRST_RETRY_MS });
  }

  /** When the last word came, by Date.now. */
  get heardAt(): number {
    return this.lastAt;
  }
}
