// `@ClientIp()`: the client's address as this package computed it. Source B, SB-52.

import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { clientIpOf } from '../http/client-ip.js';
import type { FrameworkRequest } from '../http/request-state.js';

/** A handler parameter: the client's address in canonical text; null when there is none (a Unix socket). */
export const ClientIp = createParamDecorator((_data: unknown, context: ExecutionContext): string | null =>
  clientIpOf(context.switchToHttp().getRequest<FrameworkRequest>()),
);
