// Routes with limits of different kinds: two that hold together, and one on trial.
import { Controller, Get, Param } from '@nestjs/common';
import { Throttle } from 'nestjs-tollgate';

const BOOKS = ['Dune', 'Emma', 'Middlemarch', 'Solaris', 'The Dispossessed'];

@Controller()
export class BooksController {
  /** Only the per-IP limit counts. */
  @Get('books')
  list() {
    return { books: BOOKS };
  }

  @Get('search/:word')
  @Throttle([
    { name: 'burst', limit: 3, per: '30s' },
    { name: 'hourly', limit: 100, per: '1h' },
  ])
  search(@Param('word') word: string) {
    return { found: BOOKS.filter((title) => title.toLowerCase().includes(word.toLowerCase())) };
  }

  /** On trial: the log and the audit trail say whom the limit would have refused, and nobody is. */
  @Get('covers/:title')
  @Throttle({ name: 'covers', limit: 2, per: '1m', dryRun: true })
  cover(@Param('title') title: string) {
    return { cover: `${title}.png` };
  }
}
