/** Generates the table of options in docs/operations.md from the options themselves: `node tools/src/docs/options-table.ts`. */
import { readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { OPTION_ROWS, type OptionRow } from "@runseal/server/options/table"

export const OPERATIONS: string = fileURLToPath(new URL("../../../docs/operations.md", import.meta.url))
/** From the head of the table to its end. */
const TABLE = /^\| option \| variable \|.*\n(?:\|.*\n)*/m

const quoted = (text: string): string => `\`${text}\``

function tableRow({ flag, variable, fallback, otherwise, choices, help }: OptionRow): string {
  const words = choices === undefined ? "" : `: ${choices.map(quoted).join(", ")}`
  const cells = [
    quoted(flag),
    variable === undefined ? "" : quoted(variable),
    fallback === undefined ? (otherwise ?? "") : quoted(fallback),
    help + words,
  ]
  return `|${cells.map(text => (text === "" ? " " : ` ${text} `)).join("|")}|\n`
}

/** The page with the table as it must be. */
export function withOptionsTable(page: string): string {
  const head = "| option | variable | default | meaning |\n|---|---|---|---|\n"
  return page.replace(TABLE, () => head + OPTION_ROWS.map(tableRow).join(""))
}

if (import.meta.main) writeFileSync(OPERATIONS, withOptionsTable(readFileSync(OPERATIONS, "utf8")))
