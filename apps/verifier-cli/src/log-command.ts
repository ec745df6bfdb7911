/** `verifier log audit <address|folder>`: prints the result of an audit as text or JSON. */
import { encodeBase64, type JsonObject } from "@runseal/canonical"
import { MARKS } from "@runseal/core/presentation/account"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"

import { type Answer, printed } from "./exit-answer.ts"

import { type Audited, type AuditRequest, auditLog, type LogAudit } from "./log-audit.ts"
import { AUDIT_CHECKS, type AuditCheck, type AuditFailure } from "./log-failure.ts"
import { createLogSource } from "./log-source.ts"
import { readDemand, type Witnessed } from "./log-witnesses.ts"
import { type Line, paragraph, printJson, type Style } from "./print.ts"
import type { Progress } from "./progress.ts"
import { type SeenCheckpoint, seenPath } from "./seen-checkpoints.ts"
import { SCHEMA_VERSION } from "./verify-text.ts"

type AuditOptions = Pick<AuditRequest, "quick" | "documents" | "folder"> & {
  /** `--witness`, and `--witnesses-needed`. */
  readonly witness: readonly string[]
  readonly needed?: string | undefined
  readonly json: boolean
}

/** The last line of standard output. */
const AUDIT_VERDICTS = { whole: "LOG VERIFIED", quick: "LOG EXTENSION VERIFIED", failed: "FAILED" } as const

/** What no audit can show. */
const leftOpen = ({ audited }: LogAudit): readonly string[] => [
  ...(audited?.witnessed === undefined ? [NO_WITNESS_DEMANDED] : openOfWitnesses(audited)),
  "Entries hold digests and signatures: only the verification of a record shows that its entry belongs to a good record.",
]

const NO_WITNESS_DEMANDED =
  "Log time and the log's uniqueness are the operator's word: no witness was demanded. Name those that you trust with --witness."

function openOfWitnesses({ head, witnessed }: Audited): readonly string[] {
  const unwitnessed = head.size - (witnessed?.head.size ?? 0)
  return [
    ...(unwitnessed === 0
      ? []
      : [
          `The last ${unwitnessed} of the entries are not witnessed: the log's operator may still show others in their place.`,
        ]),
    "Whether the witnesses are independent of the log's operator and of each other: that depends on who chose them.",
    "The time of an entry is the operator's claim. A cosignature proves only that the entry existed when the witness signed.",
  ]
}
const HOW_TO_TRUST =
  "A log is audited with the checkpoint key of a trust document that you got another way: see verifier trust add --help, or name its file with --trust."
const LABEL_WIDTH = 14
const CHECK_WIDTH = 12

/** Audits the log behind the argument. Throws InputError. */
export async function auditCommand(
  argument: string,
  trusts: readonly TrustedKeys[],
  { quick, documents, witness, needed, json, folder }: AuditOptions,
  style: Style,
  progress: Progress,
): Promise<Answer> {
  const now = new Date().toISOString()
  const witnesses = readDemand(witness, needed)
  const source = createLogSource(argument)
  const audit = await auditLog({
    source,
    trusts,
    folder,
    quick,
    ...(witnesses === undefined ? {} : { witnesses }),
    documents,
    now,
    progress: progress.show,
  }).finally(progress.end)
  const exit = audit.failure === undefined ? 0 : 1
  if (json) return { stdout: printJson(jsonAnswer(audit)), stderr: "", exit }
  return printed(auditLines(audit, { folder, documents }), style, exit)
}

const verdictOf = ({ audited, failure }: LogAudit): string => {
  if (failure !== undefined) return AUDIT_VERDICTS.failed
  return audited?.base === undefined ? AUDIT_VERDICTS.whole : AUDIT_VERDICTS.quick
}

/** The object of `--json`. Absent facts are absent keys. */
function jsonAnswer(audit: LogAudit): JsonObject {
  const { audited, failure } = audit
  return {
    schema_version: SCHEMA_VERSION,
    verdict: verdictOf(audit),
    exit_code: failure === undefined ? 0 : 1,
    ...(failure === undefined ? {} : { first_failure: failure.check, message: failure.message }),
    ...(audited === undefined ? {} : jsonFacts(audited)),
    ...(failure?.contradicts === undefined ? {} : { contradicts: jsonSeen(failure.contradicts) }),
    limitations: leftOpen(audit),
  }
}

/** The number of different trees; one that passed has two records. */
const treesOf = (seen: readonly SeenCheckpoint[]): number =>
  new Set(seen.map(({ head }) => `${head.size} ${encodeBase64(head.root)}`)).size

const jsonSeen = ({ seen_at, checkpoint }: { seen_at: string; checkpoint: string }): JsonObject => ({
  seen_at,
  checkpoint,
})

const jsonFacts = ({ trust, head, checkpoint, witnessed, seen, base }: Audited): JsonObject => ({
  service: trust.service,
  origin: head.origin,
  tree_size: head.size,
  root_hash: encodeBase64(head.root),
  checkpoint,
  ...(witnessed === undefined ? {} : { witnessed: jsonWitnessed(witnessed) }),
  rebuilt_from: base?.head.size ?? 0,
  checkpoints_seen_before: treesOf(seen),
})

