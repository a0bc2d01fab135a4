// How the API finds out who is calling, and the two places where it is less strict.
import { Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { Authenticator, type Authentication } from 'nestjs-tollgate';
import { ApiSwitch } from './api-switch.js';
import { Credentials } from './credentials.js';

@Injectable()
export class ApiAuthenticator extends Authenticator {
  constructor(
    private readonly credentials: Credentials,
    private readonly api: ApiSwitch,
  ) {
    super();
  }

  override isEnabled(): boolean {
    return this.api.on;
  }

  override authenticate(request: Request, address: string | null): Authentication {
    const { authorization } = request.headers;
    if (authorization === undefined) return 'missing';
    const [, secret] = /^Bearer +(\S+)$/i.exec(authorization) ?? [];
    const credential = secret === undefined ? null : this.credentials.find(secret);
    if (credential === null) return 'invalid';
    const { principal, onlyFrom } = credential;
    if (onlyFrom !== null && onlyFrom !== address) return 'forbidden';
    return principal;
  }
}

/** Of public tools: who sends no credential is a guest, who sends one is asked for a right one. */
@Injectable()
export class GuestAuthenticator extends ApiAuthenticator {
  override authenticate(request: Request, address: string | null): Authentication {
    const said = super.authenticate(request, address);
    return said === 'missing' ? 'guest' : said;
  }
}

/** Of the admins, who switch the API on again. */
@Injectable()
export class AdminAuthenticator extends ApiAuthenticator {
  override isEnabled(): boolean {
    return true;
  }
}
