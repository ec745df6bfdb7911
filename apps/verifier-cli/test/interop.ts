/**
 * Holds exports against the real tools on PATH: cosign 2 and 3, and sigstore-go: its verification example for anchors, and for
 * statements, which no log holds, the program in sigstore-go/ beside this file; and a service's log against tools that Go builds
 * (log-tools.ts). A tool that is not there is named and passed over. Ends in 1 when a tool accepts what it must not or refuses what it
 * must take.
 *
 *   npm run test:interop
 */
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { RUN_STATEMENT_PREDICATE_TYPE } from "../../../libs/core/src/vocabulary/versions.ts"
import { wrongLogTools } from "./log-tools.ts"
import {
  exportCorpus,
  exportFromOutside,
  exportOfAnother,
  isStamped,
  type Material,
  SPOILERS,
  STAMPED_SPOILERS,
} from "./sigstore-exports.ts"
import {
  exportStatements,
  SPOILT_ENVELOPES,
  SPOILT_RECORDS,
  type StatementMaterial,
  statementOfAnother,
} from "./statement-exports.ts"

type Tool = {
  readonly name: string
  /** Absent for a tool that is given statements alone. */
  readonly accepts?: (material: Material) => boolean
  /** Absent for a tool that is given anchors alone. */
  readonly acceptsStatement?: (material: StatementMaterial) => boolean
  /** False for a tool of before entries without a time of their log. */
  readonly knowsRekorV2?: boolean
}

/** A tool that hangs has not accepted anything. */
const TIMEOUT_MS = 60_000
const COSIGN_NAMES = ["cosign", "cosign2", "cosign3"]
const SIGSTORE_GO_NAMES = ["sigstore-go", "sigstore-go-verification"]
const SIGSTORE_GO_STATEMENT_NAMES = ["sigstore-go-statement"]

const folder = mkdtempSync(join(tmpdir(), "runseal-interop-"))
process.on("exit", () => rmSync(folder, { recursive: true }))

const found = (names: readonly string[]): readonly string[] => {
  const folders = (process.env.PATH ?? "").split(delimiter)
  return names.flatMap(name =>
    folders
      .map(path => join(path, name))
      .filter(existsSync)
      .slice(0, 1),
  )
}

/** Writes the files and runs the command within their folder. */
function runs(command: string, args: readonly string[], files: Readonly<Record<string, string | Buffer>>): boolean {
  for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)
  const { status, error } = spawnSync(command, args, { cwd: folder, timeout: TIMEOUT_MS, stdio: "ignore" })
  if (error !== undefined) throw error
  return status === 0
}

const anchorFiles = ({ leaf, bundle, key, root }: Material): Readonly<Record<string, string | Buffer>> => ({
  "leaf.json": leaf,
  "leaf.sigstore.json": bundle,
  "service.pub": key,
  "trusted_root.json": root,
})

const statementFiles = ({
  record,
  bundle,
  key,
  root,
}: StatementMaterial): Readonly<Record<string, string | Buffer>> => ({
  "record.json": record,
  "statement.sigstore.json": bundle,
  "service.pub": key,
  "trusted_root.json": root,
})

function cosign(command: string): Tool {
  const version = /GitVersion:\s+(\S+)/.exec(execFileSync(command, ["version"], { encoding: "utf8" }))?.[1] ?? "unknown"
  const format = version.startsWith("v2.") ? ["--new-bundle-format"] : []
  const trust = ["--key", "service.pub", "--bundle", "leaf.sigstore.json", "--trusted-root", "trusted_root.json"]
  const args = ["verify-blob", ...format, ...trust, "leaf.json"]
  const stamped = [...args, "--use-signed-timestamps"]
  const statementTrust = trust.with(3, "statement.sigstore.json")
  const type = ["--type", RUN_STATEMENT_PREDICATE_TYPE, "--insecure-ignore-tlog"]
  const statementArgs = ["verify-blob-attestation", ...format, ...statementTrust, ...type, "record.json"]
  return {
    name: `cosign ${version}`,
    accepts: material => runs(command, isStamped({ material }) ? stamped : args, anchorFiles(material)),
    acceptsStatement: material => runs(command, statementArgs, statementFiles(material)),
    ...(version.startsWith("v2.") ? { knowsRekorV2: false } : {}),
  }
}

function sigstoreGo(command: string): Tool {
  const trust = ["-publicKey", "service.pub", "-trustedrootJSONpath", "trusted_root.json", "-requireCTlog=false"]
  const args = [...trust, "-artifact", "leaf.json", "leaf.sigstore.json"]
  return { name: "sigstore-go", accepts: material => runs(command, args, anchorFiles(material)) }
}

function sigstoreGoStatement(command: string): Tool {
  const args = ["statement.sigstore.json", "record.json", "service.pub", "trusted_root.json"]
  return {
    name: "sigstore-go, statements",
    acceptsStatement: material => runs(command, args, statementFiles(material)),
  }
}

