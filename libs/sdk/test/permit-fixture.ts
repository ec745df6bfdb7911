/** Permits of the scripted service: openings that are really sealed, permits that are really signed, and states that move. */
import { type JsonObject, type JsonValue, parseStrictJson } from "@runseal/canonical"
import type { Opening } from "@runseal/core/artifacts/opening"
import { textMember } from "@runseal/core/vocabulary/json-members"
import { OUTCOME_KINDS, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import { openingClaims } from "@runseal/permit"
import { signPermit } from "@runseal/permit/sign-permit"
import type { Deployment } from "../../core/test/fixtures/deployment.ts"
import { asJson } from "../../core/test/fixtures/json-values.ts"
import { openPermit } from "../../core/test/fixtures/permits.ts"
import type { Answer, Asked } from "./scripted-service.ts"

type Permit = { state: "open" | "closed"; redeemed: boolean; readonly opening: Opening; readonly permit: string }

export type PermitFixture = {
  /** Answers a request below `/permits`; undefined for any other path. */
  readonly answer: (asked: Asked) => Promise<Answer | undefined>
  /** Whether a redemption is answered without a key. */
  readonly isPublic: (path: string) => boolean
}

/**
 * Opens a permit unless the payload names an outcome, which it is then refused with; closes it with the outcome that the AI output names, and
 * otherwise ok.
 * @param ended the answer of `POST /execute` for an outcome
 */
export function permitFixture(
  deployment: Deployment,
  ended: (outcome: OutcomeKind) => Answer | undefined,
): PermitFixture {
  const permits = new Map<string, Permit>()
  const refuse = (status: number, code: string, error: string): Answer => ({ status, body: { ok: false, error, code } })
  const outcomeOf = (text: string | undefined): Answer | undefined =>
    OUTCOME_KINDS.filter(kind => kind === text).map(ended)[0]

  const open = async (body: JsonValue): Promise<Answer> => {
    const audience = textMember(body, "audience")
    if (audience === undefined) return refuse(400, "invalid_field", "audience: must be a text.")
    const refused = outcomeOf(textMember(body, "payload"))
    if (refused !== undefined) return refused
    const sealed = openPermit(deployment, { audience, tenant: TENANT }).opening
    const permit = await permitOf(deployment, sealed)
    permits.set(sealed.permit_id, { state: "open", redeemed: false, opening: sealed, permit })
    const { permit_id, expires_at, close_by } = sealed
    return { status: 201, body: { ok: true, permit_id, permit, opening: asJson(sealed), expires_at, close_by } }
  }
  const close = (permit: Permit, body: JsonValue): Answer => {
    if (permit.state !== "open") return refuse(409, "permit_not_open", "The permit is closed.")
    permit.state = "closed"
    return (
      outcomeOf(textMember(body, "ai_output_text")) ?? ended("ok") ?? refuse(503, "unavailable", "There are no runs.")
    )
  }
  const redeem = (permit: Permit, body: JsonValue): Answer => {
    if (textMember(body, "permit") !== permit.permit) return refuse(401, "permit_invalid", "This is not the permit.")
    if (permit.redeemed) return refuse(409, "already_redeemed", "The permit was redeemed before.")
    permit.redeemed = true
    const { permit_id } = permit.opening
    return { status: 200, body: { ok: true, permit_id, redeemed_at: REDEEMED_AT } }
  }
  return {
    isPublic: path => /^\/permits\/[^/]+\/redeem$/.test(path),
    answer: async ({ method, path, body }) => {
      const [name = "", query = ""] = path.split("?")
      if (name === "/permits" && method === "POST") return await open(parseStrictJson(body))
      if (name === "/permits") return listAnswer([...permits.values()], new URLSearchParams(query))
      const [, id = "", part] = /^\/permits\/([^/]+)(?:\/(close|redeem))?$/.exec(name) ?? []
      if (id === "") return undefined
      const permit = permits.get(id)
      if (permit === undefined) return refuse(404, "not_found", "There is no such permit.")
      if (part === "close") return close(permit, parseStrictJson(body))
      if (part === "redeem") return redeem(permit, parseStrictJson(body))
      return { status: 200, body: { ok: true, ...summary(permit), opening: asJson(permit.opening) } }
    },
  }
}

/** Another chain than that of the runs, which an export states as it was when the service started. */
const TENANT = "api-key-2"
const REDEEMED_AT = "2026-01-15T12:00:02.000Z"

const permitOf = ({ log, serviceKey }: Deployment, sealed: Opening): Promise<string> =>
  signPermit(openingClaims(sealed, log.origin), serviceKey.privateKey, serviceKey.keyId)

function summary({ state, redeemed, opening: { permit_id, audience, ...sealed } }: Permit): JsonObject {
  const { route_id, program_id, admission_clock: opened_at } = sealed.sections.envelope
  const { expires_at, close_by, reservation } = sealed
  const facts = { permit_id, state, audience, route_id, program_id, reserve_tokens: reservation.tokens, opened_at }
  return { ...facts, expires_at, close_by, redeem_required: false, ...(redeemed && { redeemed_at: REDEEMED_AT }) }
}

function listAnswer(permits: readonly Permit[], query: URLSearchParams): Answer {
  const [limit, offset, state] = [Number(query.get("limit")), Number(query.get("offset")), query.get("state")]
  const found = permits.filter(permit => state === null || permit.state === state).map(summary)
  const page = found.reverse().slice(offset, offset + limit)
  return { status: 200, body: { ok: true, total: found.length, limit, offset, permits: page } }
}
