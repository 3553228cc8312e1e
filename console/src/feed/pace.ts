/** Gathers changes for a moment, then reads what they have made outdated; one reading at a time. */
const LONGEST_MS = 10_000;

export interface PaceOptions<T> {
  /** Read what these changes have made outdated. */
  read: (changes: readonly T[]) => Promise<unknown>;
  /** How long the first change waits for others. */
  gatherMs: number;
  /** How long those wait that came during a reading, so that many events cost few requests. */
  restMs: number;
}

export class Pace<T> {
  private changes: T[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isReading = false;
  private isClosed = false;

  constructor(private readonly options: PaceOptions<T>) {}

  /** Note a change. */
  add(change: T): void {
    this.changes.push(change);
    if (!this.isReading) this.wait(this.options.gatherMs);
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
  }

  private wait(milliseconds: number): void {
    if (!this.isClosed) this.timer ??= setTimeout(() => void this.flush(), milliseconds);
  }

  private async flush(): Promise<void> {
    const gathered = this.changes;
    this.changes = [];
    this.timer = undefined;
    this.isReading = true;
    // An answer that never comes, or a failed one, holds up nothing for long.
    await Promise.race([this.options.read(gathered).catch(() => undefined), new Promise((end) => setTimeout(end, LONGEST_MS))]);
    this.isReading = false;
    if (this.changes.length > 0) this.wait(this.options.restMs);
  }
}
