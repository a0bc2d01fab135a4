// A handler parameter: the account that a guard found.
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { SignedInRequest } from './session.guard.js';

export const CurrentUser = createParamDecorator(
  (_data: unknown, context: ExecutionContext) => context.switchToHttp().getRequest<SignedInRequest>().user,
);
