/**
 * Starts the payment service.
 *
 *   node examples/payment-executor/main.ts --runseal http://127.0.0.1:8080 --issuer <log origin> --program-id <64 hex digits>
 */
import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { serve } from "@hono/node-server"
import { remoteKeys } from "@runseal/permit"
import { paymentService } from "./payment-service.ts"

const {
  runseal,
  issuer,
  "program-id": program_id,
  tenant,
  "approver-keys": approver_keys,
  port,
} = parseArgs({
  options: {
    /** Address of the Runseal service, which is asked for its keys and to redeem each permit. */
    runseal: { type: "string", default: "http://127.0.0.1:8080" },
    /** Origin of its log: `log_origin` of its /version, compared once with what its operator says. */
    issuer: { type: "string" },
    /** The agent that may pay. */
    "program-id": { type: "string" },
    /** The API key whose permits count, such as api-key-1; anonymous in open mode. */
    tenant: { type: "string", default: "anonymous" },
    /** File `vfa.approver_keys.v1`: from 10,000 on two of these persons approve an order with their passkeys. Absent: nobody does. */
    "approver-keys": { type: "string" },
    port: { type: "string", default: "8090" },
  },
}).values
if (issuer === undefined || program_id === undefined) throw new Error("--issuer and --program-id are needed")

const service = paymentService(
  {
    audience: "payments",
    route_id: "payments/transfer",
    program_id,
    tenant_id: tenant,
    issuer,
    keys: remoteKeys(new URL("/.well-known/jwks.json", runseal)),
    redeem: runseal,
  },
  approver_keys === undefined ? undefined : readFileSync(approver_keys, "utf8"),
)
serve({ fetch: service.fetch, port: Number(port), hostname: "127.0.0.1" }, ({ port }) => {
  process.stdout.write(`payments on http://127.0.0.1:${port}\n`)
})
