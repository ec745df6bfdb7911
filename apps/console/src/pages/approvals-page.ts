/** *Approvals*: what waits for the visitor. It is the one page that an approver sees. */
import { html } from "../parts/markup.ts"
import { empty, heading } from "../parts/pieces.ts"
import { show, type Visit } from "../visit.ts"

export const APPROVALS_PATH = "/console/approvals"

export const approvalsPage = (visit: Visit): Promise<Response> =>
  show(visit, {
    title: "Approvals",
    body: html`${heading("Approvals", "What an agent wants to do and may not do alone.")}${empty("No approval waits for you.")}`,
  })
