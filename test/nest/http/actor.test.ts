import { expect, it } from 'vitest';
import { actorOf } from '../../../lib/nest/http/actor.js';
import { makeLimits, rawRequestFrom } from './support.js';

it('the actor of a request is what was found, whichever framework’s request is asked; null before', () => {
  const raw = rawRequestFrom('203.0.113.5');
  expect(actorOf(raw)).toBeNull();
  const state = makeLimits().limits.capture(raw);
  expect(actorOf(raw)).toBeNull();
  const actor = { key: 'k1', plan: 'pro' };
  state.actor = actor;
  expect(actorOf(raw)).toBe(actor);
  expect(actorOf({ ...rawRequestFrom('203.0.113.5'), raw })).toBe(actor);
});
