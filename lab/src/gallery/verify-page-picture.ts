/** The picture of the page /verify that the README shows: the page of a real service, in Chromium, after a bundle was chosen. */
import { join } from "node:path"
import { chromium } from "playwright-core"
import type { Folders } from "../../../tools/src/demo/folders.ts"
import { SERVICE, startServer } from "../../../tools/src/demo/server-process.ts"

const CHROMIUM = "/usr/bin/chromium"
/** Pixels: the verdict and the first checks are visible. */
const SIZE = { width: 1000, height: 1000 }
/** For the page to verify one bundle, in milliseconds. */
const VERDICT_TIMEOUT_MS = 30_000

/**
 * Starts the service of the demo again and draws its page /verify with the result of a bundle.
 * @param address under which the browser sees the service, so that no port is in the picture
 * @param bundle name of a file among the saved records
 */
export async function drawVerifyPage(
  folders: Folders,
  address: string,
  bundle: string,
  picture: string,
): Promise<void> {
  const service = await startServer([SERVICE, "--port", "0", "--data-dir", folders.data], () => undefined)
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox"] })
  try {
    const page = await browser.newPage({ viewport: SIZE })
    await page.route(`${address}/**`, async route => {
      const { pathname } = new URL(route.request().url())
      await route.fulfill({ response: await route.fetch({ url: `${service.url}${pathname}` }) })
    })
    await page.goto(`${address}/verify`)
    await page.locator("#document-file").setInputFiles(join(folders.root, folders.evidence, bundle))
    await page.locator("#result .verdict").waitFor({ timeout: VERDICT_TIMEOUT_MS })
    await page.screenshot({ path: picture })
  } finally {
    await browser.close()
    await service.stop()
  }
}
