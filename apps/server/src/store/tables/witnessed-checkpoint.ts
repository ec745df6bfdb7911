/** The newest checkpoint that enough witnesses cosigned, shared by all processes of a database. Public. */
import { sql as fragment, lte } from "drizzle-orm"
import { check, pgTable, text } from "drizzle-orm/pg-core"
import type { Sink, Source } from "../driver/session.ts"
import { number, onlyRow, type RowOf } from "./column-types.ts"

/** No row before the first. */
export const witnessed_checkpoint = pgTable(
  "witnessed_checkpoint",
  {
    only: onlyRow(),
    /** Entries of its tree. */
    size: number(),
    /** The published checkpoint of that tree with the witnesses' lines, a signed note. */
    checkpoint: text().notNull(),
  },
  table => [check("witnessed_checkpoint_one_row", fragment`${table.only}`)],
)

/** A checkpoint that enough witnesses cosigned. */
export type WitnessedCheckpointRow = RowOf<typeof witnessed_checkpoint>

/** The newest one; undefined before the first. */
export function readWitnessed(source: Source): Promise<WitnessedCheckpointRow | undefined> {
  return source.read(async ({ orm }) => {
    const { size, checkpoint } = witnessed_checkpoint
    const [row] = await orm.select({ size, checkpoint }).from(witnessed_checkpoint)
    return row
  })
}

/** Stores a checkpoint, unless another process has stored one of a larger tree meanwhile. */
export async function keepWitnessed(sink: Sink, { size, checkpoint }: WitnessedCheckpointRow): Promise<void> {
  await sink.write(({ orm }) =>
    orm
      .insert(witnessed_checkpoint)
      .values({ size, checkpoint })
      .onConflictDoUpdate({
        target: witnessed_checkpoint.only,
        set: { size, checkpoint },
        setWhere: lte(witnessed_checkpoint.size, size),
      }),
  )
}
