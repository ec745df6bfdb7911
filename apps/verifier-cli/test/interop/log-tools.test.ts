/**
 * Checks the log of a running service with tools that others made for such logs, each built by Go from its module: `fsck` of Tessera, which
 * is given the log's address and verifier key and nothing else, and `litewitness` of Torchwood, which gets the verifier key alone.
 */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { setTimeout } from "node:timers/promises"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { expect, onTestFinished, test } from "vitest"
import { freePort } from "../../../../libs/core/test/fixtures/free-port.ts"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"

const FSCK = "github.com/transparency-dev/tessera/cmd/fsck@v1.0.4"
const LITEWITNESS = "filippo.io/torchwood/cmd/litewitness@v0.9.0"
const BUILD_TIMEOUT_MS = 900_000
const TIMEOUT_MS = 120_000
const POLL_MS = 200
/** Two entries each, and the log's birth: more than a full tile. */
const RUNS = 140
const WITNESS = "lite.example/w1"
const ROOT = fileURLToPath(new URL("../../../../", import.meta.url))
const EMPTY_ROOT = "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

const folder = testFolder("runseal-log-tools")

const execFileAsync = promisify(execFile)
const has = (command: string): boolean =>
  (process.env.PATH ?? "").split(delimiter).some(path => existsSync(join(path, command)))

/** Builds a Go program; gives why not when that cannot be done here, as without a network. */
async function built(program: string): Promise<{ readonly command: string } | { readonly why: string }> {
  const env = { ...process.env, GOBIN: join(folder, "bin") }
  const name = /\/([^/@]+)@/.exec(program)?.[1] ?? ""
  return execFileAsync("go", ["install", program], { env, timeout: BUILD_TIMEOUT_MS }).then(
    () => ({ command: join(folder, "bin", name) }),
    (error: Error) => ({ why: error.message.trim().split("\n").at(-1) ?? "" }),
  )
}

/** Calls until something is found. Rejects when nothing is in time. */
async function until<T>(what: string, look: () => Promise<T | undefined> | T | undefined): Promise<T> {
  const deadline = Date.now() + TIMEOUT_MS
  while (Date.now() < deadline) {
    const found = await look()
    if (found !== undefined) return found
    await setTimeout(POLL_MS)
  }
  throw new Error(`${what} did not come within ${TIMEOUT_MS} ms`)
}

type Running = { readonly url: string; readonly end: () => Promise<void> }

async function startService(folder: string, options: readonly string[]): Promise<Running> {
  const files = ["--data-dir", join(folder, "data"), "--anonymous-rate-limit", "1000000"]
  const main = join(ROOT, "apps/server/bin/runseal-server.js")
  const child = spawn(process.execPath, [main, "--port", "0", ...files, ...options], {
    stdio: ["ignore", "pipe", "inherit"],
  })
  let output = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text))
  const url = await until("the service", () => /"url":"([^"]+)".*"msg":"listening"/.exec(output)?.[1])
  return { url, end: () => ended(child) }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, "exit")
  child.kill("SIGTERM")
  await exit
}

async function seal(url: string, runs: number): Promise<void> {
  const body = readFileSync(join(ROOT, "examples/first-run.json"))
  const one = async (): Promise<void> => {
    const response = await fetch(`${url}/execute`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    })
    if (!response.ok) throw new Error(`POST /execute answered ${response.status}`)
  }
  await Promise.all(Array.from({ length: runs }, one))
}

const text = async (address: string): Promise<string> => (await fetch(address)).text()

async function vkeyOf(url: string): Promise<string> {
  const document: unknown = await (await fetch(`${url}/.well-known/runseal-trust.json`)).json()
  const keys =
    typeof document === "object" && document !== null && "checkpoint_keys" in document ? document.checkpoint_keys : []
  const [key] = Array.isArray(keys) ? keys : []
  if (typeof key !== "string") throw new Error("the trust document names no checkpoint key")
  return key
}

/** What `fsck` gets wrong of a log: it prints its findings and ends in 0 either way. */
function wrongFsck(command: string, folder: string, url: string, vkey: string): readonly string[] {
  const passes = (key: string): boolean => {
    const file = join(folder, "log.vkey")
    writeFileSync(file, key)
    const args = ["--ui=false", "--v=1", `--storage_url=${url}/log/`, `--public_key=${file}`]
    const { stderr } = spawnSync(command, args, { encoding: "utf8", timeout: TIMEOUT_MS })
    return stderr.includes("Successfully fsck'd log") && !stderr.includes("fsck failed")
  }
  const [name = "", ...rest] = vkey.split("+")
  return [
    ...(passes(vkey) ? [] : ["fsck refused the log"]),
    ...(passes([`${name}0`, ...rest].join("+")) ? ["fsck accepted the log under another name"] : []),
  ]
}

