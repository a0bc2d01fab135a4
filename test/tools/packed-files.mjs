// What `npm publish` would upload. Run by itself it fails when that holds more, or less, than users need.
import { fileURLToPath } from 'node:url';
import { npm, root } from './npm.mjs';

const wanted = /^(dist\/.+\.(js|d\.ts)|README\.md|LICENSE|CHANGELOG\.md|package\.json)$/;
const required = ['dist/index.js', 'dist/index.d.ts', 'README.md', 'LICENSE', 'CHANGELOG.md', 'package.json'];

/** The paths in the package, with forward slashes. */
export function packedFiles() {
  const [{ files }] = JSON.parse(npm(['pack', '--dry-run', '--json', '--ignore-scripts'], root));
  return files.map(({ path }) => path);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const files = packedFiles();
  const surplus = files.filter((path) => !wanted.test(path));
  const missing = required.filter((path) => !files.includes(path));
  console.log(`${files.length} files`);
  if (surplus.length > 0) console.error(`not for users: ${surplus.join(', ')}`);
  if (missing.length > 0) console.error(`missing: ${missing.join(', ')}`);
  process.exitCode = surplus.length + missing.length > 0 ? 1 : 0;
}
