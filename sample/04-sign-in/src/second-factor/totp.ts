// The codes of authenticator apps: six digits that change every 30 seconds. RFC 6238, RFC 4226.
import { createHmac } from 'node:crypto';

const STEP = 30_000;
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The number of the 30 seconds in which a moment falls. */
export function stepAt(ms: number): number {
  return Math.floor(ms / STEP);
}

export function codeAt(step: number, secret: string): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(step));
  const mac = createHmac('sha1', bytesOf(secret)).update(counter).digest();
  const number = mac.readUInt32BE(mac[mac.length - 1] & 0xf) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, '0');
}

function bytesOf(base32: string): Buffer {
  const bits = Array.from(base32, (digit) => BASE32.indexOf(digit).toString(2).padStart(5, '0')).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
}
