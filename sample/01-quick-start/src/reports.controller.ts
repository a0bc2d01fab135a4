// Routes for users. The controller's throttle holds for each route by itself; a route's own replaces it.
import { Controller, Get, Post } from '@nestjs/common';
import { Throttle } from 'nestjs-tollgate';
import { CurrentUser } from './auth/current-user.decorator.js';
import { Roles } from './auth/roles.guard.js';
import type { User } from './auth/users.js';

@Controller('reports')
@Roles(['user'])
@Throttle({ limit: 10, per: '1m' })
export class ReportsController {
  private readonly reports = new Map<string, number>();

  @Get()
  count(@CurrentUser() user: User) {
    return { user: user.id, reports: this.reports.get(user.id) ?? 0 };
  }

  /** Making a report is dear, so there are fewer of them. */
  @Post()
  @Throttle({ limit: 3, per: '1m' })
  create(@CurrentUser() user: User) {
    this.reports.set(user.id, (this.reports.get(user.id) ?? 0) + 1);
    return this.count(user);
  }
}
