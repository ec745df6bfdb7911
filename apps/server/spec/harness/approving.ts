/** A policy that leaves acts to people, and one person who decides on them. */
import type { JsonObject } from "@runseal/canonical"
import type { ApproverDecision } from "@runseal/core/wire/approval-answers"
import type { Client } from "@runseal/sdk"

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

export type Approver = {
  /** The requests that wait for the person, the newest first. */
  readonly waiting: () => Promise<readonly string[]>
  readonly decide: (approvalId: string, decision: ApproverDecision) => Promise<void>
  /** Decides on all that wait. */
  readonly decideAll: (decision: ApproverDecision) => Promise<void>
}

/** The secrets of the keys of an agent and of an approver, at a service without a key. */
export async function mintAgentAndApprover(
  open: Client,
  as: (apiKey: string) => Client,
): Promise<{ readonly agent: string; readonly approver: string }> {
  const admin = as((await open.createKey({ name: "ops", scope: "admin", confirm_admin_scope: true })).secret)
  const agent = await admin.createKey({ name: "agent", tier: "production", observe: true })
  const approver = await admin.createKey({ name: "anna's", scope: "approver", person: "anna", groups: ["treasury"] })
  return { agent: agent.secret, approver: approver.secret }
}

/** @param client with the key of an approver */
export function approverBy(client: Client): Approver {
  const decide: Approver["decide"] = async (id, decision) => {
    const { request_digest } = (await client.approval(id)).document
    await client.decideApproval(id, { request_digest, decision })
  }
  const waiting: Approver["waiting"] = async () =>
    (await client.approvals({ state: "waiting" })).approvals.map(({ approval_id }) => approval_id)
  return {
    waiting,
    decide,
    decideAll: async decision => {
      for (const id of await waiting()) await decide(id, decision)
    },
  }
}

/** The request of the address that a sentence names. */
export function approvalIn(sentence: string): string {
  const id = /https?:\/\/\S+\/console\/approval\?id=(apr-[0-9a-f]{32})/.exec(sentence)?.[1]
  if (id === undefined) throw new Error(`no address in: ${sentence}`)
  return id
}
