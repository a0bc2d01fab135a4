import { validateHeaderName, validateHeaderValue } from 'node:http';
import * as fc from 'fast-check';
import { parseList, type InnerList, type Item } from 'structured-headers';
import { describe, expect, it } from 'vitest';
import type { HeaderLines } from '../../lib/algorithms/decision.js';
import { ceilSeconds } from '../../lib/algorithms/duration.js';
import { createRate } from '../../lib/algorithms/rate.js';
import { tightest, type Verdict } from '../../lib/algorithms/verdict.js';
import { HEADER_FORMATS, ResponseHeaders, type HeaderFormat } from '../../lib/responses/headers.js';

const SECOND = 1_000_000;

interface Shape {
  readonly policy?: string;
  readonly limit?: number;
  readonly window?: number;
  readonly cost?: number;
  readonly hidden?: boolean;
}

function verdict(state: Partial<Omit<Verdict, 'bucket'>> = {}, shape: Shape = {}): Verdict {
  const { policy = 'per-ip', limit = 10, window = 60 * SECOND, cost = 1, hidden } = shape;
  const rate = createRate('fixed', limit, window);
  const bucket = { policy, namespace: policy, key: 'k', rate, cost, hidden };
  return {
    bucket,
    allowed: true,
    remaining: 7,
    resetAfter: 40 * SECOND,
    retryAfter: 0,
    taken: 1,
    until: 0,
    ...state,
  };
}

const PASSED = verdict();
const REFUSED = verdict({ allowed: false, remaining: 0, retryAfter: 20 * SECOND });
const NEVER = verdict({ allowed: false, retryAfter: Infinity }, { cost: 11 });

const DRAFT_6 = new ResponseHeaders(['draft-6']);
const DRAFT_11 = new ResponseHeaders(['draft-11']);

/** The items of a structured field, as a parser of RFC 9651 reads them. */
function items(field: string): [value: unknown, parameters: Record<string, unknown>][] {
  return parseList(field).map((member: Item | InnerList) => [member[0], Object.fromEntries(member[1])]);
}

describe('header lines', () => {
  it('SA-23, G10 of a call that passed are limit, remaining and reset', () => {
    expect(DRAFT_6.of([PASSED])).toEqual({
      'ratelimit-limit': '10',
      'ratelimit-remaining': '7',
      'ratelimit-reset': '40',
    });
  });

  it('SB-36, G08 of a refusal have the wait, and forbid caching', () => {
    expect(DRAFT_6.ofRefusal([REFUSED], REFUSED)).toEqual({
      'ratelimit-limit': '10',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '40',
      'retry-after': '20',
      'cache-control': 'no-store',
    });
  });

  it('have no wait where waiting never helps', () => {
    for (const format of HEADER_FORMATS) {
      const lines = new ResponseHeaders([format]).ofRefusal([NEVER], NEVER);
      expect(lines).not.toHaveProperty('retry-after');
      expect(lines).toHaveProperty('cache-control', 'no-store');
    }
  });

  it('G04 are whole numbers, however large, with lower-case names', () => {
    const headers = new ResponseHeaders(['draft-6', 'x-ratelimit']);
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        fc.nat({ max: 400 * 86_400 }),
        (limit, seconds) => {
          const refused = verdict(
            {
              allowed: false,
              remaining: 0,
              resetAfter: seconds * SECOND,
              retryAfter: (seconds + 1) * SECOND,
            },
            { limit },
          );
          const lines = headers.ofRefusal([refused], refused);
          expect(Object.keys(lines)).toHaveLength(8);
          for (const [name, value] of Object.entries(lines)) {
            expect(name).toBe(name.toLowerCase());
            if (name !== 'cache-control') expect(value).toMatch(/^(0|[1-9][0-9]*)$/);
          }
        },
      ),
    );
  });

  it('G04 round seconds up, and a wait is at least one', () => {
    const refused = verdict({
      allowed: false,
      remaining: 0,
      resetAfter: 12 * SECOND + 1,
      retryAfter: 1,
    });
    for (const format of ['draft-6', 'x-ratelimit'] as const) {
      const lines = new ResponseHeaders([format]).ofRefusal([refused], refused);
      expect(lines).toMatchObject({ 'retry-after': '1' });
      expect(Object.entries(lines).find(([name]) => name.endsWith('-reset'))?.[1]).toBe('13');
    }
  });
});

