/** What the demo executes: options of the service, requests from examples/, and the expected outcome of each. */
import type { OutcomeKind } from "@runseal/core/vocabulary/outcomes"

/** A change of one byte in a saved bundle: the first place of `from` becomes `to`. */
export type Forgery = { readonly from: string; readonly to: string; readonly says: string }

export type PlannedRun = {
  /** File in examples/, without its extension. */
  readonly example: string
  readonly outcome: OutcomeKind
  readonly story: string
  readonly forgery: Forgery
}

/** Runs under one configuration of the service; between two acts it is restarted on the same data. */
export type Act = {
  readonly title: string
  /** Options in addition to port and data folder. */
  readonly options: readonly string[]
  readonly runs: readonly PlannedRun[]
}

const batch = (total: number, outcome: OutcomeKind, story: string, forgery: Omit<Forgery, "says">): PlannedRun => ({
  example: "nightly-summary",
  outcome,
  story: `30,000 tokens: the window's total is ${total.toLocaleString("en")}; ${story}`,
  forgery: { ...forgery, says: "another total" },
})

/** Every outcome at least once. */
export const ACTS: readonly Act[] = [
  {
    title: "Payments, under a policy of their own",
    options: ["--policy", "examples/policies/regulated-payments.json", "--region", "eu-central-1"],
    runs: [
      {
        example: "payment-approval",
        outcome: "ok",
        story: "two approvers, limits kept, the transfer acknowledged: admitted and sealed",
        forgery: { from: '"threshold_value":100000', to: '"threshold_value":900000', says: "a limit ten times raised" },
      },
      {
        example: "payment-one-approver",
        outcome: "pepg_deny",
        story: "a transfer with one approver: a rule of the policy denies it",
        forgery: { from: '"observed_value":48500', to: '"observed_value":18500', says: "a smaller payment" },
      },
      {
        example: "payment-unattested",
        outcome: "attestation_gap",
        story: "the attested fields that the policy requires are missing: not admitted",
        forgery: { from: "treasury-agent-07", to: "treasury-agent-01", says: "another agent" },
      },
    ],
  },
  {
    title: "Agents and assistants, under a policy that admits every run, and the service's defaults",
    // A policy stays in force after a restart without the option.
    options: ["--policy", "examples/policies/baseline.json"],
    runs: [
      {
        example: "first-run",
        outcome: "ok",
        story: "the smallest request worth reading: sealed",
        forgery: { from: '"actor_id":"grace"', to: '"actor_id":"brace"', says: "another approver" },
      },
      {
        example: "clinical-answer",
        outcome: "ok",
        story: "health data, a pharmacist in the loop, an AI answer reviewed: sealed, the answer as a hash",
        forgery: { from: "pharmacist-22", to: "pharmacist-21", says: "another pharmacist" },
      },
      {
        example: "agent-step-over-budget",
        outcome: "ccv_halt",
        story: "1,250,000 tokens where one run may use 1,000,000: halted after its kernels",
        forgery: { from: '"budget_limit":1000000', to: '"budget_limit":9000000', says: "a larger budget" },
      },
      {
        example: "support-mail-poisoned",
        outcome: "pepg_deny",
        story: "a mail that gives the agent orders: a signature matches, no kernel runs",
        forgery: { from: "MCD-PI-012", to: "MCD-PI-013", says: "another signature" },
      },
      {
        example: "operations-answer-leaks-key",
        outcome: "aivp_t4_halt",
        story: "an AI answer with a private key in it: the governance review halts it",
        forgery: { from: '"finding_count":1', to: '"finding_count":0', says: "a review that found nothing" },
      },
    ],
  },
  {
    title: "A series, with a small budget for all runs of a window",
    options: ["--window-token-budget", "100000", "--window-seconds", "31622400"],
    runs: [
      batch(30_000, "ok", "sealed", { from: '"total_after":30000', to: '"total_after":10000' }),
      batch(60_000, "ok", "sealed", { from: '"total_after":60000', to: '"total_after":10000' }),
      batch(90_000, "ok", "sealed", { from: '"total_after":90000', to: '"total_after":10000' }),
      batch(120_000, "macc_halt", "the cap is 100,000: halted", {
        from: '"cumulative_at_halt":120000',
        to: '"cumulative_at_halt":920000',
      }),
    ],
  },
  {
    title: "A reviewer that nobody can reach",
    options: "--aivp openai --aivp-base-url http://127.0.0.1:9 --aivp-model reviewer-1 --aivp-timeout 5000".split(" "),
    runs: [
      {
        example: "claim-letter",
        outcome: "stage_error",
        story: "no review, so no release: the failed run is recorded, and is no attestation",
        forgery: { from: "could not be reached", to: "could now be reached", says: "a reviewer within reach" },
      },
    ],
  },
]
