/** Why a job of a thread has no result, for its caller. */
import { HttpError, unavailable } from "../../http-error.ts"
import { JobError } from "../../threads/job-thread.ts"

/**
 * The refusal of a job that a thread did not finish; any other error as it is.
 * @param busy sentence when too many jobs wait
 * @param tooMuch sentence when this job took too long or too much memory: it says what to do instead
 */
export function refusalOfJob(error: unknown, busy: string, tooMuch: string): unknown {
  if (!(error instanceof JobError)) return error
  switch (error.problem) {
    case "busy":
      return unavailable(busy, "overloaded")
    case "late":
    case "large":
      return new HttpError("too_much_work", tooMuch)
    case "closed":
      return unavailable("The service is stopping. Try again.")
    case "failed":
      return error
  }
}