const tools = [
  ...found(COSIGN_NAMES).map(cosign),
  ...found(SIGSTORE_GO_NAMES).map(sigstoreGo),
  ...found(SIGSTORE_GO_STATEMENT_NAMES).map(sigstoreGoStatement),
]
const said = (line: string): boolean => process.stdout.write(`${line}\n`)
for (const major of ["2", "3"])
  if (!tools.some(({ name }) => name.startsWith(`cosign v${major}.`)))
    said(`cosign ${major}: not found on PATH (${COSIGN_NAMES.join(", ")}); not tested.`)
for (const [name, names] of [
  ["sigstore-go", SIGSTORE_GO_NAMES],
  ["sigstore-go, statements", SIGSTORE_GO_STATEMENT_NAMES],
] as const)
  if (!tools.some(tool => tool.name === name)) said(`${name}: not found on PATH (${names.join(", ")}); not tested.`)

const exported = await exportCorpus(folder)
const statements = await exportStatements(join(folder, "statements"))
const outside = await exportFromOutside(join(folder, "outside"))
const outsideElsewhere = (await exportFromOutside(join(folder, "outside elsewhere"), "elsewhere")).find(isStamped)
const another = await exportOfAnother(join(folder, "another"))
const anotherStatement = await statementOfAnother(join(folder, "another statement"))

/** What a tool says wrongly of the anchors; prints how many it was asked. */
function wrongAnchors(name: string, accepts: (material: Material) => boolean): readonly string[] {
  const refused = exported.filter(({ material }) => !accepts(material)).map(anchor => `refused ${anchor.name}`)
  // What is spoilt is spoilt alike in all: one anchor of each slot.
  const slots = new Map(exported.map(one => [one.name.split(", ")[1], one.material]))
  const taken = [...slots].flatMap(([slot, material]) =>
    SPOILERS.filter(([, spoil]) => accepts(spoil(material, another))).map(([what]) => `accepted ${slot} with ${what}`),
  )
  const wrong = [...refused, ...taken]
  said(
    `${name}: ${exported.length} anchors, ${slots.size * SPOILERS.length} spoilt ones: ${wrong.length} wrong answers`,
  )
  return wrong
}

/** What a tool says wrongly of a record that is in Rekor logs of both versions; prints how many it was asked. */
function wrongOutside({ name, accepts = () => false, knowsRekorV2 = true }: Tool): readonly string[] {
  const asked = outside.filter(one => knowsRekorV2 || !isStamped(one))
  const refused = asked.filter(({ material }) => !accepts(material)).map(anchor => `refused ${anchor.name}`)
  const taken = asked
    .filter(isStamped)
    .flatMap(anchor =>
      STAMPED_SPOILERS.filter(
        ([, spoil]) => outsideElsewhere === undefined || accepts(spoil(anchor.material, outsideElsewhere.material)),
      ).map(([what]) => `accepted ${anchor.name} with ${what}`),
    )
  const wrong = [...refused, ...taken]
  const stamped = asked.filter(isStamped).length
  const version = knowsRekorV2 ? "" : " (it does not know Rekor v2)"
  said(
    `${name}: ${asked.length} anchors of a record in Rekor logs too, ${stamped} of Rekor v2${version}, ${stamped * STAMPED_SPOILERS.length} spoilt ones: ${wrong.length} wrong answers`,
  )
  return wrong
}

/** What a tool says wrongly of the statements; prints how many it was asked. */
function wrongStatements(name: string, accepts: (material: StatementMaterial) => boolean): readonly string[] {
  const spoilers = [...SPOILT_ENVELOPES, ...SPOILT_RECORDS]
  const refused = statements
    .filter(({ material }) => !accepts(material))
    .map(one => `refused the statement of ${one.name}`)
  const [good] = statements
  const taken = spoilers
    .filter(([, spoil]) => good !== undefined && accepts(spoil(good.material, anotherStatement)))
    .map(([what]) => `accepted a statement with ${what}`)
  const wrong = [...refused, ...taken]
  said(`${name}: ${statements.length} statements, ${spoilers.length} spoilt ones: ${wrong.length} wrong answers`)
  return wrong
}

for (const tool of tools) {
  const { name, accepts, acceptsStatement } = tool
  const wrong = [
    ...(accepts === undefined ? [] : [...wrongAnchors(name, accepts), ...wrongOutside(tool)]),
    ...(acceptsStatement === undefined ? [] : wrongStatements(name, acceptsStatement)),
  ]
  for (const line of wrong) said(`  ${line}`)
  if (wrong.length > 0) process.exitCode = 1
}

const wrongOfLog = await wrongLogTools(join(folder, "log tools"), said)
for (const line of wrongOfLog) said(`  ${line}`)
if (wrongOfLog.length > 0) process.exitCode = 1
