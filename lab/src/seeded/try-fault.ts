/** Puts a fault into a copy of the checkout and runs the tests that could find it. */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { importGraph } from "../../../tools/src/rooms/import-circles.ts"
import { ROOT, repositorySources } from "../../../tools/src/rooms/repository-files.ts"
import { copyCheckout } from "./checkout-copy.ts"
import { nearestTests } from "./nearest-tests.ts"
import { listTests, POSTGRES, runTests, type TestRun } from "./run-tests.ts"
import { pathOf, type SeededFault, withFault } from "./seeded-fault.ts"

/** How long one fault may take: somewhat more than all tests together on two quiet processors. */
const FAULT_MAX_MS = 400_000
/** How long the list of tests may take. */
const LIST_MAX_MS = 60_000
/** Where the parts of the test files begin that are run one after the other: a start of the runner takes longer than many tests. */
const PARTS = [0, 3, 15]

export type Tried = {
  readonly result: "found" | "survived" | "out of time"
  /** The file and the test that found it; "" for none. */
  readonly by: string
  readonly seconds: number
}

export type Trial = {
  /** @throws Error for a row that does not fit the sources, and for a test that is red without the fault */
  readonly run: (fault: SeededFault) => Promise<Tried>
  readonly close: () => void
}

/** Copies the checkout, which stays as it is. */
export async function openTrial(): Promise<Trial> {
  const { folder, remove } = copyCheckout(ROOT)
  const sources = repositorySources(folder)
  const paths = sources.map(({ path }) => path)
  const imports = importGraph(sources)
  const listed = new Set(await listTests(folder, LIST_MAX_MS))
  const tests = sources.filter(({ path }) => listed.has(path))
  /** Test files that found a fault and are green without one. */
  const honest = new Set<string>()

  const firstRed = async (near: readonly string[], until: number): Promise<TestRun> => {
    for (const files of partsOf(near)) {
      const found = await runTests(folder, files, Math.max(1, until - Date.now()))
      if (found.result !== "green") return found
    }
    return runTests(folder, near, Math.max(1, until - Date.now()), POSTGRES)
  }
  const refuseRed = async (file: string): Promise<void> => {
    if (honest.has(file)) return
    const run = await runTests(folder, [file], FAULT_MAX_MS)
    if (run.result !== "green") throw new Error(`${file} is not green without a fault, so it finds none.`)
    honest.add(file)
  }
  return {
    run: async fault => {
      const path = pathOf(fault, paths)
      const file = join(folder, path)
      const text = readFileSync(file, "utf8")
      const start = Date.now()
      writeFileSync(file, withFault(fault, text))
      const red = await firstRed(nearestTests(imports, path, tests), start + FAULT_MAX_MS).finally(() =>
        writeFileSync(file, text),
      )
      const seconds = Math.round((Date.now() - start) / 1000)
      if (red.result !== "red") return { result: red.result === "green" ? "survived" : red.result, by: "", seconds }
      await refuseRed(red.file)
      return { result: "found", by: `${red.file}: ${red.test}`, seconds }
    },
    close: remove,
  }
}

const partsOf = (tests: readonly string[]): readonly (readonly string[])[] =>
  PARTS.map((start, i) => tests.slice(start, PARTS[i + 1])).filter(part => part.length > 0)
