import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RateLimitEvent } from '../../lib/events/event.js';
import { foldIdentifier, Identifiers } from '../../lib/policies/identifier.js';

const MEGABYTE = 1_000_000;

/** Invisible characters, marks and blanks of every kind. */
const NOTHING = Array.from(
  ' \t\r\n\0\u007f\u0085\u00a0\u00ad\u0300\u0323\u034f\u061c\u0640\u115f\u180e\u2003\u200b\u200d\u2028\u202e\u2060' +
    '\u2800\u3000\u3099\u3164\ufe0f\ufeff\uff9e\uffa0\ufff9\u{1d173}\u{e0041}\u{e0100}',
);

const text = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string({ unit: 'grapheme' }),
  // Half surrogate pairs as well.
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 })
    .map((codes) => String.fromCharCode(...codes)),
  fc.string({
    unit: fc.constantFrom(...NOTHING, 'a', 's', 'S', 'ß', 'Σ', 'ς', 'İ', 'ı', '\ud83d', '\ude00', '각'),
  }),
);

/** Every character that has a spelling to be folded. */
function* characters(): Generator<string> {
  for (const [first, last] of [
    [0, 0x1_ffff],
    [0x2_f800, 0x2_fa1f],
    [0xe_0000, 0xe_0fff],
  ]) {
    for (let code = first; code <= last; code++) yield String.fromCodePoint(code);
  }
}

describe('foldIdentifier', () => {
  it.each([
    [
      'user-a@x.example',
      ['USER-A@x.example', ' user-a@x.example', 'user-a@x.example\t', '\nUser-A@X.example'],
    ],
    [
      'user-a@x.example',
      ['ｕｓｅｒ-ａ＠ｘ．ｅｘａｍｐｌｅ', 'us\u200ber-a@x.example', 'üsér-à@x.example  ', '𝐮𝓼𝔢𝕣-𝖆@x.example'],
    ],
    [
      'user-a@x.example',
      ['u\u0301\u0323ser-a@x.example', 'ⓤⓢⓔⓡ-ⓐ@x.example', 'u s e r - a @ x . e x a m p l e'],
    ],
    [
      'jones1',
      [
        'jone\u017f1',
        'jone\u00df1',
        'joness1',
        'JONE\u1e9e1',
        'jones\u0661',
        'jones\uff11',
        'jones①',
        'jones❶',
      ],
    ],
    ['ijk', ['\u0130jk', '\u0131jk', 'I\u0307JK', 'ĳk', 'IJ\u212a']],
    ['fluffi', ['ﬂuﬃ', 'FLUFFI', 'ﬂuﬀi']],
    ['aelod', ['ælod', 'Ælød', 'aełod', 'aelođ', 'aeĿod']],
    ["o'neil", ['o\u2019neil', 'O\u2018Neil', 'o\uff07neil']],
    ['οδυσσευσ', ['ΟΔΥΣΣΕΥΣ', 'Ὀδυσσεύς', 'οδυσσευς']],
    ['ωαη', ['ᾠᾳῃ', 'ΩΙΑΙΗΙ', 'ωιαιηι', 'ω\u0345αη']],
    ['ねこ', ['ネコ', 'ﾈｺ', 'ねご']],
    ['각하', ['\u1100\u1161\u11a8\u1112\u1161', 'ᄀ\u1161\u11a8하']],
    ['a\ufffd', ['a\ud800', 'a\udc00', 'A\ufffd', 'a😀', 'a😁']],
  ])('J01 takes the spellings of %j for one', (identifier, spellings) => {
    expect(spellings.map(foldIdentifier)).toEqual(spellings.map(() => foldIdentifier(identifier)));
  });

  it('leaves an identifier without spellings what it is, and others apart', () => {
    expect(foldIdentifier('user-a.b+c_d@x.example')).toBe('user-a.b+c_d@x.example');
    const others = [
      'user-a',
      'user-b',
      'usera',
      'user_a',
      'user.a',
      '漢字',
      '漢',
      'имя',
      'имям',
      'שם',
      '각',
      '하',
      '1',
      '12',
    ];
    expect(new Set(others.map(foldIdentifier)).size).toBe(others.length);
  });

  it('J03 leaves nothing of what says nothing', () => {
    expect(foldIdentifier('')).toBe('');
    expect(NOTHING.map(foldIdentifier)).toEqual(NOTHING.map(() => ''));
    expect(foldIdentifier(NOTHING.join(''))).toBe('');
  });

  it('J01 of every character takes all cases and normal forms for one, and folds what is folded no further', () => {
    const apart: string[] = [];
    for (const char of characters()) {
      const folded = foldIdentifier(char);
      const spellings = [
        char.toLowerCase(),
        char.toUpperCase(),
        char.normalize('NFC'),
        char.normalize('NFKC'),
      ];
      for (const spelling of new Set([...spellings, folded])) {
        if (foldIdentifier(spelling) !== folded)
          apart.push(`U+${char.codePointAt(0)?.toString(16)} ${spelling}`);
      }
    }
    expect(apart).toEqual([]);
  });

  it('J01 takes for one what a collation does that ignores case and accents', () => {
    const { compare } = new Intl.Collator('en', { sensitivity: 'base' });
    const letters = 'abcdefghijklmnopqrstuvwxyz';
    const pairs = Array.from(letters, (one) => Array.from(letters, (other) => one + other)).flat();
    // The collation takes the phonetic ᵌ for ᴈ, its normal form says ɜ.
    const chars = Array.from(characters()).filter(
      (char) => /[\p{L}\p{N}\p{P}\p{S}]/u.test(char) && char !== 'ᵌ',
    );
    const apart: string[] = [];
    let first = '';
    for (const spelling of ['', ...pairs, ...chars].toSorted(compare)) {
      if (compare(first, spelling) !== 0) first = spelling;
      else if (foldIdentifier(first) !== foldIdentifier(spelling)) apart.push(`${first} ${spelling}`);
    }
    expect(apart).toEqual([]);
  });

  it('is idempotent, and never throws', () => {
    fc.assert(
      fc.property(text, (identifier) => {
        const folded = foldIdentifier(identifier);
        expect(foldIdentifier(folded)).toBe(folded);
      }),
      { numRuns: 2_000 },
    );
  });

  it('J01 takes a text for the same in every case and form, and as any encoder writes it', () => {
    fc.assert(
      fc.property(text, (identifier) => {
        const encoded = Buffer.from(identifier).toString();
        const cases = [
          identifier.toUpperCase(),
          identifier.toLowerCase(),
          identifier.toLocaleUpperCase('tr'),
        ];
        const forms = (['NFC', 'NFD', 'NFKC', 'NFKD'] as const).map((form) => identifier.normalize(form));
        for (const spelling of [encoded, identifier.trim(), ...cases, ...forms]) {
          expect(foldIdentifier(spelling)).toBe(foldIdentifier(identifier));
        }
      }),
      { numRuns: 2_000 },
    );
  });

  it('J01 looks through what says nothing, wherever it is', () => {
    const nothing = fc.string({ unit: fc.constantFrom(...NOTHING) });
    const noise = fc.array(nothing, { minLength: 20, maxLength: 20 });
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 10 }), noise, (identifier, between) => {
        const noisy = Array.from(identifier, (char, at) => between[at % 20] + char).join('');
        expect(foldIdentifier(noisy)).toBe(foldIdentifier(identifier));
      }),
    );
  });

  // Ten times what it took here at most, the least of three and no less than 20 ms. Normalising such a run of marks
  // would take minutes.
  it.each([
    ['marks', '\u0301\u0323', 40],
    ['half-width voice marks', '\uff9e\uff9f', 20],
    ['letters with marks', 'a\u0323\u0301', 80],
    ['the longest expansion', '\ufdfa', 170],
    ['half surrogate pairs', '\ud800', 60],
    ['spaces', ' ', 20],
    ['letters', 'a', 20],
    ['ß', 'ß', 110],
    ['runs of s', 'sssssssé', 200],
    ['squared words', '㌀', 70],
    ['syllables', '각', 140],
    ['emoji', '😀', 50],
  ])('C06 takes linear time for a megabyte of %s', (name, unit, milliseconds) => {
    // The table is made once.
    foldIdentifier('é');
    const identifier = unit.repeat(MEGABYTE / Buffer.byteLength(unit));
    const took = [1, 2, 3].map(() => {
      const start = performance.now();
      foldIdentifier(identifier);
      return performance.now() - start;
    });
    const least = Math.min(...took);
    console.log(`C06 a megabyte of ${name}: ${least.toFixed(0)} ms`);
    expect(least).toBeLessThan(10 * milliseconds);
  });

  it('C06 tells long identifiers apart by their last character', () => {
    const long = 'é'.repeat(MEGABYTE / 2);
    expect(foldIdentifier(`${long}a`)).not.toBe(foldIdentifier(`${long}b`));
  });
});

