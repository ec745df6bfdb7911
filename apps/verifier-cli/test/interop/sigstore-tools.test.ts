/**
 * Holds exports against the tools of others on PATH: cosign 2 and 3, and sigstore-go: its verification example for anchors, and for
 * statements, which no log holds, the program in ../sigstore-go. A tool that is not there is skipped.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, writeFileSync } from "node:fs"
import { delimiter, join } from "node:path"
import { describe, expect, test } from "vitest"
import { RUN_STATEMENT_PREDICATE_TYPE } from "../../../../libs/core/src/vocabulary/versions.ts"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import {
  exportCorpus,
  exportFromOutside,
  exportOfAnother,
  isStamped,
  type Material,
  SPOILERS,
  STAMPED_SPOILERS,
} from "../sigstore-exports.ts"
import {
  exportStatements,
  SPOILT_ENVELOPES,
  SPOILT_RECORDS,
  type StatementMaterial,
  statementOfAnother,
} from "../statement-exports.ts"

/** A tool that is given the anchors of records; `name` is that of its folder. */
type AnchorTool = {
  readonly name: string
  readonly accepts: (material: Material) => boolean
  /** False for a tool of before entries without a time of their log. */
  readonly knowsRekorV2: boolean
}
/** A tool that is given statements about records. */
type StatementTool = { readonly name: string; readonly accepts: (material: StatementMaterial) => boolean }

/** A tool that hangs has not accepted anything. */
const TIMEOUT_MS = 60_000
/** Some hundred calls of a tool. */
const SUITE_TIMEOUT_MS = 600_000
const COSIGN_NAMES = ["cosign", "cosign2", "cosign3"]
const SIGSTORE_GO_NAMES = ["sigstore-go", "sigstore-go-verification"]
const SIGSTORE_GO_STATEMENT_NAMES = ["sigstore-go-statement"]

const folder = testFolder("runseal-interop")

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

const cosignVersion = (command: string): string =>
  /GitVersion:\s+(\S+)/.exec(execFileSync(command, ["version"], { encoding: "utf8" }))?.[1] ?? "unknown"

/** @param knowsRekorV2 version 3 does, and has the new format of bundles by default */
function cosign(
  command: string,
  knowsRekorV2: boolean,
): { readonly anchors: AnchorTool; readonly statements: StatementTool } {
  const format = knowsRekorV2 ? [] : ["--new-bundle-format"]
  const trust = ["--key", "service.pub", "--bundle", "leaf.sigstore.json", "--trusted-root", "trusted_root.json"]
  const args = ["verify-blob", ...format, ...trust, "leaf.json"]
  const stamped = [...args, "--use-signed-timestamps"]
  const statementTrust = trust.with(3, "statement.sigstore.json")
  const type = ["--type", RUN_STATEMENT_PREDICATE_TYPE, "--insecure-ignore-tlog"]
  const statementArgs = ["verify-blob-attestation", ...format, ...statementTrust, ...type, "record.json"]
  const name = knowsRekorV2 ? "cosign3" : "cosign2"
  return {
    anchors: {
      name,
      knowsRekorV2,
      accepts: material => runs(command, isStamped({ material }) ? stamped : args, anchorFiles(material)),
    },
    statements: { name, accepts: material => runs(command, statementArgs, statementFiles(material)) },
  }
}

function sigstoreGo(command: string): AnchorTool {
  const trust = ["-publicKey", "service.pub", "-trustedrootJSONpath", "trusted_root.json", "-requireCTlog=false"]
  const args = [...trust, "-artifact", "leaf.json", "leaf.sigstore.json"]
  return {
    name: "sigstore-go",
    knowsRekorV2: true,
    accepts: material => runs(command, args, anchorFiles(material)),
  }
}

function sigstoreGoStatement(command: string): StatementTool {
  const args = ["statement.sigstore.json", "record.json", "service.pub", "trusted_root.json"]
  return { name: "sigstore-go-statement", accepts: material => runs(command, args, statementFiles(material)) }
}

/** What a tool says wrongly of the anchors. */
async function wrongAnchors({ name, accepts }: AnchorTool): Promise<readonly string[]> {
  const exported = await exportCorpus(join(folder, name, "anchors"))
  const another = await exportOfAnother(join(folder, name, "another"))
  const refused = exported.filter(({ material }) => !accepts(material)).map(anchor => `refused ${anchor.name}`)
  // What is spoilt is spoilt alike in all: one anchor of each slot.
  const slots = new Map(exported.map(one => [one.name.split(", ")[1], one.material]))
  const taken = [...slots].flatMap(([slot, material]) =>
    SPOILERS.filter(([, spoil]) => accepts(spoil(material, another))).map(([what]) => `accepted ${slot} with ${what}`),
  )
  return [...refused, ...taken]
}

