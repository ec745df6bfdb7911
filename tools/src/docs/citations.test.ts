import { existsSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { ROOT, readText, repositoryPaths, repositorySources } from "../rooms/repository-files.ts"
import { brokenCitations, type Citable, unknownDocuments } from "./citations.ts"

const paths = repositoryPaths()
const pages = paths.filter(path => path.endsWith(".md"))
/** Pages and settings are read whole; of sources, unknown names count in comments alone. The change log speaks of what is gone. */
const texts = paths.filter(path => /\.(?:md|ya?ml)$|^Dockerfile$/.test(path) && path !== "CHANGELOG.md")

const headings = new Map(
  pages.map(path => [path, [...readText(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => heading)]),
)
const repository: Citable = {
  exists: path => existsSync(join(ROOT, path)),
  headings: page => headings.get(page) ?? [],
  decisions: new Set(paths.flatMap(path => /^docs\/decisions\/(\d{4})-/.exec(path)?.[1] ?? [])),
}

test("every section, heading and decision that is cited exists", () => {
  const sources = repositorySources().map(({ path, text }) => [path, text] as const)
  const all = [...sources, ...texts.map(path => [path, readText(path)] as const)]
  const broken = all.flatMap(([path, text]) => brokenCitations(text, repository).map(found => `${path}: ${found}`))
  expect(broken).toEqual([])
})

test("no comment and no page names a file or a document that is not here", () => {
  const comments = repositorySources().map(({ path, comments }) => [path, comments] as const)
  const all = [...comments, ...texts.map(path => [path, readText(path)] as const)]
  const unknown = all.flatMap(([path, text]) => unknownDocuments(text, repository).map(found => `${path}: ${found}`))
  expect(unknown).toEqual([])
})

describe("a citation", () => {
  const formats = "docs/formats.md"
  const api = "docs/api.md"
  const none = "docs/none.md"
  const small: Citable = {
    exists: path => path === formats || path === "libs/core/src",
    headings: page =>
      page === formats ? ["Formats", "1 Hashes", "2 Parts", "2.1 Payload"] : page === api ? ["GET /a, GET /b"] : [],
    decisions: new Set(["0001"]),
  }

  test.each([
    `${formats} section 2.1, check 3.`,
    `* ${formats}\n * sections 1 and 2.1; decision 0001.`,
    `${api}, "GET /b" and "GET /a, GET /b"`,
    "decisions 0001 and 0001",
  ])("%j is found", text => expect(brokenCitations(text, small)).toEqual([]))

  test.each([
    [`${formats} section 2.2`, "section 2.2"],
    [`${formats} sections 1\n * and 3`, "section 3"],
    [`${formats}, "1 Hashes"`, `${formats}, "1 Hashes"`],
    [`${api}, "GET /a" and "GET /c"`, `${api}, "GET /c"`],
    [`${none}, "GET /a"`, `${none}, "GET /a"`],
    [`decision ${"0002"}`, "decision 0002"],
    [`Decisions 0001 and ${"0002"}`, "decision 0002"],
  ])("%j is not", (text, found) => expect(brokenCitations(text, small)).toEqual([found]))

  test.each(["RFC 9110 §15.5.2 and §9", "COMPLETE RECORD ANCHORED", "libs/core/src", "the signed-note specification"])(
    "%j names what a reader can open",
    text => expect(unknownDocuments(text, small)).toEqual([]),
  )

  test.each([
    ["FORMATS", "FORMATS"],
    [`§${7}`, "§7"],
    ["HOUSE", "HOUSE"],
    [`${"the"} specification`, "the specification"],
    [`${"Specification"}, "Errors"`, 'Specification, "'],
    ["libs/core/gone.ts", "libs/core/gone.ts"],
  ])("%j does not", (text, found) => expect(unknownDocuments(text, small)).toEqual([found]))
})
