/** The files under deploy/ for Prometheus and Grafana, judged by Prometheus's own program. */
import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { dashboardQueries, RULES_FILE } from "../harness/watched-metrics.ts"

const folder = testFolder("runseal-rules")

const FIRES = fileURLToPath(new URL("runseal-alerts.fires.yaml", import.meta.url))
const promtool = (...options: readonly string[]) => spawnSync("promtool", options, { encoding: "utf8" })
const isAbsent = promtool("--version").status !== 0
const title = isAbsent ? " (not run: there is no promtool; the Debian package prometheus has it)" : ""

describe.skipIf(isAbsent)(`promtool${title}`, () => {
  const expectAccepted = (...options: readonly string[]): void => {
    const { status, stdout, stderr } = promtool(...options)
    expect({ status, output: status === 0 ? "" : stdout + stderr }).toEqual({ status: 0, output: "" })
  }

  test("reads the alert rules", () => expectAccepted("check", "rules", RULES_FILE))

  test("sees each alert fire in trouble, and none without", () => expectAccepted("test", "rules", FIRES))

  test("reads every query of the dashboard", () => {
    const rules = dashboardQueries.map(({ expr }, at) => ({ record: `query:${at}`, expr }))
    const file = join(folder, "queries.yaml")
    // JSON is YAML.
    writeFileSync(file, JSON.stringify({ groups: [{ name: "dashboard", rules }] }))
    expectAccepted("check", "rules", file)
  })
})
