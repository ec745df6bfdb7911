/** The newest checkpoint that enough witnesses cosigned, shared by all processes of a database. Public. */

import type { Sink, Source } from "../driver/session.ts"
import type { WitnessedCheckpointRow } from "../schema.ts"

/** What was kept last; undefined before the first. */
export function readWitnessed(source: Source): Promise<WitnessedCheckpointRow | undefined> {
  return source.read(async ({ sql }) => {
    const [row] = await sql<WitnessedCheckpointRow[]>`select size, checkpoint from witnessed_checkpoint`
    return row
  })
}

/** Keeps a checkpoint, unless another process has kept one of a larger tree meanwhile. */
export function keepWitnessed(sink: Sink, { size, checkpoint }: WitnessedCheckpointRow): Promise<void> {
  return sink.write(async ({ sql }) => {
    await sql`
      insert into witnessed_checkpoint as stored (size, checkpoint) values (${size}, ${checkpoint})
      on conflict ("only") do update set size = excluded.size, checkpoint = excluded.checkpoint
      where stored.size <= excluded.size`
  })
}
