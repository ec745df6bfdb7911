/** Puts the parts together: database, keys, log, policy, reviewer, pipeline, sealer. */

import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { parseStrictJson, StrictJsonError } from "@runseal/canonical"
import type { SignatureScan } from "@runseal/core/vocabulary/decision-codes"
import { spkiToPem } from "@runseal/log/keys/spki"
import type { TrustDocument } from "@runseal/log/trust/trust-document"
import { loadPolicy } from "@runseal/policy/load-policy"
import { PolicyError } from "@runseal/policy/policy-document"
import type { Logger } from "pino"
import type { Deps } from "./deps.ts"
import { budgetsOf, callersOf, openExecution, type Prepared, pipelineOf } from "./execution.ts"
import { WATCH } from "./followed-steps.ts"
import { openHeadsFolder } from "./heads/head-files.ts"
import { type Heads, openHeads } from "./heads/heads.ts"
import { openIdempotencyKeys } from "./http/access/idempotency.ts"
import { openKeyDirectory } from "./http/access/key-directory.ts"
import { openRateLimits } from "./http/access/rate-limit.ts"
import { openSessions } from "./http/access/sessions.ts"
import { openSignIns } from "./http/access/sign-in.ts"
import { openTrialQuota } from "./http/access/trial-quota.ts"
import { openLogGrowth } from "./http/log-growth.ts"
import { openInspection } from "./inspection/inspection.ts"
import { publicCheckpoint } from "./keys/embedded-log.ts"
import { openPayloadKeys, type PayloadKeys } from "./keys/payload-keys.ts"
import { permitSigning } from "./keys/permit-signing.ts"
import { trustDocument, trustedKeysOf } from "./keys/published-trust.ts"
import { openRepeatableSigning } from "./keys/repeatable-signing.ts"
import { type Config, readPolicyText, SERVICE_VERSION } from "./options/config.ts"
import { StartupError } from "./options/startup-error.ts"
import { refuseOwnLog } from "./options/witness.ts"
import { PROCESS_WORLD } from "./outbound/ask.ts"
import { openDeliveries } from "./outbound/deliveries/deliveries.ts"
import { type EndUserTokens, NO_END_USERS, openEndUserTokens } from "./outbound/identity/end-user-tokens.ts"
import { openProviderKeys, ProviderFailure } from "./outbound/identity/identity-provider.ts"
import { openPeopleProvider } from "./outbound/identity/people-provider.ts"
import { openOutside } from "./outbound/outbox/open-outside.ts"
import { openOutsideLog } from "./outbound/outbox/outside-log.ts"
import { openCosigner } from "./outbound/witnessing/cosigner.ts"
import { compileSignatureLibrary, type SignatureLibrary } from "./policy/signature-library.ts"
import { openPolicies, type Policies, requireApprovals } from "./policy-service.ts"
import { openRenderer, type Renderer } from "./report/renderer.ts"
import { createReviewer, ReviewConfigError } from "./review/create-reviewer.ts"
import { openDocumentCheck } from "./sealing/document-check.ts"
import { openEventSweeper } from "./sealing/event-sweeper.ts"
import { openExports } from "./sealing/exports.ts"
import { type LogClock, type MachineClock, openLogClock } from "./sealing/log-clock.ts"
import { openOwnVerification } from "./sealing/own-verification.ts"
import { openPermitSweeper } from "./sealing/permit-sweeper.ts"
import { type Deployment, openDeployment } from "./sealing/pinned-deployment.ts"
import { openReads, type Standby } from "./sealing/read-standby.ts"
import { createReadiness, createTrialDue, readyWithSigner } from "./sealing/readiness.ts"
import { attestationDraft } from "./sealing/seal-attestation.ts"
import { createRunStatements } from "./sealing/seal-run-statement.ts"
import { openSealer, type Sealer } from "./sealing/sealer.ts"
import { openSweeping } from "./sealing/sweeping.ts"
import type { Database } from "./store/driver/database.ts"
import { openShownHead } from "./store/tables/shown-head.ts"
import { createBudgetLedger } from "./store/tables/tenant-windows.ts"
import { type Counters, createTelemetry } from "./telemetry.ts"

