/**
 * The scene of the demo in which people decide: two approve a payment, and one rejects another. It has a service of its own, with keys, since
 * people have to be known by something.
 */
import { appendFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { COMPLETENESS_VERDICTS } from "@runseal/core/verify/completeness"
import { ApprovalPending, createClient, PermitRefusedError, type PermitRequest, type RefusedRun } from "@runseal/sdk"
import { verify } from "./audit.ts"
import type { Folders } from "./folders.ts"
import { SERVICE, startServer } from "./server-process.ts"
import type { Story } from "./story.ts"

const POLICY = "examples/policies/approved-payments.json"
const transferOf = (amount: string): PermitRequest => ({
  program_id: "3f".repeat(32),
  route_id: "payments/transfer",
  registry_record_hash: "a9".repeat(32),
  payload: JSON.stringify({ arguments: { amount, currency: "EUR", payee: "DE02120300000000202051" } }),
  audience: "payments",
  reserve_tokens: 100,
})

/** Asks for two payments, decides on both, and verifies what came of them from files alone. */
export async function letPeopleDecide(folders: Folders, story: Story): Promise<void> {
  const { root, demo, evidence, log } = folders
  const options = ["--policy", POLICY, "--approvals", "on"]
  story.command(`node ${SERVICE} --port 0 --data-dir ${join(demo, "approvals")} \\`)
  story.more(options.join(" "))
  const service = await startServer([SERVICE, "--port", "0", "--data-dir", join(demo, "approvals"), ...options], line =>
    appendFileSync(join(root, log), `${line}\n`),
  )
  const clientOf = (apiKey?: string) => createClient({ baseUrl: service.url, ...(apiKey && { apiKey }) })
  try {
    const { secret: first } = await clientOf().createKey({ name: "ops", scope: "admin", confirm_admin_scope: true })
    const admin = clientOf(first)
    const keyOf = async (body: Parameters<typeof admin.createKey>[0]) => clientOf((await admin.createKey(body)).secret)
    const { secret: agentSecret } = await admin.createKey({ name: "payment-agent" })
    const agent = clientOf(agentSecret)
    const person = (name: string) => keyOf({ name, scope: "approver", person: name, groups: ["treasury"] })
    const [anna, ben] = [await person("anna"), await person("ben")]
    const decide = async (who: typeof anna, id: string, decision: "approve" | "reject", comment?: string) => {
      const { request_digest } = (await who.approval(id)).document
      await who.decideApproval(id, { request_digest, decision, ...(comment && { comment }) })
    }
    let paid = 0
    /** The number of the run; undefined while people have not decided. */
    const pay = async (amount: string): Promise<number | ApprovalPending | RefusedRun> => {
      try {
        const { run } = await agent.permit(transferOf(amount), () => Promise.resolve({ output: `${++paid} paid` }), {
          redeems: true,
        })
        return run.run_id
      } catch (error) {
        if (error instanceof ApprovalPending) return error
        if (error instanceof PermitRefusedError) return error.result
        throw error
      }
    }
    const asked = await pay("12500.00")
    if (!(asked instanceof ApprovalPending)) throw new Error("the policy leaves the payment to people")
    story.state("12,500 euro: people are asked, nothing is paid", paid === 0)
    story.note(`  ${asked.address}`)
    await decide(anna, asked.approval_id, "approve")
    story.state("anna approves: one of two, nothing is paid", (await pay("12500.00")) instanceof ApprovalPending)
    await decide(ben, asked.approval_id, "approve")
    const run = await pay("12500.00")
    story.state(`ben approves: the permit is collected, the payment made once: run ${run}`, run === 1 && paid === 1)

    const other = await pay("99000.00")
    if (!(other instanceof ApprovalPending)) throw new Error("the policy leaves the payment to people")
    await decide(anna, other.approval_id, "approve")
    await decide(ben, other.approval_id, "reject", "not without an invoice")
    const refused = await pay("99000.00")
    const reason = typeof refused === "object" && "explanation" in refused ? refused.explanation?.reason : undefined
    story.state(`99,000 euro: anna approves, ben rejects: ${reason}`, paid === 1 && reason === "APPROVAL_REJECTED")

    const save = async (path: string, name: string, secret: string): Promise<string> => {
      const answer = await fetch(`${service.url}${path}`, { headers: { "X-Service-Key": secret } })
      const file = join(evidence, name)
      writeFileSync(join(root, file), await answer.text())
      return file
    }
    const trust = await save("/.well-known/runseal-trust.json", "approvals.trust.json", agentSecret)
    const bundle = await save("/runs/1/artifacts", "approved-payment.bundle.json", agentSecret)
    const all = await save("/runs/export", "approvals.export.ndjson", agentSecret)
    const args = [bundle, "--trust", trust, "--decided-by", POLICY]
    story.command(`npx verifier ${args.join(" ")}`)
    const found = await verify(folders, args)
    const who = found.lines.filter(line => /^(?:Approval|Approved|Rejected) /.test(line))
    for (const line of who) story.note(`  ${line}`)
    story.state("its record says who approved, and its decision comes out again", found.exit === 0 && who.length === 3)
    const complete = await verify(folders, ["--complete", all, "--trust", trust])
    story.state(
      `both requests ended once: ${complete.verdict}`,
      complete.exit === 0 && complete.verdict === COMPLETENESS_VERDICTS.chain,
    )
  } finally {
    await service.stop()
  }
}
