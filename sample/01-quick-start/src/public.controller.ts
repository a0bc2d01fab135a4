// Routes for everybody. Guests are told apart by network, users by who they are.
import { Controller, Get, Param } from '@nestjs/common';
import { ClientIp, Throttle } from 'nestjs-tollgate';

const BOOKS = ['Dune', 'Emma', 'Middlemarch', 'Solaris', 'The Dispossessed'];

@Controller()
export class PublicController {
  /** Without a throttle of its own: only the per-IP limit of the whole app counts. */
  @Get()
  home(@ClientIp() ip: string | null) {
    return { books: BOOKS.length, yourAddress: ip };
  }

  @Get('search/:word')
  @Throttle({ limit: 5, per: '10s' })
  search(@Param('word') word: string) {
    return { found: BOOKS.filter((title) => title.toLowerCase().includes(word.toLowerCase())) };
  }
}
