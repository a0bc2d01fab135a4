import { UnauthorizedException, type CallHandler, type ExecutionContext } from '@nestjs/common';
import { lastValueFrom, of, throwError, toArray, concat } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { AuthInterceptor, type Authenticator } from '../../../lib/index.js';
import type { ApiEntry } from '../../../lib/nest/auth/api-entry.js';
import { contextOf, thrownBy } from './support.js';

/** An entry that notes what it is asked. */
class Entry implements Pick<ApiEntry, 'admit' | 'refuse'> {
  readonly asked: unknown[] = [];
  admitted: Promise<true> = Promise.resolve(true);

  admit(): Promise<true> {
    this.asked.push('admit');
    return this.admitted;
  }

  refuse(_context: ExecutionContext, error: unknown): Promise<never> {
    this.asked.push(error);
    return Promise.reject(new Error('instead'));
  }
}

function make(handle: CallHandler['handle']) {
  const entry = new Entry();
  const interceptor = new AuthInterceptor({} as Authenticator, entry as unknown as ApiEntry);
  const run = () => interceptor.intercept(contextOf(), { handle });
  return { entry, run };
}

describe('AuthInterceptor', () => {
  it('lets every value of a handler through, streams included', async () => {
    const { entry, run } = make(() => of(1, 2, 3));
    expect(await lastValueFrom((await run()).pipe(toArray()))).toEqual([1, 2, 3]);
    expect(entry.asked).toEqual(['admit']);
  });

  it('runs no handler of a call that is not let in', async () => {
    let handled = 0;
    const { entry, run } = make(() => {
      handled++;
      return of(1);
    });
    const error = new UnauthorizedException();
    entry.admitted = Promise.reject(error);
    expect(await thrownBy(run)).toBe(error);
    expect([handled, entry.asked]).toEqual([0, ['admit']]);
  });

  it('answers what a handler throws, late too, by what the entry makes of it', async () => {
    const error = new UnauthorizedException();
    const { entry, run } = make(() =>
      concat(
        of(1),
        throwError(() => error),
      ),
    );
    const answer = await run();
    expect(await thrownBy(() => lastValueFrom(answer))).toMatchObject({ message: 'instead' });
    expect(entry.asked).toEqual(['admit', error]);
  });
});
