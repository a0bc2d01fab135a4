// HTTP clients that show an answer as it is on the wire.

import { request, type Agent, type IncomingHttpHeaders } from 'node:http';
import { connect } from 'node:net';

/** Where an app listens: a `RunningApp`. */
export interface Target {
  readonly port: number;
  readonly socketPath?: string;
}

export interface Sent {
  /** Default GET. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string | Buffer;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** The client's own address, one of the loopback network. */
  readonly from?: string;
  /** Default a new connection. */
  readonly agent?: Agent;
}

export interface Answer {
  readonly status: number;
  /** By lower-case name. */
  readonly headers: IncomingHttpHeaders;
  /** Names and values as sent. */
  readonly rawHeaders: readonly string[];
  readonly body: string;
}

export function send(target: Target, path: string, sent: Sent = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const where =
      target.socketPath === undefined
        ? { host: sent.host ?? '127.0.0.1', port: target.port }
        : { socketPath: target.socketPath };
    const outgoing = request(
      {
        ...where,
        path,
        method: sent.method ?? 'GET',
        headers: sent.headers,
        localAddress: sent.from,
        agent: sent.agent ?? false,
      },
      (incoming) => {
        const chunks: Buffer[] = [];
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
        incoming.on('error', reject);
        incoming.on('end', () => {
          const { statusCode = 0, headers, rawHeaders } = incoming;
          resolve({ status: statusCode, headers, rawHeaders, body: Buffer.concat(chunks).toString() });
        });
      },
    );
    outgoing.on('error', reject);
    outgoing.end(sent.body);
  });
}

/** The statuses of `count` requests, one after the other. */
export async function statuses(
  target: Target,
  path: string,
  count: number,
  sent: Sent = {},
): Promise<number[]> {
  const answers: number[] = [];
  for (let sending = 0; sending < count; sending++) answers.push((await send(target, path, sent)).status);
  return answers;
}

/** Headers of a request whose trusted proxy names this client. */
export function via(client: string): { headers: Record<string, string> } {
  return { headers: { 'x-forwarded-for': client } };
}

/** Writes bytes to a fresh connection and gives what comes back until it closes, or until `wait` ms are over. */
export function exchange(target: Target, bytes: string | Buffer, wait = 2_000): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = connect({ host: '127.0.0.1', port: target.port });
    const timer = setTimeout(() => {
      socket.destroy();
      reject(
        new Error(`no end after ${wait} ms: ${JSON.stringify(Buffer.concat(chunks).toString('latin1'))}`),
      );
    }, wait);
    socket.on('data', (chunk: Buffer) => chunks.push(chunk));
    // A server that refuses what it reads may reset: what it said before is the answer.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(Buffer.concat(chunks).toString('latin1'));
    });
    socket.end(bytes);
  });
}

/** The status of a raw answer; 0 when the connection was closed without one. */
export function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
}
