// Runs npm from a script on every system: through the npm that runs this script, else the one on the PATH.
import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '../..');

/** Runs `npm …args` in a folder, shows what goes wrong, and returns what it printed. */
export function npm(args, folder) {
  const own = process.env.npm_execpath;
  const options = { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'], maxBuffer: 2 ** 26 };
  if (own?.endsWith('npm-cli.js')) return execFileSync(process.execPath, [own, ...args], options);
  return execFileSync('npm', args, { ...options, shell: process.platform === 'win32' });
}
