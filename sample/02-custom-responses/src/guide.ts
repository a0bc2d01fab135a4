// What the sample prints at the start: lines to copy and paste, and where the audit trail is.

export function guide(url: string, auditFile: string): string {
  return `nestjs-tollgate custom responses on ${url} (Ctrl+C ends it)

Try
  curl -i ${url}/books
  curl -i "${url}/search/dune?[1-4]"
  curl -i "${url}/covers/dune?[1-4]"
  curl -i "${url}/books?[1-21]" -H "X-Forwarded-For: 203.0.113.7"

Refusals are logged here, and audited in
  ${auditFile}
`;
}
