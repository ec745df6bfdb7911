/** Declared content, as blocks. It may have any shape: every value is shown, or the report states how many are not. */
import { canonicalize, type JsonObject, type JsonValue } from "@runseal/canonical"
import type { Bundle } from "@runseal/core/artifacts/bundle-schema"
import type { DeclaredName } from "@runseal/core/artifacts/declared-sections"
import { DECLARED_NAMES, isShown, shown } from "@runseal/core/artifacts/declared-sections"
import { declaredView } from "@runseal/core/derivation/v2/declared-view"
import { isObject } from "@runseal/core/vocabulary/json-members"
import type { Block, Line } from "@runseal/pdf/block"
import type { Fact } from "./spans.ts"
import { facts, firstOf, line, MAX_TABLE_ROWS, mono, muted, onNewLine, quote, remark, table } from "./spans.ts"

/** Longest path of a value, in UTF-16 units. */
const MAX_PATH_LENGTH = 200
const PLAIN_KEY = /^[A-Za-z_][\w-]*$/

/** What the caller declared in a section, at a close with what it adds; undefined when it is withheld or nothing was declared. */
export const declaredIn = ({ sections }: Pick<Bundle, "sections">, name: DeclaredName): JsonObject | undefined =>
  // What a close adds may be withheld by itself.
  (declaredView(sections, name) ?? shown(sections[name]))?.declared

/** Whose word declared content is. */
export const CALLERS_WORD = remark("Declared by the caller: sealed as received, verified by nobody.")

/** Which of the declared sections are withheld, and in which nothing was declared: no block when all have content. */
export function withoutContent(
  bundle: Pick<Bundle, "sections">,
  names: readonly DeclaredName[] = DECLARED_NAMES,
): readonly Block[] {
  const missing = names.filter(name => declaredIn(bundle, name) === undefined)
  const withheld = missing.filter(name => !isShown(bundle.sections[name]))
  const nothing = missing.filter(name => !withheld.includes(name))
  const hashOnly = "its content is not shown, and only its hash can be checked."
  return [
    ...withheld.map(name => remark(`The section ${name} is withheld: ${hashOnly}`)),
    ...(nothing.length === 0 ? [] : [remark(`The caller declared nothing in ${nothing.join(", ")}.`)]),
  ]
}

/** A declared value on one line. */
export function valueLine(value: JsonValue | undefined): Line {
  if (value === undefined) return [muted("–")]
  if (typeof value === "string") return quote(value)
  if (isObject(value) || Array.isArray(value))
    return quote(canonicalize(value)).map(span => ({ style: "mono", ...span }))
  return [mono(String(value))]
}

const childPath = (path: string, key: string | number): string => {
  if (path.length > MAX_PATH_LENGTH) return path
  const plain = typeof key === "string" && PLAIN_KEY.test(key)
  const step = typeof key === "number" || !plain ? `[${JSON.stringify(key).slice(0, MAX_PATH_LENGTH)}]` : key
  const child = path === "" || step.startsWith("[") ? `${path}${step}` : `${path}.${step}`
  return child.length > MAX_PATH_LENGTH ? `${child.slice(0, MAX_PATH_LENGTH)}… (cut)` : child
}

type Values = { readonly rows: Fact[]; total: number }

function collect(value: JsonValue, path: string, into: Values): void {
  const children = childrenOf(value)
  if (children.length > 0) {
    for (const [key, child] of children) collect(child, childPath(path, key), into)
    return
  }
  into.total += 1
  if (into.total <= MAX_TABLE_ROWS) into.rows.push({ label: path === "" ? "(all)" : path, value: valueLine(value) })
}

/** Members by name in canonical order, or items by position. */
function childrenOf(value: JsonValue): readonly (readonly [string | number, JsonValue])[] {
  if (Array.isArray(value)) return value.map((item: JsonValue, i) => [i, item] as const)
  if (!isObject(value)) return []
  return Object.keys(value)
    .sort()
    .flatMap(key => {
      const child = value[key]
      return child === undefined ? [] : [[key, child] as const]
    })
}

/** Every value of a declared object with its path, at most `MAX_TABLE_ROWS`; nothing for an empty one. */
export function declaredValues(value: JsonObject | undefined): readonly Block[] {
  if (value === undefined || Object.keys(value).length === 0) return []
  const found: Values = { rows: [], total: 0 }
  collect(value, "", found)
  return [...firstOf(found.rows.length, found.total), ...facts(found.rows)]
}

/** The object without some members. */
export const without = (value: JsonObject | undefined, names: readonly string[]): JsonObject | undefined =>
  value === undefined ? undefined : Object.fromEntries(Object.entries(value).filter(([name]) => !names.includes(name)))

/** A column that shows one member of each item, or several with their labels. */
export type ItemColumn = {
  readonly title: string
  readonly share: number
  readonly members: readonly { readonly key: string; readonly label?: string }[]
}

/** A list of declared objects as a table; its last column shows the members that no other column shows. */
export function itemTable(
  caption: string,
  list: JsonValue | undefined,
  columns: readonly ItemColumn[],
): readonly Block[] {
  if (list === undefined) return []
  if (!Array.isArray(list) || list.length === 0 || !list.every(isObject)) return declaredValues({ [caption]: list })
  const known = columns.flatMap(({ members }) => members.map(({ key }) => key))
  const shown = list.slice(0, MAX_TABLE_ROWS)
  const further = shown.some(item => Object.keys(item).some(key => !known.includes(key)))
  const rest: readonly ItemColumn[] = further ? [{ title: "Further values", share: 3, members: [] }] : []
  const rows = shown.map(item => [
    ...columns.map(({ members }) => itemCell(item, members)),
    ...(further ? [furtherCell(without(item, known) ?? {})] : []),
  ])
  return table(
    caption,
    [...columns, ...rest].map(({ title, share }) => ({ title, share })),
    rows,
    list.length,
  )
}

function itemCell(item: JsonObject, members: ItemColumn["members"]): Line {
  const parts = members.flatMap(({ key, label }) => {
    const value = Object.hasOwn(item, key) ? item[key] : undefined
    return value === undefined ? [] : [line(...(label === undefined ? [] : [muted(`${label} `)]), valueLine(value))]
  })
  return parts.length === 0
    ? valueLine(undefined)
    : parts.flatMap(([first, ...rest]) => (first === undefined ? [] : [onNewLine(first), ...rest]))
}

const furtherCell = (values: JsonObject): Line =>
  Object.keys(values).length === 0 ? valueLine(undefined) : valueLine(values)

/** Lines one after the other, with a separator. */
export const joined = (lines: readonly Line[], between = "; "): Line =>
  lines.flatMap((part, i) => (i === 0 ? part : [{ text: between }, ...part]))
