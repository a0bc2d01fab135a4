import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { of, throwError } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { hookGuard } from '../../../lib/nest/throttle/guard-hook.js';

const context = {} as ExecutionContext;

class Guard implements CanActivate {
  answer: ReturnType<CanActivate['canActivate']> = true;

  canActivate(): ReturnType<CanActivate['canActivate']> {
    return this.answer;
  }
}

class Stateful implements CanActivate {
  calls = 0;

  canActivate(): boolean {
    this.calls++;
    return true;
  }
}

/** A step that notes that it ran. */
function step(ran: string[], name: string, answer: boolean | Promise<boolean> = true) {
  return (): boolean | Promise<boolean> => {
    ran.push(name);
    return answer;
  };
}

/** Lets a step run behind a guard. */
function runAfter(guard: CanActivate, after: () => boolean | Promise<boolean>): () => void {
  return hookGuard(guard, { after });
}

describe('steps behind a guard', () => {
  it('runs behind a guard that lets a call through, and answers at once where nothing needs to wait', () => {
    const guard: CanActivate = new Guard();
    const ran: string[] = [];
    runAfter(guard, step(ran, 'a'));
    expect(guard.canActivate(context)).toBe(true);
    expect(ran).toEqual(['a']);
  });

  it.each([false, Promise.resolve(false), of(false), of(true, false)])(
    'does not run when it refuses',
    async (answer) => {
      const guard = new Guard();
      guard.answer = answer;
      const ran: string[] = [];
      runAfter(guard, step(ran, 'a'));
      expect(await (guard as CanActivate).canActivate(context)).toBe(false);
      expect(ran).toEqual([]);
    },
  );

  it.each([Promise.resolve(true), of(true), of(false, true)])(
    'waits for what it answers later',
    async (answer) => {
      const guard = new Guard();
      guard.answer = answer;
      const ran: string[] = [];
      runAfter(guard, step(ran, 'a'));
      expect(await (guard as CanActivate).canActivate(context)).toBe(true);
      expect(ran).toEqual(['a']);
    },
  );

  it('passes on what a step throws or refuses', async () => {
    const guard: CanActivate = new Guard();
    runAfter(guard, () => {
      throw new Error('too many');
    });
    expect(() => guard.canActivate(context)).toThrow('too many');
    const later: CanActivate = new Guard();
    runAfter(later, () => Promise.reject(new Error('too many')));
    await expect(later.canActivate(context)).rejects.toThrow('too many');
    const refused: CanActivate = new Guard();
    runAfter(refused, () => false);
    expect(refused.canActivate(context)).toBe(false);
  });

  it('runs the steps of all apps that share a guard, each once', async () => {
    const guard: CanActivate = new Guard();
    const ran: string[] = [];
    const first = step(ran, 'a');
    const steps = { after: first };
    hookGuard(guard, steps);
    const wrapper = guard.canActivate;
    hookGuard(guard, steps);
    runAfter(guard, step(ran, 'b', Promise.resolve(true)));
    runAfter(guard, step(ran, 'c', Promise.resolve(true)));
    expect(guard.canActivate).toBe(wrapper);
    expect(await guard.canActivate(context)).toBe(true);
    expect(ran).toEqual(['a', 'b', 'c']);
  });

  it('leaves the guard as it was when the last step is taken back, twice if you like', () => {
    const guard: CanActivate = new Guard();
    const ran: string[] = [];
    const [a, b] = [runAfter(guard, step(ran, 'a')), runAfter(guard, step(ran, 'b'))];
    a();
    expect(guard.canActivate(context)).toBe(true);
    expect(ran).toEqual(['b']);
    b();
    expect(Reflect.ownKeys(guard)).toEqual(['answer']);
    a();
    b();
    expect(Reflect.ownKeys(guard)).toEqual(['answer']);
    runAfter(guard, step(ran, 'c'));
    expect(guard.canActivate(context)).toBe(true);
    expect(ran).toEqual(['b', 'c']);
  });

  it('gives a guard back a function of its own', () => {
    const canActivate = (): boolean => true;
    const guard: CanActivate = { canActivate };
    runAfter(guard, () => true)();
    expect(guard.canActivate).toBe(canActivate);
  });

  it('leaves alone what someone else put around it since', () => {
    const guard: CanActivate = new Guard();
    const ran: string[] = [];
    const takeBack = runAfter(guard, step(ran, 'a'));
    const { canActivate } = guard;
    const others: CanActivate['canActivate'] = (given) => canActivate.call(guard, given);
    guard.canActivate = others;
    takeBack();
    expect(guard.canActivate).toBe(others);
    expect(guard.canActivate(context)).toBe(true);
    expect(ran).toEqual([]);
    runAfter(guard, step(ran, 'b'));
    expect(guard.canActivate(context)).toBe(true);
    expect(ran).toEqual(['b']);
  });

  it('keeps `this` of the guard', () => {
    const guard = new Stateful();
    runAfter(guard, () => true);
    void (guard as CanActivate).canActivate(context);
    expect(guard.calls).toBe(1);
  });
});

