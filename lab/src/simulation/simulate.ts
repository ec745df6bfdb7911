/** One seed: a world, the full check of its final state, and whether an older database in its place is refused. */
import { existsSync, linkSync, mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseTrust } from "@runseal/log/trust/trust-document"
import { prepare } from "@runseal/server/boot"
import type { Prepared } from "@runseal/server/execution"
import { createKeys } from "@runseal/server/keys/key-file"
import { type Config, readConfig } from "@runseal/server/options/config"
import { type DocumentRow, document } from "@runseal/server/store/tables/documents-table"
import { type Seeded, seeded } from "../seeded.ts"
import { checkStore, judgeBy, type Promised, type Sealed } from "./check.ts"
import { checkAnswers } from "./check-answers.ts"
import { decoded, type Snapshot } from "./database/simulated-rows.ts"
import type { Defect } from "./database/transactions.ts"
import { TOKEN_BUDGET } from "./drawn-requests.ts"
import { grownDatabase, isRefused } from "./undisturbed.ts"
import { createWorld, headOf, type World } from "./world.ts"

export type SeedResult = {
  readonly seed: number
  /** The first failed check or error; undefined when there is none. */
  readonly failure: unknown
  /** One line per step: the same each time for the same seed and code. */
  readonly trace: readonly string[]
  readonly counts: ReadonlyMap<string, number>
}

export type Simulation = {
  readonly run: (seed: number) => Promise<SeedResult>
  readonly close: () => Promise<void>
}

/** Share of worlds that start with a log that has nearly filled a tile. */
const FROM_GROWN = 0.2
const KEYS_FILE = "signing-keys.json"
/** A folder in memory, where Linux has one: heads are synced to it, and a disk would take a millisecond each time. */
const MEMORY_FOLDER = "/dev/shm"

/** The common start of all seeds: keys, policy, a folder. @param defects of the database, to show that the check fails */
export function openSimulation(defects: readonly Defect[] = []): Simulation {
  const folder = mkdtempSync(join(existsSync(MEMORY_FOLDER) ? MEMORY_FOLDER : tmpdir(), "runseal-simulation-"))
  createKeys(folder)
  const read = readConfig(["--data-dir", folder, "--region", "eu-test-1"], {})
  if ("ended" in read) throw new Error("the options ask for help")
  const config: Config = { ...read, runTokenBudget: TOKEN_BUDGET, windowTokenBudget: TOKEN_BUDGET }
  const prepared = prepare(config)
  const keysOf = (seed: string): string => {
    const keysDir = join(folder, seed)
    mkdirSync(keysDir, { mode: 0o700 })
    linkSync(join(folder, KEYS_FILE), join(keysDir, KEYS_FILE))
    return keysDir
  }
  let grown: { readonly state: Snapshot; readonly texts: ReadonlySet<string> } | undefined
  const grownOnce = async (): Promise<NonNullable<typeof grown>> => {
    if (grown !== undefined) return grown
    const state = await grownDatabase({ config: { ...config, keysDir: keysOf("grown") }, prepared })
    const texts = new Set(
      decoded<DocumentRow>(state, document, ({ kind }) => kind === "attestation").map(row => row.packed),
    )
    grown = { state, texts }
    return grown
  }
  return {
    run: async seed => {
      const keysDir = keysOf(`${seed}`)
      const counts = new Map<string, number>()
      const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1)
      const random = seeded(seed)
      const before = random.chance(FROM_GROWN) ? await grownOnce() : undefined
      const world = createWorld({
        random,
        config: { ...config, keysDir },
        prepared,
        defects: new Set(defects),
        start: before?.state,
        count,
      })
      const restore = stillTime()
      try {
        const failure = await failureOf(async () => {
          await world.run()
          const { openings, ends } = checkWorld(world, before?.texts ?? new Set())
          for (const { row } of openings) count(`permit ${row.state}`)
          for (const _ of ends) count("end sealed")
          await checkRollback(world, { ...config, keysDir }, prepared, random, count)
        })
        return { seed, failure, trace: world.scheduler.trace, counts }
      } finally {
        restore()
        world.end()
        rmSync(keysDir, { recursive: true })
      }
    },
    close: async () => {
      await prepared.inspection.close()
      rmSync(folder, { recursive: true })
    },
  }
}

async function failureOf(work: () => Promise<void>): Promise<unknown> {
  try {
    await work()
    return undefined
  } catch (error) {
    return error
  }
}

/** Stops `performance.now` while a world runs, so that a busy machine has no influence. */
function stillTime(): () => void {
  const { now } = performance
  const at = performance.now()
  performance.now = () => at
  return () => {
    performance.now = now
  }
}

function checkWorld({ server, trust, requests, promised }: World, grown: ReadonlySet<string>): Sealed {
  const document = trust()
  const trusted = document && parseTrust(document)
  if (trusted === undefined || "problem" in trusted) throw new Error("no process published whom to trust")
  const sealed = checkStore(server.committed(), trusted, judgeBy(trusted, grown), promised)
  checkAnswers(requests, sealed, grown.size)
  return sealed
}

/** The largest log size in the head files. */
const rememberedSize = (promised: readonly Promised[]): number =>
  Math.max(0, ...promised.filter(({ by }) => by.endsWith("remembered head")).map(({ size }) => size))

/** Checks that a start on an older state of the database is refused if acknowledged entries are missing in it. */
async function checkRollback(
  { states, promised }: World,
  config: Config,
  prepared: Prepared,
  random: Seeded,
  count: (what: string) => void,
): Promise<void> {
  const older = random.pick(states)
  const [size, remembered] = [headOf(older).size, rememberedSize(promised)]
  const refused = await isRefused(older, { config, prepared })
  count(refused ? "older database refused" : "same database accepted")
  if (refused !== size < remembered)
    throw new Error(
      `a database of ${size} entries is ${refused ? "refused" : "accepted"}, ${remembered} are remembered`,
    )
}
