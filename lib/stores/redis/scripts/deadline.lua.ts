// How every script begins: by the server's clock, and not at all after its deadline.

/**
 * ARGV[1]: until when the script may run, in microseconds of the server's clock; '0' only asks for the time.
 * ARGV[2]: the time to count by, in microseconds; '' for the server's own (only tests give another).
 *
 * A script that comes too late changes nothing and answers `{ server }` alone: from that the caller learns the clock.
 */
export const DEADLINE = `
local time = redis.call('TIME')
local server = time[1] * 1000000 + time[2]
if server > tonumber(ARGV[1]) then return { server } end
local now = tonumber(ARGV[2]) or server
`;
