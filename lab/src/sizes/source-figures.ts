/** Figures that are counted from the sources of the repository: lines, rooms, imports, names, and in how many files a fact is written. */

import { posix } from "node:path"
import { ENDPOINTS } from "@runseal/api/endpoints"
import { ARTIFACT_ANSWERS } from "@runseal/core/wire/run-summaries"
import { filesOfKind } from "../../../tools/src/docs/listed-kinds.ts"
import { roomOf } from "../../../tools/src/rooms/check-rooms.ts"
import { circlesOf, type ImportGraph, importGraph } from "../../../tools/src/rooms/import-circles.ts"
import { readText, repositoryPaths } from "../../../tools/src/rooms/repository-files.ts"
import { server } from "../../../tools/src/rooms/rooms.ts"
import { isTest, type SourceFile, sourceFile } from "../../../tools/src/rooms/source-file.ts"

export type Figure = {
  readonly name: string
  readonly value: number
  /** Absent: only counted. */
  readonly atMost?: number
  readonly detail?: string
}

const SOURCE = /\.(?:ts|mts|cts|js|mjs|cjs|tsx|jsx)$/
/** Rows that are made of other rows. */
const PARTS = /^admin_(?:verify_run|artifacts|report|run_statement)$/
/** Sentences longer than this, in characters, are two. */
const SENTENCE_MAX = 300
/** Kinds of sealed documents whose names mean nothing else, as words. */
const KINDS = [["permit", "end"], ["admin", "event"], ["redemption"], ["export", "statement"]] as const

const isProduct = (path: string): boolean => /^(?:apps|libs)\//.test(path) && SOURCE.test(path) && !isTest(path)
const lines = (text: string): number => text.split("\n").length - 1
const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)

/** `libs/core` of a path in it. */
const packageOf = (path: string): string => path.split("/", 2).join("/")