export type Service = {
  readonly deps: Deps
  /** Puts the file of `--policy` in force, as it is now. What comes of it is in the process log. */
  readonly reloadPolicy: () => Promise<void>
  /** Finishes what was taken on, then closes the store. */
  readonly close: () => Promise<void>
}

/** How the operator set the signature scan. @throws StartupError for a signature that the library does not have */
export function signatureScanOf(
  { mcdMode, mcdScope, mcdDisable = [] }: Config,
  library: SignatureLibrary,
): SignatureScan {
  const unknown = mcdDisable.find(id => !library.ids.has(id))
  if (unknown !== undefined)
    throw new StartupError(`--mcd-disable ${unknown}: the signature library has no such signature`)
  return { mode: mcdMode, scope: mcdScope, disabled: mcdDisable }
}

/** Reads the policy and the outside log's key, and makes the reviewer. @throws StartupError naming what is wrong with one of them */
export function prepare(config: Config): Prepared {
  try {
    const text = readPolicyText(config)
    const library = compileSignatureLibrary()
    const signatureScan = signatureScanOf(config, library)
    const policy = loadPolicy(text === undefined ? undefined : parseStrictJson(text), signatureScan)
    requireApprovals(policy, config)
    const inspection = openInspection(library)
    const reviewer = createReviewer(config.reviewer, PROCESS_WORLD, inspection.review)
    const outside = config.rekor && openOutsideLog(config.rekor)
    return { policy, policyText: text, signatureScan, library, inspection, reviewer, outside }
  } catch (error) {
    if (error instanceof PolicyError || error instanceof StrictJsonError)
      throw new StartupError(`--policy ${config.policyFile}: ${error.message}`)
    if (error instanceof ReviewConfigError) throw new StartupError(`--aivp ${config.reviewer.kind}: ${error.message}`)
    throw error
  }
}

export type BootParts = MachineClock & {
  readonly config: Config
  readonly prepared: Prepared
  /** Closed by the service when the start succeeds, by the caller when it does not. */
  readonly db: Database
  /** A standby for reads; closed by the service. */
  readonly standby?: Standby | undefined
  readonly logger: Logger
  /** Absent: nothing is counted. */
  readonly counters?: Counters | undefined
}

/** What the service shows of itself to anybody. */
const publishedOf = ({ keys, origin, genesis, keyChanges }: Deployment, config: Config, document: TrustDocument) => ({
  orchestratorVersion: SERVICE_VERSION,
  logOrigin: origin,
  baseUrl: config.baseUrl,
  peers: config.peers ?? [],
  genesis,
  keyChanges,
  trustDocument: document,
  trustedRoot: document.trusted_root,
  servicePublicKeyPem: spkiToPem(keys.service.spki),
})

type OverHeads = BootParts &
  Pick<Deps, "telemetry" | "reads" | "guarded"> & { readonly heads: Heads; readonly clock: LogClock }

type AccessParts = Pick<OverHeads, "db" | "guarded" | "config" | "nowMs" | "heads" | "telemetry"> &
  Pick<Deployment, "keys">

/** Who may come in, and how often. */
const openAccess = ({ db, guarded, config, nowMs, heads, telemetry, keys }: AccessParts) => ({
  keys: openKeyDirectory({ db: guarded, nowMs, telemetry }),
  idempotencyKeys: openIdempotencyKeys(db, nowMs, () => heads.rememberStored(db)),
  trialQuota: openTrialQuota(db, nowMs, () => telemetry.limited("trial")),
  rateLimits: openRateLimits({ db, config, secret: keys.originSecret, nowMs, reportRefused: telemetry.limited }),
})

/**
 * Verifies whose acts requests are. Whether the provider can be used is checked now, if it answers: one that is away does not keep the service from
 * starting. @throws StartupError for a provider that can never be used
 */
