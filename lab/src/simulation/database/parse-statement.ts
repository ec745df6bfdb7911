/**
 * Parses the SQL of the simulated database: the statements of sealer, budget ledger, log store, permits and idempotency keys. An
 * unknown statement is an error of the simulation, never a guess. same-rows.test.ts shows that the results are those of the
 * real databases.
 */
import { permitQuery } from "./permit-queries.ts"
import { type Cell, type Row, shapeNamed, sorted, valuesOf } from "./simulated-rows.ts"
import type { Condition, Expression, Statement } from "./sql-statement.ts"

/** A statement that the simulation does not know. */
export class UnknownStatement extends Error {
  override readonly name = "UnknownStatement"
  constructor(text: string) {
    super(`the simulated database does not know this statement: ${text.slice(0, 300)}`)
  }
}

const NAME = "[a-z_]+"
const RECORDSET = String.raw`json_to_recordset\(\$(?<json>\d+)::text::json\)`
const FORMS = {
  select:
    /^select (?<columns>[a-z_, ]+|\*) from (?<table>[a-z_]+)(?: where (?<where>.*?))?(?: order by (?<order>.*?))?(?<lock> for update)?$/,
  values: /^insert into (?<table>[a-z_]+) \((?<columns>.*?)\) values (?<values>.*?)(?<skip> on conflict do nothing)?$/,
  insert: new RegExp(
    String.raw`^insert into (?<table>${NAME})(?: as ${NAME})? \((?<columns>.*?)\) select (?<distinct>distinct )?(?<items>.*?) from ${RECORDSET} as ${NAME}\(.*?\)(?: order by (?<order>.*?))? on conflict(?: \(.*?\))? do (?<action>nothing|update set (?<same>${NAME}) = stored\.\k<same>)(?: returning (?<returning>.*))?$`,
  ),
  count: new RegExp(
    String.raw`^insert into (?<table>${NAME}) as stored \((?<columns>.*?), (?<sum>${NAME})\) select \k<columns>, count\(\*\) from ${RECORDSET} as ${NAME}\(.*?\) group by \k<columns> on conflict \(\k<columns>\) do update set \k<sum> = stored\.\k<sum> \+ excluded\.\k<sum>$`,
  ),
  arrays: /^insert into (?<table>[a-z_]+) \((?<columns>.*?)\) select \* from unnest\([^()]*\)$/,
  update: /^update (?<table>[a-z_]+) set (?<set>[^()]*?) where (?<where>.*)$/,
  updateFrom: new RegExp(
    String.raw`^update (?<table>${NAME}) set (?<set>.*?) from ${RECORDSET} as (?<alias>${NAME})\(.*?\) where (?<where>.*)$`,
  ),
  /** The array has what the first condition has: it is there for the planner. */
  updateListed: new RegExp(
    String.raw`^with next as \(select \* from ${RECORDSET} as ${NAME}\(.*?\) \) update (?<table>${NAME}) set (?<set>.*?) from next where (?<where>\k<table>\.(?<key>${NAME}) = next\.\k<key>) and \k<table>\.\k<key> = any\(array\(select \k<key> from next\)\)$`,
  ),
  charge:
    /^with moved as \(insert into tenant_window as stored \(tenant_id, window_seconds, window_start, total, movements\) select tenant_id collate "C", window_seconds, window_start, total, movements from json_to_recordset\(\$1::text::json\) as added\(.*?\) order by 1, 2, 3 on conflict \(tenant_id, window_seconds, window_start\) do update set total = (?<adds>stored\.total \+ )?excluded\.total, movements = stored\.movements \+ excluded\.movements returning tenant_id, window_seconds, window_start, total, movements \) insert into token_movement \(charge_id, kind, tenant_id, window_seconds, window_start, ordinal, tokens, total_after, moved_at\) select charge_id, 'charge', tenant_id, window_seconds, window_start, movements - later_movements, tokens, total - later, moved_at from moved join json_to_recordset\(\$2::text::json\) as made\(.*?\) using \(tenant_id, window_seconds, window_start\) returning charge_id, ordinal, total_after$/,
  newest:
    /^select claim\.owner::bigint as owner, coalesce\( ?\(select max\(owner_ordinal\) from attestation where attestation\.owner = claim\.owner::bigint\), 0\) as newest from json_array_elements_text\(\$1::text::json\) as claim\(owner\)$/,
  advisory: /^select pg_advisory_xact_lock\(\$1::bigint\)$/,
  sweep: /^delete from idempotency_key where key_hash in /,
  control: /^(begin|commit|rollback)$/,
} as const

