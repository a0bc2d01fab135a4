// Keeps a client at hand: makes the first, and another whenever one has ended or is of no use any more.

import { ONLY_SERVER } from '../../outages.js';
import { CONNECT_TIMEOUT, type ClientSource } from '../clients/client.js';
import { notDone, unknown } from './failures.js';
import { Session } from './session.js';

/** Milliseconds from one attempt to connect to the next. */
const RECONNECT_EVERY = 500;
/** Longest that `close` waits for connections to end, in milliseconds. */
const CLOSE_WITHIN = 900;

export class Link {
  private session: Session | null = null;
  private state: 'idle' | 'open' | 'closed' = 'idle';
  /** The attempt to connect that is under way, for calls to wait for. */
  private attempt: Promise<void> | null = null;
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
    this.begin();
  }

  /** The session that can send now, if there is one. */
  get current(): Session | null {
    return this.session?.client.ready === true ? this.session : null;
  }

  /** The name of the server that holds `key`, as far as is known now. */
  serverOf(key: string): string {
    return this.current?.nameOf(key) ?? ONLY_SERVER;
  }

  /** Whether any key lies on a server of that name. */
  has(server: string): boolean {
    return this.session?.has(server) ?? server === ONLY_SERVER;
  }

  /** The session that can send now. While a connection is being made it waits for that, but for no second attempt. */
  async ready(): Promise<Session> {
    if (this.state === 'idle') this.open();
    if (this.attempt !== null && this.session?.client.ready !== true) await this.attempt;
    if (this.session?.client.ready === true) return this.session;
    throw notDone(this.state === 'closed' ? 'the store is closed' : 'not connected', this.lastError);
  }

  /** Replaces a session that is of no more use, for a reason. */
  drop(session: Session, reason: unknown): void {
    this.lastError = reason;
    void session.client.destroy();
    this.over(session);
  }

  /** Ends what was opened; calls under way fail. */
  async close(): Promise<void> {
    this.state = 'closed';
    this.attempt = null;
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

  private begin(): void {
    this.lastAttempt = this.now();
    this.attempt = this.connectOnce(++this.attempts);
  }

  private async connectOnce(attempt: number): Promise<void> {
    try {
      const client = await this.source.make();
      if (attempt !== this.attempts) return;
      const session = new Session(client, this.source.clustered, (silent) => {
        this.drop(silent, unknown('no answer for too long'));
      });
      this.session = session;
      await this.connect(session);
      this.lastError = undefined;
    } catch (error) {
      this.lastError = error;
    }
    if (attempt !== this.attempts) return;
    this.attempt = null;
    if (this.session === null) this.again();
  }

  /** Gives a session up that can't connect, or takes too long to: there are servers that accept and say nothing. */
  private async connect(session: Session): Promise<void> {
    const patience = setTimeout(() => {
      this.drop(session, notDone('no connection in time'));
    }, CONNECT_TIMEOUT);
    patience.unref();
    try {
      await session.client.connect(() => this.over(session));
    } catch (error) {
      this.drop(session, error);
      throw error;
    } finally {
      clearTimeout(patience);
    }
  }

  private over(session: Session): void {
    if (this.session !== session) return;
    this.session = null;
    // The attempt that made it, if it is still under way, may never come to an end.
    this.attempt = null;
    this.attempts++;
    this.again();
  }

  /** Connects anew: at once after a connection that lasted, for calls can wait for that. */
  private again(): void {
    if (this.state !== 'open' || this.retry !== null) return;
    const wait = RECONNECT_EVERY - (this.now() - this.lastAttempt) / 1000;
    if (wait <= 0) {
      this.begin();
      return;
    }
    this.retry = setTimeout(() => {
      this.retry = null;
      this.begin();
    }, wait);
    this.retry.unref();
  }
}
