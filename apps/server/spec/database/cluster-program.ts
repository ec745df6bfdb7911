/** A process that starts a cluster in the folder of its first argument, prints the server's process id, and stays, for a test that kills it. */
import { startPostgresCluster } from "../../cluster/postgres-cluster.ts"

const [parent = ""] = process.argv.slice(2)
const start = await startPostgresCluster({ parent })
process.stdout.write(start.kind === "started" ? `${start.cluster.pid()}\n` : "absent\n")
