// A CommonJS app of a user: prints its port, then answers until it is killed.
require('reflect-metadata');
const { Controller, Get, Module } = require('@nestjs/common');
const { NestFactory } = require('@nestjs/core');
const { RateLimitModule } = require('nestjs-tollgate');

class HelloController {
  hello() {
    return 'Hello';
  }
}
Get()(
  HelloController.prototype,
  'hello',
  Object.getOwnPropertyDescriptor(HelloController.prototype, 'hello'),
);
Controller()(HelloController);

class AppModule {}
Module({
  imports: [RateLimitModule.forRoot({ perIp: { limit: 2, per: '1m' } })],
  controllers: [HelloController],
})(AppModule);

async function main() {
  const app = await NestFactory.create(AppModule, { logger: ['error'] });
  await app.listen(0, '127.0.0.1');
  console.log(app.getHttpServer().address().port);
}
void main();
