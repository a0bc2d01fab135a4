// Opens a try before its handler runs, and settles it by what the handler does. By the outcome, never by the connection.

import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { catchError, concat, concatMap, defer, ignoreElements, of, type Observable } from 'rxjs';
import { AttemptEntry } from './attempt-entry.js';

@Injectable()
export class AttemptInterceptor implements NestInterceptor {
  constructor(private readonly entry: AttemptEntry) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    await this.entry.open(context);
    const settle = () => defer(() => this.entry.settle(context)).pipe(ignoreElements());
    return next.handle().pipe(
      catchError((error: unknown) => this.entry.refuse(context, error)),
      // Before the value goes on, as an interceptor around may look no further; and where there is none.
      concatMap((value: unknown) => concat(settle(), of(value))),
      (values) => concat(values, settle()),
    );
  }
}
