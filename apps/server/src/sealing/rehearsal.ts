/**
 * Seals a run in a scratch log with keys of its own, made for one request and discarded. Nothing is stored, charged or anchored.
 * The service's keys sign nothing, so that a rehearsed entry cannot pass for one that is in the log.
 */
import { encodeHex } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { genesisLeaf } from "@runseal/core/formulas/leaves"
import type { Draft } from "@runseal/core/seal/draft"
import { clockSeconds, ZERO_HASH } from "@runseal/core/vocabulary/scalars"
import { emptyRange } from "@runseal/log/merkle/compact-range"
import { WATCH } from "../followed-steps.ts"
import { newEcdsaKey, type OwnEcdsaKey, signEach } from "../keys/ecdsa-keys.ts"
import { growLog, type LogIdentity, signAndAppend } from "../keys/embedded-log.ts"
import { scratchTrust } from "../keys/published-trust.ts"
import type { ReportFault } from "../telemetry.ts"
import type { SealedRun } from "./batch.ts"
import { buildBatch } from "./seal-batch.ts"
import { runItem } from "./seal-run.ts"
import { verifyHere } from "./verification.ts"

const SCRATCH_ORIGIN = "rehearsal.invalid - 1"
/** The number of the one run of a rehearsal, which is no number of a stored run. */
const SCRATCH_RUN_ID = 1

/** The same message gets the same signature: two equal leaves share one entry, two different leaves never do. */
function remembering(key: OwnEcdsaKey): OwnEcdsaKey {
  const known = new Map<string, Uint8Array>()
  const sign = (message: Uint8Array): Uint8Array => {
    const text = encodeHex(message)
    const signature = known.get(text) ?? key.sign(message)
    known.set(text, signature)
    return signature
  }
  return { ...key, sign, signAll: signEach(sign) }
}

/** A function that seals drafts of one Moment, all on the same scratch log. */
export function createRehearsal(at: string, reportFault: ReportFault): (draft: Draft) => Promise<Bundle> {
  const time = clockSeconds(at) ?? 0
  const log: LogIdentity = {
    keys: { service: remembering(newEcdsaKey()), log: remembering(newEcdsaKey()) },
    origin: SCRATCH_ORIGIN,
  }
  const trust = scratchTrust(log, time)
  const context = { log, verify: verifyHere(trust), trust, reportFault, watch: WATCH }
  const genesis = growLog({ range: emptyRange, edges: [] })
  const { service, log: logKey } = log.keys
  const keyIds = { service_key_id: service.keyId, log_key_id: logKey.keyId, checkpoint_key_id: logKey.keyId }
  const started = signAndAppend(log, genesis, genesisLeaf({ origin: log.origin, genesis_clock: at, ...keyIds }))
  return async draft => {
    await started
    const frontier = genesis.frontier()
    const { tenant_id } = draft.tenant
    const tenants = new Map([
      [tenant_id, { tenant_id, salt: ZERO_HASH, record_count: 0, run_count: 0, head: ZERO_HASH }],
    ])
    const start = { frontier, next_run_id: SCRATCH_RUN_ID, tenants, attested: new Map(), time, now: time * 1000 }
    let made: SealedRun | undefined
    const item = runItem(draft, undefined, run => {
      made = run
    })
    const { sealed } = await buildBatch([{ item, open: item.open }], start, context)
    for (const { acknowledge } of sealed) acknowledge()
    if (made === undefined) throw new Error("a rehearsal seals its one run")
    return made.bundle
  }
}
