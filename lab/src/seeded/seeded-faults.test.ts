import { describe, expect, test } from "vitest"
import { readText, repositoryPaths } from "../../../tools/src/rooms/repository-files.ts"
import { hopsTo, nearestTests } from "./nearest-tests.ts"
import { FAMILIES, pathOf, type SeededFault, withFault } from "./seeded-fault.ts"
import { SEEDED_FAULTS } from "./seeded-faults.ts"

describe("the seeded faults", () => {
  const paths = repositoryPaths()

  test.each(SEEDED_FAULTS.map((fault, i) => [i + 1, fault.file, fault] as const))(
    "%i, in %s, fits its file and names a page of docs",
    (_, _file, fault) => {
      const text = readText(pathOf(fault, paths))
      expect(withFault(fault, text)).not.toBe(text)
      expect(paths).toContain(/docs\/[\w-]+\.md/.exec(fault.what)?.[0])
    },
  )

  test("are sixty different ones, fifteen of each family", () => {
    expect(new Set(SEEDED_FAULTS.map(({ file, find }) => `${file} ${find}`)).size).toBe(60)
    for (const family of FAMILIES) expect(SEEDED_FAULTS.filter(fault => fault.family === family)).toHaveLength(15)
  })

  const fault: SeededFault = { family: "seal", file: "gate.ts", find: "a < b", replace: "a <= b", what: "" }

  test("are refused where the text is not there once, or the file is not", () => {
    expect(withFault(fault, "if (a < b) stop()")).toBe("if (a <= b) stop()")
    expect(() => withFault(fault, "if (a > b) stop()")).toThrow("has this text 0 times")
    expect(() => withFault(fault, "a < b || a < b")).toThrow("has this text 2 times")
    expect(pathOf(fault, ["x/gate.ts", "x/other-gate.ts"])).toBe("x/gate.ts")
    expect(() => pathOf(fault, ["x/other-gate.ts"])).toThrow("No file is named gate.ts")
    expect(() => pathOf(fault, ["x/gate.ts", "y/gate.ts"])).toThrow("2 files are named gate.ts")
  })
})

describe("the tests of a changed file", () => {
  const imports = new Map([
    ["libs/a/gate.ts", []],
    ["libs/a/step.ts", ["libs/a/gate.ts"]],
    ["libs/a/one.test.ts", ["libs/a/step.ts"]],
    ["apps/b/near.test.ts", ["libs/a/gate.ts"]],
    ["apps/b/gates.test.ts", ["libs/a/one.test.ts", "libs/a/step.ts"]],
    ["apps/b/far.test.ts", ["apps/b/gates.test.ts"]],
    ["apps/b/other.test.ts", []],
  ])

  test("are those that import it, also through others", () => {
    expect([...hopsTo(imports, "libs/a/gate.ts")].sort()).toEqual([
      ["apps/b/far.test.ts", 3],
      ["apps/b/gates.test.ts", 2],
      ["apps/b/near.test.ts", 1],
      ["libs/a/gate.ts", 0],
      ["libs/a/one.test.ts", 2],
      ["libs/a/step.ts", 1],
    ])
  })

  test("come in order: with its name, of its package, with its name in the text, then the nearest", () => {
    const tests = [...imports.keys()]
      .filter(path => path.endsWith(".test.ts"))
      .map(path => ({ path, text: path === "apps/b/far.test.ts" ? "the gate" : "" }))
    expect(nearestTests(imports, "libs/a/gate.ts", tests)).toEqual([
      "apps/b/gates.test.ts",
      "libs/a/one.test.ts",
      "apps/b/far.test.ts",
      "apps/b/near.test.ts",
    ])
  })
})
