// Where redis-server and valkey-server are: on the PATH, else unpacked beside the tests, without root.
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { delimiter, join, resolve } from 'node:path';

export type Program = 'redis-server' | 'valkey-server';

/** How to start a program, with what it needs to find its libraries. */
export interface Runnable {
  readonly path: string;
  readonly env: NodeJS.ProcessEnv;
}

const cache = resolve(import.meta.dirname, '../../../node_modules/.cache/servers');

const PACKAGES: Record<Program, { suite: string; names: string[] }> = {
  'redis-server': {
    suite: '',
    names: ['redis-server', 'redis-tools', 'liblzf1', 'libjemalloc2', 'libatomic1'],
  },
  'valkey-server': {
    suite: '-backports',
    names: ['valkey-server', 'valkey-tools', 'liblzf1', 'libjemalloc2', 'libatomic1'],
  },
};

const HOW: Record<Program, string> = {
  'redis-server': 'apt-get install redis-server, dnf install redis or brew install redis',
  'valkey-server':
    'apt-get install valkey-server (Debian 12: from bookworm-backports), dnf install valkey or brew install valkey',
};

/** @throws Error that names the commands to run when there is none and none can be had. */
export function findProgram(program: Program): Runnable {
  const installed = (process.env.PATH ?? '')
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find((path) => existsSync(path));
  if (installed !== undefined) return { path: installed, env: process.env };
  const folder = join(cache, program);
  try {
    if (!existsSync(folder)) unpack(program, folder);
  } catch (cause) {
    throw new Error(`These tests need ${program}: run ${HOW[program]}`, { cause });
  }
  const libraries = readdirSync(join(folder, 'usr/lib')).map((name) => join(folder, 'usr/lib', name));
  return {
    path: join(folder, 'usr/bin', program),
    env: { ...process.env, LD_LIBRARY_PATH: libraries.join(delimiter) },
  };
}

/** Downloads the distribution's packages with package lists of our own and unpacks them. Installs nothing. */
function unpack(program: Program, folder: string): void {
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'unpack-'));
  const run = (command: string, ...args: string[]): void => {
    execFileSync(command, args, { cwd: work, stdio: 'pipe', timeout: 60_000 });
  };
  try {
    const { suite, names } = PACKAGES[program];
    for (const name of ['lists/partial', 'archives/partial', 'tree'])
      mkdirSync(join(work, name), { recursive: true });
    writeFileSync(join(work, 'sources.list'), sources(suite));
    const options = [
      `Dir::Etc::sourcelist=${work}/sources.list`,
      'Dir::Etc::sourceparts=-',
      `Dir::State::lists=${work}/lists`,
      `Dir::Cache=${work}`,
      'APT::Sandbox::User=',
    ].flatMap((option) => ['-o', option]);
    run('apt-get', ...options, 'update');
    run(
      'apt-get',
      ...options,
      ...(suite === '' ? [] : ['-t', `${codename()}${suite}`]),
      'download',
      ...names,
    );
    for (const file of readdirSync(work)) if (file.endsWith('.deb')) run('dpkg', '-x', file, 'tree');
    // At once: another test file may be unpacking the same.
    if (!existsSync(folder)) renameSync(join(work, 'tree'), folder);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

function sources(suite: string): string {
  const ubuntu = release('ID') === 'ubuntu';
  const source = ubuntu ? 'http://archive.ubuntu.com/ubuntu' : 'http://deb.debian.org/debian';
  const components = ubuntu ? 'main universe' : 'main';
  const suites = suite === '' ? [''] : ['', suite];
  return suites.map((each) => `deb ${source} ${codename()}${each} ${components}\n`).join('');
}

function codename(): string {
  return release('VERSION_CODENAME');
}

function release(name: string): string {
  const line = new RegExp(`^${name}="?([^"\\n]+)`, 'm').exec(readFileSync('/etc/os-release', 'utf8'));
  if (line === null) throw new Error(`/etc/os-release has no ${name}`);
  return line[1];
}
