import { describe, expect, it } from 'vitest';
import { ApiGuard, Authenticator } from '../../../lib/index.js';
import { ApiEntry } from '../../../lib/nest/auth/api-entry.js';

describe('ApiGuard', () => {
  it('is made of the Authenticator of its module and the entry', () => {
    expect(Reflect.getMetadata('design:paramtypes', ApiGuard)).toEqual([Authenticator, ApiEntry]);
  });
});
