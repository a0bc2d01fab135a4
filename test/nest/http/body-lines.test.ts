import { expect, it } from 'vitest';
import { bodyLines, setBodyLines } from '../../../lib/nest/http/body-lines.js';

it('lines belong to the very body they were set for', () => {
  const body = { statusCode: 429 };
  setBodyLines(body, { 'retry-after': '9' });
  expect(bodyLines(body)).toEqual({ 'retry-after': '9' });
  for (const other of [{ ...body }, null, undefined, 'text', 429]) expect(bodyLines(other)).toBeUndefined();
});
