// The words, and those that callers suggest. Suggestions without a key are what spammers would send.
import { Injectable } from '@nestjs/common';
import { RateLimitException, RateLimitService } from 'nestjs-tollgate';
import type { Principal } from './access/credentials.js';

interface Suggestion {
  readonly word: string;
  /** Null: a guest. */
  readonly by: Principal | null;
}

@Injectable()
export class Dictionary {
  readonly words: readonly string[] = ['boojum', 'borogove', 'jabberwock', 'snark', 'tove'];
  readonly suggestions: Suggestion[] = [];

  constructor(private readonly rateLimit: RateLimitService) {}

  knows(word: string): boolean {
    return this.words.includes(word.toLowerCase());
  }

  /** A guest's counts against the quota of new rows that all routes share; whoever is known pays with units only. */
  async suggest(word: string, by: Principal | null, ip: string | null): Promise<void> {
    if (by === null) {
      const decision = await this.rateLimit.checkNewRows(ip);
      if (!decision.allowed) throw new RateLimitException(decision);
    }
    this.suggestions.push({ word, by });
  }
}
