/**
 * A server process in the simulation: the real head file, deployment, connection pool, sealer, budget ledger, idempotency keys
 * and pipeline, as boot.ts connects them, but a batch has no delay: the schedule decides which runs share one.
 * The database server, the clock and the end of the process are simulated.
 */

import type { ReportedAct } from "@runseal/core/seal/permits/closing-run"
import type { AskedPermit } from "@runseal/core/seal/permits/permit-terms"
import type { Submission, Tenant } from "@runseal/core/wire/submission"
import type { TrustDocument } from "@runseal/log/trust/trust-document"
import { openExecution, type Prepared, pipelineOf } from "@runseal/server/execution"
import { WATCH } from "@runseal/server/followed-steps"
import { openHeadFile } from "@runseal/server/heads/head-files"
import { openHeads } from "@runseal/server/heads/heads"
import { type MadeOrRecorded, openIdempotencyKeys } from "@runseal/server/http/access/idempotency"
import { closedPermit } from "@runseal/server/http/routes/permit-views"
import { publicCheckpoint } from "@runseal/server/keys/embedded-log"
import { openPayloadKeys } from "@runseal/server/keys/payload-keys"
import { permitSigning } from "@runseal/server/keys/permit-signing"
import { trustDocument, trustedKeysOf } from "@runseal/server/keys/published-trust"
import type { Config } from "@runseal/server/options/config"
import type { SealedRun } from "@runseal/server/sealing/batch"
import { openLogClock } from "@runseal/server/sealing/log-clock"
import { endDuePermits } from "@runseal/server/sealing/permit-sweeper"
import { openDeployment } from "@runseal/server/sealing/pinned-deployment"
import { attestationDraft, type SealedAttestation } from "@runseal/server/sealing/seal-attestation"
import type { OpenedPermit } from "@runseal/server/sealing/seal-permits"
import { openSealer } from "@runseal/server/sealing/sealer"
import { verifyHere } from "@runseal/server/sealing/verification"
import { createConnectionPool } from "@runseal/server/store/driver/connection-pool"
import { databaseOver } from "@runseal/server/store/driver/database"
import type { KeyClaim } from "@runseal/server/store/tables/idempotency-keys"
import { type FoundPermit, findHeldPermit } from "@runseal/server/store/tables/permits-table"
import { createBudgetLedger } from "@runseal/server/store/tables/tenant-windows"
import type { SimulatedServer } from "./database/server.ts"

/** Connections of one process: sealer and ledger hold one each while they commit, and one serves reads. */
const CONNECTIONS = 3

/** Makes the head of the log durable beside the keys. */
export type Remember = (size: number, root: Uint8Array, write: () => Promise<void>) => Promise<void>

export type ProcessParts = {
  /** Unique: a process that is started again has a new name. */
  readonly name: string
  readonly config: Config
  readonly prepared: Prepared
  readonly server: Pick<SimulatedServer, "connect">
  readonly nowMs: () => number
  /** Wraps the write of the head file: may fail before it, after it, or not at all. */
  readonly remember: Remember
  /** Makes the head file durable. */
  readonly sync: (fd: number) => Promise<void>
  /** Receives the function that closes the process's open files. */
  readonly opened: (close: () => void) => void
  /** Called with each fault that the process logs. */
  readonly reportFault: (error: unknown) => void
}

export type SimulatedProcess = {
  readonly name: string
  readonly trust: TrustDocument
  readonly execute: (submission: Submission, claim: KeyClaim | undefined) => Promise<MadeOrRecorded<SealedRun>>
  readonly attest: (
    owner: number,
    digest: string,
    claim: KeyClaim | undefined,
  ) => Promise<MadeOrRecorded<SealedAttestation>>
  readonly open: (
    submission: Submission,
    asked: AskedPermit,
    claim: KeyClaim | undefined,
  ) => Promise<MadeOrRecorded<OpenedPermit>>
  /** Closes a permit that is there. */
  readonly close: (
    permitId: string,
    tenant: Tenant,
    act: ReportedAct,
    claim: KeyClaim | undefined,
  ) => Promise<MadeOrRecorded<SealedRun>>
  /** Redeems a permit that is there. */
  readonly redeem: (permitId: string) => Promise<number>
  /** Ends permits that are due. */
  readonly endDue: () => Promise<boolean>
}

