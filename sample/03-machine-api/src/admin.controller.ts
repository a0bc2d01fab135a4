// Routes for admins. As a guard, the API's entry runs before the guard that needs to know who is calling.
import { Body, Controller, Get, Post, Put, UseGuards } from '@nestjs/common';
import { ApiGuard } from 'nestjs-tollgate';
import { AdminGuard } from './access/admin.guard.js';
import { ApiSwitch } from './access/api-switch.js';
import { Credentials } from './access/credentials.js';
import { Dictionary } from './dictionary.js';

@Controller('admin')
@UseGuards(ApiGuard, AdminGuard)
export class AdminController {
  constructor(
    private readonly api: ApiSwitch,
    private readonly credentials: Credentials,
    private readonly dictionary: Dictionary,
  ) {}

  @Get('suggestions')
  suggestions() {
    return this.dictionary.suggestions;
  }

  @Post('keys')
  issue() {
    return this.credentials.issue();
  }

  @Put('api')
  switch(@Body('on') on: unknown) {
    this.api.on = on === 'true' || on === true;
    return { on: this.api.on };
  }
}
