import { Controller, Post, UseGuards } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { Throttle } from '../../lib/index.js';
import { clearLimits, limitsOff, limitsOn } from '../../lib/testing/index.js';
import { ADAPTERS, startApp } from '../e2e/support/app.js';
import { send, statuses } from '../e2e/support/client.js';
import { checkNestVersion } from '../e2e/support/nest-version.js';
import { as, HeaderAuth, timed } from './support/http.js';

@Controller('api/v1/reports')
@UseGuards(HeaderAuth)
class Reports {
  @Post()
  @Throttle({ limit: 10, per: '1m' })
  generate(): string {
    return 'queued';
  }
}

checkNestVersion();

describe.each(ADAPTERS)('limits in the tests of an app on %s', (adapter) => {
  it('SB-58 hold as in production: 600 a minute for each app under test, and all its requests are one client', async () => {
    const [one, other] = [
      await startApp(adapter, { testing: true, rateLimit: timed().rateLimit }),
      await startApp(adapter, { testing: true, rateLimit: timed().rateLimit }),
    ];
    const left = async (app: typeof one) => {
      const { headers } = await send(app, '/');
      return [headers['ratelimit-remaining'], headers['ratelimit-limit']].join(' of ');
    };
    expect([await left(one), await left(one), await left(other)]).toEqual([
      '599 of 600',
      '598 of 600',
      '599 of 600',
    ]);
  });

  it('SB-59 are turned off where hundreds are sent, by the option or for a part of a test', async () => {
    const { rateLimit } = timed({ perIp: null, authGuard: HeaderAuth });
    const running = await startApp(adapter, { testing: true, controllers: [Reports], rateLimit });
    const ada = { method: 'POST', ...as('ada') };
    const path = '/api/v1/reports';
    // Without the limit of the address that of the route can be tested alone, as user after user.
    for (let user = 0; user < 61; user++) {
      expect(await statuses(running, path, 10, { method: 'POST', ...as(`user-${user}`) })).toEqual(
        Array(10).fill(201),
      );
    }
    expect(await statuses(running, path, 10, ada)).toEqual(Array(10).fill(201));
    const refused = await send(running, path, ada);
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '6']);
    limitsOff(running.app);
    expect(await statuses(running, path, 30, ada)).toEqual(Array(30).fill(201));
    limitsOn(running.app);
    expect(await statuses(running, path, 1, ada)).toEqual([429]);
    clearLimits(running.app);
    expect(await statuses(running, path, 11, ada)).toEqual([...Array<number>(10).fill(201), 429]);
  });
});
