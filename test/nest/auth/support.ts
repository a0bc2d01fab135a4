// Contexts of handlers that requests came to, for units that need no server.

import type { ExecutionContext } from '@nestjs/common';
import type { FrameworkRequest } from '../../../lib/nest/http/request-state.js';
import { FakeResponse, rawRequestFrom } from '../http/support.js';

export class Routes {
  list(): void {}
}

/** A handler's context of one request of a client. */
export function contextOf(
  request: FrameworkRequest = rawRequestFrom('203.0.113.5'),
  handler: { readonly controller: Function; readonly method: Function } = {
    controller: Routes,
    method: Routes.prototype.list,
  },
): ExecutionContext {
  const response = new FakeResponse();
  return {
    getType: () => 'http',
    getClass: () => handler.controller,
    getHandler: () => handler.method,
    switchToHttp: () => ({ getRequest: () => request, getResponse: () => response }),
  } as unknown as ExecutionContext;
}

/** The context of a message. */
export const MESSAGE = { getType: () => 'ws' } as ExecutionContext;

/** What a promise rejects with, or a call throws. */
export async function thrownBy(run: () => unknown): Promise<unknown> {
  try {
    await run();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}
