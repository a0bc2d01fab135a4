// Writes limits into HTTP responses so that they reach the client however the handler answers.

import type { HeaderLines } from '../../algorithms/decision.js';
import type { ResponseHeaders } from '../../responses/headers.js';

type HeaderValue = number | string | readonly string[] | undefined;

/** The parts of Node's response that are used here. */
export interface RawResponse {
  getHeader(name: string): HeaderValue;
  setHeader(name: string, value: string): unknown;
  removeHeader(name: string): void;
  readonly headersSent: boolean;
  readonly statusCode: number;
  once(event: 'finish', step: () => void): unknown;
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

/** Writes lines; a later write wins. */
export function writeLines(response: FrameworkResponse, lines: HeaderLines): void {
  // One look at what the response is: on Express, `raw` is sought in vain along seven prototypes.
  if ('raw' in response) {
    if (response.raw.headersSent) return;
    for (const name in lines) writeReply(response, name, lines[name]);
  } else if (!response.headersSent) {
    for (const name in lines) response.setHeader(name, lines[name]);
  }
}

/** Writes the lines of a refusal and takes back what the app said about the answer it meant to give. */
export function writeRefusal(response: FrameworkResponse, lines: HeaderLines): void {
  writeLines(response, lines);
  const raw = 'raw' in response ? response.raw : response;
  if (raw.headersSent) return;
  raw.removeHeader('etag');
  response.removeHeader('etag');
}

/** Lets browsers on other origins read our headers, where the app's CORS configuration answered. Source B, SB-38. */
export function exposeHeaders(response: FrameworkResponse, headers: ResponseHeaders): void {
  if (response.getHeader('access-control-allow-origin') === undefined) return;
  const current = response.getHeader('access-control-expose-headers');
  const list = headers.exposeList(typeof current === 'object' ? current.join(', ') : current?.toString());
  writeLines(response, { 'access-control-expose-headers': list });
}

/**
 * On the raw response: what is set on Fastify's reply alone is lost when a handler writes the raw one itself. On the
 * reply too where the header is there already, as the reply's own would win.
 */
function writeReply(reply: FastifyReply, name: string, value: string): void {
  if (reply.hasHeader(name)) reply.header(name, value);
  reply.raw.setHeader(name, value);
}