describe('header lines by format', () => {
  it("'x-ratelimit' are the same three numbers, the reset in seconds from now", () => {
    expect(new ResponseHeaders(['x-ratelimit']).of([PASSED])).toEqual({
      'x-ratelimit-limit': '10',
      'x-ratelimit-remaining': '7',
      'x-ratelimit-reset': '40',
    });
  });

  it("SB-37 'retry-after' are none, and the wait alone of a refusal", () => {
    const headers = new ResponseHeaders(['retry-after']);
    expect(headers.of([PASSED])).toEqual({});
    expect(headers.ofRefusal([REFUSED], REFUSED)).toEqual({
      'retry-after': '20',
      'cache-control': 'no-store',
    });
  });

  it('SB-36 without any format a refusal still carries the wait', () => {
    const headers = new ResponseHeaders([]);
    expect(headers.of([PASSED])).toEqual({});
    expect(headers.ofRefusal([REFUSED], REFUSED)).toEqual({
      'retry-after': '20',
      'cache-control': 'no-store',
    });
  });

  it("'draft-11' are structured fields: the tightest policy by its name, and every quota", () => {
    const daily = verdict(
      { remaining: 900, resetAfter: 86_400 * SECOND },
      { policy: 'daily', limit: 1_000, window: 86_400 * SECOND },
    );
    const lines = DRAFT_11.of([daily, PASSED]);
    expect(lines).toEqual({
      ratelimit: '"per-ip";r=7;t=40',
      'ratelimit-policy': '"daily";q=1000;w=86400, "per-ip";q=10;w=60',
    });
    expect(items(lines.ratelimit)).toEqual([['per-ip', { r: 7, t: 40 }]]);
    expect(items(lines['ratelimit-policy'])).toEqual([
      ['daily', { q: 1_000, w: 86_400 }],
      ['per-ip', { q: 10, w: 60 }],
    ]);
  });

  it("'draft-11' lists a quota once, however many buckets of it were met", () => {
    const lines = DRAFT_11.of([PASSED, verdict({ remaining: 3 }), verdict({}, { policy: 'other' })]);
    expect(items(lines['ratelimit-policy']).map(([name]) => name)).toEqual(['per-ip', 'other']);
    expect(items(lines.ratelimit)).toEqual([['per-ip', { r: 3, t: 40 }]]);
  });

  it("'draft-11' shows a window below a second as one, in whole seconds", () => {
    const lines = DRAFT_11.of([verdict({ resetAfter: 1 }, { window: 0.25 * SECOND })]);
    expect(items(lines['ratelimit-policy'])).toEqual([['per-ip', { q: 10, w: 1 }]]);
    expect(items(lines.ratelimit)).toEqual([['per-ip', { r: 7, t: 1 }]]);
  });

  it("'draft-11' names a route, and what no string may hold, in a way that parsers read", () => {
    const names = ['GET /books/:id 1', 'say "hi" \\ bye', 'GET /café', 'a\r\nset-cookie: x=1'];
    const lines = DRAFT_11.of(names.map((policy) => verdict({}, { policy })));
    expect(items(lines['ratelimit-policy']).map(([name]) => name)).toEqual([
      'GET /books/:id 1',
      'say "hi" \\ bye',
      'GET /caf%C3%A9',
      'a%0D%0Aset-cookie: x=1',
    ]);
  });

  it('several at once stand side by side, about the same bucket', () => {
    const lines = new ResponseHeaders(['draft-6', 'draft-11', 'x-ratelimit', 'retry-after']).of([
      verdict({ remaining: 9 }, { policy: 'wide', limit: 99 }),
      PASSED,
    ]);
    expect(lines).toEqual({
      'ratelimit-limit': '10',
      'ratelimit-remaining': '7',
      'ratelimit-reset': '40',
      ratelimit: '"per-ip";r=7;t=40',
      'ratelimit-policy': '"wide";q=99;w=60, "per-ip";q=10;w=60',
      'x-ratelimit-limit': '10',
      'x-ratelimit-remaining': '7',
      'x-ratelimit-reset': '40',
    });
  });

  it('only a format that lists policies must hear of buckets that are not the tightest', () => {
    const listing = HEADER_FORMATS.filter((format) => new ResponseHeaders([format]).listsPolicies);
    expect(listing).toEqual(['draft-11']);
    expect(new ResponseHeaders(['draft-6', 'draft-11']).listsPolicies).toBe(true);
    expect(new ResponseHeaders([]).listsPolicies).toBe(false);
  });
});

