// The few pieces of RFC 9651 (Structured Field Values for HTTP) that the rate limit fields need.

/** A string item. What isn't printable ASCII can't stand in one: it is percent-encoded. */
export function stringItem(text: string): string {
  const ascii = text.replaceAll(/[^\x20-\x7e]+/g, percentEncoded);
  return `"${ascii.replaceAll(/["\\]/g, '\\$&')}"`;
}

/** A whole number; the format has room for 15 digits. */
export function integerItem(value: number): string {
  return String(Math.min(value, 999_999_999_999_999));
}

/** Like encodeURIComponent, which throws on a lone surrogate. */
function percentEncoded(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('');
}
