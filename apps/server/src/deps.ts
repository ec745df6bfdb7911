/** The parts of the service that the routes use, put together by boot.ts. */

import type { KeyObject } from "node:crypto"
import type { JsonObject } from "@runseal/canonical"
import type { GenesisLeaf } from "@runseal/core/artifacts/anchor"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import type { Budgets } from "@runseal/core/seal/gates/macc"
import type { PolicyInForce } from "@runseal/core/wire/admin-answers"
import type { AttestRequest } from "@runseal/core/wire/attestation-requests"
import type { KeyChangesAnswer, WitnessesAnswer } from "@runseal/core/wire/log-answers"
import type { Submission } from "@runseal/core/wire/submission"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { Approvals } from "./approval-service.ts"
import type { IdempotencyKeys } from "./http/access/idempotency.ts"
import type { KeyDirectory } from "./http/access/key-directory.ts"
import type { RateLimits } from "./http/access/rate-limit.ts"
import type { Sessions } from "./http/access/sessions.ts"
import type { SignIns } from "./http/access/sign-in.ts"
import type { TrialQuota } from "./http/access/trial-quota.ts"
import type { Proxies } from "./http/caller-address.ts"
import type { LogGrowth } from "./http/log-growth.ts"
import type { PayloadKeys } from "./keys/payload-keys.ts"
import type { Config } from "./options/config.ts"
import type { Peer } from "./options/shard-options.ts"
import type { Deliveries } from "./outbound/deliveries/deliveries.ts"
import type { EndUserTokens } from "./outbound/identity/end-user-tokens.ts"
import type { Outbox } from "./outbound/outbox/outbox.ts"
import type { ShowOutside } from "./outbound/outbox/show-outside.ts"
import type { ShowWitnessed } from "./outbound/witnessing/show-witnessed.ts"
import type { Permits } from "./permit-service.ts"
import type { Policies } from "./policy-service.ts"
import type { Renderer } from "./report/renderer.ts"
import type { SealedRun } from "./sealing/batch.ts"
import type { CheckDocument } from "./sealing/document-check.ts"
import type { Exports } from "./sealing/exports.ts"
import type { PermitSweeper } from "./sealing/permit-sweeper.ts"
import type { Reads } from "./sealing/read-standby.ts"
import type { SealedAttestation } from "./sealing/seal-attestation.ts"
import type { StateRun } from "./sealing/seal-run-statement.ts"
import type { Sweeping } from "./sealing/sweeping.ts"
import type { Database } from "./store/driver/database.ts"
import type { Acts } from "./store/tables/admin-events.ts"
import type { KeyClaim } from "./store/tables/idempotency-keys.ts"
import type { ShownHead } from "./store/tables/shown-head.ts"
import type { Readiness, Telemetry } from "./telemetry.ts"

