import { existsSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { ENDPOINTS } from "@runseal/api/endpoints"
import { FINDING_CODES } from "@runseal/core/vocabulary/kernel-findings"
import { GATES, OUTCOME_KINDS, OUTCOMES, STAGES } from "@runseal/core/vocabulary/outcomes"
import { PIPELINE_PATH } from "@runseal/core/vocabulary/pipeline-path"
import { EVENT_TYPES } from "@runseal/core/wire/event-messages"
import { describe, expect, test } from "vitest"
import { repositoryPaths } from "../rooms/repository-files.ts"
import { API, withApiTables, withoutApiTables } from "./api-tables.ts"
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

test("docs/events.md says what each type of event is of", () => {
  const rows = [...read("docs/events.md").matchAll(/^\| `([\w.]+)` \| /gm)].map(([, type]) => type)
  expect(EVENT_TYPES.filter(type => !rows.includes(type))).toEqual([])
})

describe("docs/operations.md", () => {
  test("has the table of the options (node tools/src/docs/options-table.ts renews it)", () => {
    const page = readFileSync(OPERATIONS, "utf8")
    expect(page).toBe(withOptionsTable(page))
    expect(page).toContain("| `--port <port>` | `RUNSEAL_PORT` | `8080` |")
  })

  test("has every metric", () => {
    const sources = ["http/metrics/metrics", "telemetry"].map(name => read(`apps/server/src/${name}.ts`)).join("")
    const metrics = [...sources.matchAll(/"(runseal_\w+)"/g)].map(([, name]) => name)
    expect(metrics.length).toBeGreaterThan(5)
    const written = [...read("docs/operations.md").matchAll(/^\| `(runseal_\w+)` \|/gm)].map(([, name]) => name)
    expect(written.toSorted()).toEqual(metrics.toSorted())
  })
})

describe("docs/api.md", () => {
  const api = readFileSync(API, "utf8")

  test("has the tables of endpoints, codes and artifacts (node tools/src/docs/api-tables.ts renews them)", () => {
    expect(api).toBe(withApiTables(api))
    expect(api).toContain("| POST /admin/keys | admin keys | no; under a key: done once | Mint a key |")
  })

  test("explains every endpoint besides", () => {
    const written = withoutApiTables(api)
    const paths = ENDPOINTS.map(({ path }) => path).filter(path => !/-(?:token|receipt)$/.test(path))
    expect(paths.filter(path => !written.includes(path))).toEqual([])
  })

  test("has every outcome and error stage", () => {
    for (const kind of OUTCOME_KINDS) {
      const { error_stage, http_status } = OUTCOMES[kind]
      expect(api).toContain(`| \`${kind}\` | ${http_status} |`)
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
