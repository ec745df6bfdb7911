/**
 * `npm run advisories`: queries the registry's advisory service for every runtime dependency. Exits with 0 when there is no
 * advisory, with 1 when there is one, and with 2 when there is no answer.
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
    "No advisory service answered, so it is unknown whether there are advisories; use a registry that has the service.\n",
  )
  process.exitCode = 2
} else if ((found.total ?? 0) > 0) {
  process.stdout.write(npm("audit", "--omit=dev", "--package-lock-only").stdout)
  process.exitCode = 1
} else process.stdout.write("No advisory is known for any runtime dependency.\n")
