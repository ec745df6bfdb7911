/** Passkeys of people who approve: enrolling, confirming, revoking and listing them. docs/api.md, "Passkeys". */
import { decodeBase64, sha256Hex } from "@runseal/canonical"
import { enrolmentDigest } from "@runseal/core/formulas/signed-decision"
import {
  type EnrolPasskeyRequest,
  PASSKEY_SIGN_IN_MAX_MS,
  PASSKEY_WAIT_MS,
  PASSKEYS_LISTED_MAX,
  type PasskeyAnswer,
  type PasskeyList,
  type PasskeyState,
  type PasskeySummary,
  passkeyIdSchema,
} from "@runseal/core/wire/passkey-messages"
import type { Context } from "hono"
import * as v from "valibot"
import type { Deps } from "../../deps.ts"
import { HttpError, notFound } from "../../http-error.ts"
import { PASSKEYS_START, passkeyPlace } from "../../options/passkey-place.ts"
import {
  confirmPasskey,
  enrolPasskey,
  findPasskey,
  listPasskeys,
  type PasskeyPerson,
  type PasskeyRow,
  revokePasskey,
  type Unconfirmed,
  type Unenrolled,
} from "../../store/tables/passkeys-table.ts"
import type { StoredPerson } from "../../store/tables/sessions-table.ts"
import { personRefused, refuseUnlessAdmin, refuseUnlessReader } from "../access/authentication.ts"
import { callerOf, sinceSignIn, whoOf } from "../access/caller.ts"
import type { Handlers } from "../endpoint-routes.ts"
import { receivedAssertion } from "./received-assertion.ts"
import { refuseNamed } from "./run-views.ts"

const timestamp = (ms: number): string => new Date(ms).toISOString()

function stateOf({ revoked_at, counts_from }: PasskeyRow, now: number): PasskeyState {
  if (revoked_at !== 0) return "revoked"
  return counts_from <= now ? "counts" : "pending"
}

const summaryOf = (row: PasskeyRow, now: number): PasskeySummary => ({
  passkey_id: row.passkey_id,
  state: stateOf(row, now),
  issuer: row.issuer,
  subject: row.subject,
  name: row.name,
  credential_id: row.credential_id,
  public_key: row.public_key,
  origin: row.origin,
  rp_id: row.rp_id,
  enrolled_at: timestamp(row.enrolled_at),
  counts_from: timestamp(row.counts_from),
  ...(row.confirmed_subject === ""
    ? {}
    : { confirmed_by: { issuer: row.confirmed_issuer, subject: row.confirmed_subject } }),
  ...(row.revoked_at === 0 ? {} : { revoked_at: timestamp(row.revoked_at) }),
})

const noSuchPasskey = (): HttpError => notFound("There is no such passkey, or it is another person's.")

/** @throws HttpError 404 for a text that is no id */
function readPasskeyId(text = ""): string {
  if (!v.is(passkeyIdSchema, text)) throw noSuchPasskey()
  return text
}

/** The person who signed in just now. @throws HttpError 403 for a key, and for who signed in too long ago */
function justSignedIn(c: Context, now: number): StoredPerson {
  const { person } = callerOf(c)
  if (person === undefined || sinceSignIn(c, now) > PASSKEY_SIGN_IN_MAX_MS)
    throw new HttpError(
      "sign_in_again",
      "Only a person who signed in at most 5 minutes ago enrols or confirms a passkey: sign in with the identity provider, then do it again.",
    )
  return person
}

/** Whose passkeys a caller sees: undefined for those of all people. @throws HttpError 403 for keys that see none */
function seenOf(c: Context): PasskeyPerson | undefined {
  const { person, scope } = callerOf(c)
  if (person !== undefined && scope === "approver") return person
  refuseUnlessReader(c)
  refuseNamed(c)
  return undefined
}

/** Whose passkeys a caller revokes: undefined for those of all people. @throws HttpError 403 for keys that administer nothing */
function revokedBy(c: Context): PasskeyPerson | undefined {
  const { person, scope } = callerOf(c)
  if (person !== undefined && scope !== "admin") return person
  refuseUnlessReader(c)
  refuseUnlessAdmin(c)
  return undefined
}

