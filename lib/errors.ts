// The one error class of the package, so that callers branch on a stable code and never on a message.

/** What can go wrong. A code is never renamed and never reused. */
export type TollgateErrorCode =
  /** An option, a decorator or a setting is wrong: the boot fails, or the decorator throws. */
  | 'TOLLGATE_BAD_CONFIGURATION'
  /** A call names a policy that was never declared. */
  | 'TOLLGATE_UNKNOWN_POLICY'
  /** A limiter is used where `RateLimitModule` isn't running. */
  | 'TOLLGATE_NOT_INSTALLED'
  /** A store failed before it did anything: it can't be reached, has no time left, or can't write. */
  | 'TOLLGATE_STORE_NOT_DONE'
  /** A store was asked and didn't answer: nobody knows what it did. Such a call is never repeated. */
  | 'TOLLGATE_STORE_UNKNOWN';

/** An error of nestjs-tollgate. A refusal is none: refusals are values (`Decision`). */
export class TollgateError extends Error {
  override readonly name = 'TollgateError';

  constructor(
    readonly code: TollgateErrorCode,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * What was thrown, by the name of its class: what it says may hold secrets or a client's text, and reading it may
 * throw again.
 */
export function nameOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return thrown.constructor.name || 'an error';
  } catch {
    // A proxy, say.
  }
  return thrown === null ? 'null' : `a ${typeof thrown}`;
}

/** The code by which an error is known: `ECONNREFUSED`, `WRONGPASS`, `28P01`; the name of its class when it has none. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (typeof code === 'string') return code;
  const word = error instanceof Error ? /^-?([A-Z]{2,}) /.exec(error.message) : null;
  return word === null ? nameOf(error) : word[1];
}

/** An error and what caused it at last, both by their codes: `TOLLGATE_STORE_NOT_DONE: ECONNREFUSED`. */
export function problemOf(error: unknown): string {
  let root = error;
  for (let depth = 0; depth < 10 && root instanceof Error && root.cause !== undefined; depth++)
    root = root.cause;
  return root === error ? codeOf(error) : `${codeOf(error)}: ${codeOf(root)}`;
}

/** One error for everything that is wrong with a configuration, so that one boot shows it all. */
export function badConfiguration(where: string, findings: readonly string[]): TollgateError {
  const list = findings.map((finding) => `  - ${finding}`).join('\n');
  return new TollgateError('TOLLGATE_BAD_CONFIGURATION', `${where}:\n${list}`);
}
