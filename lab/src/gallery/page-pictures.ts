/** The pictures of pages that the README and docs/console.md show: those of a real service, in Chromium. */
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { type Browser, chromium } from "playwright-core"
import type { Folders } from "../../../tools/src/demo/folders.ts"
import type { SavedRun } from "../../../tools/src/demo/saved-runs.ts"
import { plainEnvironment, ROOT, SERVICE, startServer } from "../../../tools/src/demo/server-process.ts"

const CHROMIUM = "/usr/bin/chromium"
/** Pixels: the verdict and the first checks are visible. */
const VERIFY_SIZE = { width: 1000, height: 1000 }
/** Pixels: what happened to the run, why, and the verdict are visible. */
const CONSOLE_SIZE = { width: 1180, height: 860 }
/** For a page to verify one bundle, in milliseconds. */
const VERDICT_TIMEOUT_MS = 30_000

/** Files that are drawn, from the repository's root. */
type Pictures = { readonly verify: string; readonly console: string }

/**
 * Starts the service of the demo again and draws its page /verify with the result of a bundle, and the page of its run in the console.
 * @param address under which the browser sees /verify, so that no port is in the picture
 */
export async function drawPages(folders: Folders, address: string, run: SavedRun, pictures: Pictures): Promise<void> {
  const words = [SERVICE, "--data-dir", folders.data]
  const options = { cwd: ROOT, env: plainEnvironment(), encoding: "utf8", stdio: "pipe" } as const
  const key = execFileSync(process.execPath, [...words, "--mint-admin-key", "demo"], options).trim()
  const service = await startServer([...words, "--port", "0"], () => undefined)
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] })
  try {
    await drawVerify(
      browser,
      { url: service.url, address },
      join(folders.root, folders.evidence, run.bundle),
      join(folders.root, pictures.verify),
    )
    await drawRun(browser, { url: service.url, key }, run.run_id, join(folders.root, pictures.console))
  } finally {
    await browser.close()
    await service.stop()
  }
}

async function drawVerify(
  browser: Browser,
  { url, address }: { readonly url: string; readonly address: string },
  bundle: string,
  picture: string,
): Promise<void> {
  const page = await browser.newPage({ viewport: VERIFY_SIZE })
  await page.route(`${address}/**`, async route => {
    const { pathname } = new URL(route.request().url())
    await route.fulfill({ response: await route.fetch({ url: `${url}${pathname}` }) })
  })
  await page.goto(`${address}/verify`)
  await page.locator("#document-file").setInputFiles(bundle)
  await page.locator("#result .verdict").waitFor({ timeout: VERDICT_TIMEOUT_MS })
  await page.screenshot({ path: picture })
}

/** @param key secret of an admin key */
async function drawRun(
  browser: Browser,
  { url, key }: { readonly url: string; readonly key: string },
  id: number,
  picture: string,
): Promise<void> {
  const page = await browser.newPage({ viewport: CONSOLE_SIZE })
  await page.goto(`${url}/console/runs/${id}`)
  await page.fill("#key", key)
  await page.click("main button")
  await page.locator(".verdict").waitFor({ timeout: VERDICT_TIMEOUT_MS })
  await page.screenshot({ path: picture })
}
