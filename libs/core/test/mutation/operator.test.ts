import { describe, expect, test } from "vitest"
import { DECLARED_NAMES } from "../../src/artifacts/declared-sections.ts"
import type { SectionName } from "../../src/artifacts/sections.ts"
import { reduce } from "../../src/derivation/derive.ts"
import { isUnreadable, verifyText } from "../../src/verify/document.ts"
import { VERDICTS } from "../../src/verify/report.ts"
import { refusedSpec, requestApproval } from "../fixtures/asked-approvals.ts"
import { makeDeployment, sealRun } from "../fixtures/deployment.ts"
import type { Json } from "../fixtures/json-values.ts"
import { asJson, isMembers, withoutMember } from "../fixtures/json-values.ts"
import { knownValues, mutations } from "../fixtures/mutations.ts"
import { readPart } from "../fixtures/resealed-part.ts"
import type { RunSpec } from "../fixtures/run-spec.ts"
import { sealCorpus } from "../fixtures/sample-corpus.ts"
import { FULL_DECLARED } from "../fixtures/samples.ts"
import { TRANSFER } from "../fixtures/vectors/act-vectors.ts"
import { END_USER, NAMED_GROUPS } from "../fixtures/vectors/end-user-vectors.ts"

// The operator holds every key and seals what he likes. What a verifier can recompute he cannot lie about; nor can he about one
// of several values that exclude each other: a rule that fired, its reason and the rules that matched are his word together, and
// none of them alone. What follows is his word or his caller's by itself, and nothing else is, but for salts and revisions:
// of those the changes below are another section's, or no revision.

const within = (section: SectionName, names: readonly string[]): readonly string[] =>
  names.map(name => `${section}/${name}`)
const DECLARED = DECLARED_NAMES.flatMap(name => within(name, ["declared"]))
const RECEIVED = [
  ...within("payload", ["payload_hash", "payload_bytes"]),
  ...within("request_substance", ["origin/source_ip_hash", "origin/user_agent_hash"]),
  ...within("request_substance", ["origin/authentication/api_key_name"]),
  ...within("system_provenance", ["service", "service_version", "orchestrator_version", "runtime_version", "platform"]),
]
const ADMITTED = [...RECEIVED, ...within("payload", ["ai_output_hash", "ai_output_bytes"]), ...DECLARED]
// Who has the policy document finds a lie about all of these: `verifier --decided-by`.
const EVALUATED = [
  ...within("policy_evaluation", ["policy_id", "policy_name", "profile_tag", "policy_hash"]),
  ...within("policy_evaluation", ["engine", "engine_version"]),
  ...within("policy_evaluation", ["signature_scan/scope"]),
]
const DECIDED = [
  ...EVALUATED,
  ...within("policy_evaluation", ["signature_library_hash", "signature_scan/mode", "context_hash"]),
]
const CHARGED = within("budget_snapshot", ["run_limit", "window/cap", "window/ordinal"])
const HALTED = within("governance_review", ["adapter_id", "model", "decision_kind"])

/** Who has the payload finds a lie about its act. */
const ACTED = [
  ...RECEIVED,
  ...DECIDED,
  ...CHARGED,
  ...within("act", ["table", "values"]),
  "governance_review/adapter_id",
]
const TRANSFER_PAYLOAD = '{"arguments":{"amount":12.5,"currency":"EUR","cc":["a"],"to":{"iban":"de02"}}}'

/** What the identity provider's token states is the operator's word, but for what a token cannot say. */
const PERSON = within("end_user", [
  "audience",
  "client",
  "expires_at",
  "groups",
  "issued_at",
  "issuer",
  "subject",
  "token_hash",
])

/**
 * Who approved or rejected, when, by which proof and under which name is the operator's word in a record; so is which request it was. The
 * request itself binds the last two in an export, and each decision is an admin event in the chain of the deployment.
 */
const APPROVED = [
  ...RECEIVED,
  ...DECLARED,
  ...DECIDED,
  ...PERSON.filter(place => place !== "end_user/groups"),
  ...within("policy_evaluation", ["facts/audience", "facts/tokens", "facts/valid_for_seconds"]),
  ...within("policy_evaluation", ["needed", "needed/by", "needed/count", "needed/within_seconds"]),
  ...within("approvals", ["approval_id", "expires_at", "request_hash", "requested_at"]),
  ...within("approvals", ["decisions", "decisions/decided_at", "decisions/groups"]),
  ...within("approvals", ["decisions/person/issuer", "decisions/person/name", "decisions/person/subject"]),
]
const BY_KEY = within("approvals", ["decisions/comment_hash", "decisions/key_name"])
const asked = requestApproval(makeDeployment(), { end_user: END_USER })

