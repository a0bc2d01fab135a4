// Keeps a client at hand: makes the first, and another whenever one has ended or is of no use any more.

import { CONNECT_TIMEOUT, type ClientSource } from '../clients/client.js';
import { notDone } from './failures.js';
import { Session } from './session.js';

/** Milliseconds from one attempt to connect to the next. */
const RECONNECT_EVERY = 500;
/** Longest that `close` waits for connections to end, in milliseconds. */
const CLOSE_WITHIN = 900;

export class Link {
  private session: Session | null = null;
  private state: 'idle' | 'open' | 'closed' = 'idle';
  /** The first attempt, for calls at the start of a process to wait for; null once it came to something. */
  private first: Promise<void> | null = null;
  private attempts = 0;
  private lastAttempt = -Infinity;
  private lastError: unknown = undefined;
  private retry: NodeJS.Timeout | null = null;

  /** `now`: microseconds of the monotonic clock. */
  constructor(
    private readonly source: ClientSource,
    private readonly now: () => number,
  ) {}

  /** Begins to connect, also after a close; does nothing while open. */
  open(): void {
    if (this.state === 'open') return;
    this.state = 'open';
    this.first = this.attempt();
  }

  /** The session that can send now. At the start of a process it waits for the first connection to be made. */
  async ready(): Promise<Session> {
    if (this.state === 'idle') this.open();
    if (this.first !== null && this.session?.client.ready !== true) await this.first;
    if (this.session?.client.ready === true) return this.session;
    throw notDone(this.state === 'closed' ? 'the store is closed' : 'not connected', this.lastError);
  }

  /** Replaces a session that is of no more use. */
  drop(session: Session): void {
    void session.client.destroy();
    this.over(session);
  }

  /** Ends what was opened; calls under way fail. */
  async close(): Promise<void> {
    this.state = 'closed';
    this.first = null;
    this.attempts++;
    if (this.retry !== null) clearTimeout(this.retry);
    this.retry = null;
    const { session } = this;
    this.session = null;
    if (session === null) return;
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<void>((resolve) => (timer = setTimeout(resolve, CLOSE_WITHIN)));
    await Promise.race([session.client.destroy(), patience]);
    clearTimeout(timer);
  }

  private async attempt(): Promise<void> {
    const attempt = ++this.attempts;
    this.lastAttempt = this.now();
    try {
      const client = await this.source.make();
      if (attempt !== this.attempts) return;
      const session = new Session(client, this.source.clustered, (silent) => this.drop(silent));
      this.session = session;
      await this.connect(session);
      this.lastError = undefined;
    } catch (error) {
      this.lastError = error;
      if (attempt === this.attempts && this.session === null) this.again();
    }
    if (attempt === this.attempts) this.first = null;
  }

  /** Gives a session up that can't connect, or takes too long to: there are servers that accept and say nothing. */
  private async connect(session: Session): Promise<void> {
    const patience = setTimeout(() => this.drop(session), CONNECT_TIMEOUT);
    patience.unref();
    try {
      await session.client.connect(() => this.over(session));
    } catch (error) {
      this.drop(session);
      throw error;
    } finally {
      clearTimeout(patience);
    }
  }

  private over(session: Session): void {
    if (this.session !== session) return;
    this.session = null;
    this.first = null;
    this.again();
  }

  private again(): void {
    if (this.state !== 'open' || this.retry !== null) return;
    const wait = RECONNECT_EVERY - (this.now() - this.lastAttempt) / 1000;
    this.retry = setTimeout(
      () => {
        this.retry = null;
        void this.attempt();
      },
      Math.max(0, wait),
    );
    this.retry.unref();
  }
}
