/** How long a session lasts, for the page that was just loaded and for the island that has just asked: each is a use of it. */
import type { SessionAnswer } from "@runseal/core/wire/session-requests"
import { SESSION_IDLE_SECONDS, SESSION_USE_NOTED_SECONDS } from "@runseal/core/wire/session-use"

type Ends = Required<Pick<SessionAnswer, "idle_ends_at" | "ends_at">>

/** Seconds until it ends without use, and however much it is used. They follow from the service's own times, but for the last half hour. */
export function secondsLeft(
  { idle_ends_at, ends_at }: Ends,
  nowMs: number,
): { readonly idle: number; readonly end: number } {
  const beyond = (Date.parse(ends_at) - Date.parse(idle_ends_at)) / 1000
  const last = Math.min(Math.max((Date.parse(ends_at) - nowMs) / 1000, 0), SESSION_IDLE_SECONDS)
  return {
    idle: SESSION_IDLE_SECONDS - SESSION_USE_NOTED_SECONDS,
    end: Math.floor(beyond > 0 ? beyond + SESSION_IDLE_SECONDS : last),
  }
}
