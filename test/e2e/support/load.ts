// A steady flow of requests to apps, and what came of each of them.

import { Agent } from 'node:http';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { send, type Answer, type Target } from './client.js';

/** Connections that are kept open to each app. */
const CONNECTIONS = 25;

export interface Load {
  /** Asked in turn. */
  readonly apps: readonly Target[];
  /** Each asked of every app, in turn. */
  readonly paths: readonly string[];
  /** Requests per second, all apps together. */
  readonly rate: number;
  /** Of every request. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A request and its answer. Times are milliseconds of `performance.now()`. */
export interface Answered {
  /** Which of the apps. */
  readonly app: number;
  readonly path: string;
  /** When it was sent. */
  readonly at: number;
  /** How long after it was due: this process, apps included, was held up. */
  readonly late: number;
  /** From `at` until the answer was there: waiting for a free connection counts. */
  readonly took: number;
  /** 0: there was no answer. */
  readonly status: number;
  /** The answer's; null without one. */
  readonly answer: Answer | null;
}

/**
 * Sends by the clock and not by the answers, as users do: a server that is slow gets no fewer requests, and one that
 * hangs can't hide it by stopping the clock of those who wait.
 */
export class Flow {
  readonly answers: Answered[] = [];
  private readonly started = performance.now();
  private readonly underWay = new Set<Promise<void>>();
  private readonly agents: readonly Agent[];
  private readonly pause = monitorEventLoopDelay({ resolution: 5 });
  private readonly done: Promise<void>;
  private sent = 0;
  private stopped = false;

  constructor(private readonly load: Load) {
    this.agents = load.apps.map(() => new Agent({ keepAlive: true, maxSockets: CONNECTIONS }));
    this.pause.enable();
    this.done = this.run();
  }

  /** Sends no more, and waits for what is under way. */
  async stop(): Promise<readonly Answered[]> {
    this.stopped = true;
    await this.done;
    await Promise.all(this.underWay);
    this.pause.disable();
    for (const agent of this.agents) agent.destroy();
    return this.answers;
  }

  /** The longest time, in milliseconds, that this process, apps included, did nothing because something held it up. */
  get longestPause(): number {
    return this.pause.max / 1e6;
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      const due = ((performance.now() - this.started) * this.load.rate) / 1_000;
      while (this.sent < due) this.sendNext();
      await sleep(5);
    }
  }

  private sendNext(): void {
    const { apps, paths, rate } = this.load;
    const index = this.sent++;
    const app = index % apps.length;
    const path = paths[Math.floor(index / apps.length) % paths.length];
    const request = this.request(app, path, this.started + (index * 1_000) / rate);
    this.underWay.add(request);
    void request.then(() => this.underWay.delete(request));
  }

  private async request(app: number, path: string, due: number): Promise<void> {
    const { apps, headers } = this.load;
    const at = performance.now();
    const answer = await send(apps[app], path, { agent: this.agents[app], headers }).catch(() => null);
    const took = performance.now() - at;
    this.answers.push({ app, path, at, late: at - due, took, status: answer?.status ?? 0, answer });
  }
}

/** How many of some answers have each status. */
export function countStatuses(answers: readonly Answered[]): Record<number, number> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** Of some answers the milliseconds that the longest took. */
export function longest(answers: readonly Answered[]): number {
  return Math.max(0, ...answers.map(({ took }) => took));
}
