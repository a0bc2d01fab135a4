// `@CurrentActor()`: whom an app's `Authenticator` found to be calling.

import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Actor } from '../auth/authenticator.js';
import { actorOf } from '../http/actor.js';
import type { FrameworkRequest } from '../http/request-state.js';

/** A handler parameter: the very object that the `Authenticator` gave; null for guests and outside of the API. */
export const CurrentActor = createParamDecorator((_data: unknown, context: ExecutionContext): Actor | null =>
  actorOf(context.switchToHttp().getRequest<FrameworkRequest>()),
);
