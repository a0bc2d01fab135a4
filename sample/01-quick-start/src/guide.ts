// What the sample prints at the start: the limits that are on, and lines to copy and paste.

export function guide(url: string): string {
  return `nestjs-tollgate quick start on ${url} (Ctrl+C ends it)

Limits
  600 in 1m  every request, per client network
    5 in 10s GET  /search/:word, per user, guests per network
   10 in 1m  GET  /reports, per user
    3 in 1m  POST /reports, per user
    5 in 1m  GET  /admin/users, per user, calls without the role included

Try
  curl -i ${url}/
  curl -i ${url}/search/dune
  curl -i "${url}/search/dune?[1-6]"
  curl -i ${url}/search/dune -H "X-Forwarded-For: 203.0.113.7"
  curl -i ${url}/search/dune -H "Authorization: Bearer cleo-demo-token"
  curl -i ${url}/reports
  curl -i ${url}/reports -H "Authorization: Bearer ben-demo-token"
  curl -i -X POST ${url}/reports -H "Authorization: Bearer ben-demo-token"
  curl -i ${url}/admin/users -H "Authorization: Bearer ben-demo-token"
  curl -i ${url}/admin/users -H "Authorization: Bearer ada-demo-token"
`;
}
