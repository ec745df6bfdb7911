/** Break-glass: an admin key made by whoever may use the machine and its database. docs/operations.md, "Keys of callers". */
import { mintKey } from "./access/mint-key.ts"
import { StartupError } from "./startup-error.ts"
import type { Database } from "./store/driver/database.ts"

/**
 * Makes an admin key in the database and closes it. The secret alone goes to standard output, once, so that it can be piped
 * to where secrets are kept; what is said about it goes to standard error.
 * @throws StartupError when the database does not take the key
 */
export async function mintAdminKey(db: Database, name: string): Promise<void> {
  const minted = await mintKey(db, { name, scope: "admin" }, { kind: "operator" }, Date.now()).finally(db.close)
  if (minted === undefined) throw new StartupError("no key was made")
  process.stderr.write(`runseal: admin key ${minted.id} was made. ${minted.hint}\n`)
  process.stdout.write(`${minted.secret}\n`)
}
