/**
 * A guarded server that runs as another user than the gateway, so that it can read neither keys nor pins. Only root can start such a process.
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, statSync } from "node:fs"

export type OtherUser = {
  readonly uid: number
  /** Its main group: the process is in no other. */
  readonly gid: number
  /** What its environment says of it, in place of what the gateway's says. */
  readonly env: Readonly<Record<string, string>>
}

/**
 * @param name of an account of this machine
 * @param dataDir the folder of keys and pins, made where there is none
 * @throws Error with a sentence for the user
 */
export function otherUser(name: string, dataDir: string): OtherUser {
  if (process.getuid?.() !== 0) throw new Error("--run-as needs a gateway that runs as root")
  const [, , uid, gid, , home = "/"] = accountOf(name)
  const user = { uid: Number(uid), gid: Number(gid), env: { HOME: home, USER: name, LOGNAME: name } }
  if (user.uid === 0) throw new Error("--run-as names a user who is not root")
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  const { uid: owner, mode } = statSync(dataDir)
  if (owner !== 0 || (mode & 0o077) !== 0)
    throw new Error("the folder of --data-dir must belong to root, and be closed to others (chmod 700)")
  return user
}

/** The line of the account in the database of users. */
function accountOf(name: string): readonly string[] {
  try {
    if (/^[a-z_][\w.-]{0,63}$/i.test(name))
      return execFileSync("getent", ["passwd", name], { encoding: "utf8" }).trim().split(":")
  } catch {
    // Below.
  }
  throw new Error("--run-as names no user of this machine")
}