export type Deps = {
  readonly db: Database
  /** The same for what is withdrawn: it is refused where it is not known to hold all that was acknowledged. */
  readonly guarded: Database
  /** For lists, records and full tiles: on the read standby where there is one. */
  readonly reads: Reads
  /** The log's head, for checkpoints that leave the service. */
  readonly shownHead: ShownHead
  /** Lets requests wait until the log has grown. */
  readonly growth: LogGrowth
  /** Milliseconds since the epoch. */
  readonly nowMs: () => number
  /** Finds the key of a secret, and whether the service is open or locked. */
  readonly keys: KeyDirectory
  /** What the secrets of new keys begin with, after `rsk_`; undefined: nothing more. */
  readonly keyPrefix: string | undefined
  /** Sessions of people in a browser. */
  readonly sessions: Sessions
  /** Verifies the access tokens of end users. */
  readonly endUsers: EndUserTokens
  /** How people sign in with the identity provider; undefined: they do not. */
  readonly signIns: SignIns | undefined
  readonly rateLimits: RateLimits
  readonly trialQuota: TrialQuota
  readonly idempotencyKeys: IdempotencyKeys
  /** Awaited before the answer that something is not stored: a database that was put back may lack it. Rejects with a 503. */
  readonly rememberStored: () => Promise<void>
  /** Number of proxies in front of the service whose header is trusted. */
  readonly trustedProxyHops: Proxies["trustedProxyHops"]
  /** The header that they write. */
  readonly proxyHeader: Proxies["proxyHeader"]
  /** Who may ask for a run or permit that is only observed. */
  readonly observing: Config["allowObserve"]
  /** Who is shown what the policy says of a refusal. */
  readonly explaining: Config["explain"]
  /**
   * Takes a submission through the pipeline and seals it, as the one run of its claim's key. Rejects with a 4xx or 503, never
   * with half a run.
   */
  readonly execute: (
    submission: Submission,
    claim?: KeyClaim,
    request_id?: string,
    slot?: () => Promise<void>,
  ) => Promise<SealedRun>
  /** The policy in force, and how it changes. */
  readonly policies: Pick<Policies, "inForce" | "explain" | "load" | "dryRun">
  /** Opens, signs, redeems and closes permits. */
  readonly permits: Permits
  /** Asks people for their approval, and ends what was asked. */
  readonly approvals: Approvals
  /** Ends requests for an approval that are over; a rejection ends one at once. */
  readonly approvalEnds: Pick<Sweeping, "sweep">
  /** Decrypts the payloads that wait for an approval. */
  readonly payloadKeys: Pick<PayloadKeys, "decryptPayload">
  /** Runs a submission twice under one Moment; nothing is stored, charged or anchored. */
  readonly rehearse: (submission: Submission) => Promise<readonly [Bundle, Bundle]>
  /** Anchors a digest for a key's id (0 = anonymous). Rejects with a 503 when nothing was acknowledged. */
  readonly attest: (owner: number, request: AttestRequest, claim?: KeyClaim) => Promise<SealedAttestation>
  /** The lines of a tenant's export, its statement sealed first; undefined when too many are under way. Rejects with a 503. */
  readonly openExport: Exports["open"]
  /** The signed statement of a stored bundle. Throws for one that does not verify. */
  readonly stateRun: StateRun
  /** Makes and signs a report. Rejects with JobError, or with SignerFailure. */
  readonly renderReport: Renderer["render"]
  /** Whether a run could be sealed now. Never rejects. */
  readonly readiness: () => Promise<Readiness>
  /** Called when a request failed because the record store did. Readiness is then checked anew. */
  readonly reportUnavailable: () => void
  /** Number of records in the queue of the sealer. */
  readonly sealingQueue: () => number
  /** Ends permits that are due, which those of a revoked key are at once. */
  readonly permitEnds: Pick<PermitSweeper, "sweep" | "openPermits">
  /**
   * Does what an administrator asks for, and seals its event, in one transaction: the answer is sent once the event is in the log. Rejects
   * with a 503 where nothing can be sealed, and nothing is done then.
   */
  readonly acts: Acts
  /** What a run is held against where its key has no budget of its own. */
  readonly budgets: Budgets
  /** The library of signatures of malicious code. */
  readonly signatures: PolicyInForce["signatures"]
  readonly signatureIds: ReadonlySet<string>
  /** Delivers events, and tests destinations. */
  readonly deliveries: Deliveries
  readonly telemetry: Telemetry
  /** The outside log that this process delivers to. */
  readonly outside?: Outbox
  /** When the witnesses of the log cosigned last, and which are silent. */
  readonly showWitnesses: () => Promise<WitnessesAnswer>
  /** Adds the anchors in outside logs to a bundle when it is read. */
  readonly showOutside: ShowOutside
  /** Adds what witnesses signed of the log since to a bundle when it is read. */
  readonly showWitnessed: ShowWitnessed
  readonly originSecret: KeyObject
  readonly orchestratorVersion: string
  /** Commit of the source, or "unknown". */
  readonly sourceRevision: string
  readonly logOrigin: string
  /** Address under which callers reach the service, when the operator gave one. */
  readonly baseUrl: string | undefined
  /** The other deployments, which the console links. */
  readonly peers: readonly Peer[]
  /** The leaf of log entry 0. */
  readonly genesis: GenesisLeaf
  /** The leaves of the log entries that announce changes of keys. */
  readonly keyChanges: KeyChangesAnswer["changes"]
  /** Verifies a large document off the event loop, with the server's own trust. Rejects with JobError. */
  readonly checkDocument: CheckDocument
  /** The server's own trust, for /dcae/verify. */
  readonly trust: TrustedKeys
  /** Published at /.well-known/. */
  readonly trustDocument: JsonObject
  readonly trustedRoot: JsonObject
  readonly servicePublicKeyPem: string
}
