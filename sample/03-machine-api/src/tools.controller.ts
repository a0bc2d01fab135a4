// Public tools. Guests pay from the budgets of their client token and of their network, keys and users from their own.
import { BadRequestException, Body, Controller, Get, Post, Query, UseInterceptors } from '@nestjs/common';
import type { Request } from 'express';
import { AuthInterceptor, ClientIp, Cost, CurrentActor, PublicTool, type Call } from 'nestjs-tollgate';
import type { Principal } from './access/credentials.js';
import { Dictionary } from './dictionary.js';

@Controller('tools')
@UseInterceptors(AuthInterceptor)
export class ToolsController {
  constructor(private readonly dictionary: Dictionary) {}

  /** A unit for each word, so a long text can't be had for the price of a short one. */
  @Get('check')
  @PublicTool('client')
  @Cost(({ request }: Call) => wordsOf((request as Request).query.text).length)
  check(@Query('text') text: unknown) {
    return { unknown: wordsOf(text).filter((word) => !this.dictionary.knows(word)) };
  }

  @Post('suggest')
  @PublicTool('client')
  @Cost(2)
  async suggest(
    @Body('word') word: unknown,
    @CurrentActor() actor: Principal | null,
    @ClientIp() ip: string | null,
  ) {
    if (typeof word !== 'string' || word === '') throw new BadRequestException('Suggest a word');
    await this.dictionary.suggest(word, actor, ip);
    return { thanks: word };
  }
}

/** The words of a text; of no text, one empty word. */
function wordsOf(text: unknown): string[] {
  return typeof text === 'string' ? text.trim().split(/\s+/) : [''];
}
