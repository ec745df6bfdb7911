/**
 * An agent that pays: asks Runseal for a permit, sends the order with it, and closes the permit.
 *
 *   RUNSEAL_URL=http://127.0.0.1:8080 node examples/payment-executor/pay.ts 120.00 DE02120300000000202051
 */
import {
  ActFailedError,
  APPROVALS_HEADER,
  ApprovalPending,
  approvalsHeader,
  createClient,
  hashFile,
  PERMIT_HEADER,
  PermitRefusedError,
} from "@runseal/sdk"

const [amount = "120.00", to = "DE02120300000000202051"] = process.argv.slice(2)
const order = JSON.stringify({ amount, to })
const payments = process.env.PAYMENTS_URL ?? "http://127.0.0.1:8090"
const program = import.meta.filename

try {
  const { output, run } = await createClient().permit(
    {
      program_id: await hashFile(program),
      route_id: "payments/transfer",
      registry_record_hash: await hashFile(program),
      payload: order,
      audience: "payments",
      reserve_tokens: 0,
      redeem_required: true,
    },
    async ({ permit, opening, signal }) => {
      const approvals = approvalsHeader(opening)
      const answer = await fetch(`${payments}/transfers`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          [PERMIT_HEADER]: permit,
          ...(approvals && { [APPROVALS_HEADER]: approvals }),
        },
        body: order,
        signal,
      })
      const text = await answer.text()
      if (answer.status === 401 || answer.status === 403) throw new ActFailedError("EXECUTOR_REFUSED", text)
      if (answer.status !== 201) throw new Error(text)
      // The review of outputs refuses personal data, which an account number is: the acknowledgement is sealed as its hash.
      const ack_hash = await hashFile(new TextEncoder().encode(text))
      const effect = { effect_kind: "funds_transfer", target: payments, status: "acknowledged", ack_hash }
      return { output: `${amount} transferred`, effects: [effect] }
    },
  )
  console.log(`${output}, sealed as run ${run.run_id}`)
} catch (error) {
  // Nothing was done while people decide. Once they have, the same command pays.
  if (!(error instanceof PermitRefusedError || error instanceof ApprovalPending)) throw error
  console.log(`not paid: ${error.message}`)
  process.exitCode = 1
}
