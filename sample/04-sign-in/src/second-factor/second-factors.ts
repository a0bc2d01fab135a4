// Second factors of accounts, and the only place that compares codes. Each code works once.
import { Injectable } from '@nestjs/common';
import { createHash, timingSafeEqual } from 'node:crypto';
import { DEMO_ACCOUNTS } from '../accounts/demo.js';
import { codeAt, stepAt } from './totp.js';

interface SecondFactor {
  readonly secret: string;
  /** The last 30 seconds whose code was used. */
  lastStep: number;
  /** Digests of those that are left. */
  readonly recoveryCodes: Set<string>;
}

@Injectable()
export class SecondFactors {
  private readonly byEmail = new Map<string, SecondFactor>();

  constructor() {
    for (const { email, authenticatorSecret: secret, recoveryCodes } of DEMO_ACCOUNTS) {
      if (secret === null) continue;
      this.byEmail.set(email, { secret, lastStep: 0, recoveryCodes: new Set(recoveryCodes.map(digestOf)) });
    }
  }

  /** Takes the code of the last 30 seconds too: clocks differ, and typing takes a while. */
  useCode(email: string, code: string): boolean {
    const factor = this.byEmail.get(email);
    if (factor === undefined) return false;
    const now = stepAt(Date.now());
    const step = [now - 1, now].find((candidate) => isSame(code, codeAt(candidate, factor.secret)));
    if (step === undefined || step <= factor.lastStep) return false;
    factor.lastStep = step;
    return true;
  }

  useRecoveryCode(email: string, code: string): boolean {
    return this.byEmail.get(email)?.recoveryCodes.delete(digestOf(code)) ?? false;
  }
}

function isSame(given: string, right: string): boolean {
  return timingSafeEqual(Buffer.from(digestOf(given)), Buffer.from(digestOf(right)));
}

function digestOf(code: string): string {
  return createHash('sha256').update(code).digest('hex');
}
