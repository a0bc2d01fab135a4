import { UnauthorizedException, type ExecutionContext } from '@nestjs/common';
import { EMPTY, firstValueFrom, lastValueFrom, of, throwError, toArray, type Observable } from 'rxjs';
import { describe, expect, it } from 'vitest';
import type { AttemptEntry } from '../../../lib/nest/login/attempt-entry.js';
import { AttemptInterceptor } from '../../../lib/nest/login/attempt.interceptor.js';

const context = {} as ExecutionContext;
const REFUSED = new Error('429');

/** Notes in which order the course of a try is taken. */
function interceptorOf(does: Partial<Record<'open' | 'refuse' | 'settle', Error>> = {}) {
  const steps: string[] = [];
  const entry = {
    async open() {
      steps.push('open');
      if (does.open) throw does.open;
      return true;
    },
    async refuse(_context: unknown, error: unknown) {
      steps.push('refuse');
      throw does.refuse ?? error;
    },
    async settle() {
      steps.push('settle');
      if (does.settle) throw does.settle;
    },
  };
  const interceptor = new AttemptInterceptor(entry as unknown as AttemptEntry);
  const run = (handled: Observable<unknown>): Promise<Observable<unknown>> =>
    interceptor.intercept(context, {
      handle: () => {
        steps.push('handle');
        return handled;
      },
    });
  return { steps, run };
}

describe('AttemptInterceptor', () => {
  it('opens, lets the handler run, and settles before the value goes on', async () => {
    const { steps, run } = interceptorOf();
    expect(await firstValueFrom(await run(of('value')))).toBe('value');
    expect(steps).toEqual(['open', 'handle', 'settle']);
  });

  it('a try that is refused at once never reaches the handler', async () => {
    const { steps, run } = interceptorOf({ open: REFUSED });
    await expect(run(of('value'))).rejects.toBe(REFUSED);
    expect(steps).toEqual(['open']);
  });

  it('what the handler throws is thrown on, or the refusal in its place', async () => {
    const wrong = new UnauthorizedException();
    for (const refuse of [undefined, REFUSED]) {
      const { steps, run } = interceptorOf(refuse === undefined ? {} : { refuse });
      await expect(lastValueFrom(await run(throwError(() => wrong)))).rejects.toBe(refuse ?? wrong);
      expect(steps).toEqual(['open', 'handle', 'refuse']);
    }
  });

  it('a refusal in place of a written 401 takes the place of the value', async () => {
    const { steps, run } = interceptorOf({ settle: REFUSED });
    await expect(lastValueFrom(await run(of('value')))).rejects.toBe(REFUSED);
    expect(steps).toEqual(['open', 'handle', 'settle']);
  });

  it('a handler without a value is settled too', async () => {
    const { steps, run } = interceptorOf();
    expect(await lastValueFrom((await run(EMPTY)).pipe(toArray()))).toEqual([]);
    expect(steps).toEqual(['open', 'handle', 'settle']);
  });

  it('values of a stream go on as they are', async () => {
    const { run } = interceptorOf();
    expect(await lastValueFrom((await run(of(1, 2, undefined))).pipe(toArray()))).toEqual([1, 2, undefined]);
  });
});
