// Why a call failed, in the two ways that matter to whoever asked: surely not done, or nobody knows.

import { TollgateError } from '../../../errors.js';

/** Codes after which the server at the other end is the wrong one: a replica, or one without its master. */
const WRONG_SERVER = /\b(READONLY|MASTERDOWN)\b/;
/** Every error of a server starts with a code in capitals and a space; an error of TLS or of the system has none. */
const SERVER_ERROR = /^-?([A-Z][A-Z0-9_]+) /;
/** What clients say of a command that they didn't send. */
const NOT_SENT = /^(Stream isn't writeable|Cluster isn't ready|The client is (closed|offline))/;

export function notDone(why: string, cause?: unknown): TollgateError {
  return new TollgateError('TOLLGATE_STORE_NOT_DONE', `Redis: ${why}; nothing was done`, { cause });
}

export function unknown(why: string, cause?: unknown): TollgateError {
  return new TollgateError('TOLLGATE_STORE_UNKNOWN', `Redis: ${why}; it may have been done`, { cause });
}

/** What an error of the client means for a call; `sent`: whether it went out with a deadline still to come. */
export function failureOf(error: unknown, sent: boolean): TollgateError {
  if (error instanceof TollgateError) return error;
  const code = serverCode(error);
  // Our scripts write last and atomically, so a server that answers an error has done nothing.
  if (code !== null) return notDone(`the server answered ${code}`, error);
  if (!sent || NOT_SENT.test(messageOf(error))) return notDone('the command was not sent', error);
  return unknown('the connection was lost before the answer', error);
}

export function isNoScript(error: unknown): boolean {
  return serverCode(error) === 'NOSCRIPT';
}

export function isWrongServer(error: unknown): boolean {
  return serverCode(error) !== null && WRONG_SERVER.test(messageOf(error));
}

/** The code of an error that the server answered; null for all others. */
function serverCode(error: unknown): string | null {
  const match = SERVER_ERROR.exec(messageOf(error));
  if (match === null || (error instanceof Error && 'errno' in error)) return null;
  return WRONG_SERVER.exec(messageOf(error))?.[1] ?? match[1];
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : '';
}
