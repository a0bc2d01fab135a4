import { UseInterceptors } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { PublicTool, ThrottleLogin, ThrottleSecondFactor } from '../../../lib/index.js';
import { PublicToolInterceptor } from '../../../lib/nest/auth/public-tool.interceptor.js';
import { attemptOf, checkOverrides, putToolLast } from '../../../lib/nest/throttle/handler-metadata.js';

class First {
  intercept(): never {
    throw new Error('never run');
  }
}

class Second extends First {}

class Base {
  @PublicTool('session')
  search(): void {}

  @ThrottleLogin('email')
  login(): void {}

  @ThrottleSecondFactor('account')
  code(): void {}

  plain(): void {}
}

const interceptorsOf = (handler: Function): unknown => Reflect.getOwnMetadata('__interceptors__', handler);

describe('putToolLast', () => {
  it('puts the tool behind all others, which keep their order, once and for all', () => {
    class Tools {
      @UseInterceptors(Second)
      @PublicTool('session')
      @UseInterceptors(First)
      run(): void {}
    }
    const { run } = Tools.prototype;
    const others = (interceptorsOf(run) as unknown[]).filter((one) => one !== PublicToolInterceptor);
    expect(others).toHaveLength(2);
    expect((interceptorsOf(run) as unknown[]).at(-1)).not.toBe(PublicToolInterceptor);
    for (let boots = 0; boots < 2; boots++) {
      putToolLast(run);
      expect(interceptorsOf(run)).toEqual([...others, PublicToolInterceptor]);
    }
  });

  it('leaves other handlers alone', () => {
    class Others {
      @UseInterceptors(First)
      run(): void {}

      plain(): void {}
    }
    const { run, plain } = Others.prototype;
    const list = interceptorsOf(run);
    putToolLast(run);
    putToolLast(plain);
    expect(interceptorsOf(run)).toBe(list);
    expect(interceptorsOf(plain)).toBeUndefined();
  });
});

describe('attemptOf', () => {
  it('is what a handler itself says', () => {
    const { login, code, plain, search } = Base.prototype;
    expect(attemptOf(login)).toEqual({ kind: 'login', source: 'email' });
    expect(attemptOf(code)).toEqual({ kind: 'second-factor', source: 'account' });
    expect(attemptOf(plain)).toBeNull();
    expect(attemptOf(search)).toBeNull();
  });
});

describe('checkOverrides', () => {
  function findings(controller: Function, method: string): string[] {
    const found: string[] = [];
    checkOverrides({ controller, method, handler: controller.prototype[method] }, found);
    return found;
  }

  it('finds overrides that have lost what they inherit', () => {
    class Lost extends Base {
      override search(): void {}
      override login(): void {}
      override code(): void {}
      override plain(): void {}
    }
    expect(findings(Lost, 'search')).toEqual([
      'Lost.search overrides a handler with @PublicTool() and would lose it: repeat the decorator',
    ]);
    for (const method of ['login', 'code']) {
      expect(findings(Lost, method)).toEqual([
        `Lost.${method} overrides a handler with @ThrottleLogin() or @ThrottleSecondFactor() and would lose it: repeat the decorator`,
      ]);
    }
    expect(findings(Lost, 'plain')).toEqual([]);
  });

  it('finds nothing in what is inherited as it is, or decorated anew', () => {
    class Kept extends Base {
      @PublicTool('other')
      override search(): void {}
    }
    for (const method of ['search', 'login', 'code', 'plain']) {
      expect(findings(Base, method)).toEqual([]);
      expect(findings(Kept, method)).toEqual([]);
    }
  });
});