describe('the identifiers of sign-ins', () => {
  function identifiers(fold: ((identifier: string) => unknown) | null) {
    const events: RateLimitEvent[] = [];
    return { identifiers: new Identifiers(fold, (event) => events.push(event)), events };
  }

  it.each([
    undefined,
    null,
    '',
    ' \u200b\u0301',
    ['user-a@x.example'],
    { $ne: null },
    123,
    Number.NaN,
    true,
    5n,
    Symbol('a'),
  ])('J03 %o is unusable, which is no error', (value) => {
    const { identifiers: ours, events } = identifiers(null);
    expect(ours.of(value)).toBe('');
    expect(events).toEqual([]);
  });

  it('J03 asks the fold of the app of texts only', () => {
    const asked: unknown[] = [];
    const { identifiers: own } = identifiers((identifier) => {
      asked.push(identifier);
      return identifier;
    });
    for (const value of [undefined, 123, ['a'], { toString: () => 'a' }, 'a']) own.of(value);
    expect(asked).toEqual(['a']);
  });

  it('J01 folds as the app does, where it says how', () => {
    const { identifiers: own, events } = identifiers((identifier) => identifier.split('+')[0]);
    expect(own.of('Ada+news')).toBe('Ada');
    expect(own.of('+')).toBe('');
    expect(identifiers(null).identifiers.of(' ADA ')).toBe('ada');
    expect(events).toEqual([]);
  });

  it.each([
    ['it threw TypeError', () => Object(undefined).name.first],
    ['it threw a string', () => fail('user-a@x.example')],
    ['it returned a value of type undefined', () => undefined],
    ['it returned a value of type number', () => 5],
    ['it returned null', () => null],
    ['it returned a value of type object', () => Promise.reject(new Error('user-a@x.example'))],
  ])(
    'J01 folds by itself when of the fold of the app %s, and tells without the identifier',
    (problem, fold) => {
      const { identifiers: broken, events } = identifiers(fold);
      expect(broken.of(' USER-A@x.example')).toBe('user-a@x.example');
      expect(events).toEqual([{ type: 'unusable-key', policy: 'login.fold', problem }]);
    },
  );
});

function fail(thrown: unknown): never {
  throw thrown;
}
