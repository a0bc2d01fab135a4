// The demo's accounts, the only secrets in clear text here. Your app has its own, in a database and hashed.

export interface DemoAccount {
  readonly email: string;
  readonly password: string;
  /** For an authenticator app; null: no second factor. */
  readonly authenticatorSecret: string | null;
  readonly recoveryCodes: readonly string[];
}

export const DEMO_ACCOUNTS: readonly DemoAccount[] = [
  {
    email: 'ada@example.org',
    password: 'analytical-engine',
    authenticatorSecret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
    recoveryCodes: ['brass-cog-1843', 'punch-card-1815'],
  },
  { email: 'ben@example.org', password: 'lightning-rod', authenticatorSecret: null, recoveryCodes: [] },
];
