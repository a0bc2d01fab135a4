// What a right password is answered with where a second factor is needed: a signed statement of whose password it was.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Call } from 'nestjs-tollgate';

const LIFETIME = 5 * 60_000;
/** Of this process: its challenges end with it. Several processes need a secret in common. */
const SECRET = randomBytes(32);

export function challengeFor(email: string): string {
  const statement = Buffer.from(JSON.stringify([email, Date.now() + LIFETIME])).toString('base64url');
  return `${statement}.${signatureOf(statement).toString('base64url')}`;
}

/** The account of a challenge; null when it isn't ours, or is too old. */
export function accountOf(challenge: unknown): string | null {
  if (typeof challenge !== 'string') return null;
  const [statement, signature = ''] = challenge.split('.');
  const given = Buffer.from(signature, 'base64url');
  const right = signatureOf(statement);
  if (given.length !== right.length || !timingSafeEqual(given, right)) return null;
  const [email, end]: [string, number] = JSON.parse(Buffer.from(statement, 'base64url').toString());
  return Date.now() < end ? email : null;
}

/** Whose codes a call tries: not the challenge's, of which every sign-in makes a new one. */
export function challengedAccount({ request }: Call): string | null {
  return accountOf((request as { readonly body?: { readonly challenge?: unknown } }).body?.challenge);
}

function signatureOf(statement: string): Buffer {
  return createHmac('sha256', SECRET).update(statement).digest();
}
