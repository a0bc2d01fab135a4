// The TypeScript of the documentation: compiled as a user's own file would be, and run where it says so.
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { join } from 'node:path';
import ts from 'typescript';
import { root, type Block } from './markdown.js';

/** Problems of a block, as `file:line: message`. */
export type Problems = Map<Block, string[]>;

/** Type-checks all blocks at once, each as a file of its own that imports the built package by its name. */
export function typeCheck(blocks: readonly Block[]): Problems {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
  const files = new Map(
    blocks.map((block) => [join(root, `${block.file}.${block.line}.ts`).replaceAll('\\', '/'), block]),
  );
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = (path) => files.has(path) || fileExists(path);
  host.readFile = (path) => files.get(path)?.text ?? readFile(path);
  host.getSourceFile = (path, version, ...rest) => {
    const block = files.get(path);
    // Which module system a file has is part of how it is parsed.
    if (block !== undefined) return ts.createSourceFile(path, block.text, version);
    return getSourceFile(path, version, ...rest);
  };
  const program = ts.createProgram([...files.keys()], options, host);
  const problems: Problems = new Map();
  for (const [path, block] of files) {
    const found = ts.getPreEmitDiagnostics(program, program.getSourceFile(path));
    const messages = found.map(({ start, messageText }) => {
      const line = block.line + block.text.slice(0, start).split('\n').length - 1;
      return `${block.file}:${line}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`;
    });
    problems.set(block, messages);
  }
  return problems;
}

/** Runs a block as a module that lies in the root of the repository. */
export function launch(block: Block, env: NodeJS.ProcessEnv = {}): ChildProcessWithoutNullStreams {
  const { outputText } = ts.transpileModule(block.text, {
    compilerOptions: {
      module: ts.ModuleKind.ESNext,
      target: ts.ScriptTarget.ES2023,
      experimentalDecorators: true,
      emitDecoratorMetadata: true,
    },
  });
  const child = spawn(process.execPath, ['--input-type=module', '-'], {
    cwd: root,
    env: { ...process.env, NO_COLOR: '1', NODE_TEST_CONTEXT: undefined, ...env },
  });
  child.stdin.end(outputText);
  return child;
}
