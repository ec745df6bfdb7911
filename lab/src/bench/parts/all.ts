/** Every part of the bench, in the order of docs/performance.md. */
import type { Part } from "../bench-plan.ts"
import { acts } from "./act-rates.ts"
import { attest } from "./attest-rates.ts"
import { execute } from "./execute-rates.ts"
import { memory } from "./memory.ts"
import { otlp } from "./otlp-rates.ts"
import { permits } from "./permit-rates.ts"
import { reads } from "./reads.ts"
import { reports } from "./reports.ts"
import { embedded, processes } from "./several.ts"
import { start } from "./start-times.ts"
import { verification } from "./verification-rates.ts"

export const PARTS: readonly Part[] = [
  execute,
  permits,
  acts,
  attest,
  otlp,
  processes,
  embedded,
  reads,
  reports,
  verification,
  start,
  memory,
]