describe('which bucket is told', () => {
  it('SA-24 the tightest, never mixed from two', () => {
    const small = verdict({ remaining: 2, resetAfter: 5 * SECOND }, { policy: 'small', limit: 3 });
    const large = verdict({ remaining: 50, resetAfter: 3_000 * SECOND }, { policy: 'large', limit: 100 });
    for (const met of [
      [small, large],
      [large, small],
    ]) {
      expect(DRAFT_6.of(met)).toEqual({
        'ratelimit-limit': '3',
        'ratelimit-remaining': '2',
        'ratelimit-reset': '5',
      });
    }
  });

  it('of a refusal the one that refuses, even where another that was on trial waits longer', () => {
    const trial = verdict(
      { allowed: false, remaining: 0, resetAfter: 3_600 * SECOND, retryAfter: 3_000 * SECOND },
      { policy: 'trial', limit: 5 },
    );
    const lines = new ResponseHeaders(['draft-6', 'draft-11']).ofRefusal([trial, REFUSED], REFUSED);
    expect(lines).toMatchObject({
      'ratelimit-limit': '10',
      'ratelimit-reset': '40',
      ratelimit: '"per-ip";r=0;t=40',
      'retry-after': '20',
    });
  });

  it('G09 none against guessing: it tells the wait and nothing else', () => {
    const guessing = verdict({ remaining: 1 }, { policy: 'login', limit: 5, hidden: true });
    const refused = verdict(
      { allowed: false, remaining: 0, retryAfter: 42 * SECOND },
      { policy: 'login', limit: 5, hidden: true },
    );
    for (const formats of [...HEADER_FORMATS.map((format) => [format]), HEADER_FORMATS]) {
      const headers = new ResponseHeaders(formats);
      expect(headers.of([guessing])).toEqual({});
      expect(headers.ofRefusal([refused], refused)).toEqual({
        'retry-after': '42',
        'cache-control': 'no-store',
      });
      // The others are told as if it weren't there.
      expect(headers.of([guessing, PASSED])).toEqual(headers.of([PASSED]));
      expect(headers.ofRefusal([PASSED, refused], refused)).toEqual({
        ...headers.of([PASSED]),
        'retry-after': '42',
        'cache-control': 'no-store',
      });
    }
  });

  it('nothing is told of nothing', () => {
    expect(new ResponseHeaders(HEADER_FORMATS).of([])).toEqual({});
  });
});

