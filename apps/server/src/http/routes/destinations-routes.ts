/** Where events are delivered. docs/events.md; docs/api.md, "Events". */
import { randomBytes } from "node:crypto"
import { OUTCOME_KINDS } from "@runseal/core/vocabulary/outcomes"
import type { DeliveryList, ResumedDestination, TestedDestination } from "@runseal/core/wire/delivery-messages"
import {
  type ChangeDestinationRequest,
  type ChangedDestination,
  type CreateDestinationRequest,
  type CreatedDestination,
  DEFAULT_OVERLAP_SECONDS,
  type DeletedDestination,
  type Destination,
  type DestinationList,
  EVENT_TYPES,
  MAX_DESTINATIONS,
  type RotatedDestination,
} from "@runseal/core/wire/event-messages"
import type { Context } from "hono"
import type { Deps } from "../../deps.ts"
import { filterText, filterValues } from "../../events/sealed-event.ts"
import { badRequest, HttpError, notFound } from "../../http-error.ts"
import { webhookSecret } from "../../keys/webhook-secret.ts"
import { areCertificates } from "../../outbound/deliveries/certificates.ts"
import { readDeliveryState } from "../../outbound/deliveries/destination-states.ts"
import {
  changeDestination,
  type DestinationAct,
  type DestinationRow,
  deleteDestination,
  findDestination,
  insertDestination,
  listDestinations,
  resumeDestination,
  rotateSecret,
} from "../../store/tables/destinations-table.ts"
import { refuseUnlessAdmin } from "../access/authentication.ts"
import { callerOf, whoOf } from "../access/caller.ts"
import { onceOf } from "../access/idempotency.ts"
import type { Handlers } from "../endpoint-routes.ts"
import { readId } from "../path-ids.ts"
import { refuseNamed } from "./run-views.ts"

/** Random bytes of the text from which a secret follows. */
const SALT_BYTES = 16
const newSalt = (): string => randomBytes(SALT_BYTES).toString("hex")

const noSuchDestination = (): HttpError => notFound("There is no such destination.")
const readDestinationId = (text: string | undefined): number => readId(text, noSuchDestination)
const clock = (ms: number): string => new Date(ms).toISOString()

function shown(row: DestinationRow): Destination {
  const [types, outcomes] = [filterValues(row.types), filterValues(row.outcomes)]
  return {
    id: row.destination_id,
    kind: row.kind,
    url: row.url,
    ...(row.ca === "" ? {} : { ca: row.ca }),
    name: row.name,
    format: row.format,
    types: EVENT_TYPES.filter(type => types.includes(type)),
    outcomes: OUTCOME_KINDS.filter(outcome => outcomes.includes(outcome)),
    key_ids: filterValues(row.key_ids).map(Number),
    active: row.active,
    created_at: clock(row.created_at),
    ...(row.created_by === 0 ? {} : { created_by: row.created_by }),
  }
}

/** The key that makes a destination; 0 where a person does. @throws HttpError 403 in open mode */
function creatorOf(c: Context): number {
  refuseUnlessAdmin(c)
  const caller = callerOf(c)
  return caller.person === undefined ? caller.api_key_id : 0
}

/** What the caller does to a destination. @throws HttpError 403 in open mode */
function actOf(c: Context, { nowMs }: Pick<Deps, "nowMs">, action: DestinationAct["action"]): DestinationAct {
  refuseUnlessAdmin(c)
  return { action, at: nowMs(), who: whoOf(callerOf(c)), once: onceOf(c) }
}

type Filters = { readonly [Name in "types" | "outcomes" | "key_ids"]?: CreateDestinationRequest[Name] | undefined }

const filtersOf = ({ types, outcomes, key_ids }: Filters) => ({
  ...(types === undefined ? {} : { types: filterText(types) }),
  ...(outcomes === undefined ? {} : { outcomes: filterText(outcomes) }),
  ...(key_ids === undefined ? {} : { key_ids: filterText(key_ids) }),
})

const changesOf = ({ types, outcomes, key_ids, ...changes }: ChangeDestinationRequest) => ({
  ...changes,
  ...filtersOf({ types, outcomes, key_ids }),
})

/** @throws HttpError 400 for a text that has something else than certificates in PEM */
function refuseCertificates(ca: string): void {
  if (ca !== "" && !areCertificates(ca)) throw badRequest("ca must be certificates in PEM, and nothing else.")
}

