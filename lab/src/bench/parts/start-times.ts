/** Starts of the service on the embedded database: the first one from nothing and a later one, and memory beside that of a bare database. */

import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { plainEnvironment, ROOT, SERVICE } from "../../../../tools/src/demo/server-process.ts"
import type { Bench, Part } from "../bench-plan.ts"
import { median, readable, type Section } from "../page.ts"
import { processorMicros } from "../servers/database-server.ts"
import { verificationMicros } from "../yardstick.ts"

const MEBIBYTE = 2 ** 20
const BARE = fileURLToPath(new URL("../servers/bare-database.ts", import.meta.url))

type Round = Start & { readonly verificationMicros: number }
type Side = { readonly what: string; readonly once: () => Promise<Start>; readonly rounds: Round[] }

export const start: Part = {
  name: "start",
  about: "the first start and a later one, to ready, and memory",
  run: async bench => [await measureStarts(bench)],
}

/** A first start makes the folder that the later ones open. */
function sidesOf(what: string, root: string, newFolder: () => string): readonly Side[] {
  let folder = ""
  const words = (): readonly string[] => [join(root, SERVICE), "--port", "0", "--data-dir", folder]
  const first = (): Promise<Start> => {
    folder = newFolder()
    return startOnce(words())
  }
  return [
    { what: `${what}, first start`, once: first, rounds: [] },
    { what: `${what}, later start`, once: () => startOnce(words()), rounds: [] },
  ]
}

async function measureStarts({ plan, against, say }: Bench): Promise<Section> {
  const place = mkdtempSync(join(tmpdir(), "runseal-bench-start-"))
  let last = ""
  const newFolder = (): string => {
    last = mkdtempSync(join(place, "data-"))
    return last
  }
  const bare = (flag: readonly string[]): Promise<Start> => untilLine([...flag, BARE, last], /^(open)$/)
  const other = against === undefined ? [] : sidesOf(against.name, against.root, newFolder)
  const sides: readonly Side[] = [
    ...other,
    ...sidesOf("this checkout", ROOT, newFolder),
    { what: "bare Node, same folder open", once: () => bare([]), rounds: [] },
    { what: "… with --liftoff-only", once: () => bare(["--liftoff-only"]), rounds: [] },
  ]
  try {
    for (let round = 1; round <= plan.startRounds; round++)
      for (const { what, once, rounds } of sides) {
        say(`${what}, round ${round} of ${plan.startRounds}`)
        const verification = verificationMicros()
        rounds.push({ ...(await once()), verificationMicros: verification })
      }
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
  const bareMemory = median((sides.at(-2)?.rounds ?? []).map(({ memory }) => memory))
  return {
    title: `Starts on the embedded database, ${plan.startRounds} rounds in turn: medians (ranges)`,
    columns: ["what", "ms to ready", "processor ms", "P-256", "resident MiB", "beyond bare Node, MiB"],
    rows: sides.map(({ what, rounds }) => [
      what,
      spread(rounds, ({ ms }) => ms),
      spread(rounds, ({ micros }) => micros / 1000),
      spread(rounds, round => round.micros / round.verificationMicros),
      spread(rounds, ({ memory }) => memory / MEBIBYTE),
      readable((median(rounds.map(({ memory }) => memory)) - bareMemory) / MEBIBYTE),
    ]),
  }
}

function spread(rounds: readonly Round[], of: (round: Round) => number): string {
  const values = rounds.map(of)
  const middle = readable(median(values))
  return values.length > 1 ? `${middle} (${readable(Math.min(...values))}–${readable(Math.max(...values))})` : middle
}

// One start of the service: how long until it is ready, what it costs, and the memory that it then has.

type Start = {
  /** Milliseconds until `GET /ready` answered 200. */
  readonly ms: number
  /** Processor time until then, of all threads, microseconds. */
  readonly micros: number
  /** Bytes of the process then. */
  readonly memory: number
}

const LISTENING = /"url":"([^"]+)".*"msg":"listening"/
/** Milliseconds after which a start has failed. */
const DEADLINE_MS = 120_000

/** Starts a program until it is ready, and stops it. @throws Error when it is not ready, or does not stop by itself */
const startOnce = (words: readonly string[]): Promise<Start> =>
  untilLine(words, LISTENING, async address => {
    const { status } = await fetch(`${address}/ready`)
    if (status !== 200) throw new Error(`a service that started answers ${status} under /ready`)
  })

/** @param ready called with what the pattern found in a line of the output */
async function untilLine(
  words: readonly string[],
  pattern: RegExp,
  ready: (found: string) => Promise<void> = async () => {},
): Promise<Start> {
  const begin = performance.now()
  const child = spawn(process.execPath, words, { env: plainEnvironment(), stdio: ["ignore", "pipe", "inherit"] })
  const ended = once(child, "close")
  const kill = setTimeout(() => child.kill("SIGKILL"), DEADLINE_MS)
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const found = pattern.exec(line)
      if (found === null) continue
      await ready(found[1] ?? "")
      const ms = performance.now() - begin
      const use = { ms, micros: processorMicros(child.pid ?? 0) ?? Number.NaN, memory: residentBytes(child.pid ?? 0) }
      child.stdout.resume()
      child.kill("SIGTERM")
      const [code] = await ended
      if (code !== 0 && code !== null) throw new Error(`a program ended with ${code}`)
      return use
    }
    throw new Error("a program ended before it was ready")
  } finally {
    clearTimeout(kill)
    child.kill("SIGKILL")
  }
}

/** proc(5), /proc/pid/status; NaN where the system has none. */
function residentBytes(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024
  } catch {
    return Number.NaN
  }
}
