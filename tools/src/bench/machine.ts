/** What a table holds for: the machine and the versions. No date: the same machine gives the same words. */
import { arch, cpus, platform, totalmem } from "node:os"

const GIBIBYTE = 2 ** 30

/** @param database its version; absent: there was none */
export function machine(database: string | undefined): string {
  const [first] = cpus()
  const memory = `${Math.round(totalmem() / GIBIBYTE)} GiB`
  const { node, openssl, v8 } = process.versions
  const parts = [
    first?.model.trim() ?? "unknown processor",
    `${cpus().length} cores`,
    memory,
    `${platform()} ${arch()}`,
  ]
  const versions = [
    `Node ${node}`,
    `V8 ${v8}`,
    `OpenSSL ${openssl}`,
    database === undefined ? "no PostgreSQL" : `PostgreSQL ${database}`,
  ]
  return `${parts.join(", ")}; ${versions.join(", ")}`
}
