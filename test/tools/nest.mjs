// The Nest CLI, for every Node this package supports: before 20.19.6 and 22.16 the CLI ends with
// ERR_REQUIRE_CYCLE_MODULE unless this dependency of it is loaded first.
import 'ora';

await import('../../node_modules/@nestjs/cli/bin/nest.js');
