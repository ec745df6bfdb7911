/** Node with the embedded database of a folder open, and nothing else: what the memory of the service is compared with. */
import { join } from "node:path"
import { PGlite } from "@electric-sql/pglite"

const pglite = await PGlite.create({ dataDir: join(process.argv[2] ?? "", "db", "postgres") })
await pglite.query("select count(*) from pg_class")
process.stdout.write("open\n")
process.on("SIGTERM", () => void pglite.close().then(() => process.exit()))
setInterval(() => {}, 1000)
