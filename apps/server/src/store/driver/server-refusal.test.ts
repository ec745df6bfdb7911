/** Why a PostgreSQL server, or a pooler in front of it, refused the first connection, in one sentence for the operator. */
import { createServer, type Server } from "node:net"
import { afterEach, expect, test } from "vitest"
import { StartupError } from "../../options/startup-error.ts"
import { openDatabase } from "./database.ts"

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

/** A server that answers a startup message with an ErrorResponse (PostgreSQL documentation "Message Formats"). */
async function refusingServer(sqlstate: string, message: string): Promise<number> {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${sqlstate}\0M${message}\0\0`)
  const head = Buffer.from([0x45, 0, 0, 0, 0])
  head.writeInt32BE(fields.length + 4, 1)
  const server = createServer(socket =>
    socket.on("error", () => {}).once("data", () => socket.end(Buffer.concat([head, fields]))),
  )
  servers.push(server.listen(0, "127.0.0.1"))
  await new Promise(done => server.once("listening", done))
  const bound = server.address()
  return typeof bound === "object" && bound !== null ? bound.port : 0
}

async function refusalOf(sqlstate: string, message: string): Promise<string> {
  const port = await refusingServer(sqlstate, message)
  const url = `postgres://ada:geheim@127.0.0.1:${port}/records`
  const error: unknown = await openDatabase({ kind: "postgres", url }).catch((thrown: unknown) => thrown)
  if (!(error instanceof StartupError)) throw error
  return error.message.replace(`:${port}`, "")
}
const AT = "PostgreSQL at 127.0.0.1"

test("PgBouncer that refuses statement_timeout is named as what it is", async () => {
  expect(await refusalOf("08P01", "unsupported startup parameter: statement_timeout")).toBe(
    `${AT} could not be used: unsupported startup parameter: statement_timeout (SQLSTATE 08P01). A pooler such as PgBouncer does not pass on the timeouts that the service sets: give --database-pooling transaction, or the address of PostgreSQL itself.`,
  )
})

test.each([
  [
    "28000",
    'no pg_hba.conf entry for host "10.0.0.9", user "ada", database "records", no encryption',
    `${AT} refused the user: no pg_hba.conf entry for host "10.0.0.9", user "…", database "records", no encryption (SQLSTATE 28000).`,
  ],
  [
    "28P01",
    'password authentication failed for user "ada"',
    `${AT} refused the user name or password: password authentication failed for user "…" (SQLSTATE 28P01).`,
  ],
  [
    "3D000",
    'database "records" does not exist',
    `${AT} has no database of the given name: database "records" does not exist (SQLSTATE 3D000).`,
  ],
  [
    "42501",
    'permission denied for database "records"',
    `${AT} could not be used: permission denied for database "records" (SQLSTATE 42501).`,
  ],
])("a refusal with SQLSTATE %s is printed with the server's reason", async (sqlstate, message, sentence) => {
  expect(await refusalOf(sqlstate, message)).toBe(sentence)
})

test("what a server says is one bounded line without the password", async () => {
  const sentence = await refusalOf("58000", `the password geheim is\nwrong\u001b[31m ${"x".repeat(1000)}`)
  expect(sentence).not.toMatch(/geheim|\p{Cc}/u)
  expect(sentence).toContain("the password … is wrong")
  expect(sentence.length).toBeLessThan(350)
})