export function sourceFigures(): readonly Figure[] {
  const paths = repositoryPaths()
  const sources = paths.filter(path => SOURCE.test(path)).map(path => sourceFile(path, readText(path)))
  const product = sources.filter(({ path }) => isProduct(path))
  const python = paths.filter(path => path.startsWith("python/") && path.endsWith(".py"))
  const pythonTests = python.filter(path => path.includes("/tests/"))
  const written = (files: readonly string[]): number => sum(files.map(path => lines(readText(path))))
  const imports = importGraph(product)
  const rooms = new Set(product.map(({ path }) => roomOf(path)?.path ?? "").filter(room => room.startsWith(server(""))))
  const circles = circlesOf(imports)
  return [
    {
      name: "product: lines of TypeScript in apps and libs",
      value: sum(product.map(({ text }) => lines(text))),
      atMost: 66_000,
    },
    { name: "product: files", value: product.length, atMost: 650 },
    { name: "product: files that one other file of it alone imports", value: singleReaders(imports) },
    {
      name: "tests: lines of TypeScript",
      value: sum(sources.filter(({ path }) => isTest(path)).map(({ text }) => lines(text))),
      atMost: 50_000,
    },
    {
      name: "lab and tools: lines of TypeScript",
      value: sum(
        sources.filter(({ path }) => /^(?:lab|tools)\//.test(path) && !isTest(path)).map(({ text }) => lines(text)),
      ),
    },
    { name: "Python: lines without tests", value: written(python.filter(path => !pythonTests.includes(path))) },
    { name: "Python: lines of tests", value: written(pythonTests) },
    { name: "files in the repository", value: paths.length },
    {
      name: "rooms of the server",
      value: rooms.size,
      atMost: 14,
      detail: [...rooms]
        .map(room => room.slice("apps/server/src".length + 1))
        .toSorted()
        .join(" "),
    },
    {
      name: "files in circles of imports, of types too",
      value: sum(circles.map(({ length }) => length)),
      atMost: 0,
      detail: circles.map(circle => circle.join(" ")).join("; "),
    },
    {
      name: "names that two files of one package export",
      value: twiceExported(product).length,
      atMost: 0,
      detail: twiceExported(product).slice(0, 12).join(" "),
    },
    ...copies(sources, paths),
    { name: "sentences of the pages over 300 characters", value: longSentences(paths), atMost: 0 },
  ]
}

function singleReaders(imports: ImportGraph): number {
  const readers = new Map<string, Set<string>>()
  for (const [importer, targets] of imports)
    for (const target of targets) readers.set(target, (readers.get(target) ?? new Set()).add(importer))
  return [...readers.values()].filter(({ size }) => size === 1).length
}

/** As `package: name`. A file that its package.json names is an entry, or one of the forms that import conditions choose from: it is not counted. */
function twiceExported(product: readonly SourceFile[]): readonly string[] {
  const files = new Map<string, number>()
  for (const { path, code } of product) {
    const owner = packageOf(path)
    if (readText(`${owner}/package.json`).includes(posix.basename(path, ".ts"))) continue
    const exported = code.matchAll(/^export (?:async )?(?:const|function\*?|type|interface|class) (\w+)/gm)
    // Overloads of a function are one name.
    for (const name of new Set([...exported].map(([, name]) => `${owner}: ${name}`)))
      files.set(name, (files.get(name) ?? 0) + 1)
  }
  return [...files].filter(([, count]) => count > 1).map(([name]) => name)
}

/** In how many files of the product, the Python client and the pages each endpoint and each kind of document is written. */
function copies(sources: readonly SourceFile[], paths: readonly string[]): readonly Figure[] {
  // The name of an artifact means the sealed document too, and what is read of any key's run is named after what its own key reads.
  const ids = ENDPOINTS.map(({ id }) => id).filter(
    id => !Object.keys(ARTIFACT_ANSWERS).some(key => id.endsWith(key)) && !PARTS.test(id),
  )
  const texts = [
    ...sources.filter(({ path }) => isProduct(path)).map(({ text }) => text),
    ...paths.filter(path => /^(?:docs|python\/src)\/.*\.(?:md|py)$/.test(path)).map(path => readText(path)),
  ]
  // A name of one word, as `verify`, means other things too.
  const endpoint = ids
    .map(id => id.split("_"))
    .filter(({ length }) => length > 1)
    .map(words => count(texts, words))
  const kinds = KINDS.map(
    words =>
      [
        words.join(" "),
        count(
          sources.filter(({ path }) => isProduct(path)).map(({ text }) => text),
          words,
        ),
      ] as const,
  )
  return [
    {
      name: "files that name an endpoint by its identifier, on average",
      value: Math.round((10 * sum(endpoint)) / Math.max(1, endpoint.length)) / 10,
    },
    {
      name: "product files that a further kind of document touches",
      value: filesOfKind().length,
      atMost: 15,
      detail: "those that CONTRIBUTING names; a test finds each file that lists kinds among them",
    },
    {
      name: "product files that name a kind of document, with what it is for",
      value: Math.max(...kinds.map(([, files]) => files)),
      atMost: 15,
      detail: kinds.map(([name, files]) => `${name} ${files}`).join(", "),
    },
  ]
}

/** Texts that hold the words as one name, in any spelling: `permit_end`, `permitEnd`, `PermitEnd`, `permit-end`, `PERMIT_END`. */
function count(texts: readonly string[], words: readonly string[]): number {
  const name = new RegExp(`(?<![a-z])${words.join("[-_]?")}`, "i")
  return texts.filter(text => name.test(text)).length
}

function longSentences(paths: readonly string[]): number {
  const pages = paths.filter(path => /^(?:README\.md|docs\/[\w-]+\.md|docs\/doors\/[\w-]+\.md)$/.test(path))
  return sum(pages.map(path => sentencesOf(readText(path)).filter(({ length }) => length > SENTENCE_MAX).length))
}

/** The sentences of a page: without code, tables and the addresses of links. */
function sentencesOf(page: string): readonly string[] {
  return page
    .replace(/^```[\s\S]*?^```/gm, "")
    .replace(/^\|.*$/gm, "")
    .replace(/\]\([^)]*\)/g, "]")
    .split(/\n\s*\n|\n\s*[-*] |\n\s*\d+\. /)
    .flatMap(paragraph => paragraph.replace(/\s+/g, " ").split(/(?<=[.!?:])\s+(?=[A-Z`[*])/))
}
