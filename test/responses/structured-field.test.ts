import { parseItem } from 'structured-headers';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { integerItem, stringItem } from '../../lib/responses/structured-field.js';

describe('structured fields', () => {
  it('a parser reads back every printable text', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        fc.pre(/^[\x20-\x7e]*$/.test(text));
        expect(parseItem(stringItem(text))[0]).toBe(text);
      }),
      { numRuns: 1_000 },
    );
  });

  it('what can’t stand in a string is percent-encoded, lone surrogates included', () => {
    expect(stringItem('GET /café')).toBe('"GET /caf%C3%A9"');
    expect(stringItem('a\nb')).toBe('"a%0Ab"');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(stringItem(text)).toMatch(/^"(?:[\x20-\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"$/);
      }),
      { numRuns: 1_000 },
    );
  });

  it('a whole number keeps within the format’s 15 digits', () => {
    expect(integerItem(7)).toBe('7');
    expect(parseItem(integerItem(Number.MAX_SAFE_INTEGER))[0]).toBe(999_999_999_999_999);
  });
});
