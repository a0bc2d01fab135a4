// Every public name of the package, by hand.

// Module
export { RateLimitModule } from './nest/rate-limit.module.js';
export type {
  GuardType,
  Identify,
  LoginOptions,
  PerIpQuota,
  RateLimitAsyncOptions,
  RateLimitOptions,
  RateLimitOptionsFactory,
} from './nest/options.js';
export type { ApiLimitName, ApiLimitNumbers } from './policies/api-rates.js';
export type { FailureQuota, LoginLimitName, LoginQuotas } from './policies/login-rates.js';
export type { NamedQuota, Quota } from './nest/quota.js';
export type { Call, Transport } from './nest/call.js';
export { rateLimitConfig, type RateLimitConfig } from './nest/config/rate-limit.config.js';
export { RateLimitSettings, type LiveSettings } from './nest/config/settings.js';

// Decorators and guards
export { Throttle } from './nest/decorators/throttle.decorator.js';
export { SkipThrottle } from './nest/decorators/skip-throttle.decorator.js';
export { Cost } from './nest/decorators/cost.decorator.js';
export { PublicTool } from './nest/decorators/public-tool.decorator.js';
export { ThrottleLogin, ThrottleSecondFactor } from './nest/decorators/throttle-login.decorator.js';
export { CurrentActor } from './nest/decorators/current-actor.decorator.js';
export { ClientIp } from './nest/decorators/client-ip.decorator.js';
export { PerIpGuard } from './nest/http/per-ip.guard.js';
export { ThrottleGuard } from './nest/throttle/throttle.guard.js';

// The machine API
export { Authenticator, type Actor, type Authentication } from './nest/auth/authenticator.js';
export { ApiGuard } from './nest/auth/api.guard.js';
export { AuthInterceptor } from './nest/auth/auth.interceptor.js';
export { ChargeFailures } from './nest/auth/charge-failures.js';

// Functions
export { actorOf } from './nest/http/actor.js';
export { clientIpOf } from './nest/http/client-ip.js';
export type { FrameworkRequest } from './nest/http/request-state.js';
export { throttle } from './nest/http/throttle.middleware.js';

// Service
export { RateLimitService, type ServiceDecision } from './nest/service/rate-limit.service.js';
export {
  LoginThrottle,
  SecondFactorThrottle,
  type AttemptResult,
  type Verified,
} from './nest/login/attempt.throttle.js';
export { MailThrottle } from './nest/login/mail.throttle.js';
export { RateLimitHealth, type StoreHealth } from './nest/integrations/rate-limit-health.js';
export type { BucketRequest } from './nest/service/bucket-request.js';
export type { Receipt } from './limiter/receipt.js';
export type { Decision, HeaderLines, RefusalReason } from './algorithms/decision.js';

// Stores
export {
  RateLimitStore,
  type BucketName,
  type LeaseCall,
  type MaybePromise,
  type Refund,
} from './stores/store.js';
export { MemoryStore, type MemoryStoreOptions } from './stores/memory/memory.store.js';
export type { Clock } from './stores/clock.js';
export type { LeaseReply, LeaseRequest } from './algorithms/lease.js';
export type { Bucket, OnStoreError, Verdict } from './algorithms/verdict.js';
export type { Algorithm, Rate } from './algorithms/rate.js';

// Errors and events
export { RateLimitException } from './nest/http/rate-limit.exception.js';
export { StoreUnavailableException } from './nest/http/store-unavailable.exception.js';
export { TollgateError, type TollgateErrorCode } from './errors.js';
export { RateLimitEvents } from './events/event-stream.js';
export type { DecisionEvent, LimitKind, RateLimitEvent, RefusalEvent } from './events/event.js';
export { AuditSink, type AuditEntry } from './events/audit.js';
export type { HeaderFormat } from './responses/headers.js';
