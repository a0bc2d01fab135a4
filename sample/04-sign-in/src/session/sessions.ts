// Who is signed in: random tokens, of which only digests are kept.
import { Injectable } from '@nestjs/common';
import { createHash, randomBytes } from 'node:crypto';
import type { Account } from '../accounts/accounts.js';

@Injectable()
export class Sessions {
  private readonly byDigest = new Map<string, Account>();

  /** The token of a new session. */
  open(account: Account): string {
    const token = randomBytes(32).toString('base64url');
    this.byDigest.set(digestOf(token), account);
    return token;
  }

  /** All sessions of an account, wherever they are. */
  end(account: Account): void {
    for (const [digest, owner] of this.byDigest) if (owner === account) this.byDigest.delete(digest);
  }

  find(token: string): Account | null {
    return this.byDigest.get(digestOf(token)) ?? null;
  }
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
