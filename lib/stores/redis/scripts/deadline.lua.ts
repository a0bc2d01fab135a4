// How every script begins: by the server's clock, not at all after its deadline, and saying which call it answers.

/**
 * ARGV[1]: until when the script may run, in microseconds of the server's clock; '0' only asks for the time.
 * ARGV[2]: the time to count by, in microseconds; '' for the server's own (only tests give another).
 * The last of ARGV: the number of the call, the second that it answers. A connection that lost an answer on its way would
 * give each call that of another.
 *
 * A script that comes too late changes nothing and answers `{ server, call }` alone: from that the caller learns the clock.
 */
export const DEADLINE = `
local time = redis.call('TIME')
local server = time[1] * 1000000 + time[2]
local callNumber = tonumber(ARGV[#ARGV])
if server > tonumber(ARGV[1]) then return { server, callNumber } end
local now = tonumber(ARGV[2]) or server
`;
