// Routes for admins. Who tries without the role gets 403, and after five tries 429.
import { Controller, Get } from '@nestjs/common';
import { Throttle } from 'nestjs-tollgate';
import { Roles } from './auth/roles.guard.js';
import { listUsers, type User } from './auth/users.js';

@Controller('admin')
@Roles(['admin'])
export class AdminController {
  @Get('users')
  @Throttle({ limit: 5, per: '1m' })
  users(): readonly User[] {
    return listUsers();
  }
}
