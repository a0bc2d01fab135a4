// The order in which a machine API lets a request in, the same for the interceptor and the guard. Source A, SA-18, SA-20.

import {
  BadRequestException,
  ForbiddenException,
  Injectable,
  NotFoundException,
  UnauthorizedException,
  type ExecutionContext,
} from '@nestjs/common';
import type { HttpCaller } from '../http/http-caller.js';
import { HttpLimits } from '../http/http-limits.js';
import { ThrottleEnforcer } from '../throttle/throttle.enforcer.js';
import { statusOf } from './auth-failures.js';
import type { Actor, Authentication, Authenticator } from './authenticator.js';
import { credentialInUrl } from './credentials.js';

@Injectable()
export class ApiEntry {
  constructor(
    private readonly http: HttpLimits,
    private readonly enforcer: ThrottleEnforcer,
  ) {}

  /**
   * Once per request, whatever asks for it how often: the API switch (404), no credential in the URL (400), the
   * credential whatever the network has done before (401, 403, or 429), then throttles and cost in one step (429).
   */
  async admit(context: ExecutionContext, authenticator: Authenticator): Promise<true> {
    const caller = this.http.callerOf(context);
    // Nothing but HTTP requests can be authenticated here, and nothing passes unauthenticated.
    if (caller === null) throw new UnauthorizedException();
    return caller.state.once(authenticator, () => this.authenticate(context, authenticator, caller));
  }

  /** What a handler threw: its 401 is a failed authentication as well. Throws it, or the 429 in its place. */
  async refuse(context: ExecutionContext, error: unknown): Promise<never> {
    const caller = statusOf(error) === 401 ? this.http.callerOf(context) : null;
    if (caller !== null) await this.http.failures.count(caller);
    throw error;
  }

  private async authenticate(
    context: ExecutionContext,
    authenticator: Authenticator,
    caller: HttpCaller,
  ): Promise<true> {
    const { request, state } = caller;
    if (!(await authenticator.isEnabled(request))) {
      // As Nest says it of routes that don't exist.
      throw new NotFoundException(
        `Cannot ${request.method ?? 'GET'} ${request.originalUrl ?? request.url ?? '/'}`,
      );
    }
    const parameter = credentialInUrl(request.url, authenticator.credentialParameters);
    if (parameter !== null) {
      throw new BadRequestException(`Send no credential in the URL: take '${parameter}' out of it`);
    }
    const authentication = await this.ask(context, authenticator, caller);
    if (typeof authentication === 'string') return this.withoutActor(context, caller, authentication);
    state.actor = authentication;
    // A key that carries its owner is a key all the same.
    return this.enforcer.charge(context, 'key' in authentication ? null : authentication.user);
  }

  /** What the app's authenticator says; anything but an actor with a usable id is no admission. */
  private async ask(
    context: ExecutionContext,
    authenticator: Authenticator,
    caller: HttpCaller,
  ): Promise<Authentication> {
    try {
      const said: unknown = await authenticator.authenticate(caller.request, caller.address, context);
      if (isAuthentication(said)) return said;
    } catch (error) {
      const status = statusOf(error);
      if (status === 401 || status === 403) await this.http.failures.count(caller);
      throw error;
    }
    this.http.report({
      type: 'unusable-key',
      policy: 'Authenticator',
      problem:
        'authenticate() gave neither an actor with a text for an id nor one of its words: taken for invalid',
    });
    return 'invalid';
  }

  private async withoutActor(
    context: ExecutionContext,
    caller: HttpCaller,
    said: Exclude<Authentication, Actor>,
  ): Promise<true> {
    if (said === 'guest') return this.enforcer.charge(context, await this.http.identities.of(context));
    if (said !== 'missing') await this.http.failures.count(caller);
    throw said === 'forbidden' ? new ForbiddenException() : new UnauthorizedException();
  }
}

const WORDS: readonly unknown[] = ['guest', 'missing', 'invalid', 'forbidden'];

function isAuthentication(said: unknown): said is Authentication {
  if (typeof said !== 'object' || said === null) return WORDS.includes(said);
  if ('key' in said) return isId(said.key);
  return 'user' in said && isId(said.user);
}

function isId(id: unknown): boolean {
  return typeof id === 'string' && id !== '';
}
