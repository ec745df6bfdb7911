/**
 * The calls that follow from the table of endpoints alone: a row's identifier is the name, its path parameters, query and body are the
 * arguments, its answer is the result. What needs more than that is written by hand, in the modules beside this one.
 */
import type { Route } from "@runseal/api/endpoint"
import { APPROVAL_ROUTES } from "@runseal/api/endpoints/approvals-endpoints"
import { ATTESTATION_ROUTES } from "@runseal/api/endpoints/attestations-endpoints"
import { DEPLOYMENT_ROUTES } from "@runseal/api/endpoints/deployment-endpoints"
import { EVENT_ROUTES } from "@runseal/api/endpoints/events-endpoints"
import { EXECUTE_ROUTES } from "@runseal/api/endpoints/execute-endpoints"
import { KEY_ROUTES, PUBLISHED_ROUTES } from "@runseal/api/endpoints/keys-endpoints"
import { LOG_ROUTES, TRUST_ROUTES } from "@runseal/api/endpoints/log-endpoints"
import { PERMIT_ROUTES } from "@runseal/api/endpoints/permits-endpoints"
import { POLICY_ROUTES } from "@runseal/api/endpoints/policies-endpoints"
import { type RUN_PART_ROUTES, RUN_ROUTES } from "@runseal/api/endpoints/runs-endpoints"
import { SERVICE_ROUTES } from "@runseal/api/endpoints/service-endpoints"
import type { Shape } from "@runseal/core/vocabulary/scalars"
import type * as v from "valibot"
import { answerOf, callTo, placesIn } from "./calls.ts"
import type { TimeInput } from "./execute-arguments.ts"
import type { Received } from "./read-reply.ts"
import type { ActionOptions, CallOptions, OnceOptions, Settings } from "./settings.ts"
import type { Send } from "./transport.ts"

type Called = Pick<typeof RUN_ROUTES, "run"> &
  Pick<typeof PERMIT_ROUTES, "withdraw_approval"> &
  typeof APPROVAL_ROUTES &
  typeof KEY_ROUTES &
  typeof PUBLISHED_ROUTES &
  typeof POLICY_ROUTES &
  typeof DEPLOYMENT_ROUTES &
  typeof EVENT_ROUTES &
  typeof LOG_ROUTES &
  typeof TRUST_ROUTES &
  typeof SERVICE_ROUTES
/** Endpoints whose calls are inferred, but for those below. */
const CALLED: Called = {
  run: RUN_ROUTES.run,
  withdraw_approval: PERMIT_ROUTES.withdraw_approval,
  ...APPROVAL_ROUTES,
  ...KEY_ROUTES,
  ...PUBLISHED_ROUTES,
  ...POLICY_ROUTES,
  ...DEPLOYMENT_ROUTES,
  ...EVENT_ROUTES,
  ...LOG_ROUTES,
  ...TRUST_ROUTES,
  ...SERVICE_ROUTES,
}
/** The endpoints that a client calls, by their identifiers. */
export const ROUTES: Called &
  typeof EXECUTE_ROUTES &
  typeof PERMIT_ROUTES &
  typeof RUN_ROUTES &
  typeof ATTESTATION_ROUTES = {
  ...EXECUTE_ROUTES,
  ...PERMIT_ROUTES,
  ...RUN_ROUTES,
  ...ATTESTATION_ROUTES,
  ...CALLED,
}

/** Documents that are read in their own way. */
const BY_HAND = ["public_bundle", "trust", "version"] as const

/** Names of methods that are not their row's identifier. */
const NAMES = {
  mint_key: "createKey",
  list_policies: "policies",
  publish_run: "publish",
  unpublish_run: "unpublish",
  share_run: "share",
  admin_runs: "allRuns",
  admin_permits: "allPermits",
  published_runs: "published",
  outside_logs: "logOutside",
  witnesses: "logWitnesses",
  genesis: "logGenesis",
  key_changes: "logKeyChanges",
} as const

/** Rows about one run or permit of any key, which `ofAnyKey` has. */
type OfAnyKey = `admin_${keyof typeof RUN_PART_ROUTES | "run" | "permit"}`
const isOfAnyKey = ({ method, path }: Route): boolean =>
  method === "get" && /^\/admin\/(?:runs|permits)\/\{id\}/.test(path)