/** What a tool says wrongly of a record that is in Rekor logs of both versions. */
async function wrongOutside({ name, accepts, knowsRekorV2 }: AnchorTool): Promise<readonly string[]> {
  const outside = await exportFromOutside(join(folder, name, "outside"))
  const elsewhere = (await exportFromOutside(join(folder, name, "outside elsewhere"), "elsewhere")).find(isStamped)
  const asked = outside.filter(one => knowsRekorV2 || !isStamped(one))
  const refused = asked.filter(({ material }) => !accepts(material)).map(anchor => `refused ${anchor.name}`)
  const taken = asked
    .filter(isStamped)
    .flatMap(anchor =>
      STAMPED_SPOILERS.filter(
        ([, spoil]) => elsewhere === undefined || accepts(spoil(anchor.material, elsewhere.material)),
      ).map(([what]) => `accepted ${anchor.name} with ${what}`),
    )
  return [...refused, ...taken]
}

/** What a tool says wrongly of the statements. */
async function wrongStatements({ name, accepts }: StatementTool): Promise<readonly string[]> {
  const statements = await exportStatements(join(folder, name, "statements"))
  const another = await statementOfAnother(join(folder, name, "another statement"))
  const refused = statements
    .filter(({ material }) => !accepts(material))
    .map(one => `refused the statement of ${one.name}`)
  const [good] = statements
  const taken = [...SPOILT_ENVELOPES, ...SPOILT_RECORDS]
    .filter(([, spoil]) => good !== undefined && accepts(spoil(good.material, another)))
    .map(([what]) => `accepted a statement with ${what}`)
  return [...refused, ...taken]
}

const cosignOf = (major: string): string | undefined =>
  found(COSIGN_NAMES).find(command => cosignVersion(command).startsWith(`v${major}.`))
const [sigstoreGoPath] = found(SIGSTORE_GO_NAMES)
const [sigstoreGoStatementPath] = found(SIGSTORE_GO_STATEMENT_NAMES)

/** The title of what needs a command: says why it is skipped when the command is not there. */
const titled = (rule: string, command: string | undefined, names: readonly string[]): string =>
  command === undefined ? `${rule} (not on PATH: ${names.join(", ")})` : rule

describe.each(["2", "3"])("cosign %s", major => {
  const command = cosignOf(major)
  const tool = cosign(command ?? "", major === "3")
  const absent = command === undefined
  const options = { timeout: SUITE_TIMEOUT_MS }
  test.skipIf(absent)(titled("takes every anchor, and no spoilt one", command, COSIGN_NAMES), options, async () => {
    expect(await wrongAnchors(tool.anchors)).toEqual([])
  })
  test.skipIf(absent)(titled("takes what is in Rekor too", command, COSIGN_NAMES), options, async () => {
    expect(await wrongOutside(tool.anchors)).toEqual([])
  })
  test.skipIf(absent)(titled("takes every statement, and no spoilt one", command, COSIGN_NAMES), options, async () => {
    expect(await wrongStatements(tool.statements)).toEqual([])
  })
})

describe("sigstore-go", () => {
  const absent = sigstoreGoPath === undefined
  const tool = sigstoreGo(sigstoreGoPath ?? "")
  const options = { timeout: SUITE_TIMEOUT_MS }
  const of = (rule: string): string => titled(rule, sigstoreGoPath, SIGSTORE_GO_NAMES)
  test.skipIf(absent)(of("takes every anchor, and no spoilt one"), options, async () => {
    expect(await wrongAnchors(tool)).toEqual([])
  })
  test.skipIf(absent)(of("takes what is in Rekor too"), options, async () => {
    expect(await wrongOutside(tool)).toEqual([])
  })
  test.skipIf(sigstoreGoStatementPath === undefined)(
    titled("takes every statement, and no spoilt one", sigstoreGoStatementPath, SIGSTORE_GO_STATEMENT_NAMES),
    options,
    async () => {
      expect(await wrongStatements(sigstoreGoStatement(sigstoreGoStatementPath ?? ""))).toEqual([])
    },
  )
})
