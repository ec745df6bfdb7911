import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { ENDPOINTS } from "@runseal/api/endpoints"
import { FINDING_CODES } from "@runseal/core/vocabulary/kernel-findings"
import { GATES, OUTCOME_KINDS, OUTCOMES, STAGES } from "@runseal/core/vocabulary/outcomes"
import { PIPELINE_PATH } from "@runseal/core/vocabulary/pipeline-path"
import { ERROR_CODE_NAMES, ERROR_CODES } from "@runseal/core/wire/error-codes"
import { describe, expect, test } from "vitest"
import { repositoryPaths } from "../rooms/repository-files.ts"
import { unlinkedTerms } from "./concept-links.ts"
import { OPERATIONS, withOptionsTable } from "./options-table.ts"

const ROOT = fileURLToPath(new URL("../../..", import.meta.url))
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8")
const pages = repositoryPaths().filter(path => path.endsWith(".md"))

/** The anchor GitHub gives a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, "")
    .trim()
    .replaceAll(" ", "-")
const anchorsOf = (path: string): readonly string[] =>
  [...read(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) => anchorOf(heading))

describe.each(pages)("%s", page => {
  const links = [...read(page).matchAll(/\]\((?!https?:)([^)\s]*)\)/g)].map(([, target = ""]) => target)

  test("links to what exists", () => {
    for (const link of links) {
      const [path = "", anchor] = link.split("#")
      const target = path === "" ? page : join(dirname(page), path)
      expect(existsSync(join(ROOT, target)), link).toBe(true)
      if (anchor !== undefined) expect(anchorsOf(target), link).toContain(anchor)
    }
  })

  test("names only npm scripts that exist", () => {
    const { scripts } = JSON.parse(read("package.json"))
    const named = [...read(page).matchAll(/\bnpm run ([\w-]+)(?! -w)(?![\w-])/g)].map(([, name]) => name)
    for (const name of named) expect([...Object.keys(scripts), "build"]).toContain(name)
  })
})

test.each(["README.md", ...pages.filter(page => /^docs\/(?!concepts\.md)[^/]+$/.test(page))])(
  "%s links its first use of each concept to docs/concepts.md",
  page => {
    const home = page.startsWith("docs/") ? "concepts.md" : "docs/concepts.md"
    expect(unlinkedTerms(read(page), home)).toEqual([])
  },
)

describe("docs/operations.md", () => {
  test("has the table of the options (node tools/src/docs/options-table.ts renews it)", () => {
    const page = readFileSync(OPERATIONS, "utf8")
    expect(page).toBe(withOptionsTable(page))
    expect(page).toContain("| `--port <port>` | `RUNSEAL_PORT` | `8080` |")
  })

  test("has every metric", () => {
    const metrics = [...read("apps/server/src/http/metrics/metrics.ts").matchAll(/"(runseal_\w+)"/g)].map(
      ([, name]) => name,
    )
    expect(metrics.length).toBeGreaterThan(5)
    const written = [...read("docs/operations.md").matchAll(/^\| `(runseal_\w+)` \|/gm)].map(([, name]) => name)
    expect(written.toSorted()).toEqual(metrics.toSorted())
  })
})

describe("docs/api.md", () => {
  const api = read("docs/api.md")

  test("has every endpoint", () => {
    for (const { path } of ENDPOINTS) expect(api, path).toContain(path)
  })

  test("has every artifact endpoint, outcome and error stage", () => {
    for (const kind of OUTCOME_KINDS) {
      const { artifact, error_stage, http_status } = OUTCOMES[kind]
      expect(api).toContain(`| \`${kind}\` | ${http_status} |`)
      if (artifact !== undefined)
        expect(api).toContain(`/runs/{id}/${artifact.path} | \`${artifact.key}\` | \`${kind}\``)
      if (error_stage !== "") expect(api).toContain(`\`${error_stage}\``)
    }
  })
})

describe("docs/pipeline.md", () => {
  const pipeline = read("docs/pipeline.md")

  test("has the path of the pipeline in its order", () => {
    const before = PIPELINE_PATH.map(place => ("stop" in place ? `[${place.step}]` : place.step))
    expect(pipeline).toContain([...before, "LEDGER", "REGISTRY", "DLA"].join("  "))
  })

  test("explains every stage, gate and finding", () => {
    for (const [i, stage] of STAGES.entries()) expect(pipeline).toContain(`| ${i + 1} \`${stage}\` |`)
    for (const gate of GATES) expect(pipeline).toContain(`| \`${gate}\` |`)
    for (const code of FINDING_CODES) expect(pipeline).toContain(`| \`${code}\` |`)
  })
})

test("docs/api.md has the table of the codes of refused requests", () => {
  const rows = ERROR_CODE_NAMES.map(
    code => `| \`${code}\` | ${ERROR_CODES[code].status} | ${ERROR_CODES[code].meaning} |`,
  )
  const section = read("docs/api.md").split("\n## Errors\n")[1]?.split("\n## ")[0] ?? ""
  expect(section.split("\n").filter(line => line.startsWith("| `"))).toEqual(rows)
})
