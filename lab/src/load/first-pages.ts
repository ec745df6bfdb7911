/**
 * `npm run console-pages`: how long each page of the console takes as the first request after a start, with many runs. Some runs are sealed by
 * the service; the rows of the others are copies of theirs, because lists, counts and searches read rows and no records.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { parseArgs } from "node:util"
import type { JsonObject } from "@runseal/canonical"
import { openDatabase } from "@runseal/server/store/driver/database"
import { runCommand, wholeNumber } from "../../../tools/src/run-command.ts"
import { startService } from "../bench/servers/bench-deployment.ts"
import { startDatabaseServer } from "../bench/servers/database-server.ts"

const HELP = `npm run console-pages -- [--runs <number>] [--postgres]

  --runs <number>   rows of runs (default: 100000)
  --postgres        in a PostgreSQL of its own; absent: in the embedded database

Prints the milliseconds of the first page after a start and a sign-in of a second, and of the second page, for each page.
`

/** Keys that make runs. */
const KEYS = 8
/** Runs of each key that the service seals. */
const SEALED = 12
const DENIED_EVERY = 6
const ROUTES = ["payments/transfer", "payments/refund", "mail/send", "claims/triage", "desk/approve"]
/** Days over which the runs are spread. */
const DAYS = 30
/** How long a person needs at least from the start to the first page. */
const SIGN_IN_MS = 1000
/** What a page may take. */
const LIMIT_MS = 300

const PAGES = [
  "/console",
  "/console?range=30d",
  "/console/runs",
  "/console/runs?status=pepg_deny",
  "/console/runs?route_id=payments%2Ftransfer",
  "/console/runs?route_prefix=pay",
  "/console/runs?route_prefix=nothing",
  "/console/runs?actor_id=agent-3",
  "/console/runs?from=2020-01-01&key=3",
  "/console/runs?before=500",
  "/console/find?q=agent-3",
  "/console/find?q=nothing",
  "/console/runs/5",
  "/console/budgets",
  "/console/permits",
  "/console/policies",
  "/console/keys",
  "/console/log",
  "/console/audit",
] as const

type Place = { readonly folder: string; readonly url: string | undefined }

async function post(url: string, path: string, body: object, key?: string): Promise<Response> {
  const headers = { "Content-Type": "application/json", ...(key === undefined ? {} : { "X-Service-Key": key }) }
  return fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) })
}

async function keyOf(url: string, body: object, admin?: string): Promise<string> {
  const answer: { readonly secret: string } = await (await post(url, "/admin/keys", body, admin)).json()
  return answer.secret
}

const requestOf = (key: number, number: number): JsonObject => ({
  program_id: "3f".repeat(32),
  route_id: ROUTES[number % ROUTES.length] ?? "",
  registry_record_hash: "a9".repeat(32),
  payload:
    number % DENIED_EVERY === 0
      ? "X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*"
      : `invoice ${key} ${number}`,
  request_substance: { cost: { total_tokens: 100 } },
  attested_context: { attested: true, actor_id: `agent-${key}`, model_name: "m-1" },
})

/** Makes keys and runs. Gives the secret of an administrator. */
async function seal({ folder, url }: Place): Promise<string> {
  const service = await startService(folder, url)
  const admin = await keyOf(service.url, { name: "ops", scope: "admin", confirm_admin_scope: true })
  for (let key = 0; key < KEYS; key += 1) {
    const secret = await keyOf(service.url, { name: `caller ${key}`, tier: "production" }, admin)
    for (let number = 0; number < SEALED; number += 1) {
      const answer = await post(service.url, "/execute", requestOf(key, number), secret)
      await answer.body?.cancel()
    }
  }
  await service.stop()
  return admin
}

/** Rows that are copied: the columns but those that make a run this one. */
const COPIED =
  "outcome_kind, error_stage, program_id, route_id, execution_region, enforcement, duration_us, findings, refusal, permit_id, closing_outcome, disclosure_seed"
