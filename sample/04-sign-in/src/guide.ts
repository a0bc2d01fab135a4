// What the sample prints at the start: the limits that are on, and lines to copy and paste.

export function guide(url: string): string {
  return `nestjs-tollgate sign-in on ${url} (Ctrl+C ends it)

Limits, per minute of the clock
   3 failed sign-ins per e-mail address and network, 10 per network
   3 wrong codes per account, recovery codes among them
   1 mail per address
   3 wrong session tokens per network; then 429, but for those who are signed in

Try, from top to bottom
  curl -i "${url}/sign-in?[1-4]" -d "email=ada@example.org&password=guess"
  curl -i "${url}/sign-in?[1-4]" -d "email=nobody@example.org&password=guess"
  curl -i ${url}/sign-in -d "email=ben@example.org&password=lightning-rod"
  curl -i "${url}/sign-in/reset?[1-3]" -d "email=ben@example.org"
  curl -i "${url}/sign-in/reset?[1-3]" -d "email=nobody@example.org"
  curl -i "${url}/me?[1-4]" -H "Authorization: Bearer guess"

With the session of the third line
  curl -i ${url}/me -H "Authorization: Bearer SESSION"
  curl -i -X PUT "${url}/me/password?[1-4]" -d "current=guess&next=kite-and-key" -H "Authorization: Bearer SESSION"

A minute later, with the challenge that the first line answers
  curl -i ${url}/sign-in -d "email=ada@example.org&password=analytical-engine"
  curl -i "${url}/sign-in/code?[1-4]" -d "code=000000&challenge=CHALLENGE"
  curl -i ${url}/sign-in/recovery-code -d "code=brass-cog-1843&challenge=CHALLENGE"
`;
}