/** Starts an agent with a key of the witness, and the witness for one log. */
async function startWitness(
  command: string,
  folder: string,
  logVkey: string,
): Promise<Running & { readonly vkey: string }> {
  mkdirSync(folder)
  const [key, socket, store] = [join(folder, "key"), join(folder, "agent"), join(folder, "witness.db")]
  spawnSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", key])
  const agent = spawn("ssh-agent", ["-D", "-a", socket], { stdio: "ignore" })
  const env = { ...process.env, SSH_AUTH_SOCK: socket }
  await until("the agent", () => (spawnSync("ssh-add", ["-q", key], { env }).status === 0 ? true : undefined))
  const [, fingerprint = ""] = spawnSync("ssh-keygen", ["-lf", key], { encoding: "utf8" }).stdout.split(" ")
  const [origin = ""] = logVkey.split("+")
  const db = new DatabaseSync(store)
  db.exec("CREATE TABLE log (origin TEXT PRIMARY KEY, tree_size INTEGER NOT NULL, tree_hash TEXT NOT NULL)")
  db.exec("CREATE TABLE key (origin TEXT NOT NULL, key TEXT NOT NULL, FOREIGN KEY(origin) REFERENCES log(origin))")
  db.prepare("INSERT INTO log VALUES (?, 0, ?)").run(origin, EMPTY_ROOT)
  db.prepare("INSERT INTO key VALUES (?, ?)").run(origin, logVkey)
  db.close()
  const address = `127.0.0.1:${await freePort()}`
  const args = ["-name", WITNESS, "-db", store, "-ssh-agent", socket, "-key", fingerprint, "-listen", address]
  const witness = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"] })
  let output = ""
  witness.stderr.setEncoding("utf8").on("data", (line: string) => (output += line))
  const vkey = await until("the witness", () => /vkey=(\S+).*msg=listening/s.exec(output)?.[1])
  const end = async (): Promise<void> => {
    witness.kill("SIGKILL")
    await ended(agent)
  }
  return { vkey, url: `http://${address}/`, end }
}

/** What the witness, and an audit that demands it, get wrong of a log that grows. */
async function wrongWitness(command: string, folder: string, logVkey: string): Promise<readonly string[]> {
  const witness = await startWitness(command, join(folder, "witness"), logVkey)
  const service = await startService(folder, ["--witness", `${witness.vkey}=${witness.url}`])
  try {
    for (const runs of [1, 3]) {
      await seal(service.url, runs)
      const [, size] = (await text(`${service.url}/log/checkpoint`)).split("\n")
      await until(`a cosignature of ${size} entries`, async () => {
        const note = await text(`${service.url}/log/witnessed-checkpoint`)
        return note.split("\n")[1] === size && note.includes(`\n— ${WITNESS} `) ? note : undefined
      })
    }
    const trust = join(folder, "trust.json")
    writeFileSync(trust, await text(`${service.url}/.well-known/runseal-trust.json`))
    const verifier = join(ROOT, "apps/verifier-cli/src/main.ts")
    const args = [verifier, "log", "audit", service.url, "--trust", trust, "--witness", witness.vkey]
    const env = { ...process.env, RUNSEAL_TRUST_DIR: join(folder, "trust") }
    const { stdout } = spawnSync(process.execPath, args, { encoding: "utf8", env, timeout: TIMEOUT_MS })
    return stdout.trimEnd().endsWith("LOG VERIFIED") ? [] : [`an audit that demands the witness fails: ${stdout}`]
  } catch (error) {
    return [String(error)]
  } finally {
    await service.end()
    await witness.end()
  }
}

const needed = (commands: readonly string[]): { readonly absent: boolean; readonly title: string } => {
  const absent = commands.filter(command => !has(command))
  return { absent: absent.length > 0, title: absent.length === 0 ? "" : ` (not on PATH: ${absent.join(", ")})` }
}

const fsckNeeds = needed(["go"])
test.skipIf(fsckNeeds.absent)(
  `fsck of Tessera finds a log whole, and refuses it under another name${fsckNeeds.title}`,
  { timeout: BUILD_TIMEOUT_MS + TIMEOUT_MS },
  async ({ skip }) => {
    const fsck = await built(FSCK)
    if ("why" in fsck) return skip(`${FSCK} could not be built: ${fsck.why}`)
    const service = await startService(join(folder, "fsck"), [])
    onTestFinished(service.end)
    await seal(service.url, RUNS)
    expect(wrongFsck(fsck.command, join(folder, "fsck"), service.url, await vkeyOf(service.url))).toEqual([])
  },
)

const witnessNeeds = needed(["go", "ssh-agent", "ssh-add", "ssh-keygen"])
test.skipIf(witnessNeeds.absent)(
  `litewitness of Torchwood signs a log that grows, and an audit demands it${witnessNeeds.title}`,
  { timeout: BUILD_TIMEOUT_MS + 2 * TIMEOUT_MS },
  async ({ skip }) => {
    const litewitness = await built(LITEWITNESS)
    if ("why" in litewitness) return skip(`${LITEWITNESS} could not be built: ${litewitness.why}`)
    const own = join(folder, "litewitness")
    const first = await startService(own, [])
    const vkey = await vkeyOf(first.url)
    await first.end()
    expect(await wrongWitness(litewitness.command, own, vkey)).toEqual([])
  },
)