async function openEndUsers(
  { config, nowMs, telemetry }: Pick<OverHeads, "config" | "nowMs" | "telemetry">,
  stop: AbortSignal,
): Promise<EndUserTokens> {
  const { identityProvider: provider, endUsers } = config
  if (provider === undefined) return NO_END_USERS
  const keys = openProviderKeys({ provider, nowMs, stop, report: telemetry.identityProviderChanged })
  await keys.refresh().catch((error: unknown) => {
    if (!(error instanceof ProviderFailure)) throw error
    if (!error.isAway) throw new StartupError(`--issuer: the identity provider ${error.message}`)
  })
  return endUsers === undefined ? NO_END_USERS : openEndUserTokens(endUsers, keys, nowMs)
}

/** Sessions of people in browsers, and how they sign in with the identity provider. */
function openSessionsOf(
  { guarded, config: { signIn }, nowMs }: OverHeads,
  { originSecret: secret }: Deployment["keys"],
  policies: Pick<Policies, "inForce">,
) {
  const approves = (group: string): boolean => {
    const approvals = [...policies.inForce().compiled.approvals.values()]
    return approvals.some(({ by }) => by.includes(group))
  }
  const signIns = signIn && openSignIns(signIn, openPeopleProvider(signIn, nowMs), { secret, nowMs, approves })
  return { signIns, sessions: openSessions(guarded, nowMs, signIns?.roleOf ?? (() => undefined)) }
}

/** Makes reports and signs them with the service key. */
function openReports({ keys, origin, genesisAt, signingKeys }: Deployment, db: Database): Renderer {
  const { spki, keyId } = keys.service
  const validFrom = signingKeys.find(({ key_id }) => key_id === keyId)?.valid_from ?? genesisAt
  return openRenderer({ spki, validFrom, origin }, openRepeatableSigning(keys.service, db))
}

/** @throws StartupError with one sentence for the operator when the service must not start */
export async function boot(parts: BootParts): Promise<Service> {
  const { config, db } = parts
  const clock = openLogClock(parts, config)
  const telemetry = createTelemetry({ ...parts, accessLog: config.accessLog === "on" })
  const heads = openHeads({ ...openHeadsFolder(config, db), nowMs: clock.nowMs, report: telemetry.headsHeld })
  const reads = openReads({ db, standby: parts.standby, known: heads.own, telemetry })
  try {
    return await bootOver({ ...parts, nowMs: clock.nowMs, clock, telemetry, heads, reads, guarded: heads.guard(db) })
  } catch (error) {
    await heads.close()
    await reads.close()
    throw error
  }
}

const openVerificationOf = (
  { keys, origin }: Deployment,
  document: TrustDocument,
  { db, config: { keysDir }, heads, telemetry }: OverHeads,
): ReturnType<typeof openOwnVerification> =>
  openOwnVerification({ document, log: { keys, origin }, db, keysDir, ownSize: () => heads.own().size, telemetry })

/** What the sealer reports of batches and records. */
const reportsTo = ({ stageFailed, batchFailed, sealed, built, lockHeld }: Deps["telemetry"]) => ({
  reportFault: stageFailed,
  reportFailure: batchFailed,
  reportSealed: sealed,
  reportBuilt: built,
  reportLockHeld: lockHeld,
})

/** What follows a commit. */
const afterCommit =
  ({ committed }: Deps["telemetry"], steps: readonly (() => void)[]) =>
  (records: number): void => {
    committed(records)
    for (const step of steps) step()
  }

/** Who signs permits, and under which name. */
const issuerOf = ({ permits }: Config, { keys, origin }: Deployment) => ({
  signOpening: permits ? permitSigning(keys.service, origin) : undefined,
  issuer: origin,
})

/** What administrators are shown of the settings. */
const shownSettings = ({ config, prepared: { library } }: Pick<BootParts, "config" | "prepared">) => ({
  budgets: budgetsOf(config),
  signatures: { library_hash: library.library_hash, count: library.count },
  signatureIds: library.ids,
})

