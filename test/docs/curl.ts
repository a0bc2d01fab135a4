// Runs curl lines of the documentation as requests, on machines without curl too.

/** Where the app that the lines talk to really listens. */
export type Base = `http://127.0.0.1:${number}`;

/** The curl lines of a text, without what surrounds them. */
export function curlLines(text: string): string[] {
  return [...text.matchAll(/^ *(curl .+)$/gm)].map(([, line]) => line.trim());
}

/**
 * Sends what a line sends, to `base` instead of localhost; one answer per URL that its `[1-6]` stands for. Knows -i,
 * -X, -H and -d, and fails on anything else.
 */
export async function run(line: string, base: Base): Promise<Response[]> {
  const words = [...line.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain).slice(1);
  const headers = new Headers();
  let url: string | undefined;
  let method: string | undefined;
  let body: string | undefined;
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    if (word === '-i') continue;
    else if (word === '-X') method = words.shift();
    else if (word === '-d') body = words.shift();
    else if (word === '-H') headers.append(...pair(words.shift() ?? ''));
    else if (word.startsWith('-') || url !== undefined) throw new Error(`${word} is not understood: ${line}`);
    else url = word;
  }
  if (url === undefined) throw new Error(`no URL: ${line}`);
  // As curl itself says of what -d sends.
  if (body !== undefined && !headers.has('content-type')) {
    headers.set('content-type', 'application/x-www-form-urlencoded');
  }
  const answers: Response[] = [];
  for (const address of expand(url.replace(/^(http:\/\/)?localhost(:\d+)?/, base))) {
    answers.push(
      await fetch(address, { method: method ?? (body === undefined ? 'GET' : 'POST'), headers, body }),
    );
  }
  return answers;
}

function pair(header: string): [name: string, value: string] {
  const [, name = '', value = ''] = /^([^:]+): *(.*)$/.exec(header) ?? [];
  return [name, value];
}

/** curl's own globbing: `[1-3]` stands for three URLs. */
function expand(url: string): string[] {
  const range = /\[(\d+)-(\d+)\]/.exec(url);
  if (range === null) return [url];
  const [glob, first, last] = range;
  return Array.from({ length: Number(last) - Number(first) + 1 }, (_, index) =>
    url.replace(glob, String(Number(first) + index)),
  );
}