/** Rows that are answered in JSON. */
type InJson<Id extends keyof Called> = Answered<Called[Id]> extends v.GenericSchema ? Id : never
type Answered<Row extends Route> = Row["answers"] extends { 201: infer Made }
  ? Made
  : Row["answers"] extends { 200: infer Given }
    ? Given
    : never

type Camel<Id extends string> = Id extends `${infer First}_${infer Rest}` ? `${First}${Capitalize<Camel<Rest>>}` : Id
type NameOf<Id extends string> = Id extends keyof typeof NAMES ? (typeof NAMES)[Id] : Camel<Id>

/** Values of the parameters in a path, in their order. */
type Place<Path extends string, Parameters> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? [value: ValueOf<Parameters, Name>, ...Place<Rest, Parameters>]
  : []
type ValueOf<Parameters, Name extends string> =
  Parameters extends Readonly<Record<Name, { readonly schema: infer Schema }>>
    ? Schema extends { readonly type: "integer" }
      ? number
      : string
    : never

/** Of a query; times may be a `Date`. */
type Filters<Query> = {
  readonly [Name in keyof Query]: Name extends "from" | "to" ? TimeInput | undefined : Query[Name] | undefined
}
type Given<Row extends Route> = Row extends { readonly body: infer Body extends v.GenericSchema }
  ? NotNeeded<Shape<Body>>
  : Row extends { readonly query: infer Query extends v.GenericSchema }
    ? NotNeeded<Filters<Shape<Query>>>
    : []
type NotNeeded<Value> = Record<never, never> extends Value ? [given?: Value] : [given: Value]

type OptionsOf<Row extends Route> = Row extends { readonly idempotent: true }
  ? OnceOptions
  : Row extends { readonly once: true }
    ? ActionOptions
    : CallOptions

/** What an endpoint is given and gives back. A sealed document comes with its exact text. */
export type CallOf<Row extends Route> = (
  ...given: [...Place<Row["path"], Row["path_parameters"]>, ...Given<Row>, options?: OptionsOf<Row>]
) => Promise<Row extends { readonly sealed: true } ? Received<AnswerOf<Row>> : AnswerOf<Row>>
type AnswerOf<Row extends Route> = Answered<Row> extends infer Schema extends v.GenericSchema ? Shape<Schema> : never

type Inferred = Exclude<keyof Called, (typeof BY_HAND)[number] | OfAnyKey>

/**
 * A method for each of these endpoints that answer in JSON, named by the row's identifier. Calls that read are retried; those that change
 * something are where a second request has no effect, or under an idempotency key. What the service gives once, such as the secret of a
 * key, is in that answer alone: after a NetworkError, TimeoutError or AbortedError it may be lost.
 */
export type EndpointCalls = { readonly [Id in Inferred as NameOf<InJson<Id>>]: CallOf<Called[Id]> }

export function endpointCalls(send: Send, settings: Settings): EndpointCalls
export function endpointCalls(send: Send, settings: Settings): object {
  const rows = Object.entries<Route>(CALLED).filter(
    ([id, route]) =>
      !BY_HAND.some(own => own === id) && !isOfAnyKey(route) && !Object.values(route.answers).some(isText),
  )
  return Object.fromEntries(rows.map(([id, route]) => [nameOf(id), methodOf(send, settings, route)]))
}

const isText = (answer: unknown): boolean => typeof answer === "string"

const OTHER_NAMES: Readonly<Record<string, string>> = NAMES
/** The method of an endpoint. */
export const nameOf = (id: string): string =>
  OTHER_NAMES[id] ?? id.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())

/** The method of a row. */
export function methodOf<Row extends Route>(send: Send, settings: Settings, route: Row): CallOf<Row>
export function methodOf(send: Send, settings: Settings, route: Route): unknown {
  const length = placesIn(route.path)
  const read = answerOf(route)
  const takes = route.body !== undefined || route.query !== undefined
  return async (...given: readonly unknown[]): Promise<unknown> => {
    const [input, last] = [given[length], given[takes ? length + 1 : length]]
    const options = isRecord(last) ? last : {}
    const place = given.slice(0, length)
    const query = takes && isRecord(input) ? input : {}
    const call = callTo(
      settings,
      route,
      route.body === undefined ? { place, query } : { place, body: input ?? {} },
      options,
    )
    return await send(call, read, options)
  }
}

/** Of an argument: the options of a call are judged where they are used. */
const isRecord = (value: unknown): value is Readonly<Record<string, never>> =>
  typeof value === "object" && value !== null
