// Passwords as they are kept: salted, and hashed so slowly that who gets hold of them can't guess many.
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

export interface PasswordHash {
  readonly salt: Buffer;
  readonly hash: Buffer;
}

export async function hashPassword(password: string): Promise<PasswordHash> {
  const salt = randomBytes(16);
  return { salt, hash: await slowHash(password, salt) };
}

/** Takes equally long whatever the answer. */
export async function isPassword(password: string, { salt, hash }: PasswordHash): Promise<boolean> {
  return timingSafeEqual(await slowHash(password, salt), hash);
}

function slowHash(password: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    // As OWASP advises for scrypt: 32 MiB, and a good part of a second.
    scrypt(password, salt, 32, { N: 2 ** 15, r: 8, p: 3, maxmem: 2 ** 26 }, (error, hash) =>
      error === null ? resolve(hash) : reject(error),
    );
  });
}
