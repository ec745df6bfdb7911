/** In sync mode answers wait for the outside log: while that takes no entries, no run could be answered. */
import type { Readiness } from "../sealing/readiness.ts"
import type { Outbox } from "./outbox.ts"

/** The readiness that also asks for the outside log. Never rejects. */
export const readyWith =
  (readiness: () => Promise<Readiness>, { log, standing }: Outbox): (() => Promise<Readiness>) =>
  async () => {
    const found = await readiness()
    if (!found.ready || log.mode === "async") return found
    const outside = await standing().catch(() => undefined)
    if (outside !== undefined && outside.fault === undefined) return found
    const reason = "The outside log takes no entries now, and answers wait for it."
    return { ready: false, reason, checked_at: found.checked_at }
  }
