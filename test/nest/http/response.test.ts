import { describe, expect, it } from 'vitest';
import { createRate } from '../../../lib/algorithms/rate.js';
import type { Verdict } from '../../../lib/algorithms/verdict.js';
import { exposeHeaders, writeLines, writeRefusal } from '../../../lib/nest/http/response.js';
import { ResponseHeaders } from '../../../lib/responses/headers.js';
import { MemoryStore } from '../../../lib/stores/memory/memory.store.js';
import { FakeClock } from '../../../lib/testing/fake-clock.js';
import { FakeReply, FakeResponse } from './support.js';

function verdicts(count: number): Verdict[] {
  const store = new MemoryStore({ clock: new FakeClock() });
  const rate = createRate('gcra', 1, 60e6);
  const bucket = { policy: 'p', namespace: 'n', key: 'k', rate, cost: 1 };
  return Array.from({ length: count }, () => store.consume([bucket])[0]);
}

const [passed, refused] = verdicts(2);
const HEADERS = new ResponseHeaders(['draft-6']);

describe.each([
  ['express', () => new FakeResponse()],
  ['fastify', () => new FakeReply()],
])('writing into a response of %s', (_name, make) => {
  it('tells a verdict, and a refusal more', () => {
    const response = make();
    writeLines(response, HEADERS.of([passed]));
    expect(Object.fromEntries(response.lines)).toEqual({
      'ratelimit-limit': '1',
      'ratelimit-remaining': '0',
      'ratelimit-reset': '60',
    });
    writeRefusal(response, HEADERS.ofRefusal([refused], refused));
    expect(response.lines.get('retry-after')).toBe('60');
    expect(response.lines.get('cache-control')).toBe('no-store');
  });

  it('G08 a refusal loses the etag of a good answer, and its max-age', () => {
    const response = make();
    const set = 'raw' in response ? response.header.bind(response) : response.setHeader.bind(response);
    set('etag', '"good"');
    set('cache-control', 'public, max-age=300');
    writeLines(response, HEADERS.of([passed]));
    expect(response.lines.get('etag')).toBe('"good"');
    expect(response.lines.get('cache-control')).toBe('public, max-age=300');
    writeRefusal(response, HEADERS.ofRefusal([refused], refused));
    expect(response.lines.has('etag')).toBe(false);
    expect(response.lines.get('cache-control')).toBe('no-store');
  });

  it('D13 writes nothing once headers are on their way', () => {
    const response = make();
    ('raw' in response ? response.raw : response).headersSent = true;
    writeRefusal(response, HEADERS.ofRefusal([refused], refused));
    expect(response.lines.size).toBe(0);
  });

  it('G07 exposes ours beside the app’s, once, and only where CORS answered', () => {
    const response = make();
    const set = 'raw' in response ? response.header.bind(response) : response.setHeader.bind(response);
    exposeHeaders(response, HEADERS);
    expect(response.lines.size).toBe(0);
    set('access-control-allow-origin', 'https://app.example');
    set('access-control-expose-headers', 'X-Total');
    exposeHeaders(response, HEADERS);
    exposeHeaders(response, HEADERS);
    expect(response.lines.get('access-control-expose-headers')).toBe(
      'X-Total, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset',
    );
  });

  it('reads a list that is an array', () => {
    const response = make();
    const raw = 'raw' in response ? response.raw : response;
    raw.setHeader('access-control-allow-origin', '*');
    raw.setHeader('access-control-expose-headers', ['X-Total', 'X-Page']);
    exposeHeaders(response, HEADERS);
    expect(response.lines.get('access-control-expose-headers')).toMatch(/^X-Total, X-Page, Retry-After, /);
  });
});

describe('on Fastify', () => {
  it('what is told survives a handler that writes the raw response', () => {
    const reply = new FakeReply();
    writeLines(reply, HEADERS.of([passed]));
    expect(reply.raw.lines.get('ratelimit-limit')).toBe('1');
  });
});
