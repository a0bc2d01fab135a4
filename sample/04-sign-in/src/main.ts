// Starts the sample on PORT (3000) and says what to try.
import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { guide } from './guide.js';

const app = await NestFactory.create(AppModule, { logger: ['warn', 'error'] });
app.enableShutdownHooks(undefined, { useProcessExit: true });
await app.listen(Number(process.env.PORT || 3000));
console.log(guide(`http://localhost:${app.getHttpServer().address().port}`));
