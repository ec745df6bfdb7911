/** A process on a database without faults: to start on a restored state, and to grow a log before a world starts. */
import { fdatasyncSync } from "node:fs"
import { sha256Hex } from "@runseal/canonical"
import type { Prepared } from "@runseal/server/execution"
import type { Config } from "@runseal/server/options/config"
import { StartupError } from "@runseal/server/options/startup-error"
import { seeded } from "../seeded.ts"
import { simulatedServer, UNDISTURBED } from "./database/server.ts"
import { emptyDatabase, type Snapshot } from "./database/simulated-rows.ts"
import { type Remember, type SimulatedProcess, startProcess } from "./process.ts"
import { createScheduler } from "./scheduler.ts"
import { NOON_MS } from "./world.ts"

type Deployed = { readonly config: Config; readonly prepared: Prepared }

/** Starts a process on this state, runs the work, and gives the final state. */
async function onDatabase(
  state: Snapshot,
  { config, prepared }: Deployed,
  work: (process: SimulatedProcess) => Promise<void>,
): Promise<Snapshot> {
  const scheduler = createScheduler(seeded(1))
  let failure: { readonly error: unknown } | undefined
  const failed = (error: unknown): void => {
    failure ??= { error }
  }
  const server = simulatedServer({ ...UNDISTURBED, scheduler, broken: failed }, state)
  let close = (): void => undefined
  const nowMs = (): number => NOON_MS
  const remember: Remember = (_size, _root, write) => write()
  const running = async (): Promise<void> => {
    const process = await startProcess({
      name: "undisturbed",
      config,
      prepared,
      server,
      nowMs,
      remember,
      sync: async fd => fdatasyncSync(fd),
      opened: files => {
        close = files
      },
      reportFault: failed,
    })
    await work(process)
  }
  running().catch(failed)
  do await scheduler.settle()
  while (await scheduler.step())
  close()
  if (failure !== undefined) throw failure.error
  return server.committed()
}

/** Whether a process refuses to start on this state. */
export async function isRefused(state: Snapshot, deployed: Deployed): Promise<boolean> {
  try {
    await onDatabase(state, deployed, async () => undefined)
    return false
  } catch (error) {
    if (error instanceof StartupError) return true
    throw error
  }
}

/** Attestations in a grown log, and their owner. Its next full tile is three entries away. */
export const GROWN_BY = 252
const GROWN_FOR = 99

/** The state of a grown log: the next entries cross the end of its first tile. */
export const grownDatabase = (deployed: Deployed): Promise<Snapshot> =>
  onDatabase(emptyDatabase(), deployed, async process => {
    const digests = Array.from({ length: GROWN_BY }, (_, at) => sha256Hex(`grown ${at}`))
    await Promise.all(digests.map(digest => process.attest(GROWN_FOR, digest, undefined)))
  })
