// What the sample prints at the start: the limits that are on, and lines to copy and paste.

export function guide(url: string): string {
  const kiosk = '-H "Authorization: Bearer kiosk-demo-key"';
  const office = '-H "Authorization: Bearer office-demo-key"';
  const ada = '-H "Authorization: Bearer ada-demo-session"';
  const ben = '-H "Authorization: Bearer ben-demo-session"';
  return `nestjs-tollgate machine API on ${url} (Ctrl+C ends it)

Limits, per minute of the clock
   10 units per key, and per user over all sessions
    6 units per client token of the public tools
   12 units per network of guests
    3 failed authentications per network; then 429, but for valid keys
    2 suggestions of guests per network and hour

Try, from top to bottom
  curl -i ${url}/words
  curl -i ${url}/words ${kiosk}
  curl -i "${url}/words/export?[1-3]" ${kiosk}
  curl -i "${url}/words?api_key=kiosk-demo-key"

  curl -i ${url}/words ${office}
  curl -i ${url}/words ${office} -H "X-Forwarded-For: 203.0.113.7"
  curl -i "${url}/words?[1-3]" -H "Authorization: Bearer guess"
  curl -i ${url}/words ${kiosk}

  curl -i "${url}/tools/check?client=me&text=the+snark+was+here&[1-2]"
  curl -i "${url}/tools/suggest?[1-3]" -d "client=you&word=bandersnatch"
  curl -i "${url}/tools/suggest?[1-3]" -d "word=bandersnatch" ${ada}

  curl -i ${url}/admin/suggestions ${ben}
  curl -i ${url}/admin/suggestions ${ada}
  curl -i -X POST ${url}/admin/keys ${ada}
  curl -i -X PUT ${url}/admin/api -d "on=false" ${ada}
  curl -i ${url}/words ${kiosk}
`;
}
