// The fixed sequence of requests whose answers the golden files hold: status and lines about limits.

import {
  Controller,
  Get,
  HttpException,
  Redirect,
  Res,
  Sse,
  StreamableFile,
  type Type,
} from '@nestjs/common';
import { of, type Observable } from 'rxjs';
import { MemoryStore, Throttle, type RateLimitOptions } from '../../../lib/index.js';
import { FakeClock } from '../../../lib/testing/fake-clock.js';
import { startApp, type AdapterName } from '../support/app.js';
import { send, type Answer, type Sent } from '../support/client.js';

export interface Step {
  /** As the golden file names it. */
  readonly title: string;
  readonly answer: Answer;
}

/** Header lines that belong into a golden file, in its order. */
const SHOWN = [
  'ratelimit-limit',
  'ratelimit-remaining',
  'ratelimit-reset',
  'ratelimit',
  'ratelimit-policy',
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'retry-after',
  'cache-control',
  'access-control-expose-headers',
];

const ORIGIN = 'https://app.example';
const FROM_BROWSER = { origin: ORIGIN };
const PREFLIGHT: Sent = {
  method: 'OPTIONS',
  headers: { origin: ORIGIN, 'access-control-request-method': 'GET' },
};

/** Whatever a handler can answer; each route allows two calls a minute. */
@Throttle({ limit: 2, per: '1m' })
class Routes {
  @Get('plain')
  plain(): string {
    return 'ok';
  }

  @Get('streamed')
  streamed(): StreamableFile {
    return new StreamableFile(Buffer.from('a file'));
  }

  @Sse('sse')
  sse(): Observable<{ data: string }> {
    return of({ data: 'an event' });
  }

  @Get('redirect')
  @Redirect('/plain', 302)
  redirect(): void {}

  @Get('refused-by-the-app')
  refusing(): void {
    throw new HttpException('no', 403);
  }

  @Get('broken')
  broken(): void {
    throw new Error('a bug');
  }

  @Get('two')
  @Throttle([
    { name: 'minutely "m"', limit: 3, per: '1m' },
    { name: 'hourly', limit: 4, per: '1h', algorithm: 'fixed' },
  ])
  two(): string {
    return 'ok';
  }
}

@Controller()
class OnExpress extends Routes {
  @Get('raw')
  raw(@Res() response: { end(text: string): void }): void {
    response.end('raw');
  }
}

@Controller()
class OnFastify extends Routes {
  @Get('raw')
  raw(@Res() reply: { hijack(): void; readonly raw: { end(text: string): void } }): void {
    reply.hijack();
    reply.raw.end('raw');
  }
}

const CONTROLLERS: Readonly<Record<AdapterName, Type>> = { express: OnExpress, fastify: OnFastify };

/** Answers of an app with these `headers`. The client's network has 14 requests in 70 seconds: one each 5. */
export async function sequence(adapter: AdapterName, headers: RateLimitOptions['headers']): Promise<Step[]> {
  const clock = new FakeClock();
  const steps: Step[] = [];
  const app = await startApp(adapter, {
    controllers: [CONTROLLERS[adapter]],
    enableCors: { origin: [ORIGIN], exposedHeaders: ['X-Total'] },
    rateLimit: {
      perIp: { limit: 14, per: '70s' },
      trustedProxies: ['127.0.0.1'],
      store: new MemoryStore({ clock }),
      headers,
    },
  });
  let client = '203.0.113.7';
  const call = async (title: string, path: string, { headers: more, ...sent }: Sent = {}): Promise<void> => {
    const answer = await send(app, path, { ...sent, headers: { 'x-forwarded-for': client, ...more } });
    steps.push({ title: `${sent.method ?? 'GET'} ${path}${title}`, answer });
  };
  for (const path of [
    'plain',
    'streamed',
    'sse',
    'raw',
    'redirect',
    'refused-by-the-app',
    'broken',
    'nope',
  ]) {
    await call('', `/${path}`);
  }
  await call(', a preflight', '/plain', PREFLIGHT);
  await call(' from another origin', '/plain', { headers: FROM_BROWSER });
  await call('', '/plain');
  await call(' from another origin', '/plain', { headers: FROM_BROWSER });
  await call(', two throttles', '/two');
  await call('', '/streamed');
  await call(', the last of this network', '/nope');
  for (const path of ['nope', 'raw', 'streamed']) await call('', `/${path}`);
  await call(' from another origin', '/plain', { headers: FROM_BROWSER });
  clock.advance('5s');
  await call(', 5 seconds later', '/redirect');
  await call('', '/redirect');
  client = '198.51.100.9';
  for (let calls = 0; calls < 3; calls++) await call(' by another client, two throttles', '/two');
  clock.advance('1m');
  await call(', a minute later', '/two');
  await call('', '/two');
  return steps;
}

/** The text of a golden file. */
export function transcript(steps: readonly Step[]): string {
  return steps
    .map(({ title, answer }) => {
      const lines = SHOWN.flatMap((name) => {
        const value = answer.headers[name];
        return value === undefined ? [] : [`${name}: ${String(value)}`];
      });
      return [title, String(answer.status), ...lines, ''].join('\n');
    })
    .join('\n');
}
