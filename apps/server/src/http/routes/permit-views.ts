/** What answers show of a permit. docs/api.md, "GET /permits" and "GET /permits/{id}". */
import { parseStrictJson } from "@runseal/canonical"
import { type Opening, openingSchema } from "@runseal/core/artifacts/opening"
import { parseExact } from "@runseal/core/artifacts/parse-exact"
import { permitEndSchema } from "@runseal/core/artifacts/permit-end"
import { storedRedemption } from "@runseal/core/seal/permits/locked-permit"
import type { PermitRecord, PermitSummary } from "@runseal/core/wire/permit-answers"
import type { Tenant } from "@runseal/core/wire/submission"
import type * as v from "valibot"
import type { Deps } from "../../deps.ts"
import { permitNotOpen } from "../../http-error.ts"
import type { FoundPermit, PermitSummary as PermitRow } from "../../store/tables/permits-table.ts"

const timestamp = (ms: number): string => new Date(ms).toISOString()

/** A permit in a list. */
export const permitSummary = (row: PermitRow): PermitSummary => ({
  permit_id: row.permit_id,
  state: row.state,
  audience: row.audience,
  route_id: row.route_id,
  program_id: row.program_id,
  reserve_tokens: row.reserved,
  opened_at: timestamp(row.opened_at),
  expires_at: timestamp(row.expires_at),
  close_by: timestamp(row.close_by),
  redeem_required: row.redeem_required,
  ...(row.redeemed_at === 0 ? {} : { redeemed_at: timestamp(row.redeemed_at) }),
  ...(row.run_id === 0 ? {} : { run_id: row.run_id }),
  // "" of a run that closes no permit: it was refused.
  ...(row.closing_outcome === null || row.closing_outcome === "" ? {} : { closing_outcome: row.closing_outcome }),
})

/** A permit with its sealed documents. */
export function permitRecord(row: FoundPermit): PermitRecord {
  const opening = storedOpening(row)
  const end = storedDocument(permitEndSchema, row.end, `end of ${row.permit_id}`)
  return {
    ok: true,
    ...permitSummary(row),
    ...(opening === undefined ? {} : { opening }),
    ...(end === undefined ? {} : { end }),
  }
}

/** Absent for a permit that was refused. @throws Error as `storedDocument` */
export const storedOpening = ({ permit_id, opening }: FoundPermit): Opening | undefined =>
  storedDocument(openingSchema, opening, `opening of ${permit_id}`)

/** An open permit, as it is closed. */
type ClosedPermit = Parameters<Deps["permits"]["close"]>[0]

/** A permit as it was found, for its close. @throws HttpError 409 when it is not open */
export function closedPermit(found: FoundPermit, tenant: Tenant): ClosedPermit {
  const opening = storedOpening(found)
  if (found.state !== "open" || opening === undefined) throw permitNotOpen()
  const seed = Buffer.from(found.disclosure_seed).toString("hex")
  const redemption = storedRedemption(found)
  return { tenant, opening, seed, ...(redemption === undefined ? {} : { redemption }) }
}

/** @throws Error when a stored text is not such a document: the database was changed from outside */
function storedDocument<Schema extends v.GenericSchema>(
  schema: Schema,
  text: string | undefined,
  name: string,
): v.InferOutput<Schema> | undefined {
  if (text === undefined) return undefined
  const stored = parseExact(schema, parseStrictJson(text))
  if (!stored.ok) throw new Error(`the stored ${name} is unreadable`)
  return stored.value
}
