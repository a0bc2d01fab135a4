// A handler parameter: the user that BearerGuard found.
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { IdentifiedRequest } from './bearer.guard.js';

export const CurrentUser = createParamDecorator(
  (_data: unknown, context: ExecutionContext) => context.switchToHttp().getRequest<IdentifiedRequest>().user,
);
