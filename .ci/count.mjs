// Counts what vitest's JSON report says: prints "<passed> <failed>". A test file that crashed before or beside its
// tests counts as one failure; skipped tests count as neither and are named on stderr.
import { readFileSync } from 'node:fs';

const report = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const tests = report.testResults.flatMap((file) => file.assertionResults);
const count = (status) => tests.filter((test) => test.status === status).length;
const crashed = report.testResults.filter(
  (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
);

for (const { name, message } of crashed) console.error(`crashed: ${name}: ${message}`);
const left = tests.filter(({ status }) => status !== 'passed' && status !== 'failed');
for (const { fullName, status } of left) console.error(`${status}: ${fullName}`);
console.log(count('passed'), count('failed') + crashed.length);
