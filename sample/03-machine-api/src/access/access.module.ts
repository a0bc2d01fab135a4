// What the modules of the API share: one switch, one set of credentials.
import { Module } from '@nestjs/common';
import { ApiSwitch } from './api-switch.js';
import { Credentials } from './credentials.js';

const SHARED = [ApiSwitch, Credentials];

@Module({ providers: SHARED, exports: SHARED })
export class AccessModule {}
