// An ES module app of a user: prints its port, then answers until it is killed.
import 'reflect-metadata';
import { Controller, Get, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { RateLimitModule } from 'nestjs-tollgate';

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

const app = await NestFactory.create(AppModule, { logger: ['error'] });
await app.listen(0, '127.0.0.1');
console.log(app.getHttpServer().address().port);
