/** Generates the tables of docs/api.md that follow from tables of the product: `node tools/src/docs/api-tables.ts`. */
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Endpoint } from "@runseal/api/endpoint"
import { ENDPOINTS } from "@runseal/api/endpoints"
import { OUTCOME_KINDS, OUTCOMES } from "@runseal/core/vocabulary/outcomes"
import { ERROR_CODE_NAMES, ERROR_CODES } from "@runseal/core/wire/error-codes"

export const API: string = fileURLToPath(new URL("../../../docs/api.md", import.meta.url))

const WHO: Readonly<Record<Endpoint["access"], string>> = {
  public: "everybody",
  key: "every key",
  reader: "admin keys, auditors",
  admin: "admin keys",
}

const again = ({ method, idempotent, once, repeatable }: Endpoint): string =>
  [
    ...(method === "get" ? [] : [repeatable ? "yes" : "no"]),
    ...(idempotent ? ["under a key: the same answer"] : []),
    ...(once ? ["under a key: done once"] : []),
  ].join("; ")

const endpointRow = (row: Endpoint): readonly string[] => [
  `${row.method.toUpperCase()} ${row.path}`,
  WHO[row.access],
  again(row),
  row.summary,
]

/** The tables by their names: the head, then the rows. */
const TABLES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  endpoints: [["endpoint", "who", "safe to repeat", "what it does"], ...ENDPOINTS.map(endpointRow)],
  "error codes": [
    ["code", "status", "meaning"],
    ...ERROR_CODE_NAMES.map(code => [`\`${code}\``, `${ERROR_CODES[code].status}`, ERROR_CODES[code].meaning]),
  ],
  artifacts: [
    ["path", "key", "outcome"],
    ...OUTCOME_KINDS.flatMap(kind => {
      const { artifact } = OUTCOMES[kind]
      return artifact === undefined ? [] : [[`GET /runs/{id}/${artifact.path}`, `\`${artifact.key}\``, `\`${kind}\``]]
    }),
  ],
}

const lineOf = (cells: readonly string[]): string =>
  `|${cells.map(cell => (cell === "" ? " " : ` ${cell} `)).join("|")}|`

function tableText([head = [], ...rows]: readonly (readonly string[])[]): string {
  return [lineOf(head), `|${head.map(() => "---").join("|")}|`, ...rows.map(lineOf)].join("\n")
}

const startOf = (name: string): string => `<!-- node tools/src/docs/api-tables.ts: ${name} -->`
const endOf = (name: string): string => `<!-- ${name}: end -->`

/** The page with its tables as they must be. @throws Error for a page without the place of one */
export function withApiTables(page: string): string {
  return Object.entries(TABLES).reduce((text, [name, rows]) => {
    const [before, rest] = [text.split(startOf(name))[0] ?? "", text.split(endOf(name))[1]]
    if (rest === undefined) throw new Error(`docs/api.md has no place for the table of ${name}`)
    return `${before}${startOf(name)}\n${tableText(rows)}\n${endOf(name)}${rest}`
  }, page)
}

/** The page without them: what is written by hand. */
export const withoutApiTables = (page: string): string =>
  page.replaceAll(/^<!-- node tools\/src\/docs\/api-tables[\s\S]*?: end -->$/gm, "")

if (import.meta.main) writeFileSync(API, withApiTables(readFileSync(API, "utf8")))
