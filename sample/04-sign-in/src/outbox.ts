// Mails that wait to be sent. What a request does is over before that, so how long a mail takes tells nobody anything.
import { Injectable, type OnModuleDestroy } from '@nestjs/common';

interface Mail {
  readonly to: string;
  readonly subject: string;
}

@Injectable()
export class Outbox implements OnModuleDestroy {
  private readonly mails: Mail[] = [];
  private readonly timer = setInterval(() => this.send(), 100);

  queue(mail: Mail): void {
    this.mails.push(mail);
  }

  onModuleDestroy(): void {
    clearInterval(this.timer);
    this.send();
  }

  /** To the console, in this demo. */
  private send(): void {
    for (const { to, subject } of this.mails.splice(0)) console.log(`Mail to ${to}: ${subject}`);
  }
}
