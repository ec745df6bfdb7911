/** The one row that says whose log this database holds: what the first start fixed for good. A start with other values is refused. */
import { sql as fragment, getTableColumns } from "drizzle-orm"
import { check, pgTable, text } from "drizzle-orm/pg-core"
import type { Source, Tx } from "../driver/session.ts"
import { StoreError } from "../driver/store-errors.ts"
import { number, onlyRow, type RowOf } from "./column-types.ts"

export const deployment = pgTable(
  "deployment",
  {
    only: onlyRow(),
    /** Origin line of the log's checkpoints. */
    origin: text().notNull(),
    tree_id: text().notNull(),
    /** Of each key the SHA-256 of its DER SPKI, 64 hex digits. */
    service_key_id: text().notNull(),
    log_key_id: text().notNull(),
    checkpoint_key_id: text().notNull(),
    /** Milliseconds since the epoch. */
    genesis_at: number(),
    /** `RECORD_FORMAT` of the release that made the log; empty: of one before there was this mark. */
    record_format: text().notNull().default(""),
  },
  table => [check("deployment_one_row", fragment`${table.only}`)],
)

export type DeploymentRow = RowOf<typeof deployment>

const { only: _, ...FACTS } = getTableColumns(deployment)

/**
 * Stores the facts on the first start and leaves them as they are on every later one; two first starts agree on one of
 * them. What comes back may differ from what was given, and then the service must not run.
 */
export async function pinDeployment(tx: Tx, facts: DeploymentRow): Promise<DeploymentRow> {
  await tx.orm.insert(deployment).values(facts).onConflictDoNothing()
  const pinned = await readDeployment(tx)
  if (pinned === undefined) throw new StoreError("corrupt")
  return pinned
}

/** What the first start stored; undefined before it. */
export function readDeployment(source: Source): Promise<DeploymentRow | undefined> {
  return source.read(async ({ orm }) => {
    const [pinned] = await orm.select(FACTS).from(deployment)
    return pinned
  })
}
