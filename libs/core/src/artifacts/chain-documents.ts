/**
 * Documents of a chain that are no records: the schema of each, under the name that it has in the OpenAPI document. Clients read them strictly, and the
 * service takes each where it takes a document of any kind.
 */
import { adminEventSchema } from "./admin-event.ts"
import { approvalRequestSchema } from "./approval-request.ts"
import { openingSchema } from "./opening.ts"
import { permitEndSchema } from "./permit-end.ts"

/** One row a kind. */
export const CHAIN_DOCUMENTS = {
  Opening: openingSchema,
  PermitEnd: permitEndSchema,
  ApprovalRequest: approvalRequestSchema,
  AdminEvent: adminEventSchema,
}
