/** The service under measurement, as it is shipped but for its limits. */
import { SERVICE, type ServerProcess, startServer } from "../bench/servers/server-process.ts"

/** Limits that no measurement reaches. */
const OPEN_DOORS = ["--rate-limit", "1000000000", "--window-token-budget", `${Number.MAX_SAFE_INTEGER}`]

/** Starts it on a database, with its keys in a folder. */
export const startService = (url: string, folder: string): Promise<ServerProcess> =>
  startServer(SERVICE, ["--port", "0", "--data-dir", folder, "--database-url", url, ...OPEN_DOORS])
