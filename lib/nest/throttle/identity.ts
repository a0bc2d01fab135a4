// Who a request was authenticated as, by the app's own function or the usual places.

import type { ExecutionContext } from '@nestjs/common';
import { nameOf } from '../../errors.js';
import type { Report } from '../../events/event.js';
import type { MaybePromise } from '../../stores/store.js';
import { rawRequest, type FrameworkRequest } from '../http/request-state.js';
import type { Identify } from '../options.js';

/** Finds the user's id; null for guests, and for users without a usable id. */
export class Identities {
  constructor(
    private readonly identify: Identify | null,
    private readonly report: Report,
  ) {}

  /** Of a handler's call. A promise only where the app's function gives one. */
  of(context: ExecutionContext): MaybePromise<string | null> {
    if (this.identify === null) return this.ofRequest(context.switchToHttp().getRequest<FrameworkRequest>());
    try {
      const id = this.identify(context);
      return isPromiseLike(id) ? this.ofPromise(id) : this.textOf(id);
    } catch (error) {
      return this.failed('identify()', error);
    }
  }

  private async ofPromise(id: PromiseLike<unknown>): Promise<string | null> {
    try {
      return this.textOf(await id);
    } catch (error) {
      return this.failed('identify()', error);
    }
  }

  /** Of `request.user`, the first of `id`, `sub` and `userId` that it has. */
  ofRequest(request: FrameworkRequest): string | null {
    try {
      // Nest middleware on Fastify leaves the user on the raw request.
      const raw: FrameworkRequest = rawRequest(request);
      return this.ofUser(request.user ?? raw.user);
    } catch (error) {
      return this.failed("reading the user's id", error);
    }
  }

  private ofUser(user: unknown): string | null {
    if (user === undefined || user === null || user === false) return null;
    if (typeof user !== 'object') return this.textOf(user);
    const fields: { readonly id?: unknown; readonly sub?: unknown; readonly userId?: unknown } = user;
    const id = fields.id ?? fields.sub ?? fields.userId;
    if (id === undefined || id === null) return this.unusable('the user has no id, sub or userId');
    return this.textOf(id);
  }

  private textOf(id: unknown): string | null {
    if (typeof id === 'string' && id !== '') return id;
    if (id === undefined || id === null) return null;
    if (typeof id === 'bigint' || (typeof id === 'number' && Number.isFinite(id))) return String(id);
    const text = typeof id === 'object' ? objectId(id) : null;
    return text ?? this.unusable(`a user's id is ${id === '' ? 'an empty text' : `a ${typeof id}`}`);
  }

  private failed(what: string, error: unknown): null {
    return this.unusable(`${what} failed with ${nameOf(error)}`);
  }

  private unusable(problem: string): null {
    this.report({ type: 'unusable-key', policy: 'identify', problem });
    return null;
  }
}

/** Any promise: ORMs bring classes of their own. */
function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

/** An id class of a database driver, such as an ObjectId, by its own text; null for a plain object. */
function objectId(id: object): string | null {
  const own: unknown = 'toHexString' in id ? id.toHexString : id.toString;
  if (typeof own !== 'function' || own === Object.prototype.toString) return null;
  const text: unknown = own.call(id);
  return typeof text === 'string' && text !== '' ? text : null;
}
