/** A service for the tests of one framework's adapter: what the calls left behind, and the framework's example in front of it. */
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"

import type { JsonObject, JsonValue } from "@runseal/canonical"
import { type Client, type ClientOptions, createClient, flushObserved } from "@runseal/sdk"
import { afterAll, beforeAll } from "vitest"
import { listenOn } from "../../server/spec/harness/raw-socket.ts"
import { at, listAt, numberAt, objectAt, textAt } from "../../server/spec/harness/read-answer.ts"
import { openService, type TestService } from "../../server/spec/harness/test-service.ts"
import { type Step, scriptedOpenAi } from "./scripted-openai.ts"

export type Counted = {
  readonly client: (options?: ClientOptions) => Client
  /** Address of the service. */
  readonly url: () => string
  /** Sections of the newest record. */
  readonly newest: () => Promise<JsonObject>
  /** Records since the last call of this, oldest first, as `<tool or model> <outcome> <what became of the act>`. */
  readonly records: () => Promise<string[]>
  /** Of the newest record: the hash of its output as the service had it, the one that was declared, and the reason of its review. */
  readonly output: () => Promise<Readonly<Record<"seen" | "declared" | "review", JsonValue | undefined>>>
  /** Tokens of the newest record. */
  readonly tokens: () => Promise<number>
  /** Runs the example as its reader does, against a model that follows the script. */
  readonly example: (
    name: string,
    script: readonly Step[],
  ) => Promise<{ readonly output: string; readonly failed: boolean; readonly asked: number }>
}

/** The service shares a machine with many tests: a decision may take longer than a call waits for it by default. */
const DECISION_MS = 60_000
const RUNSEAL_TIMEOUT = `${DECISION_MS / 1000}`

/** Starts a service before the tests of a file, with a policy that refuses the tool `alarm`. */
export function countedRecords(framework: string): Counted {
  const routes = `agents/${framework}/`
  const policy = {
    policy_id: "tools",
    policy_name: "Tools",
    required_attested_fields: [],
    rules: [
      { id: "permit", effect: "allow" },
      { id: "no-alarm", effect: "deny", when: `context.bound.route_id == "${routes}alarm"` },
    ],
  }
  let service: TestService
  let listening: Awaited<ReturnType<typeof listenOn>>
  beforeAll(async () => {
    service = await openService({ policy })
    listening = await listenOn(service)
  })
  afterAll(async () => {
    await listening.stop()
    await service.close()
  })
  const sections = async () => {
    const id = numberAt((await service.get("/runs?limit=1")).body, "runs", 0, "id")
    return objectAt((await service.get(`/runs/${id}/artifacts`)).body, "sections")
  }
  let seen = 0
  const clients: Client[] = []
  return {
    client: options => {
      const made = createClient({ baseUrl: listening.url, decisionMs: DECISION_MS, ...options })
      clients.push(made)
      return made
    },
    url: () => listening.url,
    newest: sections,
    records: async () => {
      await Promise.all(clients.map(flushObserved))
      const runs = listAt((await service.get("/runs?limit=100")).body, "runs")
      const fresh = runs.slice(0, runs.length - seen).toReversed()
      seen = runs.length
      return fresh.map(run => {
        const act = run !== null && typeof run === "object" && "closing_outcome" in run ? ` ${run.closing_outcome}` : ""
        return `${textAt(run, "route_id").replace(routes, "")} ${textAt(run, "outcome_kind")}${act}`
      })
    },
    output: async () => {
      const { payload, closing, governance_review } = await sections()
      return {
        seen: at(payload, "ai_output_hash"),
        declared: at(closing, "declared", "request_substance", "output", "hash"),
        review: at(governance_review, "decision_reason"),
      }
    },
    tokens: async () => {
      return numberAt(await sections(), "closing", "declared", "request_substance", "cost", "total_tokens")
    },
    example: async (name, script) => {
      const model = await scriptedOpenAi(script)
      const path = fileURLToPath(new URL(`../../../examples/${name}/main.ts`, import.meta.url))
      const env = {
        PATH: process.env.PATH,
        RUNSEAL_URL: listening.url,
        RUNSEAL_TIMEOUT,
        MODEL_URL: model.url,
        MODEL: "scripted",
      }
      try {
        const { stdout } = await promisify(execFile)(process.execPath, [path], { env })
        return { output: stdout, failed: false, asked: model.asked() }
      } catch (error) {
        return { output: String(error), failed: true, asked: model.asked() }
      } finally {
        model.stop()
      }
    },
  }
}