const jsonWitnessed = ({ keys, needed, head, checkpoint, cosignatures }: Witnessed): JsonObject => ({
  tree_size: head.size,
  checkpoint,
  witnesses: keys.length,
  needed,
  cosigned: cosignatures.map(({ witness, time }) => ({ witness: witness.name, time })),
})

type Asked = Pick<AuditOptions, "folder" | "documents">

function auditLines(audit: LogAudit, asked: Asked): readonly Line[] {
  const { audited, failure } = audit
  const heading = (text: string): readonly Line[] => [[], [{ text, tone: "strong" }]]
  return [
    ...(audited === undefined ? [] : [...factLines(audited, asked.folder), ...heading("Checked")]),
    ...(audited === undefined || failure !== undefined ? [] : passedLines(audited, asked.documents.length)),
    ...(failure === undefined ? [] : failureLines(failure, audited)),
    ...(failure === undefined ? [...heading("Not verified"), ...leftOpen(audit).flatMap(paragraph)] : []),
    [],
    [{ text: verdictOf(audit), tone: failure === undefined ? "good" : "bad" }],
  ]
}

const row = (label: string, value: string): Line => [`  ${label.padEnd(LABEL_WIDTH)}${value}`]

const secondsText = (time: number): string => `${new Date(time * 1000).toISOString().slice(0, 19)}Z`

/** The cosignatures, each with its witness and the time by that witness's clock. */
const witnessRows = ({ witnessed }: Audited): readonly Line[] =>
  witnessed === undefined
    ? []
    : [
        row("witnessed", `${witnessed.head.size} entries`),
        ...witnessed.cosignatures.map(({ witness, time }) => row("", `${secondsText(time)} ${witness.name}`)),
      ]

function factLines(audited: Audited, folder: string): readonly Line[] {
  const { trust, head, seen } = audited
  const [oldest, newest] = [seen[0], seen.at(-1)]
  const span = oldest === undefined || newest === undefined ? "" : `, from ${oldest.seen_at} to ${newest.seen_at}`
  return [
    [{ text: "Log", tone: "strong" }],
    row("service", trust.service),
    row("origin", head.origin),
    row("entries", `${head.size}`),
    row("root", encodeBase64(head.root)),
    ...witnessRows(audited),
    row("seen before", `${treesOf(seen)}${span}`),
    row("stored in", seenPath(folder, head.origin)),
  ]
}

function passedLines({ head, witnessed, seen, base, keys }: Audited, documents: number): readonly Line[] {
  const from = base?.head.size ?? 0
  const sentences: Readonly<Record<AuditCheck, string>> = {
    checkpoint: "signed with a checkpoint key of the trust document",
    witnesses: `${witnessed?.cosignatures.length} of your ${witnessed?.keys.length} cosigned a checkpoint of this log, ${witnessed?.needed} needed`,
    history: seen.length === 0 ? "nothing was seen before" : "every checkpoint seen before is part of this log",
    genesis: "entry 0 is the genesis of this log, with its keys",
    entries: `${head.size - from} rebuilt${from === 0 ? "" : `, from entry ${from} on`}; each has the hash that its tile holds`,
    tiles: "each row follows from the row below",
    root: "the tree has the signed root",
    keys: `changed ${keys.changes.length === 1 ? "once" : `${keys.changes.length} times`} since, each time announced under the previous keys`,
    documents: `every entry of ${documents === 1 ? "the document" : `${documents} documents`} is in ${witnessed === undefined ? "this log" : "what was witnessed of this log"}`,
  }
  const asked = AUDIT_CHECKS.filter(
    check =>
      (check !== "witnesses" || witnessed !== undefined) &&
      (check !== "keys" || keys.changes.length > 0) &&
      (check !== "documents" || documents > 0),
  )
  const isEmpty = (check: AuditCheck): boolean => check === "history" && seen.length === 0
  return asked.map(check => [
    "  ",
    isEmpty(check) ? { text: MARKS.absent, tone: "quiet" } : { text: MARKS.pass, tone: "good" },
    ` ${check.padEnd(CHECK_WIDTH)}${sentences[check]}`,
  ])
}

function failureLines({ check, message, contradicts }: AuditFailure, audited: Audited | undefined): readonly Line[] {
  const note = (text: string): readonly Line[] =>
    text
      .trimEnd()
      .split("\n")
      .map(line => (line === "" ? [] : [`    ${line}`]))
  return [
    ["  ", { text: MARKS.fail, tone: "bad" }, ` ${check}`],
    ...paragraph(message),
    ...(contradicts === undefined || audited === undefined
      ? []
      : [
          [],
          [`  Seen at ${contradicts.seen_at}:`],
          ...note(contradicts.checkpoint),
          ["  Shown now:"],
          ...note(audited.checkpoint),
          ["  Save both: together they prove to others what this log has signed."],
        ]),
    ...(audited === undefined ? [[], ...paragraph(HOW_TO_TRUST)] : []),
  ]
}
