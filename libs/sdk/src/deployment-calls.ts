/** What administrators and auditors read of all keys. docs/api.md, "The deployment". */
import { type AdminEvent, adminEventSchema } from "@runseal/core/artifacts/admin-event"
import {
  type AdminPermitRecord,
  type AdminPermitsPage,
  type AdminRunRecord,
  type AdminRunsPage,
  adminPermitRecordSchema,
  adminPermitsPageSchema,
  adminRunRecordSchema,
  adminRunsPageSchema,
  type EventsPage,
  eventsPageSchema,
  type PolicyInForce,
  type PublicationsPage,
  policyInForceSchema,
  publicationsPageSchema,
  type UsageAnswer,
  usageAnswerSchema,
} from "@runseal/core/wire/admin-answers"
import { type OverviewAnswer, type OverviewRange, overviewAnswerSchema } from "@runseal/core/wire/overview-answer"
import type { PermitState } from "@runseal/core/wire/permit-requests"
import {
  type MadeShare,
  madeShareSchema,
  type RevokedShare,
  revokedShareSchema,
  type ShareRequest,
  type SharesPage,
  sharesPageSchema,
} from "@runseal/core/wire/share-messages"
import { as, keyedCall, permitPath, query, received, runPath } from "./calls.ts"
import type { RunFilters } from "./list-pages.ts"
import { jsonText } from "./plain-json.ts"
import type { Received } from "./read-reply.ts"
import { type RunReads, runReads } from "./run-reads.ts"
import { type ActionOptions, type CallOptions, integerWithin } from "./settings.ts"
import type { Send } from "./transport.ts"

/** `before` is `next` of the page before; `limit` is 1 to 500, and 50 when absent. */
type Paged<Place> = { readonly limit?: number | undefined; readonly before?: Place | undefined }
/** Id of a key; 0 for the runs and permits of open mode. */
type OfKey = { readonly key?: number | undefined }

/** Single runs and permits, whichever key they belong to. */
export type OfAnyKey = RunReads & {
  readonly run: (runId: number, options?: CallOptions) => Promise<AdminRunRecord>
  /** With its opening and its end. */
  readonly permit: (permitId: string, options?: CallOptions) => Promise<AdminPermitRecord>
}

/** For admin keys and auditors. An auditor of named keys is given theirs, and a NotFoundError for others. Lists are newest first, one page a call. */
export type DeploymentCalls = {
  readonly ofAnyKey: OfAnyKey
  /** The runs of all keys that match every filter. */
  readonly allRuns: (filters?: RunFilters & OfKey & Paged<number>, options?: CallOptions) => Promise<AdminRunsPage>
  /** The permits of all keys, all or those in one state. */
  readonly allPermits: (
    filters?: OfKey & Paged<string> & { readonly state?: PermitState | undefined },
    options?: CallOptions,
  ) => Promise<AdminPermitsPage>
  /** What is published. */
  readonly published: (filters?: OfKey & Paged<number>, options?: CallOptions) => Promise<PublicationsPage>
  /** Shares a run for some days under a link that needs no key: a day where no time is given. The token is in this answer alone. Retried only under an idempotency key. */
  readonly share: (runId: number, request?: ShareRequest, options?: ActionOptions) => Promise<MadeShare>
  /** What is shared now. */
  readonly shares: (
    filters?: OfKey & Paged<number> & { readonly run?: number | undefined },
    options?: CallOptions,
  ) => Promise<SharesPage>
  /** Ends a link at once. */
  readonly revokeShare: (shareId: number, options?: ActionOptions) => Promise<RevokedShare>
  /** What every key has used. */
  readonly usage: (options?: CallOptions) => Promise<UsageAnswer>
  /** Runs by outcome over time, what denied them, and how the log grew: over 7 days where no range is given. */
  readonly overview: (range?: OverviewRange, options?: CallOptions) => Promise<OverviewAnswer>
  /** What the service decides by. */
  readonly policy: (options?: CallOptions) => Promise<PolicyInForce>
  /** What administrators did. ForbiddenError for an auditor of named keys, as of the next one. */
  readonly adminEvents: (
    filters?: Paged<number> & {
      readonly action?: string | undefined
      readonly subject_kind?: string | undefined
      readonly subject_id?: string | undefined
    },
    options?: CallOptions,
  ) => Promise<EventsPage>
  /** A sealed admin event, unverified: pass `text` to `verifyBundle`. NotFoundError until it is sealed, which takes some seconds. */
  readonly adminEvent: (ordinal: number, options?: CallOptions) => Promise<Received<AdminEvent>>
}

export const deploymentCalls = (send: Send): DeploymentCalls => ({
  ofAnyKey: {
    ...runReads(send, runId => `/admin${runPath(runId)}`),
    run: async (runId, options) =>
      await send({ path: `/admin${runPath(runId)}`, repeatable: true }, as(adminRunRecordSchema), options),
    permit: async (permitId, options) =>
      await send({ path: `/admin${permitPath(permitId)}`, repeatable: true }, as(adminPermitRecordSchema), options),
  },
  allRuns: async (filters = {}, options) =>
    await send({ path: `/admin/runs${query(filters)}`, repeatable: true }, as(adminRunsPageSchema), options),
  allPermits: async (filters = {}, options) =>
    await send({ path: `/admin/permits${query(filters)}`, repeatable: true }, as(adminPermitsPageSchema), options),
  published: async (filters = {}, options) =>
    await send({ path: `/admin/published${query(filters)}`, repeatable: true }, as(publicationsPageSchema), options),
  share: async (runId, request = {}, options) => {
    const path = `/admin${runPath(runId)}/share`
    const call = { path, body: jsonText(request), repeatable: false }
    return await send(keyedCall(call, options), as(madeShareSchema, 201), options)
  },
  shares: async (filters = {}, options) =>
    await send({ path: `/admin/shares${query(filters)}`, repeatable: true }, as(sharesPageSchema), options),
  revokeShare: async (shareId, options) => {
    const path = `/admin/shares/${integerWithin("The link's number", shareId, 1, Number.MAX_SAFE_INTEGER)}`
    const call = { method: "DELETE", path, repeatable: true } as const
    return await send(keyedCall(call, options), as(revokedShareSchema), options)
  },
  usage: options => send({ path: "/admin/usage", repeatable: true }, as(usageAnswerSchema), options),
  overview: async (range, options) =>
    await send({ path: `/admin/overview${query({ range })}`, repeatable: true }, as(overviewAnswerSchema), options),
  policy: options => send({ path: "/admin/policy", repeatable: true }, as(policyInForceSchema), options),
  adminEvents: async (filters = {}, options) =>
    await send({ path: `/admin/audit${query(filters)}`, repeatable: true }, as(eventsPageSchema), options),
  adminEvent: async (ordinal, options) => {
    const path = `/admin/audit/${integerWithin("The ordinal", ordinal, 1, Number.MAX_SAFE_INTEGER)}`
    return await send({ path, repeatable: true }, received(adminEventSchema), options)
  },
})
