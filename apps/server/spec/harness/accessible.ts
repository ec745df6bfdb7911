/** Judges a page in the browser by the rules of axe-core: contrast, names of fields, order of headings. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { Page } from "playwright-core"
import { expect } from "vitest"

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

type AxeResult = {
  readonly violations: readonly { readonly id: string; readonly nodes: readonly { readonly html: string }[] }[]
}

/** @param what the page's name in the message of a failure */
export async function expectAccessible(page: Page, what: string): Promise<void> {
  // In a world of its own: the page's policy allows no script but its own.
  const session = await page.context().newCDPSession(page)
  const { frameTree } = await session.send("Page.getFrameTree")
  const { executionContextId: contextId } = await session.send("Page.createIsolatedWorld", {
    frameId: frameTree.frame.id,
  })
  await session.send("Runtime.evaluate", { expression: AXE, contextId })
  const { result } = await session.send("Runtime.evaluate", {
    expression: "axe.run(document, { resultTypes: ['violations'] })",
    contextId,
    awaitPromise: true,
    returnByValue: true,
  })
  const { violations }: AxeResult = result.value
  expect(
    violations.map(({ id, nodes }) => [id, nodes[0]?.html]),
    what,
  ).toEqual([])
}
