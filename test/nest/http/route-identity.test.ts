import { All, Controller, Get, Head, Post, Version, VERSION_NEUTRAL } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { isRoute, routeIdentity } from '../../../lib/nest/http/route-identity.js';

@Controller(['b', 'a'])
class Aliases {
  @Get(['z', 'y'])
  list(): void {}

  @Post()
  create(): void {}

  @All(':id/lock')
  lock(): void {}

  @Head('x')
  head(): void {}

  helper(): void {}
}

@Controller({ path: 'v', version: ['2', '1'], host: 'api.example' })
class Versioned {
  @Get()
  get(): void {}

  @Get()
  @Version('9')
  own(): void {}

  @Get()
  @Version(VERSION_NEUTRAL)
  neutral(): void {}
}

const method = (controller: { prototype: object }, name: string): Function => {
  const found: unknown = Reflect.get(controller.prototype, name);
  if (typeof found !== 'function') throw new Error(`no ${name}`);
  return found;
};

describe('the name of a handler’s counter', () => {
  it.each([
    [Aliases, 'list', '', 'GET /a/y'],
    [Aliases, 'create', '', 'POST /a'],
    [Aliases, 'lock', '', 'ALL /a/:id/lock'],
    [Aliases, 'head', '', 'HEAD /a/x'],
    [Aliases, 'list', '/admin/', 'GET /admin/a/y'],
    [Versioned, 'get', '', 'GET /v 1 api.example'],
    [Versioned, 'own', '', 'GET /v 9 api.example'],
  ])('E06 of %o.%s under %o is %s', (controller, name, modulePath, identity) => {
    expect(routeIdentity(controller, method(controller, name), modulePath)).toBe(identity);
  });

  it('tells version-neutral from versioned', () => {
    const neutral = routeIdentity(Versioned, method(Versioned, 'neutral'), '');
    expect(neutral).not.toBe(routeIdentity(Versioned, method(Versioned, 'get'), ''));
  });

  it('is there for routes only', () => {
    expect(isRoute(method(Aliases, 'list'))).toBe(true);
    expect(isRoute(method(Aliases, 'helper'))).toBe(false);
  });
});
