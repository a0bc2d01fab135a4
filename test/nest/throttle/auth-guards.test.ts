import type { CanActivate, ExecutionContext } from '@nestjs/common';
import { of } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { isKindOf, runAfter } from '../../../lib/nest/throttle/auth-guards.js';

const context = {} as ExecutionContext;

class Guard implements CanActivate {
  answer: ReturnType<CanActivate['canActivate']> = true;

  canActivate(): ReturnType<CanActivate['canActivate']> {
    return this.answer;
  }
}

/** A step that notes that it ran. */
function step(ran: string[], name: string, answer: boolean | Promise<boolean> = true) {
  return (): boolean | Promise<boolean> => {
    ran.push(name);
    return answer;
  };
}

describe('runAfter()', () => {
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
    runAfter(guard, first);
    const wrapper = guard.canActivate;
    runAfter(guard, first);
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
    class Stateful implements CanActivate {
      calls = 0;

      canActivate(): boolean {
        this.calls++;
        return true;
      }
    }
    const guard = new Stateful();
    runAfter(guard, () => true);
    void (guard as CanActivate).canActivate(context);
    expect(guard.calls).toBe(1);
  });
});

describe('isKindOf()', () => {
  it('knows a class and what extends it, and nothing else', () => {
    class Special extends Guard {}
    class Other implements CanActivate {
      canActivate(): boolean {
        return true;
      }
    }
    expect(
      [Guard, Special, Other, new Guard(), undefined, 'Guard', () => true].map((candidate) =>
        isKindOf(candidate, Guard),
      ),
    ).toEqual([true, true, false, false, false, false, false]);
  });
});
