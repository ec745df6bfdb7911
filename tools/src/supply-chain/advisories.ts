/**
 * `npm run advisories`: asks the registry's advisory service about everything that is installed to run. Ends with 0 when it knows
 * of nothing, with 1 when it knows of something, and with 2 when nobody answered: then nothing is known either way.
 */
import { npm } from "./npm.ts"

type Report = { readonly metadata?: { readonly vulnerabilities?: Readonly<Record<string, number>> } }

function reportIn(text: string): Report {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

const { stdout } = npm("audit", "--omit=dev", "--package-lock-only", "--json")
const found = reportIn(stdout).metadata?.vulnerabilities
if (found === undefined) {
  process.stderr.write(
    "No advisory service answered, so nothing is known of advisories; try where a registry has one.\n",
  )
  process.exitCode = 2
} else if ((found.total ?? 0) > 0) {
  process.stdout.write(npm("audit", "--omit=dev", "--package-lock-only").stdout)
  process.exitCode = 1
} else process.stdout.write("No advisory is known for anything that is installed to run.\n")
