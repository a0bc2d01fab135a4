import type { CanActivate } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { isKindOf } from '../../../lib/nest/throttle/find-guards.js';

class Guard implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

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
