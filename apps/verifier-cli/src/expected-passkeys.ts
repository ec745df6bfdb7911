/**
 * `--approver-keys FILE`: whether persons whose passkeys the reader knows signed what a record says that they approved. Loaded only when it is
 * given. docs/verifier.md, "Proven by passkeys".
 */
import { readStrictJson } from "@runseal/canonical"
import { shownApprovals } from "@runseal/core/artifacts/approvals"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import { type ApproverKey, approverKeysSchema } from "@runseal/core/artifacts/passkey"
import { savedText } from "@runseal/core/presentation/saved-text"
import { namingEntry } from "@runseal/core/verify/decisions"
import type { ReadDocument } from "@runseal/core/verify/kind"
import { type DecidedIn, decidedAct, hasPasskeys, provenDecisions } from "@runseal/core/verify/signed-approvals"
import { approvalsSatisfy } from "@runseal/core/vocabulary/approvals-satisfy"
import { InputError } from "./exit-answer.ts"
import type { Decider } from "./expected-decision.ts"
import { type Expected, PROVEN_TEXTS, type ProvenWord } from "./judgement.ts"
import { DOCUMENT_LIMITS, readFile } from "./read-input.ts"

/** 4 MiB: more than the most keys of one file. */
const KEYS_LIMITS = { ...DOCUMENT_LIMITS, maxBytes: 4_194_304 }

/**
 * Reads the keys. Throws InputError.
 * @param several whether documents that rest on no approval are among others, which is no fault of them
 */
export async function readProver(file: string, several: boolean): Promise<Decider> {
  const json = readStrictJson(savedText(await readFile(file, KEYS_LIMITS)))
  if (json === undefined) throw new InputError(`--approver-keys cannot read ${file}: it is not strict JSON.`)
  const parsed = parseExact(approverKeysSchema, json)
  if (!parsed.ok) throw new InputError(`--approver-keys cannot read ${file}: ${parsed.problem}.`)
  const { keys } = parsed.value
  return read => provenBy(keys, read, several)
}

const made = (proven: ProvenWord, message: string): Expected => ({
  id: "proven_by_passkeys",
  result: proven === "not" ? "fail" : "pass",
  message,
  proven,
})
const not = (why: string): Expected => made("not", `${PROVEN_TEXTS.not}: ${why}`)

function provenBy(keys: readonly ApproverKey[], read: ReadDocument, several: boolean): Expected {
  const { opening, forms } = read
  // Who approved is in the record alone.
  if (read.document === "run_statement") return not("the document is no whole record")
  const { sections } = opening ?? forms?.bundle ?? {}
  const { decision_reason_code: reason, needed = [] } = sections?.policy_evaluation ?? {}
  if (sections === undefined || reason !== "RULE_APPROVED")
    return several
      ? made("none", PROVEN_TEXTS.none)
      : not("the document holds no act that is allowed because persons approved it")
  const approvals = sections.approvals && shownApprovals(sections.approvals)
  if (approvals === undefined) return not("who approved is withheld")
  const place = placeOf(read)
  const act = place && decidedAct(sections, place)
  if (act === undefined) return not("the document is in no log")
  if (!hasPasskeys(approvals)) return not("no person signed with a passkey")
  const proven = provenDecisions(approvals, act, keys)
  if (proven.length === 0) return not("no approval is signed with a passkey of the file, by its person")
  const names = proven.map(({ person }) => person.subject)
  const persons = `${names.length === 1 ? "1 person" : `${names.length} persons`} (${names.join(", ")})`
  return approvalsSatisfy(
    needed.map(rule => ({ ...rule, proof: "passkey" as const })),
    proven,
  )
    ? made("proven", `${PROVEN_TEXTS.proven}: ${persons} signed this act with passkeys of the file`)
    : not(`${persons} signed with passkeys of the file, and the rules require more`)
}

/** Of a document that rests on approvals. */
function placeOf({ opening, forms }: ReadDocument): DecidedIn | undefined {
  if (opening !== undefined) return opening
  return forms && { tenant_id: forms.bundle.run.tenant_id, entry: namingEntry(forms.bundle) }
}
