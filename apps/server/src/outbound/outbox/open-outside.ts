/** Everything that follows from outside logs: the one that this process delivers to, and those that were named before. */
import type { TimestampAuthority } from "@runseal/log/timestamps/timestamp-authority"
import type { LogKey } from "@runseal/log/trust/trusted-keys"
import { MAX_TIMESTAMP_AUTHORITIES } from "@runseal/log/trust/trusted-root"
import type { Deps } from "../../deps.ts"
import { StartupError } from "../../options/startup-error.ts"
import type { Database } from "../../store/driver/database.ts"
import { listAuthorities, listOutsideLogs, type OutsideLogRow } from "../../store/tables/outside-log-table.ts"
import type { Readiness } from "../../telemetry.ts"
import { showWitnessed } from "../witnessing/show-witnessed.ts"
import { type Outbox, type OutboxContext, openOutbox } from "./outbox.ts"
import { authorityOf, authorityRow, type OutsideLog, outsideKey } from "./outside-log.ts"
import { showNothing, showOutside } from "./show-outside.ts"

type Outside = {
  /**
   * For the trust document: the keys of logs that hold entries and of the current log; the authorities that stamped entries and the
   * current one.
   */
  readonly listed: { readonly keys: readonly LogKey[]; readonly authorities: readonly TimestampAuthority[] }
  /** What is added to a record when it is read, and the log that this process delivers to. */
  readonly shown: Pick<Deps, "outside" | "showOutside" | "showWitnessed">
  /** The embedded log has grown. */
  readonly wake: () => void
  /** Wraps a readiness check: in sync mode the outside log must take entries too. */
  readonly ready: (readiness: () => Promise<Readiness>) => () => Promise<Readiness>
  readonly close: () => Promise<void>
}

/** Whether a log holds an entry of ours. One that holds none may have been configured with a wrong key, and is not listed. */
const holdsEntries = ({ first_index, next_index }: OutsideLogRow): boolean => next_index > first_index

/** Starts the delivery, when there is a log to deliver to. @throws StoreError, StartupError */
export async function openOutside(
  context: Omit<OutboxContext, "log"> & { readonly log: OutsideLog | undefined },
): Promise<Outside> {
  const { db, log } = context
  const outbox = log && (await openOutbox({ ...context, log }))
  const logs = await listOutsideLogs(db)
  return {
    listed: {
      keys: logs.filter(row => holdsEntries(row) || row.log_id === log?.key.logId).map(outsideKey),
      authorities: await authoritiesOf(db, log),
    },
    shown: {
      showOutside: logs.length === 0 ? showNothing : showOutside(db),
      showWitnessed: showWitnessed(db),
      ...(outbox === undefined ? {} : { outside: outbox }),
    },
    wake: outbox?.wake ?? (() => undefined),
    ready: readiness => (outbox === undefined ? readiness : readyWith(readiness, outbox)),
    close: outbox?.close ?? (async () => undefined),
  }
}

async function authoritiesOf(db: Database, log: OutsideLog | undefined): Promise<readonly TimestampAuthority[]> {
  const rows = await listAuthorities(db)
  const now = log?.timestamps && authorityRow(log.timestamps.authority)
  const before = rows.filter(({ chain_id }) => chain_id !== now?.chain_id)
  if (now !== undefined && before.length >= MAX_TIMESTAMP_AUTHORITIES)
    throw new StartupError(`--tsa-chain: a deployment has ${MAX_TIMESTAMP_AUTHORITIES} timestamp authorities at most.`)
  return [...before, ...(now === undefined ? [] : [now])].map(authorityOf)
}

/**
 * In sync mode answers wait for the outside log. While it takes no entries no run can be answered, so the service is not ready. Never
 * rejects.
 */
const readyWith =
  (readiness: () => Promise<Readiness>, { log, standing }: Outbox): (() => Promise<Readiness>) =>
  async () => {
    const found = await readiness()
    if (!found.ready || log.mode === "async") return found
    const outside = await standing().catch(() => undefined)
    if (outside !== undefined && outside.fault === undefined) return found
    const reason = "The outside log takes no entries now, and answers wait for it."
    return { ready: false, reason, checked_at: found.checked_at }
  }
