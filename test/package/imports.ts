// Which modules a source, compiled or declaration file names, read from its syntax.
import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import ts from 'typescript';

function parse(file: string): ts.SourceFile {
  return ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.ESNext, true);
}

/** Every module the file names: static, dynamic and type imports, re-exports, triple-slash types. */
export function allImports(file: string): string[] {
  const { importedFiles, typeReferenceDirectives } = ts.preProcessFile(
    readFileSync(file, 'utf8'),
    true,
    true,
  );
  return [...importedFiles, ...typeReferenceDirectives].map(({ fileName }) => fileName);
}

/** The modules that load together with the file: imports and re-exports, not `import()`. */
export function staticImports(file: string): string[] {
  return parse(file).statements.flatMap((statement) => {
    const named = ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement);
    const specifier = named ? statement.moduleSpecifier : undefined;
    return specifier !== undefined && ts.isStringLiteral(specifier) ? [specifier.text] : [];
  });
}

/** The names that the file exports, types included. It must list them by hand: `export *` throws. */
export function exportedNames(file: string): string[] {
  return parse(file)
    .statements.filter((statement) => ts.isExportDeclaration(statement))
    .flatMap(({ exportClause }) => {
      if (exportClause === undefined || !ts.isNamedExports(exportClause))
        throw new Error(`export * in ${file}`);
      return exportClause.elements.map(({ name }) => name.text);
    });
}

/** Whether the file waits at its top level, so that `require()` of it throws ERR_REQUIRE_ASYNC_MODULE. */
export function hasTopLevelAwait(file: string): boolean {
  const waits = (node: ts.Node): boolean => {
    if (ts.isFunctionLike(node) || ts.isPropertyDeclaration(node)) return false;
    if (ts.isAwaitExpression(node)) return true;
    if (ts.isForOfStatement(node) && node.awaitModifier !== undefined) return true;
    if (ts.isVariableDeclarationList(node) && node.getText().startsWith('await using')) return true;
    return ts.forEachChild(node, waits) ?? false;
  };
  return waits(parse(file));
}

/** The package a bare specifier belongs to (`@scope/name/deep.js` → `@scope/name`), null for files and Node's own. */
export function packageOf(specifier: string): string | null {
  if (specifier.startsWith('.') || isBuiltin(specifier) || specifier === 'node') return null;
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}
