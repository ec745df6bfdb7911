/** What servers that tests start have in common: an account, a free port, a folder that goes with them, an end. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { accessSync, constants, readFileSync } from "node:fs"
import { createServer } from "node:net"

/** Accounts that a root process may lend a server that refuses to run as root. */
const UNPRIVILEGED_ACCOUNTS = ["postgres", "nobody"]

export type Account = { readonly uid: number; readonly gid: number }

/** The account that a server runs as: undefined is that of this process, `none` is where root has none to lend. */
export function accountForServers(): Account | undefined | "none" {
  if (process.getuid?.() !== 0) return undefined
  return unprivilegedAccount() ?? "none"
}

function unprivilegedAccount(): Account | undefined {
  const lines = readFileSync("/etc/passwd", "utf8").split("\n")
  for (const name of UNPRIVILEGED_ACCOUNTS) {
    const [, , uid, gid] = lines.find(line => line.startsWith(`${name}:`))?.split(":") ?? []
    if (uid !== undefined && gid !== undefined) return { uid: Number(uid), gid: Number(gid) }
  }
  return undefined
}

export function executable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

export async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = server.address()
  server.close()
  await once(server, "close")
  if (address === null || typeof address === "string") throw new Error("no free port")
  return address.port
}

export const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null

/** Ends a server with a signal, and waits for its end. */
export async function end(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(server)) return
  const exit = once(server, "exit")
  server.kill(signal)
  await exit
}

/**
 * Waits until the process that started the servers is gone, however it ended, then stops them and removes the folder: the
 * end of the pipe is seen also of a process that was killed, which no handler of its own would. Files `*.supervisor` hold the ids of
 * processes that would start PostgreSQL again, and may be suspended: they are killed first. A server that has not written
 * its id yet ends by itself once its folder is gone.
 */
const GUARD = `
read -r _
for pid in $(cat "$1"/*.supervisor 2>/dev/null); do kill -KILL "$pid" 2>/dev/null; done
pids=$(head -q -n 1 "$1"/*/postmaster.pid "$1"/*.pid 2>/dev/null)
for pid in $pids; do kill -QUIT "$pid" 2>/dev/null; done
for _ in 1 2 3 4 5 6 7 8 9 10; do kill -0 $pids 2>/dev/null || break; sleep 0.1; done
rm -rf "$1"
`

/** Starts the guard of a folder of servers. Its process group is its own: what ends ours with a signal must not end it first. */
export function guardFolder(folder: string): () => void {
  const guard = spawn("sh", ["-c", GUARD, "sh", folder], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
    cwd: "/",
  })
  guard.unref()
  return () => void guard.kill("SIGKILL")
}
