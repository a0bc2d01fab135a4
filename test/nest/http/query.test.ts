import { expect, it } from 'vitest';
import { queryOf } from '../../../lib/nest/http/query.js';

it.each([
  ['/a?b=1&b=2', 'b=1&b=2'],
  ['/a?%62=x%20y?z', 'b=x+y%3Fz'],
  ['/a', ''],
  ['/a?', ''],
  [undefined, ''],
])('the query of %s', (url, query) => {
  expect(queryOf(url).toString()).toBe(query);
});
