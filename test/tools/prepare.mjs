// Before the tests: builds the package, and installs the nested packages named as arguments from their lock
// files. Those that depend on nestjs-tollgate get what was just built, exactly as `npm publish` would pack it.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { npm, root } from './npm.mjs';
import { packedFiles } from './packed-files.mjs';

const read = (path) => (existsSync(path) ? readFileSync(path, 'utf8') : '');

/** Changes when an install could turn out differently: another lock file, manifest or Node. */
function fingerprint(folder) {
  const hash = createHash('sha256')
    .update(process.version)
    .update(read(join(root, 'package.json')));
  for (const name of ['package.json', 'package-lock.json', '.npmrc']) hash.update(read(join(folder, name)));
  return hash.digest('hex');
}

function install(folder) {
  const stamp = join(folder, 'node_modules/.tollgate-install');
  if (read(stamp) === fingerprint(folder)) return refresh(folder);
  console.log(`npm ci in ${folder}`);
  npm(['ci', '--no-audit', '--no-fund', '--loglevel=error'], folder);
  writeFileSync(stamp, fingerprint(folder));
}

let packed;

/** Replaces the installed copy of the package, if this folder has one, without asking npm again. */
function refresh(folder) {
  const { dependencies } = JSON.parse(read(join(folder, 'package.json')));
  if (dependencies['nestjs-tollgate'] === undefined) return;
  const copy = join(folder, 'node_modules/nestjs-tollgate');
  packed ??= packedFiles();
  rmSync(copy, { recursive: true, force: true });
  for (const path of packed) cpSync(join(root, path), join(copy, path));
}

execFileSync(process.execPath, [join(root, 'test/tools/nest.mjs'), 'build'], { cwd: root, stdio: 'inherit' });
for (const folder of process.argv.slice(2)) install(join(root, folder));
