import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { ClientIp, clientIpOf, TollgateError, type RateLimitOptions } from '../../lib/index.js';
import { ADAPTERS, failedBoot, startApp, type RunningApp } from '../e2e/support/app.js';
import { send, statuses, via } from '../e2e/support/client.js';
import { checkNestVersion } from '../e2e/support/nest-version.js';
import { timed } from './support/http.js';

@Controller()
class WhoAmI {
  @Get('whoami')
  whoami(@ClientIp() ip: string | null): string | null {
    return ip;
  }
}

type Headers = Record<string, string | string[]>;

checkNestVersion();

describe.each(ADAPTERS)('who a client is, on %s', (adapter) => {
  function start(options: RateLimitOptions = {}): Promise<RunningApp> {
    const { rateLimit } = timed({ perIp: { limit: 2, per: '1m' }, ...options });
    return startApp(adapter, { controllers: [WhoAmI], rateLimit });
  }

  /** The address that a handler sees, in an app with ample limits. */
  async function seen(options: RateLimitOptions, headers: Headers, from?: string): Promise<string> {
    const app = await start({ perIp: null, ...options });
    return (await send(app, '/whoami', { headers, ...(from === undefined ? {} : { from }) })).body;
  }

  it('SB-39 limits count by the address, each client by itself', async () => {
    const app = await start();
    for (const from of ['127.0.0.1', '127.0.0.2', '127.0.0.3']) {
      expect(await statuses(app, '/whoami', 3, { from })).toEqual([200, 200, 429]);
    }
  });

  it('SB-40 behind a proxy that is not configured all clients share one budget', async () => {
    const app = await start();
    const answers: number[] = [];
    for (const last of [1, 2, 3]) answers.push(...(await statuses(app, '/', 1, via(`203.0.113.${last}`))));
    expect(answers).toEqual([404, 404, 429]);
    expect(app.log.own('warn').join()).toContain('list it in trustedProxies');
  });

  it('SB-41 once its address is listed, in code or by a variable, each has its own', async () => {
    const listed = ['127.0.0.1', '::1', '10.0.0.0/8'];
    const inCode = await start({ trustedProxies: listed });
    process.env.RATE_LIMIT_TRUSTED_PROXIES = listed.join(',');
    const byVariable = await start().finally(() => delete process.env.RATE_LIMIT_TRUSTED_PROXIES);
    for (const app of [inCode, byVariable]) {
      for (const client of ['203.0.113.1', '203.0.113.2', '2001:db8::1']) {
        expect(await statuses(app, '/', 3, via(client))).toEqual([404, 404, 429]);
      }
    }
  });

  it('SB-42 what is listed are addresses and CIDR blocks, and anything else fails the boot', async () => {
    const sound = ['192.0.2.1', '2001:db8::1', '10.0.0.0/8', 'fd00::/8'];
    await start({ trustedProxies: sound });
    for (const wrong of [
      'proxy.internal',
      '10.0.0.0/33',
      '10.0.0.300',
      '10.0.0',
      '*',
      '',
      '2001:db8::/129',
    ]) {
      const error = await failedBoot(adapter, { rateLimit: { trustedProxies: [...sound, wrong] } });
      expect(error).toBeInstanceOf(TollgateError);
      expect(error.message).toContain(`trustedProxies[4] is ${JSON.stringify(wrong)}`);
    }
  });

  it('SB-43 of X-Forwarded-For the right-most that is no proxy counts; X-Real-IP where that is missing', async () => {
    const options = { trustedProxies: ['127.0.0.1', '10.0.0.0/8'] };
    const real = { 'x-real-ip': '192.0.2.77' };
    const list = (value: string | string[]): Headers => ({ 'x-forwarded-for': value, ...real });
    expect(await seen(options, list('198.51.100.1'))).toBe('198.51.100.1');
    expect(await seen(options, list('192.0.2.66, 198.51.100.1, 10.0.0.2, 10.9.9.9'))).toBe('198.51.100.1');
    expect(await seen(options, list(['192.0.2.66', '198.51.100.1, 10.0.0.2']))).toBe('198.51.100.1');
    expect(await seen(options, real)).toBe('192.0.2.77');
    expect(await seen(options, {})).toBe('127.0.0.1');
  });

  it('SB-44 a peer that is not listed is itself, whatever its headers say', async () => {
    const app = await start({ trustedProxies: ['127.0.0.1'] });
    const answers: number[] = [];
    for (const last of [1, 2, 3]) {
      const headers = { 'x-forwarded-for': `203.0.113.${last}`, 'x-real-ip': `203.0.113.${last}` };
      const { status, body } = await send(app, '/whoami', { headers, from: '127.0.0.9' });
      answers.push(status);
      if (status === 200) expect(body).toBe('127.0.0.9');
    }
    expect(answers).toEqual([200, 200, 429]);
    // Nor did it use up anything of the addresses that it wrote down.
    expect(await statuses(app, '/', 3, via('203.0.113.1'))).toEqual([404, 404, 429]);
  });

  it('SB-49 trustProxy believes any peer, and of the list the right-most entry', async () => {
    const headers = { 'x-forwarded-for': '192.0.2.66, 198.51.100.1' };
    for (const from of ['127.0.0.1', '127.0.0.9']) {
      expect(await seen({ trustProxy: true }, headers, from)).toBe('198.51.100.1');
      expect(await seen({ trustProxy: false }, headers, from)).toBe(from);
    }
  });

  it('SB-50 so without a proxy it lets a client choose its address, which a list does not', async () => {
    const forging = async (options: RateLimitOptions) => {
      const app = await start(options);
      const answers: number[] = [];
      for (const last of [1, 2, 3, 4]) {
        answers.push(...(await statuses(app, '/', 1, { ...via(`203.0.113.${last}`), from: '127.0.0.9' })));
      }
      return answers;
    };
    expect(await forging({ trustProxy: true })).toEqual([404, 404, 404, 404]);
    expect(await forging({ trustedProxies: ['127.0.0.1'] })).toEqual([404, 404, 429, 429]);
  });

  it('SB-51 where proxies are listed it means nothing', async () => {
    const options = { trustProxy: true, trustedProxies: ['127.0.0.1', '10.0.0.0/8'] };
    const headers = { 'x-forwarded-for': '198.51.100.1, 10.0.0.2' };
    expect(await seen(options, headers, '127.0.0.9')).toBe('127.0.0.9');
    // It would take 10.0.0.2.
    expect(await seen(options, headers)).toBe('198.51.100.1');
  });

  it('SB-52 a handler and a line of a log get the very address that limits count by', async () => {
    const logged: unknown[] = [];
    const { rateLimit } = timed({ perIp: { limit: 1, per: '1m' }, trustedProxies: ['127.0.0.1'] });
    const app = await startApp(adapter, {
      controllers: [WhoAmI],
      rateLimit,
      main: (nest) => {
        nest.use((request: Parameters<typeof clientIpOf>[0], _response: unknown, next: () => void) => {
          logged.push(clientIpOf(request));
          next();
        });
      },
    });
    expect((await send(app, '/whoami', via('2001:DB8:0::1'))).body).toBe('2001:db8::1');
    expect((await send(app, '/whoami', via('::ffff:192.0.2.1'))).body).toBe('192.0.2.1');
    expect(logged).toEqual(['2001:db8::1', '192.0.2.1']);
    expect(await statuses(app, '/whoami', 1, via('192.0.2.1'))).toEqual([429]);
  });
});
