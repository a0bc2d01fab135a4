// Puts the per-IP limit in front of body parsing and routing, behind CORS: the one place where a refusal is cheap,
// counts everything a client sends, and can still be read by a browser.

import type { HttpAdapterHost } from '@nestjs/core';
import type { HttpLimits } from './http-limits.js';
import { proceed, type Next } from './proceed.js';
import type { FrameworkRequest } from './request-state.js';
import type { FrameworkResponse } from './response.js';

type Middleware = (request: FrameworkRequest, response: FrameworkResponse, next: Next) => void;
type Adapter = HttpAdapterHost['httpAdapter'];

/** The part of Fastify that is used here. */
interface FastifyInstance {
  addHook(name: 'onRequest', hook: Middleware): unknown;
}

export class HttpInstall {
  private installed = false;

  constructor(private readonly limits: HttpLimits) {}

  /** Hooks into the adapter as soon as there is one: in a testing module that is after the providers exist. */
  follow(host: HttpAdapterHost): void {
    host.init$.subscribe(() => this.prepare(host.httpAdapter));
  }

  /** Installs now, if nothing led to it before: an app without CORS and body parser. */
  ensure(adapter: Adapter | undefined): void {
    if (adapter !== undefined) this.install(adapter);
  }

  private prepare(adapter: Adapter): void {
    if (adapter.getType() === 'fastify') {
      // Nest's own hook for CORS was added by the adapter's constructor, so this one runs right behind it.
      this.install(adapter);
      return;
    }
    const { enableCors, registerParserMiddleware } = adapter;
    adapter.enableCors = (...args) => {
      enableCors.apply(adapter, args);
      this.install(adapter);
    };
    adapter.registerParserMiddleware = (...args) => {
      this.install(adapter);
      registerParserMiddleware.apply(adapter, args);
    };
  }

  private install(adapter: Adapter): void {
    if (this.installed) return;
    this.installed = true;
    if (adapter.getType() === 'fastify') {
      const fastify: FastifyInstance = adapter.getInstance();
      fastify.addHook('onRequest', this.middleware);
    } else {
      adapter.use(this.middleware);
    }
  }

  private readonly middleware: Middleware = (request, response, next) => {
    proceed(() => this.limits.onRequest(request, response), next);
  };
}
