// The documentation names exactly what the code has: options, variables, error codes, folders, links.
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { RateLimitModule } from '../../lib/index.js';
import {
  ENVIRONMENT,
  LIMITS_ENVIRONMENT,
  LOGIN_ENVIRONMENT,
  readEnvironment,
} from '../../lib/nest/config/rate-limit.config.js';
import { createAddressResolver } from '../../lib/network/client-address.js';
import { formatDuration } from '../../lib/algorithms/duration.js';
import { LOGIN_LIMITS } from '../../lib/policies/login-rates.js';
import { API_LIMITS } from '../../lib/policies/api-rates.js';
import { HEADER_FORMATS } from '../../lib/responses/headers.js';
import { blocksOf, documents, headingsOf, proseOf, root, rowsOf, sectionOf, textOf } from './markdown.js';

const program = ts.createProgram([join(root, 'dist/index.d.ts')], {
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  target: ts.ScriptTarget.ES2023,
  skipLibCheck: true,
});

/** The fields of an exported interface, those that it inherits included. */
function fieldsOf(name: string): string[] {
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(join(root, 'dist/index.d.ts'));
  const module = source && checker.getSymbolAtLocation(source);
  const found = checker.getExportsOfModule(module as ts.Symbol).find((symbol) => symbol.name === name);
  const type = checker.getDeclaredTypeOfSymbol(checker.getAliasedSymbol(found as ts.Symbol));
  return checker.getPropertiesOfType(type).map((property) => property.name);
}

const optionsPage = (heading: string) => rowsOf(sectionOf('docs/options.md', heading));
const names = (rows: string[][]) => rows.map(([name]) => name).toSorted();

describe('docs/options.md', () => {
  it.each([
    ['RateLimitOptions', 'Of the module'],
    ['Quota', 'Of a quota'],
    ['MemoryStoreOptions', 'Of the memory store'],
  ])('has every field of %s and no other', (type, heading) => {
    expect(names(optionsPage(heading))).toEqual(fieldsOf(type).toSorted());
  });

  it('has every field of the per-IP limit, every header format, and no other', () => {
    const typeOf = (name: string) =>
      optionsPage('Of the module').find(([option]) => option === name)?.[1] ?? '';
    const fields = /^\{ (.+) \}/.exec(typeOf('perIp'))?.[1].split(', ');
    expect(fields?.toSorted()).toEqual(fieldsOf('PerIpQuota').toSorted());
    const formats = [...typeOf('headers').matchAll(/'([\w-]+)'/g)].map(([, format]) => format);
    expect(formats).toEqual([...HEADER_FORMATS]);
  });

  it('has every environment variable with its option, and no other', () => {
    const documented = optionsPage('Environment variables');
    const pairs = documented.map(([variable, , option]) => [option, variable]);
    expect(Object.fromEntries(pairs)).toEqual(ENVIRONMENT);
    expect(pairs).toHaveLength(Object.keys(ENVIRONMENT).length);
  });

  it('has every limit of a machine API with its default, window and variable, and no other', () => {
    const rows = optionsPage('Limits of a machine API').map(([name, limit, per, , variable]) => [
      name,
      { byDefault: Number(limit), per, variable },
    ]);
    const expected = Object.entries(API_LIMITS).map(([name, limit]) => [
      name,
      { ...limit, variable: new Map(Object.entries(LIMITS_ENVIRONMENT)).get(name) },
    ]);
    expect(rows).toEqual(expected);
  });

  it('has every limit of sign-ins with its default and variable, and no other', () => {
    const rows = optionsPage('Limits of sign-ins').map(([name, quota, , variable]) => [
      name,
      quota,
      variable,
    ]);
    const expected = Object.entries(LOGIN_LIMITS).map(([name, { byDefault }]) => [
      name,
      byDefault === null ? 'off' : `${byDefault.limit}/${formatDuration(byDefault.window)}`,
      new Map(Object.entries(LOGIN_ENVIRONMENT)).get(name),
    ]);
    expect(rows).toEqual(expected);
  });

  it('has examples that the environment may hold', () => {
    const documented = optionsPage('Environment variables');
    const { limits: _, login: __, ...read } = readEnvironment(Object.fromEntries(documented));
    expect(read).toEqual({
      perIp: '600/1m',
      throttle: '100/1m',
      trustedProxies: ['127.0.0.1', '::1', '10.0.0.0/8'],
      trustProxy: true,
      clientIpHeader: 'cf-connecting-ip',
      ipv6Prefix: 56,
    });
  });
});

