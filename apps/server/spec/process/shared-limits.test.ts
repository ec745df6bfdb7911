/** Two processes on one PostgreSQL are one service to a caller: together they answer as many requests as one would. */
import { expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { newPostgresUrl, postgresStart, postgresTitle } from "../database/databases.ts"
import { startChild } from "../harness/child.ts"
import { expectRefused } from "../harness/read-answer.ts"

const folder = testFolder("runseal-shared")

test.skipIf(postgresStart.kind === "absent")(
  `two processes ${postgresTitle}: of 130 requests at once exactly 100 are answered, and a restart begins no new minute`,
  async () => {
    const options = ["--database-url", await newPostgresUrl(), "--data-dir", folder, "--rate-limit", "100"]
    const [one, two] = [await startChild(options), await startChild(options)]
    const asked = Array.from({ length: 130 }, (_, i) => (i % 2 === 0 ? one : two).get("/runs?limit=1"))
    const answers = await Promise.all(asked)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(100)
    const refused = answers.filter(({ status }) => status !== 200)
    for (const answer of refused) expectRefused(answer, 429)
    const minuteEnds = Date.now() + 1000 * Number(refused[0]?.headers.get("Retry-After"))
    await one.end("SIGKILL")
    const again = await startChild(options)
    const { status } = await again.get("/runs?limit=1")
    // A machine so slow that the start outlasts the minute has nothing to show.
    if (Date.now() < minuteEnds - 1000) expect(status).toBe(429)
    await Promise.all([two.end("SIGTERM"), again.end("SIGTERM")])
  },
  120_000,
)
