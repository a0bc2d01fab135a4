// Writes limits into HTTP responses so that they reach the client however the handler answers.

import { decisionOf, type Decision } from '../../algorithms/decision.js';
import type { Verdict } from '../../algorithms/verdict.js';
import { exposeList, headersOf } from '../../responses/headers.js';

type HeaderValue = number | string | readonly string[] | undefined;

/** The parts of Node's response that are used here. */
export interface RawResponse {
  getHeader(name: string): HeaderValue;
  setHeader(name: string, value: string): unknown;
  removeHeader(name: string): void;
  readonly headersSent: boolean;
}

/** A framework's response: Express's is the raw one, Fastify's reply has it and keeps headers of its own. */
export type FrameworkResponse = RawResponse | FastifyReply;

interface FastifyReply {
  readonly raw: RawResponse;
  getHeader(name: string): HeaderValue;
  hasHeader(name: string): boolean;
  header(name: string, value: string): unknown;
  removeHeader(name: string): unknown;
}

/** Describes the bucket: what a later, tighter one overwrites. */
export function writeVerdict(response: FrameworkResponse, verdict: Verdict): void {
  writeDecision(response, decisionOf(verdict));
}

export function writeDecision(response: FrameworkResponse, decision: Decision): void {
  if (rawOf(response).headersSent) return;
  const lines = headersOf(decision);
  for (const name in lines) writeHeader(response, name, lines[name]);
  if (!decision.allowed) removeHeader(response, 'etag');
}

/** Lets browsers on other origins read our headers, where the app's CORS configuration answered. Source B, SB-38. */
export function exposeHeaders(response: FrameworkResponse): void {
  if (response.getHeader('access-control-allow-origin') === undefined) return;
  const current = response.getHeader('access-control-expose-headers');
  const list = exposeList(typeof current === 'object' ? current.join(', ') : current?.toString());
  writeHeader(response, 'access-control-expose-headers', list);
}

function rawOf(response: FrameworkResponse): RawResponse {
  return 'raw' in response ? response.raw : response;
}

/**
 * On the raw response: what is set on Fastify's reply alone is lost when a handler writes the raw one itself. On the
 * reply too where the header is there already, as the reply's own would win.
 */
function writeHeader(response: FrameworkResponse, name: string, value: string): void {
  if (!('raw' in response)) {
    response.setHeader(name, value);
    return;
  }
  if (response.hasHeader(name)) response.header(name, value);
  response.raw.setHeader(name, value);
}

function removeHeader(response: FrameworkResponse, name: string): void {
  rawOf(response).removeHeader(name);
  if ('raw' in response) response.removeHeader(name);
}
