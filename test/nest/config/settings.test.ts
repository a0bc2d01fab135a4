import { describe, expect, it } from 'vitest';
import { ConfigSettings } from '../../../lib/nest/config/settings.js';

describe('the settings of @nestjs/config', () => {
  it('are the very object that ConfigService.set() changes', () => {
    const config: { perIp?: unknown } = {};
    const settings = new ConfigSettings(config);
    expect(settings.read().perIp).toBeUndefined();
    config.perIp = '5/1m';
    expect(settings.read().perIp).toBe('5/1m');
    expect(settings.read()).toBe(config);
  });
});
