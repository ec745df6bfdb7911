/**
 * Holds exports against the real tools on PATH: cosign 2 and 3, and sigstore-go's verification example. A tool that is not
 * there is named and passed over. Ends in 1 when a tool accepts what it must not or refuses what it must take.
 *
 *   npm run test:interop
 */
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { RUN_STATEMENT_PREDICATE_TYPE } from "../../../libs/core/src/vocabulary/versions.ts"
import { exportCorpus, exportOfAnother, type Material, SPOILERS } from "./sigstore-exports.ts"
import {
  exportStatements,
  SPOILT_ENVELOPES,
  SPOILT_RECORDS,
  type StatementMaterial,
  statementOfAnother,
} from "./statement-exports.ts"

type Tool = {
  readonly name: string
  readonly accepts: (material: Material) => boolean
  /** Absent for a tool that is given anchors alone. */
  readonly acceptsStatement?: (material: StatementMaterial) => boolean
}

/** A tool that hangs has not accepted anything. */
const TIMEOUT_MS = 60_000
const COSIGN_NAMES = ["cosign", "cosign2", "cosign3"]
const SIGSTORE_GO_NAMES = ["sigstore-go", "sigstore-go-verification"]

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
  const statementTrust = trust.with(3, "statement.sigstore.json")
  const type = ["--type", RUN_STATEMENT_PREDICATE_TYPE, "--insecure-ignore-tlog"]
  const statementArgs = ["verify-blob-attestation", ...format, ...statementTrust, ...type, "record.json"]
  return {
    name: `cosign ${version}`,
    accepts: material => runs(command, args, anchorFiles(material)),
    acceptsStatement: material => runs(command, statementArgs, statementFiles(material)),
  }
}

function sigstoreGo(command: string): Tool {
  const trust = ["-publicKey", "service.pub", "-trustedrootJSONpath", "trusted_root.json", "-requireCTlog=false"]
  const args = [...trust, "-artifact", "leaf.json", "leaf.sigstore.json"]
  return { name: "sigstore-go", accepts: material => runs(command, args, anchorFiles(material)) }
}

const tools = [...found(COSIGN_NAMES).map(cosign), ...found(SIGSTORE_GO_NAMES).map(sigstoreGo)]
const said = (line: string): boolean => process.stdout.write(`${line}\n`)
for (const major of ["2", "3"])
  if (!tools.some(({ name }) => name.startsWith(`cosign v${major}.`)))
    said(`cosign ${major}: not found on PATH (${COSIGN_NAMES.join(", ")}); not tested.`)
if (!tools.some(({ name }) => name === "sigstore-go"))
  said(`sigstore-go: not found on PATH (${SIGSTORE_GO_NAMES.join(", ")}); not tested.`)

const exported = tools.length === 0 ? [] : await exportCorpus(folder)
const statements = tools.length === 0 ? [] : await exportStatements(join(folder, "statements"))

/** What a tool says wrongly of the statements; prints how many it was asked. */
async function wrongStatements(
  name: string,
  accepts: (material: StatementMaterial) => boolean,
): Promise<readonly string[]> {
  const another = await statementOfAnother(join(folder, `statement for ${name}`))
  const spoilers = [...SPOILT_ENVELOPES, ...SPOILT_RECORDS]
  const refused = statements
    .filter(({ material }) => !accepts(material))
    .map(one => `refused the statement of ${one.name}`)
  const [good] = statements
  const taken = spoilers
    .filter(([, spoil]) => good !== undefined && accepts(spoil(good.material, another)))
    .map(([what]) => `accepted a statement with ${what}`)
  said(
    `${name}: ${statements.length} statements, ${spoilers.length} spoilt ones: ${refused.length + taken.length} wrong answers`,
  )
  return [...refused, ...taken]
}

for (const { name, accepts, acceptsStatement } of tools) {
  const another = await exportOfAnother(join(folder, name))
  const wrong: string[] = []
  for (const { name: anchor, material } of exported) if (!accepts(material)) wrong.push(`refused ${anchor}`)
  // What is spoilt is spoilt alike in all: one anchor of each slot.
  const slots = new Map(exported.map(one => [one.name.split(", ")[1], one.material]))
  for (const [slot, material] of slots)
    for (const [what, spoil] of SPOILERS)
      if (accepts(spoil(material, another))) wrong.push(`accepted ${slot} with ${what}`)
  said(
    `${name}: ${exported.length} anchors, ${slots.size * SPOILERS.length} spoilt ones: ${wrong.length} wrong answers`,
  )
  if (acceptsStatement !== undefined) wrong.push(...(await wrongStatements(name, acceptsStatement)))
  for (const line of wrong) said(`  ${line}`)
  if (wrong.length > 0) process.exitCode = 1
}
