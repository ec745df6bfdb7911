/** The body of `POST /execute` from its bytes to a submitted run: taken, or refused with one sentence. */

import { readdirSync, readFileSync } from "node:fs"
import { ENDPOINTS } from "@runseal/api/endpoints"
import { createBodyRoom } from "@runseal/server/http/body-room"
import { readJsonObject } from "@runseal/server/http/json-body"
import { readExecuteBody } from "@runseal/server/http/request-bodies"
import { HttpError } from "@runseal/server/http-error"
import { Context } from "hono"
import { type FuzzTarget, promise } from "../fuzz-target.ts"

const EXAMPLES = new URL("../../../../examples/", import.meta.url)

const room = createBodyRoom()
/** Its row has the bounds of the body. */
const EXECUTE = ENDPOINTS.find(({ id }) => id === "execute")

export const executeBodies: FuzzTarget = {
  name: "execute-body",
  json: true,
  seeds: () =>
    readdirSync(EXAMPLES)
      .filter(name => name.endsWith(".json"))
      .map(name => new Uint8Array(readFileSync(new URL(name, EXAMPLES)))),
  words: ["payload_text", "ai_output_text", "authorization_chain", "approvers", "cost", "total_tokens"],
  run: async input => {
    const headers = { "content-type": "application/json" }
    const request = new Request("http://localhost/execute", { method: "POST", headers, body: new Uint8Array(input) })
    const context = new Context(request)
    const hold = room.open(() => "fuzz")
    context.set("bodyHold", hold)
    context.set("endpoint", EXECUTE)
    try {
      const run = readExecuteBody(await readJsonObject(context))
      promise(typeof run.payload === "string" && typeof run.route_id === "string", "a run without payload is taken")
      promise(Number.isSafeInteger(run.declared_tokens) && run.declared_tokens >= 0, "declared tokens are no count")
    } catch (error) {
      if (!(error instanceof HttpError)) throw error
      promise(error.status === 400 || error.status === 413, `a body is refused with ${error.status}`)
      promise(/^[^\p{C}]{1,400}$/u.test(error.message), "the refusal is one printable line")
    } finally {
      hold.release()
    }
  },
}
