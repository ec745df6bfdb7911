/** Runs test files of a folder until the first is red. */
import { spawn } from "node:child_process"
import { readFileSync, rmSync } from "node:fs"
import { join } from "node:path"
import { parseStrictJson } from "@runseal/canonical"
import { isObject, member, textMember } from "@runseal/core/vocabulary/json-members"

/** Projects that need minutes or other programs, and those that start no code of the product's in this process. */
const LEFT_OUT = [
  ...["faults", "cluster", "simulation", "python", "browser", "doors", "interop"],
  ...["packages", "patterns", "fuzz", "lab"],
]
/** The same test files as others have, on the other database: they are run once nothing else was red. */
export const POSTGRES = "postgres"
const WITHOUT_POSTGRES = [...LEFT_OUT, POSTGRES].map(name => `--project=!${name}`)

/** How long a run that is over its time may take to stop the databases that it started, in milliseconds. */
const STOP_WITHIN_MS = 20_000

export type TestRun =
  | { readonly result: "green" }
  /** The first test that failed; its file alone where that fails before its first test. */
  | { readonly result: "red"; readonly file: string; readonly test: string }
  | { readonly result: "out of time" }

type Ended = { readonly code: number | null; readonly inTime: boolean }

function vitest(folder: string, words: readonly string[], withinMs: number): Promise<Ended> {
  const child = spawn(process.execPath, [join(folder, "node_modules/vitest/vitest.mjs"), ...words], {
    cwd: folder,
    stdio: "ignore",
  })
  return new Promise((resolve, reject) => {
    let inTime = true
    let killing: NodeJS.Timeout | undefined
    const stopping = setTimeout(() => {
      inTime = false
      child.kill("SIGINT")
      killing = setTimeout(() => child.kill("SIGKILL"), STOP_WITHIN_MS)
    }, withinMs)
    child.once("error", reject)
    child.once("exit", code => {
      clearTimeout(stopping)
      clearTimeout(killing)
      resolve({ code, inTime })
    })
  })
}

const itemsOf = (value: ReturnType<typeof parseStrictJson> | undefined) => (Array.isArray(value) ? value : [])

/** Test files of the projects that are asked, relative to the folder. */
export async function listTests(folder: string, withinMs: number): Promise<readonly string[]> {
  const list = join(folder, "node_modules", ".seeded-list.json")
  const { code } = await vitest(folder, ["list", "--filesOnly", `--json=${list}`, ...WITHOUT_POSTGRES], withinMs)
  if (code !== 0) throw new Error("The test files could not be listed.")
  const files = itemsOf(parseStrictJson(readFileSync(list, "utf8"))).map(one => textMember(one, "file") ?? "")
  return [...new Set(files.map(file => file.slice(folder.length + 1)))]
}

/** Runs these test files until the first is red. @param project the only one that is asked; absent: all but those of `LEFT_OUT` and PostgreSQL's */
export async function runTests(
  folder: string,
  files: readonly string[],
  withinMs: number,
  project?: typeof POSTGRES,
): Promise<TestRun> {
  const report = join(folder, "node_modules", ".seeded-report.json")
  rmSync(report, { force: true })
  const projects = project === undefined ? WITHOUT_POSTGRES : [`--project=${project}`]
  const words = ["run", "--bail=1", "--passWithNoTests", "--reporter=json", `--outputFile=${report}`]
  const { code, inTime } = await vitest(folder, [...words, ...projects, ...files], withinMs)
  if (!inTime) return { result: "out of time" }
  if (code === 0) return { result: "green" }
  const failed = itemsOf(member(parseStrictJson(readFileSync(report, "utf8")), "testResults")).filter(
    each => textMember(each, "status") === "failed",
  )
  const [first] = failed
  if (first === undefined) throw new Error(`The tests ended with ${code}, and none of them failed: ${files.join(" ")}`)
  const test = itemsOf(member(first, "assertionResults")).find(each => textMember(each, "status") === "failed")
  const file = (textMember(first, "name") ?? "").slice(folder.length + 1)
  return { result: "red", file, test: (isObject(test) && textMember(test, "fullName")) || "before its first test" }
}
