/** The reads of permits that are more than a selection of one table's rows, by their SQL. */
import { PERMIT_SUMMARY_COLUMNS, SUMMARY } from "@runseal/server/store/tables/permits-table"
import { type Cell, type Row, sorted } from "./simulated-rows.ts"
import type { Query } from "./sql-statement.ts"

const COUNTS =
  /^with held as \(select key_id from api_key where key_id in \(select json_array_elements_text\(\$1::text::json\)::bigint\) and revoked_at = 0 order by key_id for key share \) select claim\.owner::bigint as owner, coalesce\(\(select max\(owner_ordinal\) from permit where permit\.owner = claim\.owner::bigint\), 0\) as permits, \(select count\(\*\) from permit where permit\.owner = claim\.owner::bigint and state = 'open'\) as open, claim\.owner::bigint = 0 or exists\(select from held where key_id = claim\.owner::bigint\) as active from json_array_elements_text\(\$2::text::json\) as claim\(owner\)$/
const DUE =
  /^select permit_id, permit\.owner, tenant_id, due_at = 0 as revoked from permit join tenant on tenant\.owner = permit\.owner where state = 'open' and due_at < greatest\(\$1::bigint, \(select log_time \* 1000 from log_head\)\) order by due_at limit \$2::bigint$/
const HELD =
  /^select (?<columns>.*), opened\.packed as opening, ended\.packed as end_document from permit left join document as opened on opened\.log_index = permit\.log_index left join document as ended on ended\.owner = permit\.owner and ended\.chain_ordinal = permit\.end_ordinal and ended\.chain_ordinal > 0 where permit_id = \$1$/

/** The read that a text is; undefined for another statement. */
export function permitQuery(text: string): Query | undefined {
  if (COUNTS.test(text)) return counts
  if (DUE.test(text)) return due
  const columns = HELD.exec(text)?.groups?.columns
  return columns === `${SUMMARY}, permit.log_index, permit.disclosure_seed, permit.redemption_entry` ? held : undefined
}

const numbers = (json: Cell | undefined): readonly number[] => JSON.parse(String(json)).map(Number)

/** Nothing in a simulation writes keys, so that nothing waits for those that this holds. */
const counts: Query = (rows, [owners]) => {
  const keys = rows("api_key").filter(({ revoked_at }) => revoked_at === 0)
  return numbers(owners).map(owner => {
    const own = rows("permit").filter(row => row.owner === owner)
    return {
      owner,
      permits: Math.max(0, ...own.map(row => Number(row.owner_ordinal))),
      open: own.filter(({ state }) => state === "open").length,
      active: owner === 0 || keys.some(({ key_id }) => key_id === owner),
    }
  })
}

const due: Query = (rows, [now, limit]) => {
  const logMs = Number(rows("log_head")[0]?.log_time) * 1000
  const found = rows("permit").filter(
    ({ state, due_at }) => state === "open" && Number(due_at) < Math.max(Number(now), logMs),
  )
  return sorted(found, ["due_at"])
    .flatMap(({ permit_id = "", owner = 0, due_at }) =>
      rows("tenant")
        .filter(tenant => tenant.owner === owner)
        .map(({ tenant_id = "" }) => ({ permit_id, owner, tenant_id, revoked: due_at === 0 })),
    )
    .slice(0, Number(limit))
}

const held: Query = (rows, [permitId]) =>
  rows("permit")
    .filter(row => row.permit_id === permitId)
    .map((row): ReturnType<Query>[number] => {
      const opened = rows("document").find(({ log_index }) => log_index === row.log_index)
      const end = rows("document").find(
        ({ owner, chain_ordinal }) =>
          owner === row.owner && chain_ordinal === row.end_ordinal && Number(chain_ordinal) > 0,
      )
      const closing = rows("run").find(({ run_id }) => run_id === row.run_id)
      const documents = { opening: opened?.packed ?? null, end_document: end?.packed ?? null }
      return { ...shown(row), closing_outcome: closing?.closing_outcome ?? null, ...documents }
    })

/** The columns that the store reads. */
function shown(row: Row): Row {
  const all = [...PERMIT_SUMMARY_COLUMNS, "log_index", "disclosure_seed", "redemption_entry"]
  return Object.fromEntries(all.map(name => [name, row[name] ?? ""]))
}
