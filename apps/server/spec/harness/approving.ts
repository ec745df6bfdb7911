/** A policy that leaves acts to people, and what they decide. */
import type { JsonObject } from "@runseal/canonical"
import type { Decision } from "@runseal/core/wire/approval-answers"
import { textAt } from "./read-answer.ts"
import type { TestService } from "./test-service.ts"

/** Everything is allowed, and what `when` says only with the approval of one person of the group `treasury`. */
export const askingPolicy = (when: string): JsonObject => ({
  policy_id: "asking",
  policy_name: "Asking",
  required_attested_fields: [],
  rules: [
    { id: "permit", effect: "allow" },
    {
      id: "one-person",
      effect: "require_approval",
      when,
      approval: { by: ["treasury"], count: 1, within_seconds: 3600, end_user: "optional" },
    },
  ],
})

/** A person of the group decides on a request. */
export async function decide({ db, clock }: TestService, approvalId: string, decision: Decision): Promise<void> {
  const state = decision === "approve" ? "approved" : "rejected"
  await db.transaction(async ({ sql }) => {
    await sql`insert into approval_decision (approval_id, subject, issuer, name, key_name, groups, proof, decision, decided_at, comment, comment_salt)
      values (${approvalId}::text, 'anna', '', '', 'key of anna', '["treasury"]', 'key', ${decision}::text, ${clock.nowMs()}::bigint, '', '')`
    await sql`update approval set state = ${state}::text, decisions = 1 where approval_id = ${approvalId}::text`
  })
}

/** The requests that wait for people, the newest first. */
export async function waiting({ db }: Pick<TestService, "db">): Promise<readonly string[]> {
  const rows = await db.read(
    async ({ sql }) =>
      sql<
        { approval_id: string }[]
      >`select approval_id from approval where state = 'waiting' order by requested_at desc, log_index desc`,
  )
  return rows.map(row => textAt({ ...row }, "approval_id"))
}

/** The address that a sentence names, and the request that it is of. */
export function addressIn(sentence: string): { readonly address: string; readonly approvalId: string } {
  const [address = "", approvalId = ""] = /\S+\/console\/approval\?id=(apr-[0-9a-f]{32})/.exec(sentence) ?? []
  if (address === "") throw new Error(`no address in: ${sentence}`)
  return { address, approvalId }
}
