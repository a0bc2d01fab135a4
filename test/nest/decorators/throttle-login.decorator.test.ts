import { describe, expect, it } from 'vitest';
import { ThrottleLogin, ThrottleSecondFactor } from '../../../lib/index.js';
import { ATTEMPT_KEY, isAttemptPlan } from '../../../lib/nest/decorators/throttle-login.decorator.js';
import { AttemptInterceptor } from '../../../lib/nest/login/attempt.interceptor.js';

class Routes {
  @ThrottleLogin('email')
  login(): void {}

  @ThrottleSecondFactor(() => 7)
  code(): void {}

  plain(): void {}
}

const handlerOf = (name: string): object => Object.getOwnPropertyDescriptor(Routes.prototype, name)?.value;
const planOf = (name: string): unknown => Reflect.getMetadata(ATTEMPT_KEY, handlerOf(name));

const refused = (message: string) =>
  expect.objectContaining({
    code: 'TOLLGATE_BAD_CONFIGURATION',
    message: expect.stringContaining(message),
  });

describe('@ThrottleLogin() and @ThrottleSecondFactor()', () => {
  it('say what is guessed at and where the account is named, and bring their interceptor', () => {
    expect(planOf('login')).toEqual({ kind: 'login', source: 'email' });
    expect(planOf('code')).toEqual({ kind: 'second-factor', source: expect.any(Function) });
    expect([planOf('login'), planOf('code'), planOf('plain')].map(isAttemptPlan)).toEqual([
      true,
      true,
      false,
    ]);
    for (const name of ['login', 'code']) {
      expect(Reflect.getMetadata('__interceptors__', handlerOf(name))).toEqual([AttemptInterceptor]);
    }
  });

  it.each([undefined, null, '', 5, {}, ['email']])('throw at decoration when given %j', (source) => {
    const decorate = (decorator: typeof ThrottleLogin) => () => {
      class Wrong {
        @decorator(source as never)
        login(): void {}
      }
      return Wrong;
    };
    expect(decorate(ThrottleLogin)).toThrow(refused('@ThrottleLogin() on Wrong.login:\n  - it is given'));
    expect(decorate(ThrottleSecondFactor)).toThrow(
      refused('@ThrottleSecondFactor() on Wrong.login:\n  - it is given'),
    );
  });

  it('throw when one handler is decorated twice, with either', () => {
    expect(() => {
      class Twice {
        @ThrottleLogin('email')
        @ThrottleSecondFactor('account')
        login(): void {}
      }
      return Twice;
    }).toThrow(refused('@ThrottleLogin() on Twice.login:\n  - it is decorated twice'));
  });
});
