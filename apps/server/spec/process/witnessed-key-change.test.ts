/** The log's keys change under a witness that goes on running: it takes a new checkpoint key from its own operator alone. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { parseStrictJson } from "@runseal/canonical"
import { afterAll, afterEach, beforeAll, expect, test } from "vitest"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { type Child, endStrays, runToEnd, startChild } from "../harness/child.ts"
import { at, listAt, textAt } from "../harness/read-answer.ts"
import { request } from "../harness/sample-requests.ts"
import { until } from "../harness/until.ts"
import { runVerifier } from "../harness/verifier.ts"
import {
  endWitnesses,
  logLinesOn,
  logOf,
  type ReferenceWitness,
  sizesOf,
  startWitness,
  untilWitnessed,
} from "../harness/witnesses.ts"

afterAll(endWitnesses)

const DEADLINE_MS = 240_000
const NAME = "one.example"
const folder = testFolder("runseal-witnessed-change")
const data = ["--data-dir", join(folder, "data")]
let witness: ReferenceWitness

beforeAll(async () => {
  const server = await startChild(data)
  const log = await logOf(server)
  await server.end("SIGTERM")
  witness = await startWitness(folder, NAME, log)
}, DEADLINE_MS)
afterEach(endStrays)

const start = (): Promise<Child> => startChild([...data, "--witness", witness.option])
const seal = async (server: Child): Promise<void> => {
  expect((await server.post("/execute", request())).status).toBe(200)
}
const rotate = async (role: string): Promise<string> => {
  const { code, stdout, stderr } = await runToEnd([...data, "keys", "rotate", role])
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  return stdout
}
/** The checkpoint key in force, as `keys list --json` tells it and as docs/keys-and-backups.md says to hand it on. */
const checkpointKey = async (): Promise<string> => {
  const { stdout } = await runToEnd([...data, "keys", "list", "--json"])
  const keys = listAt(parseStrictJson(stdout), "keys")
  return textAt(
    keys.find(key => at(key, "role") === "checkpoint" && at(key, "state") === "in force"),
    "vkey",
  )
}

test("service and log key do not concern it: a log that changed these is witnessed as before", {
  timeout: DEADLINE_MS,
}, async () => {
  const before = await start()
  await seal(before)
  await untilWitnessed(before, NAME)
  await before.end("SIGTERM")
  for (const role of ["service", "log"]) expect(await rotate(role)).not.toContain("Tell the witnesses")
  const after = await start()
  await seal(after)
  await untilWitnessed(after, NAME)
  await after.end("SIGTERM")
})

test("a new checkpoint key it does not take from the log: not from its announcement, nor after a restart of its own", {
  timeout: DEADLINE_MS,
}, async () => {
  expect(await rotate("checkpoint")).toContain("Tell the witnesses the new checkpoint key")
  const server = await start()
  const { witnessed } = await sizesOf(server)
  await seal(server)
  const refused = (): number => logLinesOn(server, NAME).filter(({ status }) => status === 403).length
  await until("the witness refuses", () => refused() > 0)
  await witness.crash()
  const asked = refused()
  await until("the witness refuses again", () => refused() > asked)
  // While it started again it was not there.
  const faults = logLinesOn(server, NAME).map(({ fault }) => fault)
  expect(new Set(faults.filter(fault => fault !== "unreachable"))).toEqual(new Set(["refused"]))
  // What was witnessed stays, and sealing goes on.
  expect((await sizesOf(server)).witnessed).toBe(witnessed)
  await seal(server)
  await server.end("SIGTERM")
})

test("once its operator named the key that keys list gives, it goes on from the tree that it cosigned last, and an audit passes", {
  timeout: DEADLINE_MS,
}, async () => {
  await witness.crash(await checkpointKey())
  const server = await start()
  await untilWitnessed(server, NAME)
  await seal(server)
  await untilWitnessed(server, NAME)
  writeFileSync(join(folder, "trust.json"), (await server.get("/.well-known/runseal-trust.json")).text)
  const demanded = ["--trust", "trust.json", "--witness", witness.vkey]
  const audit = await runVerifier(folder, ["log", "audit", server.url, ...demanded])
  expect(audit, audit.stdout + audit.stderr).toMatchObject({ exit: 0, verdict: "LOG VERIFIED" })
  await server.end("SIGTERM")
})
