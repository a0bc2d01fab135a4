// Runs a script on the server that holds its keys: once, before its deadline, or not at all as far as that can be known.

import type { Outages } from '../../outages.js';
import type { MaybePromise } from '../../store.js';
import type { Script } from '../script.js';
import { Deadlines, Due } from './deadlines.js';
import { failureOf, isNoScript, isWrongServer, notDone, unknown } from './failures.js';
import type { Link } from './link.js';
import type { Server } from './server.js';
import type { Session } from './session.js';

/** Learning the clock, loading the script, one answer that came too late: each costs a round trip, at most once. */
const MOST_TRIES = 5;
const { MAX_SAFE_INTEGER } = Number;

/** A call under way. */
class Call extends Due {
  /** The command under way, if one is; `effective`: unless it only asks for the time. */
  sent: { readonly at: number; readonly server: Server; readonly effective: boolean } | null = null;
  over = false;

  constructor(
    readonly due: number,
    private readonly now: () => number,
    private readonly reject: (error: Error) => void,
  ) {
    super();
  }

  expire(): void {
    this.over = true;
    this.sent?.server.missed(this.sent.at, this.now());
    this.reject(this.sent?.effective === true ? unknown('no answer in time') : notDone('no time left'));
  }
}

export class ScriptCaller {
  private readonly deadlines: Deadlines;
  private calls = 0;

  /** `now`: microseconds of the monotonic clock. */
  constructor(
    private readonly link: Link,
    private readonly outages: Outages,
    private readonly now: () => number,
  ) {
    this.deadlines = new Deadlines(now);
  }

  /**
   * The numbers that the script returns, after the server's time and the number of the call. Its ARGV are the deadline,
   * `args` and that number.
   *
   * `due`, in microseconds of the monotonic clock, is when the call rejects whatever happens, and after which the
   * script does nothing. In an outage of the server it rejects at once.
   */
  call(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    due: number,
  ): MaybePromise<number[]> {
    return this.outages.ask(this.link.serverOf(keys[0]), () => this.begin(script, keys, args, due));
  }

  /** @throws what a call for `key` would reject with, in an outage of its server. */
  checkAsked(key: string): void {
    this.outages.check(this.link.serverOf(key));
  }

  private begin(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    due: number,
  ): Promise<number[]> {
    return new Promise((resolve, reject) => {
      const call = new Call(due, this.now, reject);
      this.deadlines.add(call);
      void this.run(script, keys, args, call)
        .then(resolve, reject)
        .then(() => this.deadlines.remove(call));
    });
  }

  private async run(
    script: Script,
    keys: readonly string[],
    args: readonly (string | number)[],
    call: Call,
  ): Promise<number[]> {
    const number = ++this.calls;
    const session = this.link.current ?? (await this.link.ready());
    let known = true;
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const server = session.serverOf(keys[0]);
      const sent = this.now();
      if (call.over || sent >= call.due) break;
      const deadline = server.clock.deadline(call.due, sent);
      call.sent = { at: sent, server, effective: deadline > 0 };
      // In lower case: some clients know no other, and would ask any node of a cluster.
      const command = known ? ['evalsha', script.sha] : ['eval', script.text];
      command.push(String(keys.length), ...keys, String(deadline));
      for (const arg of args) command.push(String(arg));
      command.push(String(number));
      try {
        const reply = numbersOf(await session.client.send(keys[0], command));
        if (reply[1] !== number) throw this.outOfStep(session);
        const received = this.now();
        server.heard(received);
        // A redirected command was answered by another server.
        if (session.serverOf(keys[0]) === server) server.clock.learn(reply[0], sent, received);
        if (reply.length > 2) return reply;
        known = true;
      } catch (error) {
        server.heard(this.now());
        if (!known || !isNoScript(error)) throw this.failure(error, session, deadline > 0);
        known = false;
      }
      call.sent = null;
    }
    throw notDone('the deadline passed');
  }

  /** An answer was lost on the way, and this one is another call's: so would all be that follow. */
  private outOfStep(session: Session): Error {
    const error = unknown('the answer was that of another call');
    this.link.drop(session, error);
    return error;
  }

  private failure(error: unknown, session: Session, sent: boolean): Error {
    if (isWrongServer(error)) this.link.drop(session, error);
    return failureOf(error, sent);
  }
}

/** A script's reply as numbers, whether the client gives them as numbers or as text. */
function numbersOf(reply: unknown): number[] {
  // ioredis reads the largest safe integer as the one above it.
  const numbers: number[] = [];
  for (const value of Array.isArray(reply) ? reply : []) {
    const number = Math.min(Number(value), MAX_SAFE_INTEGER);
    if (!Number.isSafeInteger(number)) throw unknown('the answer is none of our script');
    numbers.push(number);
  }
  if (numbers.length === 0) throw unknown('the answer is none of our script');
  return numbers;
}
