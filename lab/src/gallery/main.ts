/**
 * `npm run gallery`: executes the runs of the demo on a real service and draws their audit reports, each as a PDF and a picture of every
 * page, into .runseal/gallery, which git ignores. The pictures that docs/report.md shows are also copied to docs/report, and pictures of
 * the pages /verify and /console are drawn for the README and docs/console.md. Needs pdftoppm and Chromium.
 */
import { execFileSync } from "node:child_process"
import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { parseStrictJson } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import { verifyBundle } from "@runseal/core/verify/bundle"
import { OUTCOME_KINDS, type OutcomeKind } from "@runseal/core/vocabulary/outcomes"
import { ENGINE_VERSION } from "@runseal/core/vocabulary/versions"
import { REPORT_FORMATS, type ReportFormat } from "@runseal/core/wire/run-summaries"
import { parseTrust } from "@runseal/log/trust/trust-document"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { drawReport } from "@runseal/pdf/draw-report"
import { makeReport } from "@runseal/server/report/make-report"
import { type Browser, chromium } from "playwright-core"
import { savedBundle } from "../../../tools/src/demo/audit.ts"
import { executeActs } from "../../../tools/src/demo/execute-acts.ts"
import { type Folders, makeFolders, removeFolders } from "../../../tools/src/demo/folders.ts"
import type { SavedRun } from "../../../tools/src/demo/saved-runs.ts"
import { plainEnvironment, ROOT, SERVICE, startServer } from "../../../tools/src/demo/server-process.ts"
import { tellOnStdout } from "../../../tools/src/demo/story.ts"
import { runCommand } from "../../../tools/src/run-command.ts"

const GALLERY = ".runseal/gallery"
const USAGE = `Usage: npm run gallery

Executes the runs of the demo and draws their reports into ${GALLERY}, and the pictures of docs/. It takes no options but --help.
`
const PAGE = "docs/report.md"
const PICTURES = { verify: "docs/verify-page.png", console: "docs/console.png" }
/** Enough to read small text on a screen. */
const DOTS_PER_INCH = "72"
/** The demo's service has stopped when the report is drawn, so an example address is printed. */
const ADDRESS = "https://runs.example.com"

/** Every outcome in brief and comprehensive, a completed run in all four formats. */
const formatsOf = (outcome: OutcomeKind): readonly ReportFormat[] =>
  outcome === "ok" ? REPORT_FORMATS : ["brief", "comprehensive"]

const knownTrust = ({ root, trust }: Folders): TrustedKeys => {
  const keys = parseTrust(parseStrictJson(readFileSync(join(root, trust))))
  if ("problem" in keys) throw new Error(keys.problem)
  return keys
}

const draw = (bundle: Bundle, trust: TrustedKeys, format: ReportFormat): Promise<Uint8Array> => {
  const context = {
    base_url: ADDRESS,
    // The pictures show pages, not the signature.
    key_valid_from: 0,
    engine_version: ENGINE_VERSION,
    verification: verifyBundle(bundle, [trust]),
  }
  return drawReport(makeReport(bundle, context, format))
}

/** Writes a report and a picture of each of its pages, `NAME-1.png` and so on. @returns the number of pages */
function save(folder: string, name: string, report: Uint8Array): number {
  const pdf = join(folder, `${name}.pdf`)
  writeFileSync(pdf, report)
  execFileSync("pdftoppm", ["-png", "-r", DOTS_PER_INCH, pdf, join(folder, name)])
  const pages = readdirSync(folder).filter(file => file.startsWith(`${name}-`) && file.endsWith(".png"))
  // pdftoppm writes page 1 of twelve as 01.
  for (const [i, file] of pages.sort().entries()) renameSync(join(folder, file), join(folder, `${name}-${i + 1}.png`))
  return pages.length
}

/** Copies the pictures that the page shows. */
function refreshPage(root: string, gallery: string): void {
  const shown = [...readFileSync(join(root, PAGE), "utf8").matchAll(/\(report\/([\w-]+\.png)\)/g)]
  for (const [, file = ""] of shown) copyFileSync(join(gallery, file), join(root, "docs/report", file))
}

async function main(): Promise<void> {
  if (parseArgs({ options: { help: { type: "boolean" } } }).values.help === true) {
    process.stdout.write(USAGE)
    return
  }
  const story = tellOnStdout()
  const folders = makeFolders()
  process.once("exit", () => removeFolders(folders))
  story.title("The runs of the demo are executed, and their reports drawn.")
  const runs = await executeActs(folders, story)
  const trust = knownTrust(folders)
  const gallery = join(folders.root, GALLERY)
  rmSync(gallery, { recursive: true, force: true })
  mkdirSync(gallery, { recursive: true })
  story.chapter(`Reports, in ${GALLERY}`)
  for (const outcome of OUTCOME_KINDS) {
    const saved = runs.find(({ planned }) => planned.outcome === outcome)
    if (saved === undefined) throw new Error(`no run of the demo ends as ${outcome}`)
    const bundle = savedBundle(join(folders.root, folders.evidence, saved.bundle))
    for (const format of formatsOf(outcome)) {
      const name = `${outcome}-${format}`
      const pages = save(gallery, name, await draw(bundle, trust, format))
      story.state(`${name}: ${pages} pages`, pages > 0)
    }
  }
  refreshPage(folders.root, gallery)
  const denied = runs.find(({ planned }) => planned.outcome === "pepg_deny")
  if (denied !== undefined) await drawPages(folders, ADDRESS, denied, PICTURES)
}

// The pictures of pages that the README and docs/console.md show: those of a real service, in Chromium.

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
async function drawPages(folders: Folders, address: string, run: SavedRun, pictures: Pictures): Promise<void> {
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

await runCommand(USAGE, main)
