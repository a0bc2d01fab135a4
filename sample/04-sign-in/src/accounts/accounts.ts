// The accounts, and the only place that compares passwords.
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { DEMO_ACCOUNTS } from './demo.js';
import { hashPassword, isPassword, type PasswordHash } from './passwords.js';

export interface Account {
  readonly email: string;
  readonly hasSecondFactor: boolean;
}

@Injectable()
export class Accounts implements OnModuleInit {
  private readonly byEmail = new Map<string, { readonly account: Account; password: PasswordHash }>();
  /** What passwords of unknown accounts are compared with, so that those take as long as others. */
  private nobody = hashPassword('');

  async onModuleInit(): Promise<void> {
    for (const { email, password, authenticatorSecret } of DEMO_ACCOUNTS) {
      const account = { email, hasSecondFactor: authenticatorSecret !== null };
      this.byEmail.set(email, { account, password: await hashPassword(password) });
    }
  }

  find(email: string): Account | null {
    return this.byEmail.get(keyOf(email))?.account ?? null;
  }

  /** The account, if this is its password; does the same work whether it exists or not. */
  async verify(email: string, password: string): Promise<Account | null> {
    const known = this.byEmail.get(keyOf(email));
    const right = await isPassword(password, known?.password ?? (await this.nobody));
    return known !== undefined && right ? known.account : null;
  }

  async setPassword({ email }: Account, password: string): Promise<void> {
    const known = this.byEmail.get(keyOf(email));
    if (known !== undefined) known.password = await hashPassword(password);
  }
}

function keyOf(email: string): string {
  return email.trim().toLowerCase();
}
