// A pause between mails to one address, so that nobody's mailbox can be flooded. Source B, SB-33.

import { Injectable } from '@nestjs/common';
import type { Verdict } from '../../algorithms/verdict.js';
import { digestKey } from '../../limiter/partition-key.js';
import { Policy } from '../../limiter/policy.js';
import type { MaybePromise } from '../../stores/store.js';
import { RateLimitRuntime } from '../rate-limit.runtime.js';
import { ServiceCaller } from '../service/service-caller.js';

@Injectable()
export class MailThrottle {
  private readonly policy = new Policy('mail', 'mail', true);

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
    const { logins, attempts, limiter, gate, headers } = this.runtime;
    const rate = logins.read('mails');
    const client = this.runtime.clientOf(ip);
    if (rate !== null) {
      const folded = attempts.identifiers.of(address);
      const bucket =
        folded === ''
          ? this.policy.bucket('network', client.network, rate, 1)
          : this.policy.bucket('custom', digestKey(folded), rate, 1);
      const [verdict] = await limiter.consume([bucket]);
      if (!verdict.allowed && gate.refuse(new ServiceCaller(client, headers), 'mail', verdict) !== null)
        return false;
      try {
        await send();
      } catch (error) {
        await this.giveBack(verdict);
        throw error;
      }
      return true;
    }
    await send();
    return true;
  }

  /** Best effort: what the caller has to hear is why no mail went. */
  private async giveBack(charge: Verdict): Promise<void> {
    try {
      await this.runtime.limiter.refund([{ charge, cost: 1 }]);
    } catch {
      // A shared store is down: the pause stays.
    }
  }
}