/** Starts a process. Rejects with StartupError when it must not run on this database, with StoreError when it cannot. */
export async function startProcess(parts: ProcessParts): Promise<SimulatedProcess> {
  const { name, config, prepared, server, nowMs, reportFault } = parts
  const headFile = openHeadFile(config.keysDir, name, parts.sync)
  parts.opened(headFile.close)
  const heads = openHeads({ file: headFile, nowMs })
  const pool = createConnectionPool(CONNECTIONS, ({ lost }) => ({
    client: server.connect(name, lost),
    cut: () => undefined,
  }))
  const db = databaseOver("postgres", pool, async () => undefined)
  const clock = openLogClock({ nowMs, uptimeMs: nowMs }, config)
  const deployment = await openDeployment(db, config, heads, clock)
  const { keys, origin, epoch } = deployment
  const trust = trustDocument(deployment, config.logOrigin)
  const sealer = openSealer({
    db,
    log: { keys, origin },
    epoch,
    verify: verifyHere(trustedKeysOf(trust)),
    trust: trustedKeysOf(trust),
    nowMs,
    clock,
    reportFault,
    watch: WATCH,
    payloadKeys: openPayloadKeys(config.keysDir, nowMs(), config.approvals),
    publicCheckpoint: (size, root) => publicCheckpoint(keys, origin, size, root),
    heads: { ...heads, remember: head => parts.remember(head.size, head.root, () => heads.remember(head)) },
    reportFailure: () => undefined,
    reportSealed: () => undefined,
    reportCommitted: () => undefined,
    reportBuilt: () => undefined,
    reportLockHeld: () => undefined,
  })
  const { execute, permits } = openExecution({
    db,
    sealer,
    ledger: createBudgetLedger(db),
    nowMs,
    reviewer: prepared.reviewer,
    signal: new AbortController().signal,
    signOpening: permitSigning(keys.service, origin),
    issuer: origin,
    pipeline: pipelineOf(config, prepared, () => prepared.policy, "unknown"),
    reportFault,
    policies: { ofEvaluation: async () => prepared.policy, exactlyOf: async () => prepared.policy },
    trust: trustedKeysOf(trust),
    reportNotEnded: () => undefined,
  })
  const keyed = openIdempotencyKeys(db, nowMs, () => heads.rememberStored(db))
  const once = async <Made>(claim: KeyClaim | undefined, make: () => Promise<Made>): Promise<MadeOrRecorded<Made>> =>
    claim === undefined ? { made: await make() } : keyed.once(claim, make)
  const find = async (permitId: string): Promise<FoundPermit> => {
    const found = await findHeldPermit(db, permitId)
    if (found === undefined) throw new Error(`permit ${permitId} is gone`)
    return found
  }
  return {
    name,
    trust,
    execute: (submission, claim) => once(claim, () => execute(submission, claim)),
    attest: (owner, digest, claim) =>
      once(claim, () => sealer.attest(attestationDraft(owner, { digest, algorithm: "sha256" }), claim)),
    open: (submission, asked, claim) =>
      once(claim, async () => {
        const opened = await permits.open(submission, asked, { claim })
        if ("asked" in opened || "stored" in opened)
          throw new Error("the policy of the simulation requires no approval")
        return opened
      }),
    close: (permitId, tenant, act, claim) =>
      once(claim, async () => permits.close(closedPermit(await find(permitId), tenant), act, { claim })),
    redeem: async permitId => permits.redeem({ owner: (await find(permitId)).owner, permit_id: permitId }),
    endDue: () => endDuePermits({ db, sealer, nowMs }),
  }
}
