// A pause between mails to one address, so that nobody's mailbox can be flooded. Source B, SB-33.

import { Injectable } from '@nestjs/common';
import type { Verdict } from '../../algorithms/verdict.js';
import type { MaybePromise } from '../../stores/store.js';
import { RateLimitRuntime } from '../rate-limit.runtime.js';
import { ServiceCaller } from '../service/service-caller.js';

@Injectable()
export class MailThrottle {
  constructor(private readonly runtime: RateLimitRuntime) {}

  /**
   * Runs `send` unless a mail went to this address a moment ago: one a minute by default. True when it ran. Answer the
   * client alike either way, and for unknown addresses too: call this before the lookup, and look up inside `send`.
   * What `send` throws is thrown again, and the mail wasn't one. Without a usable address networks are counted.
   */
  async attempt(
    address: string | null | undefined,
    ip: string | null,
    send: () => MaybePromise<unknown>,
  ): Promise<boolean> {
    const { attempts, limiter, gate, headers } = this.runtime;
    const client = this.runtime.clientOf(ip);
    const bucket = attempts.ofMail(address, client.network);
    const charges = bucket === null ? [] : await limiter.consume([bucket]);
    for (const verdict of charges) {
      if (verdict.allowed) continue;
      if (gate.refuse(new ServiceCaller(client, headers), 'mail', verdict) !== null) return false;
    }
    try {
      await send();
      return true;
    } catch (error) {
      await this.giveBack(charges);
      throw error;
    }
  }

  /** Best effort: what the caller has to hear is why no mail went. */
  private async giveBack(charges: readonly Verdict[]): Promise<void> {
    try {
      await this.runtime.limiter.refund(charges.map((charge) => ({ charge, cost: 1 })));
    } catch {
      // A shared store is down: the pause stays.
    }
  }
}
