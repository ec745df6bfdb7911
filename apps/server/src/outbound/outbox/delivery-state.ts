/** The state of delivery to the outside logs: which of our entries they hold, and which are pending. */
import { OUTSIDE_FAULTS, type OutsideStanding } from "@runseal/core/wire/log-answers"
import type { Session, Source } from "../../store/driver/session.ts"
import { readEntries, readHead } from "../../store/tables/log-store.ts"
import { listOutsideLogs, type OutsideLogRow } from "../../store/tables/outside-log-table.ts"

/** Every outside log that holds entries, and the one named last. @param nowMs milliseconds since the epoch */
export const readStandings = (source: Source, nowMs: number): Promise<readonly OutsideStanding[]> =>
  source.read(async session => {
    const { size } = await readHead(session)
    const standings: OutsideStanding[] = []
    for (const row of await listOutsideLogs(session)) standings.push(await standingOf(session, row, size, nowMs))
    return standings
  })

/** That of one log. */
export const readStanding = async (
  source: Source,
  logId: string,
  nowMs: number,
): Promise<OutsideStanding | undefined> => (await readStandings(source, nowMs)).find(({ log_id }) => log_id === logId)

async function standingOf(
  session: Session,
  { log_id, host, first_index, next_index, fault, failing_since }: OutsideLogRow,
  size: number,
  nowMs: number,
): Promise<OutsideStanding> {
  const [oldest] = await readEntries(session, next_index, next_index + 1)
  const since = (ms: number): number => Math.max(0, Math.floor((nowMs - ms) / 1000))
  const known = OUTSIDE_FAULTS.find(name => name === fault)
  return {
    log_id,
    host,
    first_index,
    next_index,
    backlog: Math.max(0, size - next_index),
    oldest_age_seconds: oldest === undefined ? 0 : since(oldest.integrated_time * 1000),
    ...(known === undefined ? {} : { fault: known, failing_seconds: since(failing_since) }),
  }
}
