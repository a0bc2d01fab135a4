import { describe, expect, it } from 'vitest';
import { Cost, PublicTool } from '../../../lib/index.js';
import { describeUnits, unitsOf, type Units } from '../../../lib/nest/throttle/units.js';

@Cost(3)
class Tools {
  @Cost(5)
  @PublicTool('session')
  search(): void {}

  @Cost(() => 2)
  dynamic(): void {}

  list(): void {}
}

class Plain {
  list(): void {}

  @PublicTool(() => 'a')
  tool(): void {}
}

function units(controller: Function, method: string, byActor: boolean): Units | null {
  return unitsOf(controller, method, byActor, () => {});
}

describe('units of a handler', () => {
  it('are counted where an Authenticator knows callers, or of a public tool', () => {
    expect(units(Tools, 'list', false)).toBeNull();
    expect(units(Plain, 'list', false)).toBeNull();
    expect(units(Tools, 'list', true)).toMatchObject({ byActor: true, token: null });
    expect(units(Tools, 'search', false)).toMatchObject({ byActor: false, token: 'session' });
    expect(units(Tools, 'search', true)).toMatchObject({ byActor: true, token: 'session' });
    expect(units(Plain, 'tool', false)?.token).toBeTypeOf('function');
  });

  it('cost what the handler says, else its class, else 1', () => {
    expect(units(Tools, 'search', true)?.cost.fixed).toBe(5);
    expect(units(Tools, 'list', true)?.cost.fixed).toBe(3);
    expect(units(Plain, 'list', true)?.cost.fixed).toBe(1);
    expect(units(Tools, 'dynamic', true)?.cost.fixed).toBeNull();
  });

  it('are described by what is charged to whom', () => {
    const text = (controller: Function, method: string, byActor: boolean): string | null => {
      const found = units(controller, method, byActor);
      return found === null ? null : describeUnits(found);
    };
    expect(text(Tools, 'list', true)).toBe('cost 3 by key or user');
    expect(text(Tools, 'search', false)).toBe('cost 5 by client token and network');
    expect(text(Tools, 'search', true)).toBe('cost 5 by key or user, else by client token and network');
    expect(text(Tools, 'dynamic', true)).toBe('cost dynamic by key or user');
  });
});
