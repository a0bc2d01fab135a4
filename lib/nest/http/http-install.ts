// Puts the per-IP limit in front of body parsing, static files and routing: where a refusal is cheap, and everything
// that a client sends is counted. Behind CORS where possible, so that a browser can read the refusal.

import type { HttpAdapterHost } from '@nestjs/core';
import { bodyLines } from './body-lines.js';
import type { HttpLimits } from './http-limits.js';
import { proceed, type Next } from './proceed.js';
import { RateLimitException } from './rate-limit.exception.js';
import { rawRequest, type FrameworkRequest } from './request-state.js';
import { exposeHeaders, writeRefusal, type FrameworkResponse } from './response.js';

type Middleware = (request: FrameworkRequest, response: FrameworkResponse, next: Next) => void;
type Adapter = HttpAdapterHost['httpAdapter'];

/** How main.ts adds routes of its own to an adapter, or reaches behind it to do so. */
const VERBS = [
  'all',
  'get',
  'head',
  'post',
  'put',
  'patch',
  'delete',
  'options',
  'search',
  'getInstance',
] as const;

type ErrorHook = (
  request: FrameworkRequest,
  response: FrameworkResponse,
  error: unknown,
  done: () => void,
) => void;

/** The part of Fastify that is used here. */
interface FastifyInstance {
  addHook(name: 'onRequest', hook: Middleware): unknown;
  addHook(name: 'onError', hook: ErrorHook): unknown;
}

export class HttpInstall {
  private installed = false;
  /** The app's CORS middleware, where it was added behind ours: a refusal runs it first. */
  private cors: Middleware | null = null;

  constructor(private readonly limits: HttpLimits) {}

  /** Hooks into the adapter as soon as there is one: in a testing module that is after the providers exist. */
  follow(host: HttpAdapterHost): void {
    host.init$.subscribe(() => {
      // Nest 12 says so in application contexts too, which have none.
      const adapter: Adapter | null = host.httpAdapter;
      if (adapter !== null) this.prepare(adapter);
    });
  }

  /** Installs now, if nothing led to it before: an app without CORS and body parser. */
  ensure(adapter: Adapter | undefined): void {
    if (adapter !== undefined) this.install(adapter);
  }

  private prepare(adapter: Adapter): void {
    this.followReply(adapter);
    if (adapter.getType() === 'fastify') {
      // Nest's own hook for CORS was added by the adapter's constructor, so this one runs right behind it.
      this.install(adapter);
      this.precedeMiddleware(adapter);
      return;
    }
    this.followUse(adapter);
  }

  /** What the app's own code throws, and a store that is down, has its headers nowhere yet: they go with the body. */
  private followReply(adapter: Adapter): void {
    const { reply } = adapter;
    adapter.reply = (...args: Parameters<Adapter['reply']>): unknown => {
      const [response, body, status] = args;
      const lines = status === 429 || status === 503 ? bodyLines(body) : undefined;
      if (lines !== undefined) writeRefusal(response, lines);
      return reply.apply(adapter, args);
    };
  }

  /**
   * Whatever comes first decides the place: CORS goes in front of ours, everything else behind it, be it the body
   * parser, static files or middleware of main.ts.
   */
  private followUse(adapter: Adapter): void {
    const { enableCors, use } = adapter;
    for (const verb of VERBS) this.precede(adapter, verb);
    adapter.use = (...args: Parameters<Adapter['use']>) => {
      this.install(adapter);
      return use.apply(adapter, args);
    };
    adapter.enableCors = (...args) => {
      const following = adapter.use;
      const late = this.installed;
      adapter.use = (middleware: Middleware) => {
        if (late) this.cors = middleware;
        return use.call(adapter, middleware);
      };
      enableCors.apply(adapter, args);
      adapter.use = following;
      this.install(adapter);
      if (late) adapter.use(this.exposeOurs);
    };
  }

  /** A route that main.ts adds to the adapter by itself is limited like any other. */
  private precede(adapter: Adapter, verb: string): void {
    const add: unknown = Reflect.get(adapter, verb);
    if (typeof add !== 'function') return;
    Reflect.set(adapter, verb, (...args: unknown[]): unknown => {
      this.install(adapter);
      return Reflect.apply(add, adapter, args);
    });
  }

  /**
   * Nest put Fastify's middleware engine in place before any module was made, so middleware of the app would run in
   * front of our hook. Where there is any, ours is the engine's first; where there is none, the engine costs nothing.
   */
  private precedeMiddleware(adapter: Adapter): void {
    const { use, createMiddlewareFactory } = adapter;
    let first = true;
    const precede = (): void => {
      if (!first) return;
      first = false;
      use.call(adapter, this.middleware);
      const fastify: FastifyInstance = adapter.getInstance();
      fastify.addHook('onError', this.onError);
    };
    adapter.use = (...args: Parameters<Adapter['use']>) => {
      precede();
      return use.apply(adapter, args);
    };
    adapter.createMiddlewareFactory = (method) => {
      precede();
      return createMiddlewareFactory.call(adapter, method);
    };
  }

  /** The engine has the raw response only, and what CORS or the app set on Fastify's reply would win over it. */
  private readonly onError: ErrorHook = (request, response, error, done) => {
    if (error instanceof RateLimitException) {
      writeRefusal(response, error.decision.headers);
      if (rawRequest(request).headers.origin !== undefined) exposeHeaders(response, this.limits.headers);
    }
    done();
  };

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
      if (request.headers.origin !== undefined) exposeHeaders(response, this.limits.headers);
      next(refusal);
    });
  }

  /** Behind a late CORS: what passed ours before it gets its headers completed here. */
  private readonly exposeOurs: Middleware = (request, response, next) => {
    if (request.headers.origin !== undefined) exposeHeaders(response, this.limits.headers);
    next();
  };
}
