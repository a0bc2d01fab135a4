import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';

// The e2e tests run twice over the same lib/: on Nest 12 (installed here) and on Nest 11 (installed in its own
// folder). For the second run every package of that folder replaces the one installed here.
const nest11 = resolve(import.meta.dirname, 'test/nest11');
const manifest: { dependencies: Record<string, string> } = JSON.parse(
  readFileSync(resolve(nest11, 'package.json'), 'utf8'),
);
const replaced = Object.keys(manifest.dependencies).filter((name) => name !== 'nestjs-tollgate');

/** Where `.ci/run` wants the results as JSON, beside what is printed. */
const json = process.env.VITEST_JSON_FILE;

export default defineConfig({
  test: {
    testTimeout: 15_000,
    hookTimeout: 30_000,
    maxWorkers: '100%',
    // Files of one worker share what they import: loading Nest anew for each takes longer than most of their tests.
    isolate: false,
    setupFiles: ['test/tools/real-timers.ts'],
    reporters: json ? ['default', ['json', { outputFile: json }]] : ['default'],
    coverage: { provider: 'v8', include: ['lib/**/*.ts'], reporter: ['text', 'html', 'json-summary'] },
    projects: [
      {
        extends: true,
        test: {
          name: 'nest12',
          include: ['test/**/*.test.ts', 'sample/**/*.test.ts'],
          exclude: ['**/node_modules/**', '**/dist/**'],
          env: { NEST_MAJOR: '12' },
        },
      },
      {
        extends: true,
        resolve: {
          alias: replaced.map((name) => ({
            find: new RegExp(`^${name}(?=/|$)`),
            replacement: resolve(nest11, 'node_modules', name),
          })),
        },
        test: {
          name: 'nest11',
          include: ['test/{e2e,sources,nest/integrations,stores/redis/clients}/**/*.test.ts'],
          env: { NEST_MAJOR: '11' },
        },
      },
    ],
  },
});
