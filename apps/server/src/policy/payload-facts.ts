/** What rules see of a payload: the act, by a table, and whether the payload is JSON. */
import type { ActTable } from "@runseal/core/act/act-table"
import type { ReadAct } from "@runseal/core/act/read-act"

export type PayloadFacts = { readonly act?: ReadAct; readonly payload_is_json: boolean }
/** Rejects with StageFailure or HttpError as a scan does. */
export type ReadPayload = (payload: string, table: ActTable | undefined) => Promise<PayloadFacts>
