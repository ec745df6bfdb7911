/** A deployment to measure: a database, keys of callers, options that let every request through. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type JsonObject, parseStrictJson } from "@runseal/canonical"
import { textMember } from "@runseal/core/vocabulary/json-members"
import { SERVICE } from "../../../../tools/src/demo/server-process.ts"
import type { DatabaseLook, DatabaseServer } from "./database-server.ts"
import { type PROBES, type ServerProcess, startServer } from "./measured-server.ts"

const SOURCES = "apps/server/src/main.ts"

/** Limits that no bench reaches, and runs that are observed for every key, so that no request is refused. */
const BEYOND_REACH = "1000000000"
const NO_LIMITS = [
  ...["--rate-limit", BEYOND_REACH, "--attest-rate-limit", BEYOND_REACH],
  ...["--window-token-budget", `${Number.MAX_SAFE_INTEGER}`],
  ...["--allow-observe", "everybody"],
]
const OPTIONS = ["--port", "0", "--metrics-port", "0", ...NO_LIMITS]
/** Concurrent requests for new keys. */
const MINTS_AT_ONCE = 16

export type Deployment = {
  /** Starts one more process of it. */
  readonly start: (probe?: keyof typeof PROBES) => Promise<ServerProcess>
  /** Secrets of customer keys, in production tier. Made with the first process. */
  readonly secrets: () => readonly string[]
  /** Absent for an embedded database. */
  readonly lookAtDatabase?: () => Promise<DatabaseLook>
  /** As that of `DatabaseServer`. Absent for an embedded database. */
  readonly watchLock?: () => ReturnType<DatabaseServer["watchLock"]>
  /** Bytes of a stored bundle, the mean over all. Absent for an embedded database. */
  readonly meanStored?: () => Promise<number>
  /** After its processes have stopped. */
  readonly remove: () => void
}

/**
 * @param keys of callers, as many as are to be in rotation
 * @param server absent: the embedded database in the deployment's folder
 * @param root absolute path of the checkout whose service is started; absent: this one
 * @param policy absent: the built-in one
 */
export async function openDeployment(
  name: string,
  keys: number,
  server?: DatabaseServer,
  root = "",
  policy?: JsonObject,
): Promise<Deployment> {
  const folder = mkdtempSync(join(tmpdir(), "runseal-bench-"))
  const policyFile = join(folder, "policy.json")
  if (policy !== undefined) writeFileSync(policyFile, JSON.stringify(policy))
  const clear = (): void => rmSync(folder, { recursive: true, force: true })
  process.once("exit", clear)
  const url = await server?.createDatabase(name)
  const secrets: string[] = []
  return {
    start: async probe => {
      const started = await startService(folder, url, probe, root, policy && policyFile)
      if (secrets.length === 0) secrets.push(...(await mintKeys(started.url, keys)))
      return started
    },
    secrets: () => secrets,
    ...(server === undefined || url === undefined
      ? {}
      : {
          lookAtDatabase: () => server.look(url),
          watchLock: () => server.watchLock(url),
          meanStored: () => server.meanStored(url),
        }),
    remove: () => {
      process.off("exit", clear)
      clear()
    },
  }
}

/** Starts the service, without limits, on a data folder and a database; absent: the embedded one. */
export const startService = (
  folder: string,
  databaseUrl?: string,
  probe?: keyof typeof PROBES,
  root = "",
  policyFile?: string,
): Promise<ServerProcess> => {
  const database = databaseUrl === undefined ? [] : ["--database-url", databaseUrl]
  const policy = policyFile === undefined ? [] : ["--policy", policyFile]
  // Texts are counted in a module of its own, which a bundle has not.
  const script = probe === "texts" ? SOURCES : SERVICE
  return startServer(join(root, script), [...OPTIONS, "--data-dir", folder, ...database, ...policy], probe)
}

/** Makes customer keys in production tier, on a service that has no keys yet. @returns their secrets */
export async function mintKeys(url: string, keys: number): Promise<readonly string[]> {
  const admin = await mintKey(url, { name: "bench", scope: "admin", confirm_admin_scope: true })
  const secrets: string[] = []
  const mintSome = async (): Promise<void> => {
    while (secrets.length < keys) {
      // The slot is reserved before the request: several are pending.
      const at = secrets.push("") - 1
      secrets[at] = await mintKey(url, { name: `caller ${at}`, tier: "production" }, admin)
    }
  }
  await Promise.all(Array.from({ length: MINTS_AT_ONCE }, mintSome))
  return secrets
}

async function mintKey(url: string, key: object, admin?: string): Promise<string> {
  const headers = { "Content-Type": "application/json", ...(admin === undefined ? {} : { "X-Service-Key": admin }) }
  const response = await fetch(`${url}/admin/keys`, { method: "POST", headers, body: JSON.stringify(key) })
  const secret = textMember(parseStrictJson(await response.text()), "secret")
  if (response.status !== 201 || secret === undefined) throw new Error(`a key was not made: ${response.status}`)
  return secret
}
