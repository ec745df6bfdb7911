/**
 * Refuses reads of what administrators withdraw while it is not known that the database holds all that was acknowledged: a revoked key would
 * read again, and a withdrawn run would be public. Decision 0249.
 */
import type { Database } from "../store/driver/database.ts"
import type { Session, Source } from "../store/driver/session.ts"
import { StoreError } from "../store/driver/store-errors.ts"
import { readHead } from "../store/tables/log-store.ts"
import { headOf, notContained } from "./head-containment.ts"
import { type HeadState, OLDER, refusal } from "./head-state.ts"

/** @throws StoreError when the folder of heads cannot be read, or a file in it is damaged */
function rememberedOf(state: HeadState): ReturnType<HeadState["remembered"]> {
  try {
    return state.remembered()
  } catch (cause) {
    state.refuseTroubled()
    throw new StoreError("unavailable", { cause })
  }
}

/** @param poll checks which database this is now */
export function createReadGuard(state: HeadState, poll: () => Promise<void>): (db: Database) => Database {
  /** Connections on which every remembered head was found: one that is new may lead to another database, whatever the last poll found. */
  const checked = new WeakSet<object>()

  const check = async (session: Session): Promise<void> => {
    if (checked.has(session.connection)) return
    // Read before the database: what is remembered by then is in it, or it is another one.
    const remembered = rememberedOf(state)
    const missing = await notContained(session, headOf(await readHead(session)), remembered)
    if (missing.length > 0) throw refusal(OLDER)
    checked.add(session.connection)
  }
  const guarding =
    (run: Source["read"]): Source["read"] =>
    async work => {
      // Nothing that is refused here leads to a batch, which would find that the trouble is over.
      if (state.trouble() !== undefined) await poll().catch(() => undefined)
      state.refuseTroubled()
      return run(async session => {
        await check(session)
        return work(session)
      })
    }
  return db => ({
    ...db,
    read: guarding(db.read),
    quick: { read: guarding(db.quick.read) },
    count: guarding(db.count),
  })
}
