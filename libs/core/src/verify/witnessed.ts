/**
 * Checks the witnessed checkpoint that a served record carries: a later head of the log, with witnesses' signatures and the place of each
 * entry of the record in its tree. docs/formats.md section 9.
 */
import { decodeBase64 } from "@runseal/canonical"
import { areOfTwoTrees, entryView, viewOf } from "@runseal/log/entries/one-tree"
import { hashLeaf, type InclusionClaim, verifyInclusion } from "@runseal/log/merkle/rfc6962"
import { type Checkpoint, parseCheckpoint, parseOrigin, publicOrigin } from "@runseal/log/notes/checkpoint"
import { isWitnessKey, parseNote } from "@runseal/log/notes/signed-note"
import { verifyNote } from "@runseal/log/notes/verified-note"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import type { Anchor } from "../artifacts/anchor.ts"
import type { Anchors, Witnessed } from "../artifacts/bundle-schema.ts"
import { unixTime } from "../vocabulary/utc-time.ts"
import { slotted } from "./anchor-slots.ts"
import type { ExaminedBundle } from "./examination.ts"
import type { LimitationCode } from "./report.ts"

const bytesOf = (base64: string): Uint8Array => decodeBase64(base64) ?? Uint8Array.of()

/** Runs every check on the witnessed checkpoint of a record; none on a record without one. */
export function checkWitnessed({ bundle: { anchors }, trust, findings }: ExaminedBundle): void {
  const { witnessed } = anchors
  if (witnessed === undefined) return
  const [own, paths] = [slotted(anchors), slotted(witnessed)]
  const isWhole = own.length > 0 && `${own.map(({ slot }) => slot)}` === `${paths.map(({ slot }) => slot)}`
  findings.require("witnessed", isWhole, "not exactly the log entries of the record have a path to the witnessed tree")
  const head = headOf(witnessed)
  if (head === undefined) {
    findings.fail("witnessed", "the witnessed checkpoint is none")
    return
  }
  for (const { slot, anchor } of own) {
    const path = witnessed[slot]
    if (path === undefined) continue
    const claim = claimIn(anchor, path, head)
    if (!verifyInclusion(claim))
      findings.fail("witnessed", `the path of the ${slot} entry does not lead to the root of the witnessed tree`)
    else if (areOfTwoTrees(entryView(anchor.entry), viewOf(claim)))
      findings.fail(
        "witnessed",
        "the witnessed tree is another than that of the record's own proofs: the log was forked",
      )
  }
  if (trust === undefined) findings.lack("witnessed", "the witnessed checkpoint is of a log that you do not trust")
  else findings.fail("witnessed", ...signatureProblems(witnessed, head, trust))
}

/** What a path claims of an entry in the witnessed tree. */
const claimIn = ({ entry }: Anchor, path: readonly string[], { size, root }: Checkpoint): InclusionClaim => ({
  leafHash: hashLeaf(bytesOf(entry.canonicalizedBody)),
  index: Number(entry.logIndex),
  size,
  proof: path.map(bytesOf),
  root,
})

function headOf({ checkpoint }: Witnessed): Checkpoint | undefined {
  const note = parseNote(checkpoint)
  return note && parseCheckpoint(note.text)
}

/** Whose signatures the checkpoint has. */
type Signers = {
  /** The log's own, with a key of the trust document. */
  readonly ofLog: boolean
  /** Witnesses whose keys are trusted; times in Unix seconds, by their clocks. */
  readonly witnesses: readonly { readonly name: string; readonly time: number }[]
  /** Signatures of keys that are not trusted, which were not checked. */
  readonly others: number
}

/** Undefined when a signature of a trusted key is wrong, or none of a trusted key is there. */
function signersOf({ checkpoint }: Witnessed, { origin, checkpointKeys }: TrustedKeys): Signers | undefined {
  const [note, verified] = [parseNote(checkpoint), verifyNote(checkpoint, checkpointKeys)]
  if (note === undefined || verified === undefined) return undefined
  const name = parseOrigin(origin) && publicOrigin(origin)
  const known = new Set(verified.signers.map(({ key }) => `${key.name} ${key.keyId}`))
  return {
    ofLog: verified.signers.some(({ key }) => !isWitnessKey(key) && key.name === name),
    witnesses: verified.signers.flatMap(({ key, time }) => (time === undefined ? [] : [{ name: key.name, time }])),
    others: note.signatures.filter(line => line.name !== name && !known.has(`${line.name} ${line.keyId}`)).length,
  }
}

function signatureProblems(witnessed: Witnessed, head: Checkpoint, trust: TrustedKeys): readonly string[] {
  const isOfLog = parseOrigin(trust.origin) !== undefined && head.origin === publicOrigin(trust.origin)
  const signers = signersOf(witnessed, trust)
  if (!isOfLog || signers?.ofLog !== true)
    return ["the witnessed checkpoint is not signed by the log, or a signature under it is not the signer's"]
  return signers.witnesses.length + signers.others === 0 ? ["no witness signed the witnessed checkpoint"] : []
}

/** What the report says when the witnessed checkpoint is good; undefined when there is none. */
export function passedWitnessed({ witnessed }: Anchors, trust: TrustedKeys | undefined): string | undefined {
  const [head, signers] = [witnessed && headOf(witnessed), witnessed && trust && signersOf(witnessed, trust)]
  if (head === undefined || signers === undefined) return undefined
  const { witnesses, others } = signers
  const checked = witnesses.map(({ name, time }) => `${name} at ${unixTime(time)}`)
  return [
    `its entries are among the first ${head.size} of the log`,
    ...(checked.length === 0 ? [] : [`cosigned by ${checked.join(", ")}`]),
    ...(others === 0 ? [] : [`signatures of keys that you do not trust, not checked: ${others}`]),
  ].join("; ")
}

/** What a record with a witnessed checkpoint leaves open; undefined for one without. */
export function witnessedLimitation(
  { witnessed }: Anchors,
  trust: TrustedKeys | undefined,
): Extract<LimitationCode, "witnessed_log" | "unknown_witness"> | undefined {
  if (witnessed === undefined) return undefined
  const signers = trust && signersOf(witnessed, trust)
  return (signers?.witnesses.length ?? 0) > 0 ? "witnessed_log" : "unknown_witness"
}