/** What is sealed without a request. */
const openSweepers = ({
  telemetry,
  approvals,
  payloadKeys,
  ...parts
}: Pick<Deps, "db" | "nowMs" | "telemetry" | "approvals"> & {
  readonly sealer: Sealer
  readonly clock: LogClock
  readonly payloadKeys: PayloadKeys
}) => ({
  permitEnds: openPermitSweeper({ ...parts, reportFailure: telemetry.permitsNotEnded }),
  eventSweeper: openEventSweeper({ ...parts, reportFailure: telemetry.eventsNotSealed }),
  approvalEnds: openSweeping(
    async () => {
      const isMore = await approvals.endDue()
      payloadKeys.advance(parts.nowMs())
      return isMore
    },
    APPROVALS_EVERY_MS,
    telemetry.approvalsNotEnded,
  ),
})

/** How often requests for an approval are looked for that are over, in milliseconds. */
const APPROVALS_EVERY_MS = 5000

const openDeliveriesOf = (
  { keys, origin }: Deployment,
  { guarded: db, nowMs, telemetry, config }: OverHeads,
): ReturnType<typeof openDeliveries> =>
  openDeliveries({
    ...{ db, nowMs, telemetry, networks: config.deliveryNetworks, logOrigin: origin },
    secret: keys.originSecret,
  })

/** The sealer, and the parts that a commit needs or wakes. @param left sizes of the log that processes before this one remembered */
async function openSealing(parts: OverHeads, deployment: Deployment, left: readonly number[]) {
  const { config, prepared, db, nowMs, clock, telemetry, heads } = parts
  const { keys, origin, epoch } = deployment
  const outside = await openOutside({ db, log: prepared.outside, nowMs, telemetry })
  const document = trustDocument(deployment, config.logOrigin, outside.listed)
  const trust = trustedKeysOf(document)
  const shownHead = openShownHead(db, heads.own)
  const access = openAccess({ ...parts, keys })
  const ledger = createBudgetLedger(db)
  const verification = openVerificationOf(deployment, document, parts)
  verification.takeOver(left)
  const cosigner = openCosigner({ ...parts, shownHead })
  const deliveries = openDeliveriesOf(deployment, parts)
  const payloadKeys = openPayloadKeys(config.keysDir, nowMs(), config.approvals)
  const trialDue = createTrialDue()
  const sealer = openSealer({
    ...{ db, epoch, nowMs, clock, payloadKeys, watch: WATCH },
    upstream: [access.keys, access.idempotencyKeys, access.trialQuota, ledger],
    log: verification.log,
    verify: verification.verify,
    trust,
    ...reportsTo(telemetry),
    publicCheckpoint: (size, root) => publicCheckpoint(keys, origin, size, root),
    heads,
    reportCommitted: afterCommit(telemetry, [trialDue.settle, cosigner.wake, outside.wake, deliveries.wake]),
  })
  return {
    outside,
    document,
    trust,
    shownHead,
    access,
    ledger,
    verification,
    cosigner,
    deliveries,
    payloadKeys,
    trialDue,
    sealer,
  }
}