/** No operator confirms a clock in a simulation. */
const CONFIRMATION = /^select ordinal, after from admin_event where action = 'clock\.confirm' /

const parsed = new Map<string, Statement>()

/** @throws UnknownStatement */
export function parseStatement(text: string): Statement {
  const normal = plain(text.replace(/\s+/g, " ").replaceAll("( ", "(").trim())
  const found = parsed.get(normal) ?? parseForm(normal)
  if (found === undefined) throw new UnknownStatement(normal)
  // Inserts of many rows differ in their number, and would fill the cache.
  if (normal.length < 2000) parsed.set(normal, found)
  return found
}

/** Normalises the query builder's SQL to the hand-written form: without quotes, tables before columns, brackets and `asc`. */
const plain = (text: string): string =>
  text
    .replace(/(?:"[a-z_]+"\.)?"([a-z_]+)"/g, "$1")
    .replace(/ where \((.*)\)$/, " where $1")
    .replace(/ asc\b/g, "")

function parseForm(text: string): Statement | undefined {
  const control = FORMS.control.exec(text)?.[1]
  if (control === "begin" || control === "commit" || control === "rollback") return { kind: control }
  if (FORMS.newest.test(text)) return { kind: "newest ordinals", owners: parameters => elements(parameters[0]) }
  const query = CONFIRMATION.test(text) ? () => [] : permitQuery(text)
  if (query !== undefined) return { kind: "query", query }
  const charge = FORMS.charge.exec(text)?.groups
  if (charge !== undefined) return chargeOf(charge)
  if (FORMS.sweep.test(text)) return { kind: "sweep" }
  if (FORMS.advisory.test(text)) return { kind: "advisory lock" }
  const forms = [
    [FORMS.values, insertValues],
    [FORMS.insert, insertSelect],
    [FORMS.count, insertCounts],
    [FORMS.arrays, insertArrays],
    [FORMS.updateFrom, updateFrom],
    [FORMS.updateListed, updateFrom],
    [FORMS.update, updateWhere],
    [FORMS.select, select],
  ] as const
  for (const [form, make] of forms) {
    const groups = form.exec(text)?.groups
    if (groups !== undefined) return make(groups, text)
  }
  return undefined
}

type Groups = Readonly<Record<string, string | undefined>>

const list = (text: string): readonly string[] => text.split(",").map(item => item.trim())
const bare = (text: string): string =>
  text
    .replace(/ collate "C"$/, "")
    .replace(/::[a-z]+$/, "")
    .trim()

/** @throws UnknownStatement */
function expression(item: string, text: string): Expression {
  const value = bare(item)
  const parameter = /^\$(\d+)$/.exec(value)?.[1]
  if (parameter !== undefined) return (_from, parameters) => parameters[Number(parameter) - 1] ?? missing(text)
  if (/^\d+$/.test(value)) return () => Number(value)
  const quoted = /^'([a-z_]*)'$/.exec(value)?.[1]
  if (quoted !== undefined) return () => quoted
  const [, scaled, times] = /^([a-z_]+) \* (\d+)$/.exec(value) ?? []
  if (scaled !== undefined) return from => Number(from[scaled] ?? missing(text)) * Number(times)
  const column = /^(?:[a-z_]+\.)?([a-z_]+)$/.exec(value)?.[1]
  if (column === undefined) throw new UnknownStatement(text)
  return from => from[column] ?? missing(text)
}

