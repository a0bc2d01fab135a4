import { describe, expect, it } from 'vitest';
import type { RateLimitEvent } from '../../lib/events/event.js';
import { RateLimitEvents } from '../../lib/events/event-stream.js';

describe('the stream of events', () => {
  it('reaches every subscriber in order, and only with what happens after it subscribed', () => {
    const events = new RateLimitEvents();
    const early: RateLimitEvent[] = [];
    const late: RateLimitEvent[] = [];
    events.all$.subscribe((event) => early.push(event));
    events.emit({ type: 'unknown-address' });
    events.all$.subscribe((event) => late.push(event));
    events.emit({ type: 'overflow', namespace: 'network:per-ip', maxKeys: 10 });
    expect(early.map(({ type }) => type)).toEqual(['unknown-address', 'overflow']);
    expect(late.map(({ type }) => type)).toEqual(['overflow']);
  });

  it('completes when it is closed, and closing twice is fine', () => {
    const events = new RateLimitEvents();
    let completed = 0;
    events.all$.subscribe({ complete: () => completed++ });
    events.close();
    events.close();
    events.emit({ type: 'unknown-address' });
    expect(completed).toBe(1);
  });

  it('the log is told of every event, before any subscriber', () => {
    const order: string[] = [];
    const events = new RateLimitEvents(({ type }) => order.push(`log ${type}`));
    events.emit({ type: 'unknown-address' });
    events.all$.subscribe(({ type }) => order.push(`subscriber ${type}`));
    events.emit({ type: 'overflow', namespace: 'network:per-ip', maxKeys: 10 });
    expect(order).toEqual(['log unknown-address', 'log overflow', 'subscriber overflow']);
  });

  it('is observed while somebody subscribes: the log alone doesn’t count', () => {
    const events = new RateLimitEvents(() => {});
    expect(events.observed).toBe(false);
    const [one, two] = [events.all$.subscribe(), events.all$.subscribe()];
    one.unsubscribe();
    expect(events.observed).toBe(true);
    two.unsubscribe();
    expect(events.observed).toBe(false);
  });
});
