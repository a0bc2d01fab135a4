// Where requests carry credentials: to tell a guess from a call that sends none, and to keep them out of URLs.

import { queryOf } from '../http/query.js';
import type { FrameworkRequest } from '../http/request-state.js';

/** What a header, cookie, parameter or field that carries a credential is called. */
const CREDENTIAL_NAME =
  /auth(?!ors?(?:$|[-_.]))|token|secret|session|credential|signature|pass(?:word|wd|phrase|code)|api-?_?key|jwt|(?:^|[-_.])(?:key|t?otp|pass|pwd|pin|sid|code)$/i;

/** The same where words are told apart by case, as in `accessKey`. */
const CAMEL_CASE_NAME = /[a-z](?:Key|Otp|Pin|Code)$/;

/** A browser sends these for everybody, signed in or not. */
const AGAINST_FORGERY = /[cx]srf/i;

/** Headers with such a name that say nothing about the caller. */
const NO_CREDENTIAL = new Set(['idempotency-key', 'sec-websocket-key', ':authority']);

/**
 * Whether a request carries anything called like a credential: a header such as `authorization` or `x-api-key`, a
 * cookie such as `session` or `connect.sid`, a query parameter or a field of the body such as `password` or `code`.
 */
export function carriesCredential(request: FrameworkRequest): boolean {
  const { headers } = request;
  return (
    Object.keys(headers).some((name) => isCredential(name) && !NO_CREDENTIAL.has(name)) ||
    cookieNames(headers.cookie).some(isCredential) ||
    parameterNames(request.url).some(isCredential) ||
    fieldNames(request).some(isCredential)
  );
}

/** The first of `names` that a URL has as a query parameter, however it is spelled; null when it has none. */
export function credentialInUrl(url: string | undefined, names: readonly string[]): string | null {
  const present = new Set(parameterNames(url).map((name) => name.toLowerCase()));
  return names.find((name) => present.has(name)) ?? null;
}

function isCredential(name: string): boolean {
  return (CREDENTIAL_NAME.test(name) || CAMEL_CASE_NAME.test(name)) && !AGAINST_FORGERY.test(name);
}

function cookieNames(cookie: string | undefined): string[] {
  return (cookie ?? '').split(';').map((pair) => pair.split('=', 1)[0].trim());
}

/** `token[]` and `token[0]` are parsed into `token` by many. */
function parameterNames(url: string | undefined): string[] {
  return [...queryOf(url).keys()].map((name) => name.split('[', 1)[0].trim());
}

function fieldNames({ body }: FrameworkRequest): string[] {
  // A list has no names, and to list those of a raw body's bytes takes seconds.
  if (Array.isArray(body) || ArrayBuffer.isView(body)) return [];
  return typeof body === 'object' && body !== null ? Object.keys(body) : [];
}
