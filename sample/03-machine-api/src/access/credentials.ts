// Who may call: API keys, and users through their sessions. Their secrets are known by digest only.
import { Injectable } from '@nestjs/common';
import type { Actor } from 'nestjs-tollgate';
import { createHash, randomBytes, randomUUID } from 'node:crypto';

/** Whom a credential stands for: what `@CurrentActor()` gives to handlers. */
export type Principal = Actor & { readonly admin: boolean };

export interface Credential {
  readonly principal: Principal;
  /** The one address that it may be used from; null: any. */
  readonly onlyFrom: string | null;
}

@Injectable()
export class Credentials {
  /** By SHA-256: enough for long random secrets, and how long a look takes tells nothing about them. */
  private readonly byDigest = new Map<string, Credential>([
    [
      '4f26294666687eb832087ceb8b1e1f14dabe545f42b1c91a0b0f3b475de46c64',
      { principal: { key: 'kiosk', admin: false }, onlyFrom: null },
    ],
    [
      '0f7dd779333c458ee32c92bac93604ba3b0eeff5dd3f986b88e301c5db57dea5',
      { principal: { key: 'office', admin: false }, onlyFrom: '203.0.113.7' },
    ],
    [
      'ad64faa94dd0a49f2e8c1b3e10b3aa4a57753c18b44fc4b98eec0bd8cff78072',
      { principal: { user: 'ada', admin: true }, onlyFrom: null },
    ],
    [
      '5f3c130c46f2479f935308b906a898c425f6986672a27453464130210df47bfe',
      { principal: { user: 'ben', admin: false }, onlyFrom: null },
    ],
  ]);

  /** What a secret gives access to; null when nobody has it. */
  find(secret: string): Credential | null {
    return this.byDigest.get(digestOf(secret)) ?? null;
  }

  /** A new key. Its secret is told here and never again. */
  issue(): { readonly key: string; readonly secret: string } {
    const key = randomUUID();
    const secret = randomBytes(32).toString('base64url');
    this.byDigest.set(digestOf(secret), { principal: { key, admin: false }, onlyFrom: null });
    return { key, secret };
  }
}

function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
