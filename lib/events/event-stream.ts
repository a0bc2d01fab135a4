// The one stream of events: the log, the audit and an app's own metrics read it.

import { Subject, type Observable } from 'rxjs';
import type { RateLimitEvent, Report } from './event.js';

export class RateLimitEvents {
  private readonly subject = new Subject<RateLimitEvent>();

  /** Hot: a subscriber sees what happens from then on. What it throws reaches the process, never a request. */
  readonly all$: Observable<RateLimitEvent> = this.subject.asObservable();

  /** `log` is told of every event first. */
  constructor(private readonly log: Report = () => {}) {}

  /** Whether anybody subscribed: decisions that refuse nothing are only emitted then. */
  get observed(): boolean {
    return this.subject.observed;
  }

  emit(event: RateLimitEvent): void {
    this.log(event);
    this.subject.next(event);
  }

  close(): void {
    this.subject.complete();
  }
}
