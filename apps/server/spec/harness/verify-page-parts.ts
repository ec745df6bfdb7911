/** The page of /verify as a visitor uses and reads it. */
import type { Page } from "playwright-core"

export type Shown = {
  readonly verdict: string
  /** Each check: id, result, sentence. */
  readonly checks: readonly (readonly [id: string, result: string, message: string])[]
  /** The whole text of the result. */
  readonly text: string
}

export type FileToGive = { readonly name: string; readonly bytes: Uint8Array | string }

/** Chooses a file by a zone's input, as the file dialog does. */
export const choose = (page: Page, zone: "document" | "trust", { name, bytes }: FileToGive): Promise<void> =>
  page.locator(`#${zone}-file`).setInputFiles({
    name,
    mimeType: "application/octet-stream",
    buffer: Buffer.from(bytes),
  })

/** Drags files from outside onto an element. */
export async function drop(page: Page, target: string, ...given: readonly FileToGive[]): Promise<void> {
  const dataTransfer = await page.evaluateHandle(
    files => {
      const transfer = new DataTransfer()
      for (const { name, octets } of files) transfer.items.add(new File([new Uint8Array(octets)], name))
      return transfer
    },
    given.map(({ name, bytes }) => ({ name, octets: [...Buffer.from(bytes)] })),
  )
  for (const type of ["dragenter", "dragover", "drop"]) await page.dispatchEvent(target, type, { dataTransfer })
}

/** Waits for the result of the named file and reads it. */
export async function shown(page: Page, name: string): Promise<Shown> {
  await page
    .locator("#status")
    .filter({ hasText: `${name}: ` })
    .waitFor()
  // What is folded counts as well.
  await page.locator("#result details").evaluateAll(all => {
    for (const one of all) one.setAttribute("open", "")
  })
  const items = await page.locator("#result .checks li").all()
  const checks = await Promise.all(
    items.map(async item => {
      const id = (await item.locator("code").textContent())?.split(" ")[0] ?? ""
      return [
        id,
        (await item.getAttribute("class")) ?? "",
        (await item.locator(".sentence").textContent()) ?? "",
      ] as const
    }),
  )
  const verdict = (await page.locator("#result .verdict").textContent()) ?? ""
  return { verdict: verdict.slice(2), checks, text: await page.locator("#result").innerText() }
}

/** Chooses a document and reads its result. */
export async function verified(page: Page, file: FileToGive): Promise<Shown> {
  await choose(page, "document", file)
  return shown(page, file.name)
}
