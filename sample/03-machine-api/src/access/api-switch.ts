// Whether the API is on. Off, each of its routes answers as if it weren't there.
import { Injectable } from '@nestjs/common';

@Injectable()
export class ApiSwitch {
  on = true;
}
