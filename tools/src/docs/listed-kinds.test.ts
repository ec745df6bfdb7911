/** A further kind of document touches few files of the product, and CONTRIBUTING names all of them. */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { ROOT, repositorySources } from "../rooms/repository-files.ts"
import { isTest } from "../rooms/source-file.ts"
import { filesOfKind, listsOfKinds } from "./listed-kinds.ts"

const FILES_MAX = 15
/** A further kind needs no line here. It names the kinds whose order in the OpenAPI document is published. */
const NEEDS_NO_LINE = "libs/api/src/openapi/components.ts"

test("a kind of document touches at most 15 files of the product, which are there but for its own", () => {
  const files = filesOfKind()
  expect(new Set(files).size).toBe(files.length)
  expect(files.length).toBeLessThanOrEqual(FILES_MAX)
  const others = files.filter(path => !path.includes("<kind>"))
  expect(others.filter(path => !existsSync(join(ROOT, path)))).toEqual([])
})

test("every file of the product that lists kinds of documents is among them", () => {
  const product = repositorySources().filter(({ path }) => /^(?:apps|libs)\//.test(path) && !isTest(path))
  const named = [...filesOfKind(), NEEDS_NO_LINE]
  expect(listsOfKinds(product).filter(path => !named.includes(path))).toEqual([])
})
