/** People who sign in at a real OpenID provider, each with a passkey that exists only here, and what they send of it. */
import { type JsonObject, sha256Hex } from "@runseal/canonical"
import { approvalRequestSchema } from "@runseal/core/artifacts/approval-request"
import { commentHash } from "@runseal/core/formulas/moment"
import { decisionDigest, enrolmentDigest, type SignedDecision } from "@runseal/core/formulas/signed-decision"
import type { ApproverDecision } from "@runseal/core/wire/approval-answers"
import * as v from "valibot"
import { expect } from "vitest"
import {
  type AssertionChanges,
  assertion,
  signedOf,
  type TestPasskey,
  testPasskey,
} from "../../../../libs/core/test/fixtures/passkeys.ts"
import { transferPolicy } from "./approving-people.ts"
import type { Holder } from "./key-holders.ts"
import { type Answer, objectAt, textAt } from "./read-answer.ts"
import { CONSOLE_ORIGIN, personHolder, signInBrowser } from "./sign-in-browser.ts"
import type { TestService } from "./test-service.ts"

const MINUTE_MS = 60_000
/** Of comments that people write beside a passkey. */
const SALT = "5a".repeat(32)

/** A person who has signed in just now, in a browser of its own. An address has 20 steps of that a minute. */
export async function signedIn(service: TestService | (() => TestService), subject: string): Promise<Holder> {
  const asked = typeof service === "function" ? service : () => service
  asked().clock.advance(MINUTE_MS)
  const browser = signInBrowser(asked)
  const { status, url } = await browser.signInAs(subject)
  expect([status, url.origin]).toEqual([200, CONSOLE_ORIGIN])
  return personHolder(browser, subject)
}

/** A new passkey of a person at the tests' service. @param which another name makes another key */
export const passkeyOf = (subject: string, issuer: string, which = "first"): TestPasskey =>
  testPasskey(subject, { seed: `${which} key`, issuer, origin: CONSOLE_ORIGIN })

export const passkeyIdOf = ({ signer }: TestPasskey): string => sha256Hex(signer.spki)

/** What a browser sends to enrol a passkey. @param changes what it signs otherwise */
export function enrolment(passkey: TestPasskey, changes: AssertionChanges = {}): JsonObject {
  const { public_key, authenticator_data, client_data_json, signature } = assertion(
    passkey,
    enrolmentDigest(passkey.key),
    changes,
  )
  return { name: "laptop", credential_id: "AQID", public_key, authenticator_data, client_data_json, signature }
}

export const enrol = (person: Holder, passkey: TestPasskey, changes: AssertionChanges = {}): Promise<Answer> =>
  person.post("/passkeys", enrolment(passkey, changes))

type SignedChanges = AssertionChanges & {
  readonly comment?: string
  /** Something else than what is decided. */
  readonly signs?: (signed: SignedDecision) => SignedDecision
}

/** What a person sends who decides with a passkey on a request as it is shown. */
export function signedBody(
  shown: JsonObject,
  decision: ApproverDecision,
  passkey: TestPasskey,
  { comment, signs = same => same, ...changes }: SignedChanges = {},
): JsonObject {
  const request = v.parse(approvalRequestSchema, objectAt(shown, "request"))
  const { issuer, subject } = passkey.key
  const comment_hash = comment === undefined ? undefined : commentHash(SALT, comment)
  const digest = decisionDigest(
    signs(signedOf(request, { decision, person: { issuer, subject }, ...(comment_hash && { comment_hash }) })),
  )
  const { authenticator_data, client_data_json, signature } = assertion(passkey, digest, changes)
  return {
    request_digest: textAt(shown, "request_digest"),
    decision,
    ...(comment === undefined ? {} : { comment, comment_salt: SALT }),
    passkey: { passkey_id: passkeyIdOf(passkey), authenticator_data, client_data_json, signature },
  }
}

/** Decides with a passkey on what is shown. */
export async function decideSigned(
  person: Holder,
  approval_id: string,
  decision: ApproverDecision,
  passkey: TestPasskey,
  changes: SignedChanges = {},
): Promise<Answer> {
  const { body } = await person.get(`/approvals/${approval_id}`)
  return person.post(`/approvals/${approval_id}/decision`, signedBody(body, decision, passkey, changes))
}

/** Two of the treasury: above 10,000 with their passkeys, below it with any proof. */
export const PASSKEY_POLICY = transferPolicy(
  {
    id: "two-passkeys",
    when: 'context.act.amount.greaterThan(decimal("10000.0"))',
    approval: { by: ["treasury"], count: 2, proof: "passkey", within_seconds: 86_400, end_user: "optional" },
  },
  {
    id: "any-proof",
    when: 'context.act.amount.lessThan(decimal("10000.0"))',
    approval: { by: ["treasury"], count: 2, proof: "any", within_seconds: 86_400, end_user: "optional" },
  },
)
