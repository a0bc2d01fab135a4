// Starts the sample on PORT (3000) and says what to try.
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { guide } from './guide.js';

/** What is wrong with a port, by the code of the error that listening gave. */
const PORT_PROBLEMS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is taken',
  EACCES: 'needs more rights',
  ERR_SOCKET_BAD_PORT: 'is not a port',
};

const port = Number(process.env.PORT || 3000);
const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'], forceCloseConnections: true });
app.enableShutdownHooks(undefined, { useProcessExit: true });

try {
  await app.listen(port);
  console.log(guide(`http://localhost:${app.getHttpServer().address().port}`));
} catch (error) {
  const problem = error instanceof Error && 'code' in error ? PORT_PROBLEMS[String(error.code)] : undefined;
  if (problem === undefined) throw error;
  console.error(`Port ${process.env.PORT ?? port} ${problem}. Choose another: PORT=3001 npm start`);
  await app.close();
  process.exitCode = 1;
}
