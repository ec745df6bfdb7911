/** The auditor's part of the demo: files and the verifier, no service. */
import { execFile } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { availableParallelism } from "node:os"
import { join } from "node:path"
import { parseStrictJson } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { recordInChain } from "@runseal/core/verify/bundle"
import { readBundle } from "@runseal/core/verify/bundle-forms"
import { chainProblems } from "@runseal/core/verify/chain"
import { COMPLETENESS_VERDICTS } from "@runseal/core/verify/completeness"
import { VERDICTS, type Verdict } from "@runseal/core/verify/report"
import { isObject } from "@runseal/core/vocabulary/json-members"
import { ACTS, type Forgery } from "./demo-plan.ts"
import type { Folders } from "./folders.ts"
import { EXPORT_FILE, OPENING_FILE } from "./permit-act.ts"
import type { SavedRun } from "./saved-runs.ts"
import { plainEnvironment } from "./server-process.ts"
import type { Story } from "./story.ts"

const FILE_WIDTH = 46
const VERIFIER = "apps/verifier-cli/bin/verifier.cjs"
const VERIFY_TIMEOUT_MS = 60_000
const VERIFIERS_AT_ONCE: number = Math.min(4, availableParallelism())

/** A document to verify and what must come of it. */
type Case = {
  readonly args: readonly string[]
  readonly title: string
  readonly exit: 0 | 1
  readonly verdict: Verdict
}

type Verification = {
  readonly exit: number
  /** The last line of the output. */
  readonly verdict: string
  /** Name of the first check that failed. */
  readonly failed?: string
  readonly lines: readonly string[]
}

/** Runs the command `verifier` as a child process. The trust store is empty, so that the user's own pinned keys are not used. */
export function verify({ root, noTrust }: Folders, args: readonly string[]): Promise<Verification> {
  const env = { ...plainEnvironment(), RUNSEAL_TRUST_DIR: join(root, noTrust), NO_COLOR: "1" }
  const options = { cwd: root, env, timeout: VERIFY_TIMEOUT_MS }
  return new Promise(resolve => {
    const child = execFile(process.execPath, [VERIFIER, ...args], options, (_error, stdout, stderr) => {
      const lines = `${stdout}${stderr}`.trimEnd().split("\n")
      const failed = /^First failed check, (\w+):/m.exec(stdout)?.[1]
      const verdict = lines.at(-1) ?? ""
      resolve({ exit: child.exitCode ?? -1, verdict, lines, ...(failed === undefined ? {} : { failed }) })
    })
  })
}

/** Verifies the cases, a few at once, and reports them in order. */
async function hold(cases: readonly Case[], folders: Folders, story: Story): Promise<void> {
  const found: Promise<Verification>[] = []
  for (const [i, { args }] of cases.entries()) {
    const before = found[i - VERIFIERS_AT_ONCE] ?? Promise.resolve()
    found.push(before.then(() => verify(folders, args)))
  }
  for (const [i, { title, exit, verdict }] of cases.entries()) {
    const result = await found[i]
    const failed = result?.failed === undefined ? "" : ` (${result.failed})`
    story.state(`${title}${result?.verdict}${failed}`, result?.exit === exit && result.verdict === verdict)
  }
}

/** One document shown in full, then all in one line each. */
export async function verifyAll(runs: readonly SavedRun[], folders: Folders, story: Story): Promise<void> {
  const { evidence, trust } = folders
  const of = (file: string, verdict: Verdict): Case => ({
    args: [join(evidence, file), "--trust", trust],
    title: `${file.padEnd(FILE_WIDTH)} `,
    exit: 0,
    verdict,
  })
  const [first] = runs
  if (first !== undefined) {
    const { args } = of(first.bundle, VERDICTS.complete)
    story.command(`npx verifier ${args.join(" ")}`)
    for (const line of (await verify(folders, args)).lines) story.note(line)
    story.say("")
  }
  const cases = runs.flatMap(({ bundle, receipt }) => [
    of(bundle, VERDICTS.complete),
    ...(receipt === undefined ? [] : [of(receipt, VERDICTS.receipt)]),
  ])
  await hold([...cases, of(OPENING_FILE, VERDICTS.opening)], folders, story)
}

