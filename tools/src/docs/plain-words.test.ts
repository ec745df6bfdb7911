import { describe, expect, test } from "vitest"
import { readText, repositoryPaths, repositorySources } from "../rooms/repository-files.ts"
import { hiddenNames, hiddenWords } from "./plain-words.ts"

/** History speaks as it spoke; and the list of words holds the words. */
const EXEMPT = ["CHANGELOG.md", "tools/src/docs/plain-words.ts", "tools/src/docs/plain-words.test.ts"]

const bound = (path: string): boolean => !EXEMPT.includes(path)
const named = (path: string, found: readonly string[]): readonly string[] => found.map(each => `${path}:${each}`)

test("no page and no comment hides a mechanism behind a word that nobody would search for", () => {
  const pages = repositoryPaths().filter(path => path.endsWith(".md"))
  const texts = [
    ...pages.map(path => [path, readText(path)] as const),
    ...repositorySources().map(({ path, comments }) => [path, comments] as const),
  ]
  expect(texts.filter(([path]) => bound(path)).flatMap(([path, text]) => named(path, hiddenWords(text)))).toEqual([])
})

test("no name in code is one of them", () => {
  const sources = repositorySources().filter(({ path }) => bound(path))
  expect(sources.flatMap(({ path, code }) => named(path, hiddenNames(code)))).toEqual([])
})

test("no sentence that the product prints holds one", () => {
  const shipped = repositorySources().filter(({ path }) => /^(?:apps|libs)\/[\w-]+\/src\/(?!.*\.test\.ts$)/.test(path))
  expect(shipped.filter(({ path }) => bound(path)).flatMap(file => named(file.path, hiddenWords(file.text)))).toEqual(
    [],
  )
})

describe("the list", () => {
  test.each([
    ["waits for its turn", '1 "turn": queue, lock, slot'],
    ["first\nthe server is told", '2 "told": reported, sent, shown'],
  ])("finds the word in %j", (text, found) => expect(hiddenWords(text)).toEqual([found]))

  test.each(["each in turn", "turn it off: turns off", "written by hand", "a standard, a standby"])(
    "has nothing against %j",
    text => expect(hiddenWords(text)).toEqual([]),
  )

  test("reads the parts of names", () => {
    expect(hiddenNames("const keptHeads = seatOf(given.value)")).toHaveLength(2)
    expect(hiddenNames("const foretold = body.stated")).toEqual([])
  })
})
