import { describe, expect, it } from 'vitest';
import { allMetadata, findMetadata, setOnce, targetName } from '../../../lib/nest/decorators/metadata.js';

const KEY = 'test:key';

function Mark(value: string): MethodDecorator & ClassDecorator {
  return (target: object, key?: string | symbol, descriptor?: PropertyDescriptor) =>
    setOnce(KEY, value, target, descriptor, targetName(target, key));
}

class Base {
  @Mark('base.marked')
  marked(): void {}

  plain(): void {}
}

class Silent extends Base {
  override marked(): void {}

  override plain(): void {}
}

class Loud extends Silent {
  @Mark('loud.marked')
  override marked(): void {}
}

@Mark('class')
class Named extends Silent {}

class Heir extends Named {
  own(): void {}
}

describe('findMetadata()', () => {
  it.each([
    [Base, 'marked', 'base.marked'],
    [Base, 'plain', undefined],
    [Silent, 'marked', 'base.marked'],
    [Loud, 'marked', 'loud.marked'],
    [Named, 'marked', 'base.marked'],
    [Named, 'plain', 'class'],
    [Heir, 'plain', 'class'],
    [Heir, 'own', 'class'],
    [Heir, 'missing', 'class'],
  ])('D04 of %o, method %s: %s', (controller, method, found) => {
    expect(findMetadata(KEY, controller, method)).toBe(found);
  });

  it('never calls a getter', () => {
    class Odd {
      get list(): never {
        throw new Error('called');
      }
    }
    expect(findMetadata(KEY, Odd, 'list')).toBeUndefined();
    expect(allMetadata(KEY, Odd)).toEqual([]);
  });
});

describe('allMetadata()', () => {
  it('has what is said of a class, its bases and all their methods', () => {
    expect(allMetadata(KEY, Loud)).toEqual(['loud.marked', 'base.marked']);
    expect(allMetadata(KEY, Heir)).toContain('class');
  });
});

describe('targetName()', () => {
  it('names classes and methods as a reader would', () => {
    expect(targetName(Base)).toBe('Base');
    expect(targetName(Base.prototype, 'marked')).toBe('Base.marked');
    expect(targetName(Base.prototype, Symbol('x'))).toBe('Base.Symbol(x)');
  });
});
