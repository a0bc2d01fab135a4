import { UseInterceptors } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { PublicTool } from '../../../lib/index.js';
import { PublicToolInterceptor } from '../../../lib/nest/auth/public-tool.interceptor.js';
import { isSource, PUBLIC_TOOL_KEY } from '../../../lib/nest/decorators/public-tool.decorator.js';

class Noting {
  intercept(): never {
    throw new Error('never run');
  }
}

describe('@PublicTool()', () => {
  it('leaves where the token is, and brings its interceptor beside others', () => {
    const find = (): string => 'a';
    class Tools {
      @PublicTool('session')
      @UseInterceptors(Noting)
      a(): void {}

      @PublicTool(find)
      b(): void {}
    }
    const { a, b } = Tools.prototype;
    expect(Reflect.getOwnMetadata(PUBLIC_TOOL_KEY, a)).toBe('session');
    expect(Reflect.getOwnMetadata(PUBLIC_TOOL_KEY, b)).toBe(find);
    expect(Reflect.getOwnMetadata('__interceptors__', a)).toHaveLength(2);
    expect(Reflect.getOwnMetadata('__interceptors__', a)).toContain(Noting);
    expect(Reflect.getOwnMetadata('__interceptors__', b)).toEqual([PublicToolInterceptor]);
  });

  it.each([[''], [null], [undefined], [5], [['session']], [{}], [true]])(
    'throws at decoration when it is given %j',
    (source) => {
      const decorate = () => {
        class Tools {
          @PublicTool(source as never)
          run(): void {}
        }
        return Tools;
      };
      expect(decorate).toThrow(
        /@PublicTool\(\) on Tools\.run:[^]*name a field of the input, or give a function/,
      );
      expect(isSource(source)).toBe(false);
    },
  );

  it('throws when a handler is decorated twice', () => {
    const twice = () => {
      class Tools {
        @PublicTool('a')
        @PublicTool('b')
        run(): void {}
      }
      return Tools;
    };
    expect(twice).toThrow(/Tools\.run[^]*decorated twice/);
  });
});
