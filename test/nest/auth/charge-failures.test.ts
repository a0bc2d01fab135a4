import 'reflect-metadata';
import { Inject, Injectable, type CanActivate, type ExecutionContext } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { ChargeFailures } from '../../../lib/index.js';
import { isKindOf } from '../../../lib/nest/throttle/find-guards.js';
import { makeLimits, rawRequestFrom } from '../http/support.js';
import { contextOf, MESSAGE, thrownBy } from './support.js';

@Injectable()
class Auth implements CanActivate {
  constructor(@Inject('answer') readonly answer: boolean) {}

  canActivate(_context: ExecutionContext): boolean {
    return this.answer;
  }
}

const guess = () => rawRequestFrom('203.0.113.5', { authorization: 'bad' });

describe('ChargeFailures', () => {
  it('gives one class per guard, which is its kind and says so by its name', () => {
    class Other extends Auth {}
    const charging = ChargeFailures(Auth);
    expect(ChargeFailures(Auth)).toBe(charging);
    expect(ChargeFailures(Other)).not.toBe(charging);
    expect(charging.name).toBe('ChargeFailures(Auth)');
    expect(isKindOf(charging, Auth)).toBe(true);
    expect(isKindOf(ChargeFailures(Other), Auth)).toBe(true);
  });

  it('takes what the guard takes, by the same metadata', () => {
    const charging = ChargeFailures(Auth);
    for (const key of ['design:paramtypes', 'self:paramtypes']) {
      expect(Reflect.getMetadata(key, charging)).toEqual(Reflect.getMetadata(key, Auth));
    }
    expect((new charging(true) as Auth).answer).toBe(true);
  });

  it('decides as the guard does, at once, and leaves other instances of it alone', () => {
    const { limits, store } = makeLimits(null);
    const request = guess();
    limits.capture(request);
    expect(new (ChargeFailures(Auth))(true).canActivate(contextOf(request))).toBe(true);
    expect(store.size).toBe(0);
    expect(new Auth(false).canActivate(contextOf(request))).toBe(false);
    expect(store.size).toBe(0);
    expect(new (ChargeFailures(Auth))(false).canActivate(contextOf(request))).toBe(false);
    expect(store.size).toBe(1);
  });

  it('leaves messages to the guard, and says what a request without the module needs', async () => {
    const guard = new (ChargeFailures(Auth))(false);
    expect(guard.canActivate(MESSAGE)).toBe(false);
    expect(await thrownBy(() => guard.canActivate(contextOf(guess())))).toMatchObject({
      code: 'TOLLGATE_NOT_INSTALLED',
    });
  });
});
