/** Exports of run statements, made by the command itself, and the ways in which each is spoilt. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { utf8Encode } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { runStatement, runStatementText } from "@runseal/core/formulas/run-statement-text"
import { type DsseEnvelope, signEnvelope } from "@runseal/log/entries/dsse"
import { STATEMENT_FILES } from "../../../libs/core/src/verify/statement-export.ts"
import { IN_TOTO_PAYLOAD_TYPE } from "../../../libs/core/src/vocabulary/versions.ts"
import { type Deployment, makeDeployment, sealRun } from "../../../libs/core/test/fixtures/deployment.ts"
import { MAIN_SAMPLES, RUN_SAMPLES } from "../../../libs/core/test/fixtures/sample-corpus.ts"
import { exportStatement } from "../src/verify-export-command.ts"

/** What a foreign tool is given for one statement: the files of its folder. */
export type StatementMaterial = {
  /** Its SHA-256 is the statement's subject. */
  readonly record: Buffer
  /** JSON texts. */
  readonly envelope: string
  readonly bundle: string
  readonly root: string
  /** PEM text. */
  readonly key: string
}
export type ExportedStatement = { readonly name: string; readonly material: StatementMaterial }

/** The envelope that a service makes of a record. */
export function envelopeOf(bundle: Bundle, { serviceKey }: Pick<Deployment, "serviceKey">): DsseEnvelope {
  const statement = runStatement(bundle)
  if (statement === undefined) throw new Error("the record has no statement")
  return signEnvelope(IN_TOTO_PAYLOAD_TYPE, utf8Encode(runStatementText(statement)), serviceKey)
}

/** Exports a record with its statement into a folder of its own below this one. */
async function exported(
  folder: string,
  name: string,
  bundle: Bundle,
  deployment: Deployment,
): Promise<ExportedStatement> {
  const own = join(folder, name)
  mkdirSync(own, { recursive: true })
  const [record, envelope] = [join(own, "bundle.json"), join(own, "envelope.json")]
  writeFileSync(record, JSON.stringify(bundle))
  writeFileSync(envelope, JSON.stringify(envelopeOf(bundle, deployment)))
  const flags = { folder: join(own, "export"), force: false, strict: false }
  const answer = await exportStatement(record, envelope, flags, [deployment.trust], { colour: false, ascii: false })
  if (answer.exit !== 0) throw new Error(`${name} was not exported:\n${answer.stdout}${answer.stderr}`)
  const bytes = (file: keyof typeof STATEMENT_FILES): Buffer => readFileSync(join(flags.folder, STATEMENT_FILES[file]))
  const texts = { envelope: `${bytes("envelope")}`, bundle: `${bytes("bundle")}`, key: `${bytes("key")}` }
  return { name, material: { ...texts, root: `${bytes("root")}`, record: bytes("record") } }
}

/** The statement of a run of every outcome that has one; files go below the folder. */
export async function exportStatements(folder: string): Promise<readonly ExportedStatement[]> {
  const deployment = makeDeployment()
  const samples = RUN_SAMPLES.filter(
    ([name, , { outcome }]) => MAIN_SAMPLES.includes(name) && outcome !== "stage_error",
  )
  return await Promise.all(
    samples.map(([name, , spec]) => exported(folder, name, sealRun(deployment, spec).bundle, deployment)),
  )
}

/** A good export of a service that nobody trusts here. */
export async function statementOfAnother(folder: string): Promise<StatementMaterial> {
  const deployment = makeDeployment({ seed: "another" })
  const { bundle } = sealRun(deployment, { outcome: "ok" })
  return (await exported(folder, "another", bundle, deployment)).material
}

/** One change to an export, which no tool may accept. `another` is a good export of another deployment. */
export type StatementSpoiler = readonly [
  what: string,
  spoil: (good: StatementMaterial, another: StatementMaterial) => StatementMaterial,
]

type Json = ReturnType<typeof JSON.parse>
const inEnvelope =
  (edit: (envelope: Json, another: Json) => void): StatementSpoiler[1] =>
  (good, another) => {
    const [bundle, envelope] = [JSON.parse(good.bundle), JSON.parse(good.envelope)]
    edit(bundle.dsseEnvelope, JSON.parse(another.envelope))
    edit(envelope, JSON.parse(another.envelope))
    return { ...good, bundle: JSON.stringify(bundle), envelope: JSON.stringify(envelope) }
  }

/** What is wrong with the envelope or the key: every tool refuses it. */
export const SPOILT_ENVELOPES: readonly StatementSpoiler[] = [
  ["another service key", (good, { key }) => ({ ...good, key })],
  ["another envelope", (good, { bundle, envelope }) => ({ ...good, bundle, envelope })],
  [
    "another statement under the signature",
    inEnvelope((envelope, another) => {
      envelope.payload = another.payload
    }),
  ],
  [
    "a changed value of the statement",
    inEnvelope(envelope => {
      const text = Buffer.from(envelope.payload, "base64").toString().replace('"run_id":', '"run_id":1')
      envelope.payload = Buffer.from(text).toString("base64")
    }),
  ],
  [
    "another payload type",
    inEnvelope(envelope => {
      envelope.payloadType = "application/vnd.in-toto+jsonl"
    }),
  ],
  [
    "another's signature",
    inEnvelope((envelope, another) => {
      envelope.signatures[0].sig = another.signatures[0].sig
    }),
  ],
  [
    "no signature",
    inEnvelope(envelope => {
      envelope.signatures = []
    }),
  ],
]

/** What is wrong with the file that the statement is held against: tools refuse it that are given one. */
export const SPOILT_RECORDS: readonly StatementSpoiler[] = [
  ["another record", (good, { record }) => ({ ...good, record })],
  ["a record with a newline more", good => ({ ...good, record: Buffer.concat([good.record, Buffer.from("\n")]) })],
]
