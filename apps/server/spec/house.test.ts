/** The auditor audited: whatever is changed behind the service's back, the check after the last test of a suite finds it, and the one after each test what is new. */
import { expect, test } from "vitest"
import { checkHouse, checkNewRows } from "./harness/check-house.ts"
import { runSql } from "./harness/read-tables.ts"
import { request } from "./harness/sample-requests.ts"
import { executeEvery, standingSevenStates } from "./harness/seven-states.ts"
import { readStoredBundle, writeStoredBundle } from "./harness/stored-bundle.ts"

const { service } = standingSevenStates()

type Forgery = readonly [place: string, change: string, undo: string]

/** A change to a column of the rows chosen, and the expression that takes it back. */
const forgery = (table: string, column: string, change: string, undo: string, rows = "true"): Forgery => [
  `${table}.${column}`,
  `update ${table} set ${column} = ${change} where ${rows}`,
  `update ${table} set ${column} = ${undo} where ${rows}`,
]
const raised = (table: string, column: string, rows?: string): Forgery =>
  forgery(table, column, `${column} + 1`, `${column} - 1`, rows)
const turned = (table: string, column: string, rows?: string): Forgery =>
  forgery(table, column, `reverse(${column})`, `reverse(${column})`, rows)
const lengthened = (table: string, column: string, rows?: string): Forgery =>
  forgery(table, column, `${column} || ' '`, `rtrim(${column})`, rows)
const replaced = (table: string, column: string, from: string, to: string, rows?: string): Forgery =>
  forgery(table, column, `replace(${column}, '${from}', '${to}')`, `replace(${column}, '${to}', '${from}')`, rows)

/** Changing the first byte twice leaves it as it was. */
const FLIPPED = "set_byte(root, 0, get_byte(root, 0) # 1)"
const ONE_ENTRY = "log_index = 3"
const FLIPPED_TEXT = "set_byte(packed, 300, get_byte(packed, 300) # 1)"
const ONE_RUN = "run_id = 3"
/** The third of each chain, also while its row is changed. */
const ONE_DOCUMENT = "chain_ordinal % 1000 = 3"

const FORGERIES: readonly Forgery[] = [
  lengthened("log_entry", "body", ONE_ENTRY),
  raised("log_entry", "integrated_time", ONE_ENTRY),
  forgery("log_entry", "log_index", "log_index + 1000", "log_index - 1000", "log_index > 3"),
  forgery("log_head", "size", "size - 1", "size + 1"),
  forgery("log_head", "root", FLIPPED, FLIPPED),
  raised("log_head", "next_run_id"),
  raised("log_head", "log_time"),
  replaced("log_head", "checkpoint", "local", "lokal"),
  forgery("run", "run_id", "run_id + 1000", "run_id - 1000", "run_id in (3, 1003)"),
  raised("run", "owner", ONE_RUN),
  forgery("run", "owner_ordinal", "owner_ordinal + 1000", "owner_ordinal - 1000", ONE_RUN),
  raised("run", "created_at", ONE_RUN),
  forgery("run", "outcome_kind", "'ok'", "'pepg_deny'", ONE_RUN),
  replaced("run", "error_stage", "PEPG", "CCV", ONE_RUN),
  turned("run", "program_id", ONE_RUN),
  lengthened("run", "route_id", ONE_RUN),
  turned("run", "manifest_hash", ONE_RUN),
  replaced("run", "execution_region", "eu", "us", ONE_RUN),
  raised("run", "duration_us", ONE_RUN),
  forgery("run", "log_index", "log_index + 1000", "log_index - 1000", ONE_RUN),
  forgery("document", "log_index", "log_index + 1000", "log_index - 1000", ONE_DOCUMENT),
  raised("document", "owner", ONE_DOCUMENT),
  forgery("document", "chain_ordinal", "chain_ordinal + 1000", "chain_ordinal - 1000", ONE_DOCUMENT),
  replaced("document", "kind", "bundle", "permit_end", ONE_DOCUMENT),
  raised("document", "instant", ONE_DOCUMENT),
  turned("document", "leaf_digest", ONE_DOCUMENT),
  forgery("document", "packed", FLIPPED_TEXT, FLIPPED_TEXT, ONE_DOCUMENT),
  raised("tenant", "record_count"),
  turned("tenant", "head"),
  turned("tenant", "salt"),
  raised("tenant_window", "total"),
  raised("tenant_window", "window_start"),
  raised("tenant_window", "movements"),
  raised("tenant", "run_count"),
  forgery("token_movement", "tokens", "tokens + 1", "tokens - 1", "tokens in (42, 43)"),
  raised("token_movement", "total_after", "tokens = 42"),
  raised("token_movement", "ordinal", "tokens = 42"),
]

const whatIsFound = (): Promise<string> =>
  checkHouse(service()).then(
    () => "nothing",
    (error: unknown) => String(error),
  )

test.each(FORGERIES)("a change of %s is found", async (_place, change, undo) => {
  const { db } = service()
  await runSql(db, change)
  const found = await whatIsFound()
  await runSql(db, undo)
  expect(found).not.toBe("nothing")
  await checkHouse(service())
})

test.each([
  ["another word", (text: string) => text.replaceAll("eu-test-1", "eu-test-2")],
  ["a blank at its end", (text: string) => `${text} `],
])("a change of the text of a bundle is found: %s", async (_what, change) => {
  const { db } = service()
  const bundle = await readStoredBundle(db, 3)
  expect(change(bundle)).not.toBe(bundle)
  await writeStoredBundle(db, 3, change(bundle))
  const found = await whatIsFound()
  await writeStoredBundle(db, 3, bundle)
  expect(found).not.toBe("nothing")
  await checkHouse(service())
})

test.each([
  ["a record", "document", "packed", FLIPPED_TEXT, "log_index = (select max(log_index) from document)"],
  [
    "an entry",
    "log_entry",
    "integrated_time",
    "integrated_time # 1",
    "log_index = (select max(log_index) from log_entry)",
  ],
])("%s that is new and not as it was made is found after its test", async (_what, table, column, change, rows) => {
  await checkNewRows(service())
  await service().execute(request())
  const changed = `update ${table} set ${column} = ${change} where ${rows}`
  await runSql(service().db, changed)
  await expect(checkNewRows(service())).rejects.toThrow()
  await runSql(service().db, changed)
  await checkNewRows(service())
})

test("a house in order is in order, every state twice", async () => {
  await executeEvery(service())
  await checkHouse(service())
  expect((await service().get("/runs")).body.total).toBe(18)
})
