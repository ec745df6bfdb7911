/** `npm run bench`: measures and prints one table, with the machine and the versions it holds for. */
import { arch, cpus, platform, totalmem } from "node:os"
import type { Row } from "./row.ts"
import { measureVerification } from "./verification.ts"

const GIBIBYTE = 2 ** 30

function machine(): string {
  const [first] = cpus()
  const memory = `${Math.round(totalmem() / GIBIBYTE)} GiB`
  const { node, openssl, v8 } = process.versions
  return `${first?.model.trim() ?? "unknown processor"}, ${cpus().length} cores, ${memory}, ${platform()} ${arch()}; Node ${node}, V8 ${v8}, OpenSSL ${openssl}`
}

/** The rows as Markdown, so that the table can be kept as it is printed. */
function table(rows: readonly Row[]): string {
  const line = ({ what, value, unit, note }: Row): string =>
    `| ${what} | ${value < 100 ? value.toFixed(1) : Math.round(value)} ${unit} | ${note} |`
  return ["| what | median | |", "|---|---|---|", ...rows.map(line)].join("\n")
}

process.stdout.write(`npm run bench, on ${machine()}\n\n`)
process.stdout.write(`${table(await measureVerification())}\n`)
