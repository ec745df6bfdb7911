/** The queries of the files under deploy/ for Grafana and Prometheus. */
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as v from "valibot"
import { parse } from "yaml"

const pathOf = (path: string): string => fileURLToPath(new URL(`../../../../deploy/${path}`, import.meta.url))

export const RULES_FILE: string = pathOf("prometheus/runseal-alerts.yaml")

const rulesSchema = v.object({
  groups: v.array(v.object({ rules: v.array(v.object({ alert: v.string(), expr: v.string() })) })),
})
const placeSchema = v.object({ x: v.number(), y: v.number(), w: v.number(), h: v.number() })
const dashboardSchema = v.object({
  panels: v.array(
    v.object({
      id: v.number(),
      title: v.string(),
      type: v.string(),
      gridPos: placeSchema,
      targets: v.optional(v.array(v.object({ refId: v.string(), expr: v.string() })), []),
    }),
  ),
})

export type Query = { readonly of: string; readonly expr: string }

export const alertRules: readonly Query[] = v
  .parse(rulesSchema, parse(readFileSync(RULES_FILE, "utf8")))
  .groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => ({ of: alert, expr })))

export const dashboard: v.InferOutput<typeof dashboardSchema> = v.parse(
  dashboardSchema,
  JSON.parse(readFileSync(pathOf("grafana/runseal-dashboard.json"), "utf8")),
)

/** As Prometheus gets them: Grafana puts its variables in. */
export const dashboardQueries: readonly Query[] = dashboard.panels.flatMap(({ title, targets }) =>
  targets.map(({ refId, expr }) => ({
    of: `${title}, ${refId}`,
    expr: expr.replaceAll("$__rate_interval", "5m").replaceAll("$instance", ".*"),
  })),
)
