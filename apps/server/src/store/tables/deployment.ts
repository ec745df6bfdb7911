/** The one row that says whose log this database holds. */
import { StoreError } from "../driver/errors.ts"
import type { Source, Tx } from "../driver/session.ts"
import type { DeploymentRow } from "../schema.ts"

/**
 * Stores the facts on the first start and leaves them as they are on every later one; two first starts agree on one of
 * them. What comes back may differ from what was given, and then the service must not run.
 */
export async function pinDeployment(tx: Tx, facts: DeploymentRow): Promise<DeploymentRow> {
  await tx.sql`
    insert into deployment (origin, tree_id, service_key_id, log_key_id, checkpoint_key_id, genesis_at)
    values (${facts.origin}, ${facts.tree_id}, ${facts.service_key_id}, ${facts.log_key_id},
      ${facts.checkpoint_key_id}, ${facts.genesis_at})
    on conflict do nothing`
  const pinned = await readDeployment(tx)
  if (pinned === undefined) throw new StoreError("corrupt")
  return pinned
}

/** What the first start stored; undefined before it. */
export function readDeployment(source: Source): Promise<DeploymentRow | undefined> {
  return source.read(async ({ sql }) => {
    const [pinned] = await sql<DeploymentRow[]>`
      select origin, tree_id, service_key_id, log_key_id, checkpoint_key_id, genesis_at from deployment`
    return pinned
  })
}