/** Verifies every document with one byte changed, and a genuine one without a trust document. All must fail. */
export async function refuseForgeries(runs: readonly SavedRun[], folders: Folders, story: Story): Promise<void> {
  const { root, evidence, forged, trust } = folders
  const forge = (file: string, change: (text: string) => string, says: string): Case => {
    writeFileSync(join(root, forged, file), change(readFileSync(join(root, evidence, file), "utf8")))
    const title = `${file.padEnd(FILE_WIDTH)} ${says}: `
    return { args: [join(forged, file), "--trust", trust], title, exit: 1, verdict: VERDICTS.failed }
  }
  const cases = runs.flatMap(({ bundle, receipt, planned: { forgery } }) => [
    forge(bundle, text => changeOneByte(text, forgery), forgery.says),
    ...(receipt === undefined ? [] : [forge(receipt, renumber, "another run's number")]),
  ])
  const untrusted = runs.slice(0, 1).map(({ bundle }): Case => {
    const title = `${bundle}, true, but verified without the trust document: `
    return { args: [join(evidence, bundle)], title, exit: 1, verdict: VERDICTS.failed }
  })
  await hold([...cases, ...untrusted], folders, story)
}

/** Checks that all records of the tenant are one chain, that without some of them they are not, and that the export has all of it. */
export async function followChain(runs: readonly SavedRun[], folders: Folders, story: Story): Promise<void> {
  const planned = runs.filter(({ planned }) => ACTS.some(act => act.runs.includes(planned)))
  const bundles = planned.map(saved => savedBundle(join(folders.root, folders.evidence, saved.bundle)))
  const whole = chainProblems(bundles.map(recordInChain))
  story.state(`the first ${bundles.length} records, refused ones too, are one chain without a gap`, whole.length === 0)
  const left = bundles.filter(bundle => bundle.run.outcome_kind !== "pepg_deny")
  const [problem] = chainProblems(left.map(recordInChain))
  story.state(`without the denied runs: ${problem ?? "no gap was found"}`, problem !== undefined)
  const args = ["--complete", "--budgets", join(folders.evidence, EXPORT_FILE), "--trust", folders.trust]
  story.command(`npx verifier ${args.join(" ")}`)
  const { exit, verdict, lines } = await verify(folders, args)
  for (const line of lines) story.note(line)
  story.state(
    "the export has every record and the opening of the permit, and its budgets add up",
    exit === 0 && verdict === COMPLETENESS_VERDICTS.chain,
  )
}

/** A saved bundle. @throws Error when the file holds none */
export function savedBundle(path: string): Bundle {
  const value = parseStrictJson(readFileSync(path))
  const bundle = isObject(value) ? readBundle(value) : { unreadable: "not an object" }
  if ("unreadable" in bundle) throw new Error(`${path}: ${bundle.unreadable}`)
  return bundle
}

// Forgeries: a saved document with one byte changed, and a receipt with another run's number on it.

/** The text with the first place of `from` changed. @throws Error when it is not there, or more than one byte would change */
export function changeOneByte(text: string, { from, to }: Pick<Forgery, "from" | "to">): string {
  const changed = [...from].filter((character, i) => character !== to[i]).length
  if (from.length !== to.length || changed !== 1) throw new Error(`"${from}" and "${to}" do not differ in one byte`)
  if (!text.includes(from)) throw new Error(`the document does not hold "${from}"`)
  return text.replace(from, to)
}

/** The text with the first digit of its first `run_id` changed: the receipt claims to be another run's. */
export function renumber(text: string): string {
  const found = /"run_id":(\d)/.exec(text)
  if (found?.[1] === undefined) throw new Error("the document has no run_id")
  return changeOneByte(text, { from: found[0], to: `"run_id":${found[1] === "9" ? "8" : Number(found[1]) + 1}` })
}
