// Refusals as problem details (RFC 9457), of the problem type that draft-ietf-httpapi-ratelimit-headers-11 defines.
import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { RateLimitException, type Decision } from 'nestjs-tollgate';

const QUOTA_EXCEEDED = 'https://iana.org/assignments/http-problem-types#quota-exceeded';

/** Answers through the adapter, so it serves Express and Fastify. The headers are on the response already. */
@Catch(RateLimitException)
export class ProblemFilter implements ExceptionFilter<RateLimitException> {
  constructor(private readonly host: HttpAdapterHost) {}

  catch({ decision }: RateLimitException, host: ArgumentsHost): void {
    const { httpAdapter } = this.host;
    const http = host.switchToHttp();
    const response: unknown = http.getResponse();
    const [path] = String(httpAdapter.getRequestUrl(http.getRequest())).split('?');
    const problem = {
      type: QUOTA_EXCEEDED,
      title: 'Request cannot be satisfied as assigned quota has been exceeded',
      status: 429,
      detail: detailOf(decision),
      instance: path,
      'violated-policies': [decision.policy],
    };
    httpAdapter.setHeader(response, 'content-type', 'application/problem+json');
    httpAdapter.reply(response, problem, problem.status);
  }
}

function detailOf({ policy, limit, cost, retryAfter }: Decision): string {
  if (retryAfter === null)
    return `The call costs ${cost}, and '${policy}' never lets more than ${limit} through.`;
  return `'${policy}' is used up. Try again in ${retryAfter} ${retryAfter === 1 ? 'second' : 'seconds'}.`;
}
