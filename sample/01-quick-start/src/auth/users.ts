// The demo's users, and the only place that knows how a token leads to one of them.
import { createHash, timingSafeEqual } from 'node:crypto';

export type Role = 'user' | 'admin';

export interface User {
  readonly id: string;
  readonly roles: readonly Role[];
}

/** SHA-256 of each token: whoever reads this file can't sign in with it. Enough for long random tokens only. */
const ACCOUNTS: readonly { readonly user: User; readonly tokenDigest: string }[] = [
  {
    user: { id: 'ada', roles: ['user', 'admin'] },
    tokenDigest: '47e67991f98eb57ddc44f48be73c9dc879f4f7fc2b02b28c73505d051994b853',
  },
  {
    user: { id: 'ben', roles: ['user'] },
    tokenDigest: '5b5096b62e573b62426f6fd6affd5a5ff557c6ffee14cb8c43f1aeda9894c4fa',
  },
  {
    user: { id: 'cleo', roles: ['user'] },
    tokenDigest: '3ca6f37a1cafcc2efdd33507005a85fe068302fb2ffd0945137ce9d931cf11ed',
  },
];

/** The owner of a token; null when nobody has it. Takes equally long for all of them. */
export function ownerOf(token: string): User | null {
  const digest = createHash('sha256').update(token).digest();
  const owners = ACCOUNTS.filter(({ tokenDigest }) =>
    timingSafeEqual(digest, Buffer.from(tokenDigest, 'hex')),
  );
  return owners[0]?.user ?? null;
}

export function listUsers(): readonly User[] {
  return ACCOUNTS.map(({ user }) => user);
}