describe('steps around a guard', () => {
  it('run before it decides, and may refuse the call without asking it', async () => {
    const guard = new Stateful();
    hookGuard(guard, {
      before: () => {
        throw new Error('too many');
      },
    });
    expect(() => (guard as CanActivate).canActivate(context)).toThrow('too many');
    const later = new Stateful();
    hookGuard(later, { before: () => Promise.reject(new Error('too many')) });
    await expect((later as CanActivate).canActivate(context)).rejects.toThrow('too many');
    expect([guard.calls, later.calls]).toEqual([0, 0]);
  });

  it('a first step that needs time is waited for, then the guard is asked once', async () => {
    const guard = new Stateful();
    const ran: string[] = [];
    hookGuard(guard, {
      before: async () => {
        await Promise.resolve();
        ran.push(`before ${guard.calls}`);
        return true as const;
      },
      after: () => {
        ran.push(`after ${guard.calls}`);
        return true;
      },
    });
    expect(await (guard as CanActivate).canActivate(context)).toBe(true);
    expect(ran).toEqual(['before 0', 'after 1']);
  });

  const error = new Error('wrong key');
  const rejections: [string, () => ReturnType<CanActivate['canActivate']>, unknown][] = [
    [
      'throws',
      () => {
        throw error;
      },
      { error },
    ],
    ['rejects', () => Promise.reject(error), { error }],
    ['returns false', () => false, null],
    ['resolves to false', () => Promise.resolve(false), null],
    ['emits false', () => of(false), null],
    ['emits an error', () => throwError(() => error), { error }],
  ];
  it.each(rejections)(
    'are told of the rejection when it %s, and its answer holds',
    async (_how, answer, told) => {
      const guard: CanActivate = { canActivate: answer };
      const seen: unknown[] = [];
      hookGuard(guard, {
        failed: (_context, rejection) => {
          seen.push(rejection);
          return true;
        },
      });
      const outcome = await Promise.resolve()
        .then(() => guard.canActivate(context))
        .catch((thrown: unknown) => thrown);
      expect(seen).toEqual([told]);
      expect(outcome).toBe(told === null ? false : error);
    },
  );

  it.each(rejections)('may put another answer in its place when it %s', async (_how, answer) => {
    const guard: CanActivate = { canActivate: answer };
    hookGuard(guard, { failed: () => Promise.reject(new Error('too many')) });
    const outcome = Promise.resolve().then(() => guard.canActivate(context));
    await expect(outcome).rejects.toThrow('too many');
  });

  it('a guard that lets a call through has no rejection', () => {
    const guard: CanActivate = new Guard();
    hookGuard(guard, {
      failed: () => {
        throw new Error('too many');
      },
    });
    expect(guard.canActivate(context)).toBe(true);
  });
});