async function bootOver(parts: OverHeads): Promise<Service> {
  const { config, prepared, db, nowMs, clock, telemetry, heads, reads, guarded } = parts
  const stop = new AbortController()
  const endUsers = await openEndUsers(parts, stop.signal)
  // Before the start tidies away files of processes that ended.
  const left = heads.read().map(({ size }) => size)
  const deployment = await openDeployment(db, config, heads, clock)
  refuseOwnLog(config.witnesses, deployment)
  const { keys, origin, epoch } = deployment
  if (deployment.isAnotherLog) telemetry.anotherLog(origin)
  const policies = await openPolicies(parts)
  const {
    document,
    trust,
    shownHead,
    access,
    payloadKeys,
    trialDue,
    outside,
    ledger,
    verification,
    cosigner,
    deliveries,
    sealer,
  } = await openSealing(parts, deployment, left)
  const revision = sourceRevision()
  const renderer = openReports(deployment, db)
  const documents = openDocumentCheck(document)
  const execution = openExecution({
    ...{ db, sealer, ledger, nowMs, policies, trust, reviewer: prepared.reviewer, signal: stop.signal },
    ...issuerOf(config, deployment),
    pipeline: pipelineOf(config, prepared, () => policies.inForce().compiled, revision),
    reportFault: telemetry.stageFailed,
    reportNotEnded: telemetry.approvalsNotEnded,
  })
  const sweepers = openSweepers({ ...parts, ...execution, sealer, payloadKeys })
  const growth = openLogGrowth(db)
  const readiness = verification.ready(createReadiness({ db, nowMs, clock, heads, epoch, trialDue, telemetry }))
  const deps: Deps = {
    ...{ db, reads, guarded, shownHead, nowMs, endUsers, growth },
    ...access,
    rememberStored: () => heads.rememberStored(db),
    ...openSessionsOf(parts, keys, policies),
    ...callersOf(config),
    keyPrefix: config.keyPrefix,
    ...execution,
    policies,
    attest: (owner, request, claim) => sealer.attest(attestationDraft(owner, request), claim),
    openExport: openExports({ ...parts, sealer, show: outside.shown.showOutside, reportFailure: telemetry.exportCut })
      .open,
    stateRun: createRunStatements(keys.service, trust),
    renderReport: renderer.render,
    readiness: outside.ready(readyWithSigner(readiness, { key: keys.service, nowMs, telemetry })),
    sealingQueue: sealer.waiting,
    ...{ ...sweepers, payloadKeys },
    acts: sealer.acts,
    deliveries,
    reportUnavailable: trialDue.raise,
    telemetry,
    ...shownSettings(parts),
    ...{ ...outside.shown, ...cosigner.shown },
    originSecret: keys.originSecret,
    sourceRevision: revision,
    trust,
    checkDocument: documents.check,
    ...publishedOf(deployment, config, document),
  }
  stop.signal.addEventListener("abort", growth.end)
  const swept = [policies, prepared.inspection, renderer, documents, ...Object.values(sweepers)]
  const sealing = [...swept, ledger, sealer, verification]
  const opened = [...sealing, cosigner, outside, deliveries, reads, ...Object.values(access), heads, db]
  const reloadPolicy = policies.reloader(sealer.acts, () => readPolicyText(config))
  return { deps, reloadPolicy, close: () => closeAll(stop, opened) }
}

/** Ends what waits for others, then closes one part after the other. */
async function closeAll(stop: AbortController, parts: readonly { readonly close: () => unknown }[]): Promise<void> {
  stop.abort()
  for (const part of parts) await part.close()
}

// The commit that the running code was made from, which is sealed in every record.

const GIT_TIMEOUT_MS = 2000
const REVISION = /^[0-9a-f]{40}$/

/** The file of a package, which says `unknown` where it was made of no clean commit. A checkout has none. */
const PACKED = new URL("./source-revision.txt", import.meta.url)

/** 40 hex digits from RUNSEAL_SOURCE_REVISION, else from the package or from git; "unknown" when none has it. */
function sourceRevision(): string {
  const revision = process.env.RUNSEAL_SOURCE_REVISION
  if (revision !== undefined && REVISION.test(revision)) return revision
  const text = fromPackage() ?? fromGit()
  return REVISION.test(text) ? text : "unknown"
}

/** Undefined in a checkout. A package does not ask git: it may be installed inside the repository of another project. */
function fromPackage(): string | undefined {
  try {
    return readFileSync(PACKED, "utf8").trim()
  } catch {
    return undefined
  }
}

function fromGit(): string {
  try {
    return execFileSync("git", ["rev-parse", "HEAD"], {
      cwd: import.meta.dirname,
      stdio: ["ignore", "pipe", "ignore"],
      timeout: GIT_TIMEOUT_MS,
    })
      .toString()
      .trim()
  } catch {
    return ""
  }
}
