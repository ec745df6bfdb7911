/** A deployment to load into: its keys and log, a clock of the loader's own, API keys of callers. */
import { keyCaller, originOf } from "@runseal/server/access/caller"
import { mintKey } from "@runseal/server/access/mint-key"
import { publicCheckpoint } from "@runseal/server/anchor/embedded-log"
import { headsOf } from "@runseal/server/anchor/heads-folder"
import { readKeys } from "@runseal/server/anchor/key-file"
import { boot, pipelineOf, prepare } from "@runseal/server/boot"
import { readConfig } from "@runseal/server/config"
import { askReviewer } from "@runseal/server/pipeline/gates/aivp-t4"
import type { PipelineContext } from "@runseal/server/pipeline/pipeline"
import type { Submission } from "@runseal/server/pipeline/submission"
import { openHeadGuard } from "@runseal/server/sealing/head-guard"
import type { SealerContext } from "@runseal/server/sealing/sealer"
import { verifyHere } from "@runseal/server/sealing/verification"
import { createBudgetLedger } from "@runseal/server/store/budget-ledger"
import { openDatabase } from "@runseal/server/store/database"
import { readHead } from "@runseal/server/store/log-store"
import { pino } from "pino"
import { type Sample, sampleOf } from "./sample.ts"

/** Who asked for a loaded run: whose tenant it is, and what is sealed of where it came from. */
export type LoadCaller = Pick<Submission, "tenant" | "origin"> & { readonly secret: string }

export type BulkDeployment = {
  readonly pipeline: PipelineContext
  /** As the service's, but that it verifies a sample of the documents instead of all. */
  readonly sealing: SealerContext
  readonly sample: Sample
  /** Makes a customer's key in production tier. */
  readonly mint: (name: string) => Promise<LoadCaller>
  readonly close: () => Promise<void>
}

/**
 * Opens the deployment of a database and a folder of keys, making both when they are new.
 * @param nowMs the loader's clock, in milliseconds since the epoch
 * @param sampledEvery of so many documents one is verified
 */
export async function openBulkDeployment(
  databaseUrl: string,
  folder: string,
  nowMs: () => number,
  sampledEvery?: number,
): Promise<BulkDeployment> {
  const options = ["--database-url", databaseUrl, "--data-dir", folder]
  const config = readConfig([...options, "--window-token-budget", `${Number.MAX_SAFE_INTEGER}`], {})
  if ("ended" in config) throw new Error("these options start the service")
  const logger = pino({ level: "error" }, process.stderr)
  const prepared = prepare(config)
  const db = await openDatabase({ kind: "postgres", url: databaseUrl })
  const { deps, close } = await boot({ config, prepared, db, logger, nowMs })
  const keys = readKeys(config.keysDir)
  if (keys === undefined) throw new Error("the service has made its keys")
  const heads = openHeadGuard({ ...headsOf(config, db), nowMs })
  await heads.begin(db)
  const ledger = createBudgetLedger(db)
  const reportFault = (failure: Error): void => logger.error({ err: failure }, "a stage failed")
  const sample = sampleOf(verifyHere(deps.trust), sampledEvery)
  return {
    pipeline: {
      ...pipelineOf(config, prepared, deps.sourceRevision, reportFault),
      askReview: askReviewer(prepared.reviewer, new AbortController().signal),
      makeCharge: async charge => {
        const made = await ledger.charge(charge)
        if (!made.ok) throw new Error("no window overflows here")
        return made.total_after
      },
    },
    sealing: {
      db,
      log: { keys, origin: deps.logOrigin },
      epoch: (await readHead(db)).epoch,
      verify: sample.verify,
      nowMs,
      reportFault,
      publicCheckpoint: (size, root) => publicCheckpoint(keys, deps.logOrigin, size, root),
      ...heads,
      reportFailure: error => logger.error({ err: error }, "a batch was not sealed"),
      reportSealed: () => {},
      reportCommitted: () => {},
    },
    sample,
    mint: async name => {
      const minted = await mintKey(db, { name, tier: "production" }, { kind: "operator" }, nowMs())
      if (minted === undefined) throw new Error("the operator may make keys")
      const key = { key_id: minted.id, name: minted.name, scope: "customer", tier: minted.tier } as const
      const caller = keyCaller({ ...key, last_used_at: 0, secret_hash: "" })
      const origin = originOf(keys.originSecret, caller, "127.0.0.1", "load")
      return { tenant: caller.tenant, origin, secret: minted.secret }
    },
    close: async () => {
      await ledger.close()
      await heads.close()
      await close()
    },
  }
}