describe('laws of header lines', () => {
  const LARGE = Number.MAX_SAFE_INTEGER;
  const met = fc.array(
    fc
      .record({
        policy: fc.oneof(fc.constantFrom('per-ip', 'GET /a'), fc.string({ unit: 'binary' })),
        limit: fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: LARGE })),
        left: fc.nat({ max: LARGE }),
        window: fc.integer({ min: 1_000, max: 400 * 86_400 * SECOND }),
        reset: fc.nat({ max: 400 * 86_400 * SECOND }),
        wait: fc.oneof(
          fc.constant(0),
          fc.integer({ min: 1, max: 400 * 86_400 * SECOND }),
          fc.constant(Infinity),
        ),
        hidden: fc.boolean(),
      })
      .map(({ policy, limit, left, window, reset, wait, hidden }) =>
        verdict(
          { allowed: wait === 0, remaining: left % (limit + 1), resetAfter: reset, retryAfter: wait },
          { policy, limit, window, hidden },
        ),
      ),
    { minLength: 1, maxLength: 5 },
  );
  const someFormats = fc.subarray([...HEADER_FORMATS]);

  /** What the lines of each format say: limit (of draft-11 the name), what is left, and the reset. */
  function told(lines: HeaderLines, format: HeaderFormat): unknown[] {
    if (format === 'draft-11') {
      const [[name, { r, t }]] = items(lines.ratelimit);
      return [name, r, t];
    }
    const prefix = format === 'draft-6' ? 'ratelimit' : 'x-ratelimit';
    return ['limit', 'remaining', 'reset'].map((part) => lines[`${prefix}-${part}`]);
  }

  /** What they must say of one verdict. */
  function expected({ bucket, remaining, resetAfter }: Verdict, format: HeaderFormat): unknown[] {
    const reset = ceilSeconds(resetAfter);
    return format === 'draft-11'
      ? [encoded(bucket.policy), Math.min(remaining, 999_999_999_999_999), reset]
      : [bucket.rate.limit, remaining, reset].map(String);
  }

  function encoded(policy: string): string {
    return policy.replaceAll(/[^\x20-\x7e]+/g, (text) =>
      [...Buffer.from(text)].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
    );
  }

  function check(
    lines: HeaderLines,
    formats: readonly HeaderFormat[],
    verdicts: Verdict[],
    refused: Verdict | null,
  ): void {
    for (const [name, value] of Object.entries(lines)) {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    }
    const shown = verdicts.filter(({ bucket }) => bucket.hidden !== true);
    const about = refused !== null && shown.includes(refused) ? refused : tightest(shown);
    for (const format of formats) {
      if (format === 'retry-after') continue;
      if (shown.length === 0)
        expect(Object.keys(lines).filter((name) => name.includes('ratelimit'))).toEqual([]);
      else expect(told(lines, format)).toEqual(expected(about, format));
    }
    if (shown.length > 0 && formats.includes('draft-11')) {
      const listed = items(lines['ratelimit-policy']).map(([name, { q, w }]) => JSON.stringify([name, q, w]));
      const quotas = shown.map(({ bucket: { policy, rate } }) =>
        JSON.stringify([
          encoded(policy),
          Math.min(rate.limit, 999_999_999_999_999),
          ceilSeconds(rate.window),
        ]),
      );
      expect(listed.toSorted()).toEqual([...new Set(quotas)].toSorted());
    }
  }

  it('of a call that passed: each parses, is about the tightest bucket alone, and lists every quota once', () => {
    fc.assert(
      fc.property(met, someFormats, (verdicts, formats) => {
        const lines = new ResponseHeaders(formats).of(verdicts);
        check(lines, formats, verdicts, null);
        expect(lines).not.toHaveProperty('retry-after');
        expect(lines).not.toHaveProperty('cache-control');
      }),
      { numRuns: 1_000 },
    );
  });

  it('of a refusal: the same, about the bucket that refuses where it may be told, and with its wait', () => {
    const refusals = met.filter((verdicts) => verdicts.some(({ allowed }) => !allowed));
    fc.assert(
      fc.property(refusals, someFormats, fc.nat(), (verdicts, formats, pick) => {
        const refusing = verdicts.filter(({ allowed }) => !allowed);
        const refused = refusing[pick % refusing.length];
        const lines = new ResponseHeaders(formats).ofRefusal(verdicts, refused);
        check(lines, formats, verdicts, refused);
        const { retryAfter } = refused;
        expect(lines['retry-after']).toBe(
          retryAfter === Infinity ? undefined : String(ceilSeconds(retryAfter)),
        );
        expect(lines['cache-control']).toBe('no-store');
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('what browsers on another origin may read', () => {
  const OURS = 'Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset';

  it.each([
    [undefined, OURS],
    ['', OURS],
    [' ', OURS],
    ['X-Total', `X-Total, ${OURS}`],
    ['X-Total,X-Page', `X-Total,X-Page, ${OURS}`],
    ['*', '*'],
    ['X-Total, *', 'X-Total, *'],
    ['retry-after', 'retry-after, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset'],
    [OURS.replaceAll(', ', ','), OURS.replaceAll(', ', ',')],
  ])('G07 is appended to %o', (current, expected) => {
    expect(DRAFT_6.exposeList(current)).toBe(expected);
  });

  it.each<[readonly HeaderFormat[], string]>([
    [[], 'Retry-After'],
    [['retry-after'], 'Retry-After'],
    [['draft-6'], OURS],
    [['draft-11'], 'Retry-After, RateLimit, RateLimit-Policy'],
    [['x-ratelimit'], 'Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset'],
    [
      ['draft-11', 'draft-6', 'draft-11'],
      'Retry-After, RateLimit, RateLimit-Policy, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset',
    ],
  ])('G07 SB-38 of the formats %j is the wait and theirs, each once', (formats, expected) => {
    expect(new ResponseHeaders(formats).exposeList(undefined)).toBe(expected);
  });

  it('G07 is the same when it is appended again', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('X-A', 'x-b', 'Retry-After', 'RATELIMIT-LIMIT', 'ratelimit')),
        fc.subarray([...HEADER_FORMATS]),
        (names, formats) => {
          const headers = new ResponseHeaders(formats);
          const once = headers.exposeList(names.join(', '));
          expect(headers.exposeList(once)).toBe(once);
          for (const name of [...names, ...headers.exposeList(undefined).split(', ')]) {
            expect(once.toLowerCase().split(', ')).toContain(name.toLowerCase());
          }
        },
      ),
    );
  });

  it('names every header that a refusal has, whatever the format', () => {
    for (const formats of [[], ...HEADER_FORMATS.map((format) => [format]), HEADER_FORMATS]) {
      const headers = new ResponseHeaders(formats);
      const sent = Object.keys(headers.ofRefusal([REFUSED], REFUSED)).filter(
        (name) => name !== 'cache-control',
      );
      const exposed = headers.exposeList(undefined).toLowerCase().split(', ');
      expect(sent.toSorted()).toEqual(exposed.toSorted());
    }
  });
});
