// Puts the per-IP limit in front of body parsing, static files and routing: where a refusal is cheap, and everything
// that a client sends is counted. Behind CORS where possible, so that a browser can read the refusal.

import type { HttpAdapterHost } from '@nestjs/core';
import type { HttpLimits } from './http-limits.js';
import { proceed, type Next } from './proceed.js';
import type { FrameworkRequest } from './request-state.js';
import { exposeHeaders, type FrameworkResponse } from './response.js';

type Middleware = (request: FrameworkRequest, response: FrameworkResponse, next: Next) => void;
type Adapter = HttpAdapterHost['httpAdapter'];

/** The part of Fastify that is used here. */
interface FastifyInstance {
  addHook(name: 'onRequest', hook: Middleware): unknown;
}

export class HttpInstall {
  private installed = false;
  /** The app's CORS middleware, where it was added behind ours: a refusal runs it first. */
  private cors: Middleware | null = null;

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
    const { enableCors, registerParserMiddleware, useStaticAssets } = adapter;
    adapter.enableCors = (...args) => {
      this.addCors(adapter, () => enableCors.apply(adapter, args));
    };
    adapter.registerParserMiddleware = (...args) => {
      this.install(adapter);
      registerParserMiddleware.apply(adapter, args);
    };
    adapter.useStaticAssets = (...args) => {
      this.install(adapter);
      return useStaticAssets.apply(adapter, args);
    };
  }

  /** Installs behind CORS; where static files led to an earlier place, remembers how CORS answers. */
  private addCors(adapter: Adapter, enable: () => void): void {
    if (!this.installed) {
      enable();
      this.install(adapter);
      return;
    }
    const { use } = adapter;
    adapter.use = (middleware: Middleware) => {
      this.cors = middleware;
      return use.call(adapter, middleware);
    };
    enable();
    adapter.use = use;
    adapter.use(((request, response, next) => {
      if (request.headers.origin !== undefined) exposeHeaders(response);
      next();
    }) satisfies Middleware);
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
    proceed(
      () => this.limits.onRequest(request, response),
      (refusal) => {
        if (refusal === undefined || this.cors === null) next(refusal);
        else this.refuseWithCors(request, response, next, refusal);
      },
    );
  };

  private refuseWithCors(
    request: FrameworkRequest,
    response: FrameworkResponse,
    next: Next,
    refusal: unknown,
  ): void {
    this.cors?.(request, response, () => {
      if (request.headers.origin !== undefined) exposeHeaders(response);
      next(refusal);
    });
  }
}
