/** More requests than the queue holds while the disk is blocked: the excess is refused at once, and accepted requests are sealed. */

import { BATCH_MAX_ITEMS, QUEUE_MAX_ITEMS } from "@runseal/server/sealing/sealer"
import { describe, expect, onTestFinished, test } from "vitest"
import { newPostgresUrl, postgresStart, postgresTitle } from "../../../apps/server/spec/database/databases.ts"
import { until } from "../../../apps/server/spec/harness/until.ts"
import { openLink } from "./database-link.ts"
import { openDeployment } from "./fault-deployment.ts"
import { nextRequest, send } from "./fault-load.ts"
import { faultRow } from "./fault-row.ts"
import { WHOLE } from "./rounds.ts"

const DEADLINE_MS = 600_000
/** Requests beyond what one batch and the queue hold. */
const BEYOND = 300
/** Longest time that the disk is blocked; released as soon as everything beyond the queue was refused. */
const HELD_MS = 120_000

describe.skipIf(postgresStart.kind === "absent" || !WHOLE)(postgresTitle, () => {
  test(
    "past the queue's bound a 503 with Retry-After at once; every acknowledgement is kept",
    async context => {
      const row = faultRow(context, "more requests than may wait", "PostgreSQL")
      const url = await newPostgresUrl()
      const link = await openLink(url)
      onTestFinished(() => link.close())
      const deployment = await openDeployment(context, { kind: "PostgreSQL", row, url, serverUrl: link.url })
      const child = await deployment.start()
      let release = (): void => {}
      link.set({ kind: "held", until: new Promise(done => (release = () => done())), atMostMs: HELD_MS })
      const total = BATCH_MAX_ITEMS + QUEUE_MAX_ITEMS + BEYOND
      let refused = 0
      let answered = 0
      const asked = Array.from({ length: total }, async () => {
        // Attestations: nothing but the sealer's queue holds them up.
        const sent = nextRequest(deployment, "/attest")
        const answer = await send(sent, child.url, deployment)
        answered++
        if (answer?.status === 503) refused++
      })
      await until("everything beyond the bound is refused while nothing is sealed", () => refused >= BEYOND, HELD_MS)
      expect(answered, "nothing was acknowledged that is not on disk").toBe(refused)
      release()
      link.set({ kind: "whole" })
      await Promise.all(asked)
      expect(refused).toBeLessThanOrEqual(BEYOND + BATCH_MAX_ITEMS)
      row.rounds = 1
      row.unacknowledged = refused
      row.acknowledged = total - refused
      row.note = `${refused} of ${total} refused while a commit was held`
      await deployment.finish(child)
    },
    DEADLINE_MS,
  )
})
