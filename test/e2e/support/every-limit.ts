// One app with every kind of limit, for tests of what they have in common.

import {
  Body,
  Controller,
  Get,
  HttpCode,
  HttpException,
  Injectable,
  Post,
  UnauthorizedException,
  UseGuards,
} from '@nestjs/common';
import {
  ApiGuard,
  Authenticator,
  ClientIp,
  Cost,
  MailThrottle,
  PublicTool,
  RateLimitService,
  Throttle,
  ThrottleLogin,
  ThrottleSecondFactor,
  type Authentication,
  type RateLimitOptions,
} from '../../../lib/index.js';
import { startApp, type AdapterName, type AppSetup, type RunningApp } from './app.js';
import type { Sent } from './client.js';

/** An app that takes the secret itself for the id of a key. */
@Injectable()
class Keys extends Authenticator {
  async authenticate({ headers }: { headers: Record<string, string> }): Promise<Authentication> {
    const key = headers['x-api-key'];
    if (key === 'of-user') return { user: 'user-a' };
    return key.startsWith('wrong') ? 'invalid' : { key };
  }
}

@Controller('api')
@UseGuards(ApiGuard)
class Api {
  @Get()
  read(): void {}

  @Get('every')
  @Throttle('few')
  @Cost(2)
  every(): void {}

  @Get('costs-2')
  @Cost(2)
  two(): void {}

  @Get('costs-5')
  @Cost(5)
  five(): void {}

  @Get('costs-8')
  @Cost(8)
  eight(): void {}
}

@Controller()
class Routes {
  constructor(
    private readonly limits: RateLimitService,
    private readonly mails: MailThrottle,
  ) {}

  @Get('guests')
  @Throttle('few')
  guests(): void {}

  @Post('login')
  @HttpCode(200)
  @ThrottleLogin('email')
  login(): void {
    throw new UnauthorizedException();
  }

  @Post('auth/login')
  @ThrottleLogin('email')
  authLogin(): void {
    throw new UnauthorizedException();
  }

  @Post('auth/throttled')
  @Throttle('few')
  throttled(): void {}

  @Post('code')
  @ThrottleSecondFactor('email')
  code(): void {
    throw new UnauthorizedException();
  }

  @Post('rows')
  async rows(@ClientIp() ip: string | null): Promise<void> {
    if (!(await this.limits.checkNewRows(ip)).allowed) throw new HttpException('', 429);
  }

  @Post('tool')
  @PublicTool('session')
  tool(): void {}

  @Post('mail')
  async mail(@Body() { email }: { email: string }): Promise<void> {
    if (!(await this.mails.attempt(email, null, () => {}))) throw new HttpException('', 429);
  }
}

/**
 * Call it inside a test: it is closed when that ends. Without a limit per IP and with time enough to wait for a store on
 * any machine, unless the options say otherwise. Handlers of sign-ins and codes always fail.
 */
export function startEveryLimit(
  adapter: AdapterName,
  options: RateLimitOptions,
  setup: AppSetup = {},
): Promise<RunningApp> {
  return startApp(adapter, {
    controllers: [Routes, Api],
    providers: [{ provide: Authenticator, useClass: Keys }],
    ...setup,
    rateLimit: {
      perIp: null,
      trustedProxies: ['127.0.0.1'],
      policies: { few: { limit: 3, per: '24h' } },
      storeTimeout: 10_000,
      ...options,
    },
  });
}

/** Who signs in. */
export const EMAIL = 'user-a@x.example';
/** The client of requests that name none. */
export const NETWORK = '203.0.113.5';

/** A call with a JSON body. */
export function post(body: object, from = NETWORK): Sent {
  return {
    method: 'POST',
    headers: { 'x-forwarded-for': from, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  };
}

/** A call with an API key: any but those that begin with `wrong` is right. */
export function withKey(key: string, from = NETWORK): Sent {
  return { headers: { 'x-forwarded-for': from, 'x-api-key': key } };
}
