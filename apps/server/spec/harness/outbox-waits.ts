/** A service whose entries also go to a Rekor log. */
import { afterAll, beforeAll, vi } from "vitest"
import { type Config, readConfig } from "../../src/options/config.ts"
import type { RekorOptions } from "../../src/options/rekor-options.ts"
import { listAt, numberAt } from "./read-answer.ts"
import type { RekorLog } from "./rekor-server.ts"
import type { TestService } from "./test-service.ts"
import { until } from "./until.ts"

/** The options of a service that enters its records there. */
export function rekorConfig(
  { options }: Pick<RekorLog, "options">,
  changes: Partial<RekorOptions> = {},
): Pick<Config, "rekor"> {
  const config = readConfig(options, {})
  if ("ended" in config || config.rekor === undefined) throw new Error("the options name no log")
  return { rekor: { ...config.rekor, ...changes } }
}

/** After a failure the outbox waits a random part of a time that grows: a small part for the tests of this file. */
export function retryQuickly(): void {
  beforeAll(() => void vi.spyOn(Math, "random").mockReturnValue(SMALL_PART))
  afterAll(() => void vi.restoreAllMocks())
}
const SMALL_PART = 0.02

/** Entries that are still on their way. */
export async function backlogOf({ get }: Pick<TestService, "get">): Promise<number> {
  const { body } = await get("/log/outside")
  return listAt(body, "logs").reduce<number>((sum, log) => sum + numberAt(log, "backlog"), 0)
}

/** Waits until nothing is on its way any more. */
export const untilDelivered = (service: Pick<TestService, "get">): Promise<true> =>
  until("every entry is in the outside log", async () => (await backlogOf(service)) === 0)