describe('README', () => {
  it('lists every option and no other', () => {
    const listed = rowsOf(sectionOf('README.md', 'Options')).flatMap(([cell]) => cell.split(', '));
    expect(listed.toSorted()).toEqual(fieldsOf('RateLimitOptions').toSorted());
  });
});

describe('docs/error-codes.md', () => {
  it('has a heading for every code and no other', () => {
    const declared = [...readFileSync(join(root, 'lib/errors.ts'), 'utf8').matchAll(/^ {2}\| '(\w+)'/gm)];
    expect(declared.length).toBeGreaterThan(0);
    const [, ...headings] = headingsOf('docs/error-codes.md');
    expect(headings.toSorted()).toEqual(declared.map(([, code]) => code).toSorted());
  });
});

describe('the error in docs/error-codes.md', () => {
  it('is what the boot says', async () => {
    const options = { perIp: { limit: 0, per: '1m' }, trustedProxies: ['proxy'] };
    class AppModule {}
    Module({ imports: [RateLimitModule.forRoot(options)] })(AppModule);
    const boot = NestFactory.create(AppModule, { logger: false, abortOnError: false }).then((app) =>
      app.init(),
    );
    const shown = blocksOf('docs/error-codes.md').find(({ language }) => language === 'text');
    await expect(boot.catch((error: unknown) => `${String(error)}\n`)).resolves.toBe(shown?.text);
  });
});

describe('docs/client-address.md', () => {
  const examples = rowsOf(sectionOf('docs/client-address.md', 'Who is the client'));
  const { resolve } = createAddressResolver({ trustedProxies: ['10.0.0.0/8'] });

  it.each(examples)('%s with %s | %s is %s', (peer, forwarded, real, client) => {
    const headers = {
      ...(forwarded === '' ? {} : { 'x-forwarded-for': forwarded }),
      ...(real === '' ? {} : { 'x-real-ip': real }),
    };
    expect(resolve(peer, headers).address).toBe(client);
  });

  it('has examples', () => {
    expect(examples.length).toBeGreaterThan(5);
  });
});

describe('CONTRIBUTING', () => {
  /** The folders of the tree, as paths. */
  function documented(): string[] {
    const { [1]: tree = '' } = /```text\n([\s\S]*?)```/.exec(textOf('CONTRIBUTING.md')) ?? [''];
    const parents: string[] = [];
    return tree.split('\n').flatMap((line) => {
      const { [1]: indent = '', [2]: name } = /^( *)([\w-]+)\//.exec(line) ?? [];
      if (name === undefined) return [];
      parents.splice(indent.length / 2, Infinity, name);
      return [parents.join('/')];
    });
  }

  /** The folders in a folder, as paths; with theirs where `deep`. */
  function existing(folder: string, deep: boolean): string[] {
    const entries = readdirSync(join(root, folder), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    return entries.flatMap(({ name }) => {
      const path = `${folder}/${name}`;
      return deep ? [path, ...existing(path, true)] : [path];
    });
  }

  it('has every folder of lib/ and no other', () => {
    const described = documented().filter((path) => path.startsWith('lib/'));
    expect(described.toSorted()).toEqual(existing('lib', true).toSorted());
  });

  it('has every folder of test/ that mirrors none of lib/, and no other', () => {
    const described = documented().filter((path) => path.startsWith('test/'));
    const own = existing('test', false).filter(
      (path) => !existsSync(join(root, path.replace(/^test/, 'lib'))),
    );
    expect(described.toSorted()).toEqual(own.toSorted());
  });
});

describe('links', () => {
  const links = documents.flatMap((file) =>
    [...proseOf(file).matchAll(/\]\(([^)\s]+)\)/g)]
      .filter(([, target]) => !/^https?:/.test(target))
      .map(([, target]) => ({ file, target })),
  );

  it.each(links)('$file leads to $target', ({ file, target }) => {
    const [path, anchor] = target.split('#');
    const linked = path === '' ? file : join(dirname(file), path).replaceAll('\\', '/');
    expect(existsSync(join(root, linked)), linked).toBe(true);
    if (anchor === undefined) return;
    const anchors = headingsOf(linked).map((heading) => heading.toLowerCase().replaceAll(' ', '-'));
    expect(anchors).toContain(anchor);
  });
});
