// Routes for keys and users. Each has a budget of units per minute, which its calls share.
import { Controller, Get, UseInterceptors } from '@nestjs/common';
import { AuthInterceptor, Cost, CurrentActor } from 'nestjs-tollgate';
import type { Principal } from './access/credentials.js';
import { Dictionary } from './dictionary.js';

@Controller('words')
@UseInterceptors(AuthInterceptor)
export class WordsController {
  constructor(private readonly dictionary: Dictionary) {}

  /** Without `@Cost()` a call costs 1. */
  @Get()
  count(@CurrentActor() actor: Principal) {
    return { words: this.dictionary.words.length, you: actor };
  }

  @Get('export')
  @Cost(4)
  export() {
    return this.dictionary.words;
  }
}