const copies = (runs: number, nowMs: number): readonly string[] => [
  `create temp table kept as select *, row_number() over (order by run_id) as place, count(*) over () as kinds from run`,
  `update run set created_at = created_at - ${(DAYS + 1) * 86_400_000}::bigint`,
  `create temp table made as
    select kept.run_id as of_run, (select max(run_id) from kept) + number as run_id, owner, owner_ordinal as of_ordinal,
      (select max(own.owner_ordinal) from kept as own where own.owner = kept.owner)
        + row_number() over (partition by owner order by number) as owner_ordinal,
      ${nowMs - DAYS * 86_400_000}::bigint + number * ${Math.floor((DAYS * 86_400_000) / runs)}::bigint as created_at
    from generate_series(1, ${runs}) as number join kept on kept.place = 1 + number % kept.kinds`,
  `insert into run (run_id, owner, owner_ordinal, log_index, created_at, manifest_hash, ${COPIED})
    select made.run_id, made.owner, made.owner_ordinal, 1000000000 + made.run_id, made.created_at,
      md5(made.run_id::text) || md5((-made.run_id)::text), ${COPIED.split(", ")
        .map(name => `kept.${name}`)
        .join(", ")}
    from made join kept on kept.run_id = made.of_run order by made.run_id`,
  `insert into run_term select made.owner, field, term, made.owner_ordinal from made
    join run_term on run_term.owner = made.owner and run_term.owner_ordinal = made.of_ordinal`,
  "delete from outcome_count",
  "insert into outcome_count select owner, outcome_kind, count(*) from run group by owner, outcome_kind",
]

async function multiply({ folder, url }: Place, runs: number): Promise<void> {
  const db = await openDatabase(url === undefined ? { kind: "pglite", dataDir: folder } : { kind: "postgres", url })
  await db.transaction(async ({ sql }) => {
    for (const statement of copies(runs, Date.now())) await sql.unsafe(statement)
  })
  // A server has autovacuum; the embedded database has not.
  if (url !== undefined) await db.transaction(async ({ sql }) => sql.unsafe("analyze"))
  await db.close()
}

async function timed(address: string, cookie: string): Promise<number> {
  const began = performance.now()
  const answer = await fetch(address, { headers: { Cookie: cookie } })
  await answer.text()
  const took = performance.now() - began
  if (answer.status !== 200) throw new Error(`${address} answered with ${answer.status}`)
  return took
}

/** The first and the second request for a page of a service that was started for it. */
async function measured({ folder, url }: Place, page: string, admin: string): Promise<readonly [number, number]> {
  const service = await startService(folder, url)
  const session = await post(service.url, "/session", { key: admin })
  const cookie = (session.headers.get("set-cookie") ?? "").split(";")[0] ?? ""
  await session.body?.cancel()
  await sleep(SIGN_IN_MS)
  const times = [await timed(service.url + page, cookie), await timed(service.url + page, cookie)] as const
  await service.stop()
  return times
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      runs: { type: "string", default: "100000" },
      postgres: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  })
  if (values.help) return void process.stdout.write(HELP)
  const runs = wholeNumber("runs", values.runs, 1)
  const server = values.postgres ? await startDatabaseServer() : undefined
  if (server !== undefined && "absent" in server) throw new Error(server.absent)
  const folder = mkdtempSync(join(tmpdir(), "runseal-pages-"))
  const place = { folder, url: await server?.createDatabase("pages") }
  try {
    const admin = await seal(place)
    await multiply(place, runs)
    process.stdout.write(`${runs.toLocaleString("en")} runs, ${values.postgres ? "PostgreSQL" : "embedded database"}\n`)
    for (const page of PAGES) {
      const [first, second] = await measured(place, page, admin)
      const mark = first > LIMIT_MS ? `  over ${LIMIT_MS}` : ""
      process.stdout.write(`${first.toFixed(0).padStart(6)} ms ${second.toFixed(0).padStart(6)} ms  ${page}${mark}\n`)
    }
  } finally {
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

await runCommand(HELP, main)