function missing(text: string): never {
  throw new Error(`a value is missing: ${text.slice(0, 200)}`)
}

const OPERATORS: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  ">=": (a, b) => a >= b,
  "<=": (a, b) => a <= b,
  ">": (a, b) => a > b,
  "<": (a, b) => a < b,
}

const same = (a: Cell | undefined, b: Cell | undefined): boolean =>
  a instanceof Uint8Array && b instanceof Uint8Array ? Buffer.compare(a, b) === 0 : a === b

const elements = (json: Cell | undefined): readonly Cell[] => JSON.parse(String(json))

/** @throws UnknownStatement */
function conditions(where: string | undefined, text: string): Condition {
  const all = (where ?? "").split(" and ").filter(part => part !== "")
  const tests = all.map((part): Condition => {
    const within = /^([a-z_]+) (?:in \(|= any\(array\()select json_array_elements_text\(\$(\d+)::text::json\)\)+$/.exec(
      part,
    )
    if (within !== null) {
      const [, column = "", at = ""] = within
      return (row, parameters) => elements(parameters[Number(at) - 1]).some(element => same(element, row[column]))
    }
    const [, column = "", operator = "", value = ""] = /^([a-z_]+) (=|>=|<=|>|<) (.+)$/.exec(part) ?? []
    if (column === "") throw new UnknownStatement(text)
    const wanted = expression(value, text)
    const compare = OPERATORS[operator]
    return (row, parameters) => {
      const [a, b] = [row[column], wanted(row, parameters)]
      return compare === undefined ? same(a, b) : compare(Number(a), Number(b))
    }
  })
  return (row, parameters) => tests.every(test => test(row, parameters))
}

function select(groups: Groups, text: string): Statement {
  const shape = shapeNamed(groups.table ?? "")
  const columns = groups.columns === "*" ? shape.columns : list(groups.columns ?? "")
  const order = groups.order === undefined ? [] : list(groups.order).map(bare)
  return {
    kind: "select",
    shape,
    columns,
    where: conditions(groups.where, text),
    order,
    lock: groups.lock !== undefined,
  }
}

function insertValues(groups: Groups, text: string): Statement {
  const shape = shapeNamed(groups.table ?? "")
  const columns = list(groups.columns ?? "")
  const tuples = (groups.values ?? "").replace(/^\(|\)$/g, "").split(/\), ?\(/)
  const rows = tuples.map(tuple =>
    list(tuple).flatMap((item, at) =>
      item === "default" ? [] : [[columns[at] ?? "", expression(item, text)] as const],
    ),
  )
  return {
    kind: "insert",
    shape,
    source: {
      rows: parameters =>
        rows.map(row => Object.fromEntries(row.map(([column, value]) => [column, value({}, parameters)]))),
    },
    conflict: { kind: groups.skip === undefined ? "refuse" : "skip" },
    returning: [],
  }
}

/** One parameter a column, each an array of PostgreSQL without quotes: `{1,2}`. */
function insertArrays(groups: Groups): Statement {
  const columns = list(groups.columns ?? "")
  const made = (parameters: readonly Cell[]): readonly Row[] => {
    const arrays = parameters.map(array => String(array).slice(1, -1).split(","))
    const rows = arrays[0]?.map((_, row) => columns.map((column, at) => [column, arrays[at]?.[row] ?? ""]))
    return rows?.map(cells => Object.fromEntries(cells)) ?? []
  }
  const shape = shapeNamed(groups.table ?? "")
  return { kind: "insert", shape, source: { rows: made }, conflict: { kind: "refuse" }, returning: [] }
}

function insertSelect(groups: Groups, text: string): Statement {
  const shape = shapeNamed(groups.table ?? "")
  const columns = list(groups.columns ?? "")
  const items = list(groups.items ?? "").map(item => expression(item, text))
  const order = groups.order === undefined ? [] : list(groups.order).map(bare)
  const by = order.map(name => (/^\d+$/.test(name) ? (columns[Number(name) - 1] ?? "") : name))
  const made = (parameters: readonly Cell[]): readonly Row[] => {
    const rows = recordset(groups, parameters).map(from =>
      Object.fromEntries(columns.map((column, at) => [column, items[at]?.(from, parameters) ?? missing(text)])),
    )
    const texts = new Map(rows.map((row, at) => [groups.distinct === undefined ? `${at}` : JSON.stringify(row), row]))
    return sorted([...texts.values()], by)
  }
  return {
    kind: "insert",
    shape,
    source: { rows: made },
    conflict: { kind: groups.action === "nothing" ? "skip" : "lock" },
    returning: groups.returning === undefined ? [] : list(groups.returning),
  }
}

/** Rows by their columns, and how many there are of each: a row that exists is added to. */
function insertCounts(groups: Groups): Statement {
  const columns = list(groups.columns ?? "")
  const sum = groups.sum ?? ""
  const made = (parameters: readonly Cell[]): readonly Row[] => {
    const counted = new Map<string, Row>()
    for (const from of recordset(groups, parameters)) {
      const name = valuesOf(from, columns)
      const row = Object.fromEntries(columns.map(column => [column, from[column] ?? ""]))
      counted.set(name, { ...row, [sum]: Number(counted.get(name)?.[sum] ?? 0) + 1 })
    }
    return [...counted.values()]
  }
  const shape = shapeNamed(groups.table ?? "")
  return { kind: "insert", shape, source: { rows: made }, conflict: { kind: "add", sum }, returning: [] }
}

const recordset = (groups: Groups, parameters: readonly Cell[]): readonly Row[] =>
  JSON.parse(String(parameters[Number(groups.json) - 1]))

/** Parses `column = expression, …` into a function that makes the new row. */
function assignments(set: string | undefined, text: string): (row: Row, from: Row, parameters: readonly Cell[]) => Row {
  const made = list(set ?? "").map(part => {
    const [, column = "", value = ""] = /^([a-z_]+) = (.+)$/.exec(part) ?? []
    if (column === "") throw new UnknownStatement(text)
    return [column, expression(value, text)] as const
  })
  return (row, from, parameters) => ({
    ...row,
    ...Object.fromEntries(made.map(([column, value]) => [column, value(from, parameters)])),
  })
}

function updateWhere(groups: Groups, text: string): Statement {
  const where = conditions(groups.where, text)
  return {
    kind: "update",
    shape: shapeNamed(groups.table ?? ""),
    source: groups.joined === undefined ? { rows: () => [{}] } : { table: groups.joined },
    matches: (row, from, parameters) => where({ ...from, ...row }, parameters),
    set: assignments(groups.set, text),
  }
}

function updateFrom(groups: Groups, text: string): Statement {
  const pairs = (groups.where ?? "").split(" and ").map((part): ((row: Row, from: Row) => boolean) => {
    const [, column = "", other, value = ""] =
      /^(?:[a-z_]+\.)?([a-z_]+) = (?:[a-z_]+\.([a-z_]+)|'([a-z_]*)')$/.exec(part) ?? []
    if (column === "") throw new UnknownStatement(text)
    return (row, from) => same(row[column], other === undefined ? value : from[other])
  })
  return {
    kind: "update",
    shape: shapeNamed(groups.table ?? ""),
    source: { rows: parameters => recordset(groups, parameters) },
    matches: (row, from) => pairs.every(pair => pair(row, from)),
    set: assignments(groups.set, text),
  }
}

const chargeOf = ({ adds }: Groups): Statement => ({
  kind: "charge",
  windows: {
    rows: parameters => sorted(recordset({ json: "1" }, parameters), ["tenant_id", "window_seconds", "window_start"]),
  },
  charges: { rows: parameters => recordset({ json: "2" }, parameters) },
  adds: adds !== undefined,
})
