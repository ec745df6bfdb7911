/** The dashboard and the alert rules under deploy/ ask only for what a running server exposes. */
import { join } from "node:path"
import { beforeAll, describe, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { startChild } from "../harness/child.ts"
import { startRekor } from "../harness/rekor-server.ts"
import { alertRules, dashboard, dashboardQueries } from "../harness/watched-metrics.ts"

const folder = testFolder("runseal-watched")

const rekor = await startRekor()
/** Names of the metrics, by their kind. */
const exposed = new Map<string, string>()

beforeAll(async () => {
  const server = await startChild(["--data-dir", join(folder, "data"), "--metrics-port", "0", ...rekor.options])
  const url = /"url":"([^"]+)","msg":"metrics"/.exec(server.stdout())?.[1] ?? ""
  const text = await (await fetch(`${url}/metrics`)).text()
  for (const [, name = "", kind = ""] of text.matchAll(/^# TYPE (\w+) (\w+)$/gm)) exposed.set(name, kind)
  await server.end("SIGTERM")
})

const namesIn = (expr: string): readonly string[] => expr.match(/\b(?:runseal|process|nodejs)_\w+/g) ?? []
/** The series of a histogram have names of their own. */
const isExposed = (name: string): boolean =>
  exposed.has(name) || exposed.get(name.replace(/_(?:bucket|sum|count)$/, "")) === "histogram"

test.each([...alertRules, ...dashboardQueries])("$of asks for what is exposed", ({ expr }) => {
  expect(namesIn(expr).length).toBeGreaterThan(0)
  expect(namesIn(expr).filter(name => !isExposed(name))).toEqual([])
})

test("the dashboard shows every metric of the service", () => {
  const shown = new Set(dashboardQueries.flatMap(({ expr }) => namesIn(expr)))
  const bare = [...shown].flatMap(name => [name, name.replace(/_(?:bucket|sum|count)$/, "")])
  const own = [...exposed.keys()].filter(name => name.startsWith("runseal_"))
  expect(own.length).toBeGreaterThan(25)
  expect(own.filter(name => !bare.includes(name))).toEqual([])
})

describe("the dashboard", () => {
  test("has panels with ids of their own, side by side", () => {
    const ids = dashboard.panels.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const cells = dashboard.panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => `${x + (at % w)},${y + Math.floor(at / w)}`),
    )
    expect(new Set(cells).size).toBe(cells.length)
    for (const { gridPos } of dashboard.panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24)
  })
})
