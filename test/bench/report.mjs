// What a run found, as a table and as a verdict per row.

/** A row: the ratio (or difference) that was found, and what it must be. `bound` null: only for information. */
export function row(what, found, bound, { unit = '×', atLeast = false, note = '' } = {}) {
  const met = bound === null ? null : atLeast ? found.median >= bound : found.median <= bound;
  return { what, ...found, bound, unit, atLeast, met, note };
}

const COLUMNS = ['', 'median', 'min – max', 'must be', '', ''];

export function table(title, rows) {
  const cells = [COLUMNS, ...rows.map(cellsOf)];
  const widths = COLUMNS.map((_, column) => Math.max(...cells.map((line) => line[column].length)));
  const lines = cells.map((line) =>
    line.map((cell, i) => (i === 0 || i > 3 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  '),
  );
  return [`\n${title}`, ...lines.map((line) => `  ${line.trimEnd()}`)].join('\n');
}

function cellsOf({ what, median, min, max, bound, unit, atLeast, met, note }) {
  const must = bound === null ? '' : `${atLeast ? '≥' : '≤'} ${number(bound)} ${unit}`;
  const verdict = met === null ? '' : met ? 'PASS' : 'miss';
  return [what, `${number(median)} ${unit}`, `${number(min)} – ${number(max)}`, must, verdict, note];
}

function number(value) {
  if (Math.abs(value) >= 100) return value.toFixed(0);
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}
