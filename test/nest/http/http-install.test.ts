import type { HttpAdapterHost } from '@nestjs/core';
import { Subject } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { HttpInstall } from '../../../lib/nest/http/http-install.js';
import { makeLimits } from './support.js';

/** An adapter that remembers in which order things were put into it. */
class FakeAdapter {
  readonly order: string[] = [];
  private readonly errors: string[] = [];

  constructor(private readonly type: string) {}

  getType(): string {
    return this.type;
  }

  getInstance(): object {
    return {
      addHook: (name: string): void => void (name === 'onError' ? this.errors : this.order).push(name),
    };
  }

  use(middleware: { label?: string }): void {
    this.order.push(middleware.label ?? 'ours');
  }

  enableCors(): void {
    this.use(labelled('cors'));
  }

  registerParserMiddleware(): void {
    this.use(labelled('parser'));
  }

  createMiddlewareFactory(): void {
    this.order.push('module');
  }
}

function labelled(label: string): { label: string } {
  return Object.assign((): void => undefined, { label });
}

function installInto(adapter: FakeAdapter | null): HttpInstall {
  const init = new Subject<void>();
  const host = { init$: init, httpAdapter: adapter } as unknown as HttpAdapterHost;
  const install = new HttpInstall(makeLimits().limits);
  install.follow(host);
  init.next();
  return install;
}

describe('where the limit is put into the adapter', () => {
  it.each<[string, (adapter: FakeAdapter) => void, string[]]>([
    ['behind CORS', (adapter) => adapter.enableCors(), ['cors', 'ours']],
    ['in front of the body parser', (adapter) => adapter.registerParserMiddleware(), ['ours', 'parser']],
    ['in front of middleware', (adapter) => adapter.use(labelled('app')), ['ours', 'app']],
    [
      'between CORS and all else',
      (adapter) => {
        adapter.enableCors();
        adapter.use(labelled('app'));
        adapter.registerParserMiddleware();
      },
      ['cors', 'ours', 'app', 'parser'],
    ],
    [
      'in front of a late CORS, which then runs for refusals',
      (adapter) => {
        adapter.use(labelled('app'));
        adapter.enableCors();
      },
      ['ours', 'app', 'cors', 'exposing'],
    ],
  ])('on Express: %s', (_name, main, expected) => {
    const adapter = new FakeAdapter('express');
    installInto(adapter);
    main(adapter);
    const shown = adapter.order.map((label, index) => (label === 'ours' && index > 1 ? 'exposing' : label));
    expect(shown).toEqual(expected);
  });

  it('on Fastify: a hook, and first of its middleware engine where that is used', () => {
    const adapter = new FakeAdapter('fastify');
    installInto(adapter);
    expect(adapter.order).toEqual(['onRequest']);
    adapter.use(labelled('app'));
    adapter.createMiddlewareFactory();
    expect(adapter.order).toEqual(['onRequest', 'ours', 'app', 'module']);
  });

  it('once, when nothing led to it', () => {
    const adapter = new FakeAdapter('express');
    const install = installInto(adapter);
    install.ensure(adapter as unknown as HttpAdapterHost['httpAdapter']);
    install.ensure(adapter as unknown as HttpAdapterHost['httpAdapter']);
    expect(adapter.order).toEqual(['ours']);
  });

  it('nowhere, when there is no adapter', () => {
    const install = installInto(null);
    expect(() => install.ensure(undefined)).not.toThrow();
  });
});
