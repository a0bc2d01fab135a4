import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestKey, partitionKey } from '../../lib/limiter/partition-key.js';

const TEXTS = fc.oneof(
  fc.string(),
  fc.string({ unit: 'binary' }),
  fc.string({ maxLength: 300 }),
  fc.string().map((text) => `#${text}`),
  fc.string().map((text) => digestKey(text)),
);

describe('partition keys', () => {
  it.each(['42', 'user-a@x.example', '203.0.113.5', 'a:b|{c}/d', 'x'.repeat(64)])(
    'keep %s as it is',
    (text) => {
      expect(partitionKey(text)).toBe(text);
    },
  );

  it.each([
    '',
    ' ',
    'a b',
    'a\n',
    'é',
    '\u{1f600}',
    '\ud800',
    '\0',
    'x'.repeat(65),
    '#',
    `#${'x'.repeat(43)}`,
  ])('C06, C07 digest %j', (text) => {
    expect(partitionKey(text)).toBe(digestKey(text));
    expect(partitionKey(text)).toMatch(/^#[A-Za-z0-9_-]{43}$/);
  });

  it('C01, C06 are short and printable, and different for different texts', () => {
    fc.assert(
      fc.property(TEXTS, TEXTS, (one, other) => {
        const key = partitionKey(one);
        expect(key).toMatch(/^[\x21-\x7e]{1,64}$/);
        expect(partitionKey(one)).toBe(key);
        expect(key === partitionKey(other)).toBe(one === other);
      }),
      { numRuns: 2000 },
    );
  });

  it('C07 tell lone surrogates apart', () => {
    const keys = ['\ud800', '\ud801', '\udc00', '\ufffd'].map(partitionKey);
    expect(new Set(keys).size).toBe(4);
  });

  it('nobody can name another’s digest', () => {
    const secret = digestKey('sk_test_SECRET');
    expect(partitionKey(secret)).not.toBe(secret);
  });

  it('C05 digests show nothing of the text', () => {
    expect(digestKey('sk_test_SECRET')).not.toContain('SECRET');
    expect(digestKey('a')).toMatch(/^#[A-Za-z0-9_-]{43}$/);
  });
});