/** For admin keys: in open mode anybody could make the service send requests. */
export function destinationRoutes({ db, acts, nowMs, deliveries, originSecret }: Deps): Handlers {
  const refuseAddress = (url: string, kind: Destination["kind"]): void => {
    const problem = deliveries.addressProblem(url, kind)
    if (problem !== undefined) throw badRequest(`url ${problem}.`)
  }
  return {
    create_destination: async (c, { body }) => {
      const created_by = creatorOf(c)
      const { request, ignored } = await body()
      const { kind = "webhook", url, ca = "", name = "", format = "standard", from, ...filters } = request
      refuseAddress(url, kind)
      refuseCertificates(ca)
      const secret_salt = newSalt()
      const texts = { types: "", outcomes: "", key_ids: "", ...filtersOf(filters) }
      const row = { kind, url, ca, name, format, ...texts, secret_salt, created_at: nowMs(), created_by, from }
      const made = await insertDestination(acts, row, actOf(c, { nowMs }, "webhook.create"))
      if (made === undefined)
        throw new HttpError("too_many_destinations", `There are ${MAX_DESTINATIONS} destinations: delete one of them.`)
      deliveries.wake()
      const answer = {
        ok: true,
        destination: shown(made),
        ...(kind === "webhook" ? { secret: webhookSecret(originSecret, secret_salt) } : {}),
        position: made.position,
        ...ignored,
      } satisfies CreatedDestination
      return c.json(answer, 201)
    },
    list_destinations: async c => {
      refuseUnlessAdmin(c)
      const destinations = (await listDestinations(db)).map(shown)
      return c.json({ ok: true, destinations } satisfies DestinationList)
    },
    change_destination: async (c, { body }) => {
      refuseUnlessAdmin(c)
      const id = readDestinationId(c.req.param("id"))
      const { request: changes, ignored } = await body()
      const found = await findDestination(db, id)
      if (found === undefined) throw noSuchDestination()
      if (changes.url !== undefined) refuseAddress(changes.url, found.kind)
      refuseCertificates(changes.ca ?? "")
      const changed = await changeDestination(acts, id, changesOf(changes), actOf(c, { nowMs }, "webhook.change"))
      if (changed === undefined) throw noSuchDestination()
      deliveries.wake()
      return c.json({ ok: true, destination: shown(changed), ...ignored } satisfies ChangedDestination)
    },
    delete_destination: async c => {
      refuseUnlessAdmin(c)
      const id = readDestinationId(c.req.param("id"))
      if (!(await deleteDestination(acts, id, actOf(c, { nowMs }, "webhook.delete")))) throw noSuchDestination()
      return c.json({ ok: true, id, deleted: true } satisfies DeletedDestination)
    },
    ...actionHandlers({ db, acts, nowMs, deliveries, originSecret }),
  }
}

/** How far deliveries are: for administrators, and for auditors who read all keys. No address is shown, since it may hold a credential. */
export function deliveryRoutes({ db, nowMs }: Deps): Handlers {
  return {
    deliveries: async c => {
      refuseNamed(c)
      const { log_size, deliveries: listed } = await readDeliveryState(db, nowMs())
      return c.json({ ok: true, log_size, deliveries: [...listed] } satisfies DeliveryList)
    },
  }
}

type ActionParts = Pick<Deps, "db" | "acts" | "nowMs" | "deliveries" | "originSecret">

function actionHandlers({ db, acts, nowMs, deliveries, originSecret }: ActionParts): Handlers {
  return {
    rotate_destination_secret: async (c, { body }) => {
      refuseUnlessAdmin(c)
      const id = readDestinationId(c.req.param("id"))
      const { overlap_seconds = DEFAULT_OVERLAP_SECONDS } = (await body()).request
      const [salt, previous_until] = [newSalt(), nowMs() + overlap_seconds * 1000]
      if (!(await rotateSecret(acts, id, { salt, previous_until }, actOf(c, { nowMs }, "webhook.rotate"))))
        throw noSuchDestination()
      const secret = webhookSecret(originSecret, salt)
      return c.json({ ok: true, id, secret, previous_until: clock(previous_until) } satisfies RotatedDestination)
    },
    test_destination: async c => {
      refuseUnlessAdmin(c)
      const id = readDestinationId(c.req.param("id"))
      const found = await findDestination(db, id)
      if (found === undefined) throw noSuchDestination()
      const failure = await deliveries.test(found)
      const error = failure && {
        error: { fault: failure.fault, ...(failure.status === 0 ? {} : { status: failure.status }) },
      }
      return c.json({ ok: true, id, delivered: failure === undefined, ...error } satisfies TestedDestination)
    },
    resume_destination: async (c, { body }) => {
      refuseUnlessAdmin(c)
      const id = readDestinationId(c.req.param("id"))
      const { from } = (await body()).request
      const position = await resumeDestination(acts, id, from, actOf(c, { nowMs }, "webhook.resume"))
      if (position === undefined) throw noSuchDestination()
      deliveries.wake()
      return c.json({ ok: true, id, position } satisfies ResumedDestination)
    },
  }
}
