import { ForbiddenException, UnauthorizedException, type ExecutionContext } from '@nestjs/common';
import { describe, expect, it, vi } from 'vitest';
import type { Call } from '../../../lib/nest/call.js';
import { RateLimitException } from '../../../lib/nest/http/rate-limit.exception.js';
import type { FrameworkRequest } from '../../../lib/nest/http/request-state.js';
import { AttemptEntry } from '../../../lib/nest/login/attempt-entry.js';
import { Attempts } from '../../../lib/nest/login/attempts.js';
import { ThrottlePlans } from '../../../lib/nest/throttle/throttle-plans.js';
import { Limiter } from '../../../lib/limiter/limiter.js';
import { LoginRates } from '../../../lib/policies/login-rates.js';
import { FakeResponse, makeLimits, rawRequestFrom } from '../http/support.js';

class Logins {
  login(): void {}

  plain(): void {}
}

/** An app's entry of tries with a limit of two failures, and contexts of its requests. */
function make(skipIf: ((call: Call) => boolean) | null = null) {
  const { limits, store, events } = makeLimits(null, skipIf);
  const plans = new ThrottlePlans();
  plans.set(Logins, Logins.prototype.login, {
    limits: [],
    position: 'global',
    behind: null,
    units: null,
    attempt: { kind: 'login', source: 'email' },
  });
  const rates = new LoginRates({ failures: { limit: 2, per: '1m' } }, () => ({}), limits.report);
  const attempts = new Attempts(new Limiter(store, 100), rates, null, limits.report);
  return { entry: new AttemptEntry(limits, plans, attempts), attempts, store, events };
}

function request(email = 'a'): FrameworkRequest {
  return { ...rawRequestFrom('203.0.113.5'), method: 'POST', body: { email } };
}

function contextOf(
  made: FrameworkRequest,
  response: object = new FakeResponse(),
  { handler = Logins.prototype.login, type = 'http' } = {},
): ExecutionContext {
  const context: Partial<ExecutionContext> = {
    getType: () => type as never,
    getClass: () => Logins as never,
    getHandler: () => handler,
    switchToHttp: () =>
      ({ getRequest: () => made, getResponse: () => response, getNext: () => undefined }) as never,
  };
  return context as ExecutionContext;
}

const wrong = new UnauthorizedException();

/** One failed try by a handler. */
async function failOnce(entry: AttemptEntry, email = 'a'): Promise<unknown> {
  const context = contextOf(request(email));
  await entry.open(context);
  return entry.refuse(context, wrong).catch((error: unknown) => error);
}

describe('AttemptEntry', () => {
  it('opens a try once per request, however many guards ask', async () => {
    const { entry, attempts } = make();
    const begin = vi.spyOn(attempts, 'begin');
    const context = contextOf(request());
    expect([entry.open(context), entry.open(context), entry.open(context)]).toEqual([true, true, true]);
    expect(begin).toHaveBeenCalledTimes(1);
  });

  it('a refusal that a guard swallowed is thrown again', async () => {
    const { entry } = make();
    expect([await failOnce(entry), await failOnce(entry)]).toEqual([wrong, wrong]);
    const context = contextOf(request());
    expect(() => entry.open(context)).toThrow(RateLimitException);
    expect(() => entry.open(context)).toThrow(RateLimitException);
  });

  it('I10 counts a try once, though a guard and the handler both fail it', async () => {
    const { entry } = make();
    const context = contextOf(request());
    await entry.open(context);
    expect(await entry.aroundGuards.failed?.(context, { error: wrong })).toBe(true);
    await expect(entry.refuse(context, wrong)).rejects.toBe(wrong);
    const response = new FakeResponse();
    response.statusCode = 401;
    await entry.settle(contextOf(request(), response));
    expect(await failOnce(entry)).toBe(wrong);
    expect(() => entry.open(contextOf(request()))).toThrow(RateLimitException);
  });

  it('J16 a guard fails a try by a 401 or by false, and by nothing else', async () => {
    const { entry, store } = make();
    for (const error of [new ForbiddenException(), new Error('bug'), null, 'text']) {
      const context = contextOf(request());
      await entry.open(context);
      expect(await entry.aroundGuards.failed?.(context, { error })).toBe(true);
    }
    expect(store.size).toBe(0);
    const context = contextOf(request());
    await entry.open(context);
    await entry.aroundGuards.failed?.(context, null);
    expect(store.size).toBe(1);
  });

  it('leaves alone what is no try: another handler, another transport, a request never opened, a skipped call', async () => {
    const { entry, store } = make();
    const others = [
      contextOf(request(), new FakeResponse(), { handler: Logins.prototype.plain }),
      contextOf(request(), new FakeResponse(), { type: 'rpc' }),
    ];
    for (const context of others) {
      expect([await entry.open(context), await entry.fail(context)]).toEqual([true, true]);
      await expect(entry.refuse(context, wrong)).rejects.toBe(wrong);
    }
    expect(await entry.fail(contextOf(request()))).toBe(true);
    const skipping = make(() => true);
    for (let tried = 0; tried < 4; tried++) expect(await failOnce(skipping.entry)).toBe(wrong);
    expect([store.size, skipping.store.size]).toEqual([0, 0]);
  });

  it('who answers last decides: a 401 is a failure, below 400 forgets, the rest counts nothing', async () => {
    const { entry } = make();
    for (const status of [401, 200, 401, 302, 401, 400, 500, 409]) {
      const response = new FakeResponse();
      await entry.open(contextOf(request(), response));
      response.finish(status);
    }
    expect(await failOnce(entry)).toBe(wrong);
    expect(() => entry.open(contextOf(request()))).toThrow(RateLimitException);
  });
});