function rowOf(request: EnrolPasskeyRequest, person: PasskeyPerson, place: Place, now: number): PasskeyRow {
  const { name, credential_id, public_key } = request
  return {
    passkey_id: sha256Hex(decodeBase64(public_key) ?? new Uint8Array()),
    credential_id,
    issuer: person.issuer,
    subject: person.subject,
    public_key,
    ...place,
    name,
    enrolled_at: now,
    counts_from: now + PASSKEY_WAIT_MS,
    confirmed_issuer: "",
    confirmed_subject: "",
    revoked_at: 0,
  }
}
type Place = Pick<PasskeyRow, "origin" | "rp_id">

export function passkeyRoutes({ acts, baseUrl, db, nowMs, signIns }: Deps): Handlers {
  const place = passkeyPlace({ baseUrl, signIn: signIns })
  const answerOf = async (passkey_id: string): Promise<PasskeyAnswer> => {
    const row = await findPasskey(db, passkey_id)
    if (row === undefined) throw noSuchPasskey()
    return { ok: true, ...summaryOf(row, nowMs()) }
  }
  return {
    passkeys: async (c, { query }) => {
      const { state, limit = PASSKEYS_LISTED_MAX } = query()
      const now = nowMs()
      const { total, rows } = await listPasskeys(db, {
        person: seenOf(c),
        first: callerOf(c).person,
        state: state && { name: state, at: now },
        limit,
      })
      const enrolment = place === undefined ? {} : { enrolment: place }
      const passkeys = rows.map(row => summaryOf(row, now))
      return c.json({ ok: true, ...enrolment, total, passkeys } satisfies PasskeyList)
    },
    enrol_passkey: async (c, { body }) => {
      const { request } = await body()
      if (place === undefined)
        throw new HttpError("passkeys_off", `People cannot enrol passkeys here: the operator has to ${PASSKEYS_START}.`)
      const at = nowMs()
      const person = justSignedIn(c, at)
      const row = rowOf(request, person, place, at)
      receivedAssertion(row, request, enrolmentDigest(row))
      const refused = await enrolPasskey(acts, row, { at, who: whoOf(callerOf(c)) })
      if (refused !== undefined) throw notEnrolled(refused)
      return c.json({ ok: true, ...summaryOf(row, at) } satisfies PasskeyAnswer, 201)
    },
    confirm_passkey: async c => {
      const at = nowMs()
      const person = justSignedIn(c, at)
      if (callerOf(c).scope !== "admin")
        throw personRefused("Only an administrator confirms a passkey: without one it counts 24 hours after enrolment.")
      const passkey_id = readPasskeyId(c.req.param("id"))
      const refused = await confirmPasskey(acts, passkey_id, person, { at, who: whoOf(callerOf(c)) })
      if (refused !== undefined) throw notConfirmed(refused)
      return c.json(await answerOf(passkey_id))
    },
    revoke_passkey: async c => {
      const owner = revokedBy(c)
      const passkey_id = readPasskeyId(c.req.param("id"))
      const isThere = await revokePasskey(acts, passkey_id, owner, { at: nowMs(), who: whoOf(callerOf(c)) })
      if (!isThere) throw noSuchPasskey()
      return c.json(await answerOf(passkey_id))
    },
  }
}

function notEnrolled(refused: Unenrolled): HttpError {
  switch (refused) {
    case "enrolled_before":
      return new HttpError(
        "passkey_enrolled",
        "This passkey was enrolled before, and each is enrolled once: make another one.",
      )
    case "too_many":
      return new HttpError("too_many_passkeys", "You have as many passkeys as a person may have: revoke one first.")
    case "too_many_today":
      return new HttpError("too_many_passkeys", "You enrolled as many passkeys as a person may in one day: wait a day.")
  }
}

function notConfirmed(refused: Unconfirmed): HttpError {
  switch (refused) {
    case "absent":
      return noSuchPasskey()
    case "own":
      return personRefused("Nobody confirms a passkey of their own: ask another administrator, or wait 24 hours.")
    case "revoked":
      return new HttpError("passkey_invalid", "The passkey is revoked for good: its person has to enrol another one.")
  }
}
