// `@PublicTool`: a handler for callers without a key, counted by client token and client network. Source A, SA-15, SA-42.

import { UseInterceptors } from '@nestjs/common';
import { show } from '../../algorithms/rate.js';
import { badConfiguration } from '../../errors.js';
import { PublicToolInterceptor } from '../auth/public-tool.interceptor.js';
import type { InputSource } from '../http/input-field.js';
import { setOnce, targetName } from './metadata.js';

export const PUBLIC_TOOL_KEY = 'tollgate:public-tool';

/**
 * `clientToken` names the field of the body (of the query on GET) that tells clients of one network apart, or is a
 * function of the call. Only its digest is kept; a call without one is counted by its network alone.
 *
 * The network pays 1 unit where throttles run, before the app's other guards look anything up, and the rest of the
 * `@Cost()` right before the handler, together with the token: so a call costs its price in each bucket, a full network
 * refuses before any token counter exists, and what a full token refuses has cost the network one unit.
 *
 * @throws TollgateError when the field is no text and no function, or when the handler is decorated twice.
 */
export function PublicTool(clientToken: InputSource): MethodDecorator {
  return (target: object, key: string | symbol, descriptor: PropertyDescriptor) => {
    const where = `@PublicTool() on ${targetName(target, key)}`;
    if (!isSource(clientToken)) {
      throw badConfiguration(where, [
        `it is given ${show(clientToken)}: name a field of the input, or give a function`,
      ]);
    }
    setOnce(PUBLIC_TOOL_KEY, clientToken, target, descriptor, where);
    UseInterceptors(PublicToolInterceptor)(target, key, descriptor);
  };
}

export function isSource(value: unknown): value is InputSource {
  return typeof value === 'function' || (typeof value === 'string' && value !== '');
}
