/** The end of `npm run demo -- --console`: the service once more on the demo's data, with keys to sign in with. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { createClient } from "@runseal/sdk"
import { post } from "./demo-requests.ts"
import type { Folders } from "./folders.ts"
import { plainEnvironment, ROOT, SERVICE, startServer } from "./server-process.ts"
import type { Story } from "./story.ts"

/** Makes an admin key and runs the service until a signal ends this process. @returns the exit code of the service, if it ends before */
export async function openConsole({ data }: Folders, story: Story): Promise<number | null> {
  const words = [SERVICE, "--data-dir", data]
  const options = { cwd: ROOT, env: plainEnvironment(), encoding: "utf8", stdio: "pipe" } as const
  const key = execFileSync(process.execPath, [...words, "--mint-admin-key", "demo"], options).trim()
  const service = await startServer([...words, "--port", "0"])
  story.chapter("The console")
  const { auditor, customer } = await fillConsole(service.url, key)
  story.say(`Open ${service.url}/console and sign in with a key of the demo:`)
  story.say(`administrator  ${key}`)
  story.say(`auditor        ${auditor}`)
  story.say(`customer       ${customer}`)
  story.say("Ctrl-C stops the service.")
  return new Promise(resolve => service.child.once("close", resolve))
}

// What the console shows beside the runs of the demo: keys, a permit that waits for its act, a receiver of events that does not answer.

/** Tokens that the customer's key may use in a window: its budget is near the cap. */
const WINDOW_TOKENS = 100_000
/** What the customer's key asks for. Each of the first uses 30,000 tokens. */
const CUSTOMER_RUNS = ["nightly-summary", "nightly-summary", "nightly-summary", "first-run", "support-mail-poisoned"]
/** No host has a name that ends like this: RFC 2606, section 2. */
const NO_RECEIVER = "https://events.invalid/runseal"

const exampleBody = (example: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(readFileSync(join(ROOT, "examples", `${example}.json`)))

/** The secrets to sign in with. */
type ConsoleKeys = { readonly auditor: string; readonly customer: string }

/** @param apiKey secret of an admin key */
async function fillConsole(baseUrl: string, apiKey: string): Promise<ConsoleKeys> {
  const admin = createClient({ baseUrl, apiKey })
  const customer = await admin.createKey({ name: "acme", tier: "production", window_token_budget: WINDOW_TOKENS })
  const auditor = await admin.createKey({ name: "audit", scope: "auditor", notes: "reads everything, changes nothing" })
  await admin.createDestination({ url: NO_RECEIVER, name: "siem", from: 0 })
  await admin.createDestination({ url: NO_RECEIVER, name: "refusals to chat", outcomes: ["pepg_deny"] })
  for (const example of CUSTOMER_RUNS) await post(`${baseUrl}/execute`, exampleBody(example), customer.secret)
  const permits = createClient({ baseUrl, apiKey: customer.secret }).permits
  await permits.open({
    program_id: "3f".repeat(32),
    route_id: "payments/transfer",
    registry_record_hash: "a9".repeat(32),
    payload: '{"amount":"80.00","to":"DE02120300000000202051"}',
    audience: "payments",
    reserve_tokens: 2_000,
    close_within_seconds: 86_400,
  })
  return { auditor: auditor.secret, customer: customer.secret }
}
