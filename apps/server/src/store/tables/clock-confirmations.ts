/** What operators confirmed of the clock: admin events `clock.confirm`, and which of them the log goes on by. docs/formats.md section 7.10. */
import { parseStrictJson } from "@runseal/canonical"
import { clockSchema } from "@runseal/core/vocabulary/scalars"
import * as v from "valibot"
import type { Source, Tx } from "../driver/session.ts"
import { StoreError } from "../driver/store-errors.ts"
import { OPERATOR_COMMAND, recordAdminEvent } from "./admin-events.ts"

/** Times are milliseconds since the epoch. */
export type ClockConfirmation = {
  /** Ordinal of the event. */
  readonly ordinal: number
  /** What the machine's clock showed, which the operator calls right. */
  readonly machine: number
  /** From which time the log goes on: its last time, or the machine's where that is later. */
  readonly log: number
  /** Entries that the log had. */
  readonly logSize: number
}

const time = v.pipe(clockSchema, v.transform(Date.parse))
const confirmedSchema = v.object({ machine_clock: time, log_clock: time, log_size: v.number() })

/** Records a confirmation, in the transaction that holds the log's head. */
export const recordConfirmation = (
  tx: Tx,
  origin: string,
  { machine, log, logSize, logTime }: Omit<ClockConfirmation, "ordinal"> & { readonly logTime: number },
): Promise<void> =>
  recordAdminEvent(tx, {
    at: machine,
    who: OPERATOR_COMMAND,
    action: "clock.confirm",
    subject: { kind: "log", id: origin },
    before: { log_clock: new Date(logTime).toISOString() },
    after: {
      machine_clock: new Date(machine).toISOString(),
      log_clock: new Date(log).toISOString(),
      log_size: logSize,
    },
  })

/** The newest confirmation, or that of an ordinal; undefined when there is none. */
export function findConfirmation(source: Source, ordinal?: number): Promise<ClockConfirmation | undefined> {
  return source.read(async ({ sql }) => {
    const [row] = await sql<{ ordinal: number; after: string }[]>`
      select ordinal, after from admin_event
      where action = 'clock.confirm' and (${ordinal ?? 0}::bigint = 0 or ordinal = ${ordinal ?? 0}::bigint)
      order by ordinal desc limit 1`
    if (row === undefined) return undefined
    const after = v.safeParse(confirmedSchema, parseStrictJson(row.after))
    if (!after.success) throw new StoreError("corrupt")
    const { machine_clock: machine, log_clock: log, log_size: logSize } = after.output
    return { ordinal: row.ordinal, machine, log, logSize }
  })
}

/** Has the log go on by a confirmation, in a batch. */
export async function goOnBy({ sql }: Tx, { ordinal }: ClockConfirmation): Promise<void> {
  await sql`update log_head set clock_event = ${ordinal}::bigint where clock_event < ${ordinal}::bigint`
}
