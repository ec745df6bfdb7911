/**
 * `npm run gallery`: executes the runs of the demo on a real service, makes their audit reports, and keeps the pages as
 * pictures under docs/report/. Needs pdftoppm.
 */
import { execFileSync } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseStrictJson } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle"
import { parseTrust } from "@runseal/core/transparency-log/trust-document"
import type { TrustedKeys } from "@runseal/core/transparency-log/trusted-keys"
import { verifyBundle } from "@runseal/core/verify/bundle"
import { ENGINE_VERSION } from "@runseal/core/vocabulary/versions"
import { drawReport } from "@runseal/server/report/draw/draw-report"
import { makeReport } from "@runseal/server/report/report"
import { savedBundle } from "../demo/audit.ts"
import { executeActs } from "../demo/execute.ts"
import { type Folders, makeFolders, removeFolders } from "../demo/folders.ts"
import { tellOnStdout } from "../demo/story.ts"
import { EXHIBITS, type Exhibit, exhibitName, GALLERY, galleryPage } from "./gallery-plan.ts"
import { indexedPng, readPixmap } from "./indexed-png.ts"

/** Enough to read the small print on a screen. */
const DOTS_PER_INCH = "72"
/** The demo's service is gone when the report is read; an address of an example stands in for it. */
const ADDRESS = "https://runs.example.com"

const knownTrust = ({ root, trust }: Folders): TrustedKeys => {
  const keys = parseTrust(parseStrictJson(readFileSync(join(root, trust))))
  if ("problem" in keys) throw new Error(keys.problem)
  return keys
}

/** Draws one report and keeps its pages; gives their file names. */
async function exhibit(
  shown: Exhibit,
  bundle: Bundle,
  trust: TrustedKeys,
  folders: Folders,
): Promise<readonly string[]> {
  const context = {
    base_url: ADDRESS,
    verifier_url: `${ADDRESS}/verify`,
    // Its pages are shown, and nobody signs them.
    key_valid_from: 0,
    engine_version: ENGINE_VERSION,
    verification: verifyBundle(bundle, [trust]),
  }
  const name = exhibitName(shown)
  const pdf = join(folders.root, folders.demo, `${name}.pdf`)
  writeFileSync(pdf, await drawReport(makeReport(bundle, context, shown.format)))
  const drawn = join(folders.root, folders.demo, name)
  mkdirSync(drawn)
  execFileSync("pdftoppm", ["-r", DOTS_PER_INCH, pdf, join(drawn, "page")])
  return readdirSync(drawn)
    .sort()
    .map((page, i) => {
      const file = `${name}-${i + 1}.png`
      writeFileSync(join(folders.root, GALLERY, file), indexedPng(readPixmap(readFileSync(join(drawn, page)))))
      return file
    })
}

async function main(): Promise<void> {
  const story = tellOnStdout()
  const folders = makeFolders()
  process.once("exit", () => removeFolders(folders))
  story.title("The runs of the demo are executed, and their reports made.")
  const runs = await executeActs(folders, story)
  const trust = knownTrust(folders)
  const gallery = join(folders.root, GALLERY)
  rmSync(gallery, { recursive: true, force: true })
  mkdirSync(gallery, { recursive: true })
  story.chapter("Reports")
  const pages: { exhibit: Exhibit; files: readonly string[] }[] = []
  for (const shown of EXHIBITS) {
    const saved = runs.find(({ planned }) => planned.outcome === shown.outcome)
    if (saved === undefined) throw new Error(`no run of the demo ends as ${shown.outcome}`)
    const bundle = savedBundle(join(folders.root, folders.evidence, saved.bundle))
    const files = await exhibit(shown, bundle, trust, folders)
    story.state(`${exhibitName(shown)}: ${files.length} pages`, files.length > 0)
    pages.push({ exhibit: shown, files })
  }
  writeFileSync(join(gallery, "README.md"), galleryPage(pages))
}

await main()
