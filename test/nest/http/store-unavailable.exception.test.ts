import { HttpException } from '@nestjs/common';
import { expect, it } from 'vitest';
import { bodyLines } from '../../../lib/nest/http/body-lines.js';
import { StoreUnavailableException } from '../../../lib/nest/http/store-unavailable.exception.js';

it('a closed limit is a 503 of Nest’s shape, to be tried again in a second and kept by nobody', () => {
  const exception = new StoreUnavailableException();
  expect(exception).toBeInstanceOf(HttpException);
  expect(exception.getStatus()).toBe(503);
  expect(exception.getResponse()).toEqual({
    statusCode: 503,
    message: 'Service Unavailable',
    error: 'Service Unavailable',
  });
  expect(bodyLines(exception.getResponse())).toEqual({ 'retry-after': '1', 'cache-control': 'no-store' });
});