/** Everything declared, but a field the policy requires. */
const GAP = { ...FULL_DECLARED, attested_context: { actor_id: "clerk-17" } }

const WORDS: readonly (readonly [spec: RunSpec, words: readonly string[]])[] = [
  [{ outcome: "ok", minimal: true, payload: TRANSFER_PAYLOAD, act_table: TRANSFER }, ACTED],
  [
    { outcome: "ok", minimal: true, end_user: END_USER, named_groups: NAMED_GROUPS },
    [...RECEIVED, ...DECIDED, ...CHARGED, ...PERSON, "governance_review/adapter_id"],
  ],
  [{ outcome: "ok" }, [...ADMITTED, ...DECIDED, ...CHARGED]],
  [{ outcome: "pepg_deny" }, [...ADMITTED, ...EVALUATED, ...within("mcd_finding", ["severity"])]],
  [{ outcome: "pepg_deny", denied_by: "rule" }, [...ADMITTED, ...DECIDED]],
  [{ outcome: "ccv_halt" }, [...ADMITTED, ...DECIDED, "budget_snapshot/run_limit"]],
  [{ outcome: "macc_halt" }, [...ADMITTED, ...DECIDED, ...CHARGED]],
  [{ outcome: "aivp_t4_halt" }, [...ADMITTED, ...DECIDED, ...CHARGED, ...HALTED]],
  [{ outcome: "attestation_gap", declared: GAP }, ADMITTED],
  [refusedSpec(asked, "expired"), APPROVED],
  [refusedSpec(asked, "rejected"), [...APPROVED, ...BY_KEY]],
  [{ outcome: "stage_error", failed_step: "DLA" }, [...ADMITTED, ...DECIDED, ...CHARGED]],
]

/** Changes tried on each value: more of the same kind find nothing more. */
const CHANGES_PER_VALUE = 3

/** Thirty seconds on a quiet machine: every change is a record sealed and verified anew. */
const TIMEOUT_MS = 300_000

const known = knownValues(sealCorpus(makeDeployment()).runs.map(({ document }) => asJson(document.bundle)))

/** Values of a run's sections that can be changed before the run is sealed without a verifier seeing it. */
function unseenChanges(spec: RunSpec): readonly string[] {
  const unseen = new Set<string>()
  for (const [name, section] of Object.entries(sealRun(makeDeployment(), spec).bundle.sections)) {
    const tried = new Map<string, number>()
    for (const { pointer, document } of mutations(asJson(section), known)) {
      const place = placeOf(name, pointer)
      const count = tried.get(pointer) ?? 0
      if (count >= CHANGES_PER_VALUE || unseen.has(place) || !differs(name, document, section.hash)) continue
      tried.set(pointer, count + 1)
      if (passes({ ...spec, alter: { [name]: () => document } })) unseen.add(place)
    }
  }
  return [...unseen].sort()
}

/** `section/value`: items of a list, the inside of declared content and the values of an act are one place. */
const placeOf = (section: string, pointer: string): string =>
  `${section}${pointer}`.replace(/\/\d+(?=\/|$)/g, "").replace(/(?<=^[a-z_]+\/(?:declared|values))\/.*/, "")

function differs(name: string, changed: Json, hash: string): boolean {
  const part = isSection(name) ? readPart(name, changed) : undefined
  return part !== undefined && part.hash !== hash
}
const isSection = (name: string): name is SectionName => name !== "hash"

function passes(spec: RunSpec): boolean {
  const deployment = makeDeployment()
  const report = verifyText(JSON.stringify(reduce(sealRun(deployment, spec).bundle)), [deployment.trust])
  return !isUnreadable(report) && report.verdict !== VERDICTS.failed
}

describe("an operator's lie in a section fails, but for what nobody can recompute", () => {
  test.each(WORDS)("%o", { timeout: TIMEOUT_MS }, (spec, words) => {
    expect(unseenChanges(spec)).toEqual([...words].sort())
  })

  test.each(["ai_output_hash", "ai_output_bytes"])("an AI output without its %s fails", name => {
    const alter = { payload: (part: Json): Json => (isMembers(part) ? withoutMember(part, name) : part) }
    for (const [spec] of WORDS.filter(([{ minimal, approvals }]) => !minimal && approvals === undefined))
      expect(passes({ ...spec, alter })).toBe(false)
  })
})
