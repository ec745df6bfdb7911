/** *Run*: what happened first, then why, what was declared, and the proof, which the visitor's own browser checks. */

import { type ApprovalsSection, decisionText, shownApprovals } from "@runseal/core/artifacts/approvals"
import { type Bundle, bundleSchema, durationMs, receiptOf } from "@runseal/core/artifacts/bundle-schema"
import { endUserText } from "@runseal/core/artifacts/end-user"
import type { Explanation } from "@runseal/core/artifacts/explanation"
import { endingOf } from "@runseal/core/presentation/account"
import { FINDING_MEANINGS } from "@runseal/core/presentation/finding-meanings"
import { failureText } from "@runseal/core/presentation/permit-account"
import { isLogged } from "@runseal/core/verify/decisions"
import { bundleFacts, declaredOutputHash } from "@runseal/core/verify/record-facts"
import { ACCOUNT_LABELS, ACCOUNT_LINES, keyText, runAccount } from "@runseal/core/verify/run-account"
import { refusingGate } from "@runseal/core/verify/stage-error"
import { GATES, KERNELS, OUTCOMES, withMark } from "@runseal/core/vocabulary/outcomes"
import { STEP_LABELS, type StepResult, type TranscriptStep, WHOLE_PATH } from "@runseal/core/vocabulary/pipeline-path"
import { adminRunRecordSchema, type Publication, publicationsPageSchema } from "@runseal/core/wire/admin-answers"
import { publishedRunSchema } from "@runseal/core/wire/key-requests"
import type { WitnessesAnswer } from "@runseal/core/wire/log-answers"
import { REPORT_FORMATS, runRecordSchema } from "@runseal/core/wire/run-summaries"
import { madeShareSchema, type Share, sharesPageSchema } from "@runseal/core/wire/share-messages"
import { declaredSections, NOTHING_DECLARED, WITHHELD_DECLARED } from "../parts/declared-pieces.ts"
import { address, number, plural, shortHash, time } from "../parts/format.ts"
import { html, type Markup } from "../parts/markup.ts"
import { facts, formTokens, meter, named, readable } from "../parts/pieces.ts"
import { duration, SIGNS, toneOf, whyOf } from "../parts/run-words.ts"
import { administers, answerForm, formOf, seesAll, shares, show, type Visit } from "../visit.ts"
import { witnessesOf } from "./log-page.ts"
import { readView } from "./run-lists.ts"
import { neighbours } from "./run-neighbours.ts"
import { endLink, ends, pageOf, withdraw } from "./shared-page.ts"

const pathOf = (id: string | number): string => `/console/runs/${id}`

/** Where the visitor reads a record: a customer its own, everybody else that of any key. */
const recordsOf = (visit: Visit): string => (seesAll(visit) ? "/admin/runs" : "/runs")

export async function runPage(visit: Visit): Promise<Response> {
  const id = visit.c.req.param("id") ?? ""
  // The filters of the list that led here: the next run is the next of that list.
  const view = readView(visit)
  const bundle = await visit.api.get(`${recordsOf(visit)}/${id}/artifacts?form=full`, bundleSchema)
  const { run_id } = bundle.run
  const [published, shared] = await Promise.all([publicationOf(visit, run_id), sharesOf(visit, run_id)])
  const { checkpoint: log } = await witnessesOf(visit)
  const [explanation, beside] = await Promise.all([explanationOf(visit, bundle), neighbours(visit, view, run_id)])
  const title = titleOf(bundle)
  const body = html`${beside}
${outcome(bundle, title, explanation)}
${visit.news ?? ""}
<div class="columns"><div>
${section("Stages and gates", timeline(bundle))}
${section("Declared by the caller", declared(bundle))}
</div><div>
${section("Verified in this browser", verification(visit, bundle))}
${section("Facts", runFacts(visit, bundle))}
${budgets(visit, bundle)}
${section("Log entries", anchors(bundle, log))}
${section("Hand it on", handOn(visit, bundle, { published, shared }, isWithin(bundle, log)))}
</div></div>`
  return show(visit, { title, body, islands: ["run.js"] })
}

/** What happened to the run, and to the act that it closes the permit of: a run whose act failed is sealed as any other. */
function titleOf(bundle: Bundle): string {
  const facts = bundleFacts(bundle)
  const code = facts.permit?.code
  const act = code === undefined ? "" : `; its act failed: ${failureText(code)}`
  return `Run ${bundle.run.run_id}${endingOf(bundle.run.outcome_kind, facts, { act })}`
}

const section = (title: string, content: Markup): Markup =>
  html`<section class="card"><h2>${title}</h2>${content}</section>`

/** Why a gate refused the run, as far as the visitor may see it. */
async function explanationOf(visit: Visit, bundle: Bundle): Promise<Explanation | undefined> {
  if (receiptOf(bundle) === undefined) return undefined
  const { run_id } = bundle.run
  return seesAll(visit)
    ? (await visit.api.get(`/admin/runs/${run_id}`, adminRunRecordSchema)).explanation
    : (await visit.api.get(`/runs/${run_id}`, runRecordSchema)).explanation
}

/** What a signature or a rule says of itself, and what the decision rested on. */
const why = ({ title, reference, description }: Explanation, weighed: string | undefined): Markup =>
  html`${title === undefined ? "" : html`<p><strong>${title}</strong>${reference === undefined ? "" : html` <span class="quiet">${reference}</span>`}</p>`}${description === undefined ? "" : html`<p>${description}</p>`}${weighed === undefined ? "" : html`<p>${named(weighed)}</p>`}`

/** Who, what, why, when and how many tokens: the same lines as in the report and in the command. */
function strip(bundle: Bundle, explanation: Explanation | undefined): Markup {
  const account = runAccount(bundle, explanation)
  const lines = ACCOUNT_LINES.map(line => {
    const text = account[line]
    const value = line === "why" && explanation !== undefined ? why(explanation, text) : text && named(text)
    return value ? html`<div><dt>${ACCOUNT_LABELS[line]}</dt><dd>${value}</dd></div>` : ""
  })
  return html`<dl class="strip">${lines}</dl>`
}

function outcome(bundle: Bundle, title: string, explanation: Explanation | undefined): Markup {
  const { run } = bundle
  const { cause, permit, enforcement } = bundleFacts(bundle)
  const sentence = withMark(OUTCOMES[run.outcome_kind].sentence, { enforcement })
  // As every verifier colours it: what was only observed, or whose act failed, is no success.
  const isWeak = enforcement !== undefined || permit?.code !== undefined
  const tone = isWeak && toneOf(run.outcome_kind) === "good" ? "warn" : toneOf(run.outcome_kind)
  return html`<div class="outcome ${tone}"><h1><span aria-hidden="true">${SIGNS[tone]}</span> ${title}</h1>
${cause === undefined ? "" : html`<p class="cause">${cause}</p>`}${run.outcome_kind === "stage_error" ? html`<p>${sentence}</p>` : ""}${strip(bundle, explanation)}</div>`
}

/** Number of the key that made a run; 0 for open mode. */
const keyOf = ({ run: { tenant_id } }: Bundle): number => Number(/^api-key-(\d{1,16})$/.exec(tenant_id)?.[1] ?? 0)

/** How the request for an approval ended, and what each person decided. */
function approvalFact(section: ApprovalsSection, isInLog: boolean): Markup {
  const approvals = shownApprovals(section)
  if (approvals === undefined) return named("withheld")
  const { outcome, decisions } = approvals
  return html`${outcome}${decisions.map(decision => html`<br>${named(decisionText(decision, isInLog))}`)}`
}

function runFacts(visit: Visit, bundle: Bundle): Markup {
  const { run, sections } = bundle
  const { envelope, payload, policy_evaluation: policy } = sections
  const similar = (text: string, name: string, value: string): Markup =>
    html`${named(text)} <a class="quiet" href="${address("/console/runs", { [name]: value })}">similar runs</a>`
  return facts([
    ["Route", similar(run.route_id, "route_id", run.route_id)],
    [
      "Made by",
      seesAll(visit)
        ? html`<a href="${address("/console/runs", { key: keyOf(bundle) })}">${named(keyText(bundle))}</a>`
        : named(keyText(bundle)),
    ],
    ["End user", sections.end_user && named(endUserText(sections.end_user))],
    ["Approval", sections.approvals && approvalFact(sections.approvals, isLogged(bundle))],
    ["Sealed", time(run.created_at)],
    ["Took", duration(durationMs(run))],
    ["Policy", policy && html`${policy.policy_name} ${shortHash(policy.policy_hash)}`],
    [
      "Rule",
      policy &&
        html`<a href="${address("/console/runs", { rule_id: policy.fired_rule_id })}">${policy.fired_rule_id}</a>`,
    ],
    ["Program", shortHash(run.program_id)],
    ["Register entry", envelope && shortHash(envelope.registry_record_hash)],
    ["Payload", html`${shortHash(payload.payload_hash)} ${plural(payload.payload_bytes, "byte")}, not stored`],
    ["AI output", outputFact(bundle)],
    [
      "Permit",
      sections.permit &&
        html`<a href="/console/permits/${sections.permit.permit_id}"><code>${sections.permit.permit_id.slice(0, 12)}…</code></a><span data-copy="${sections.permit.permit_id}" data-name="the id of the permit"></span>`,
    ],
    ["Region", run.execution_region],
  ])
}

/** The output of a run by its hash, and whether the service ever had it. */
function outputFact({ sections }: Bundle): Markup | undefined {
  const { ai_output_hash } = sections.payload
  if (ai_output_hash !== undefined) return html`${shortHash(ai_output_hash)} not stored`
  const declared = declaredOutputHash(sections)
  return declared === undefined
    ? undefined
    : html`${shortHash(declared)} as the caller declared it: not sent, not reviewed`
}

function budgets(visit: Visit, bundle: Bundle): Markup | string {
  const { budget_snapshot: budget } = bundle.sections
  if (budget === undefined) return ""
  const { declared_tokens, run_limit, window } = budget
  return section(
    "Budgets",
    facts([
      ["This run", meter("Tokens of this run", declared_tokens, run_limit)],
      ["Window after it", window && meter("Tokens of the window", window.total_after, window.cap)],
      [
        "Window began",
        window &&
          html`${time(window.window_start)} <a class="quiet" href="${address("/console/runs", { key: seesAll(visit) ? keyOf(bundle) : undefined, from: window.window_start, to: bundle.run.created_at })}">runs in it until this one</a>`,
      ],
    ]),
  )
}

/** Declared sections that hold something. */
function declared({ sections }: Bundle): Markup {
  const present = declaredSections(sections)
  if (present.length === 0) return NOTHING_DECLARED
  return html`<p class="quiet">Sealed as the caller declared it. Whether it is true, the record does not show.</p>${present.map(
    ({ name, declared: content }, i) =>
      html`<details ${i < SHOWN_SECTIONS ? html`open` : ""}><summary>${name}</summary>${content === undefined ? WITHHELD_DECLARED : readable(content)}</details>`,
  )}`
}
/** Sections that are open when the page is loaded. */
const SHOWN_SECTIONS = 2

/** A script fills it in: the server does not say whether its own record is genuine. */
const verification = (visit: Visit, { run }: Bundle): Markup =>
  html`<div id="verification" data-bundle="${recordsOf(visit)}/${run.run_id}/artifacts" data-trust="/.well-known/runseal-trust.json">
<p role="status" class="quiet">The record and the keys are fetched, and checked by this browser …</p>
<noscript><p class="notice warn">Scripts are switched off. Check the bundle with the command line instead: <code>verifier bundle.json</code></p></noscript>
</div>`

/** The newest checkpoint that enough witnesses signed; undefined before the first. */
type Log = WitnessesAnswer["checkpoint"]

/** Whether the tree that witnesses signed has the whole record. */
const isWithin = ({ anchors: { complete_record: last } }: Bundle, log: Log): boolean =>
  log !== undefined && last !== undefined && Number(last.entry.logIndex) < log.size

function anchors(bundle: Bundle, log: Log): Markup {
  const { anchors: found } = bundle
  const own = [
    ["Decision", found.pre_anchor ?? found.receipt],
    ["Complete record", found.complete_record],
  ] as const
  const rows = own.flatMap(([name, anchor]) =>
    anchor === undefined
      ? []
      : [
          [
            name,
            html`<a href="/log/entry/${anchor.entry.logIndex}">entry ${anchor.entry.logIndex}</a>, ${time(new Date(Number(anchor.entry.integratedTime) * 1000).toISOString())}`,
          ] as const,
        ],
  )
  if (rows.length === 0) return html`<p class="quiet">This record has no log entry.</p>`
  const outside = found.outside?.length ?? 0
  return html`${facts(rows)}${outside === 0 ? "" : html`<p>Also in ${outside} outside ${outside === 1 ? "log" : "logs"}.</p>`}<p class="quiet">${WITNESSED_LATER} ${log === undefined ? "No witness signed this log." : `They signed it at ${plural(log.size, "entry", "entries")}, ${isWithin(bundle, log) ? "with this record" : "not yet with this record"}.`} <a href="/console/log">Log health</a></p>`
}

const WITNESSED_LATER = "The record as it was sealed carries no witness's signature: witnesses sign the log, later."

/** Where a run is published; undefined for one that is not, and for visitors who neither publish nor withdraw. */
async function publicationOf(visit: Visit, id: number): Promise<Publication | undefined> {
  if (!administers(visit)) return undefined
  const path = address("/admin/published", { before: id + 1, limit: 1 })
  const { published } = await visit.api.get(path, publicationsPageSchema)
  return published.find(({ run_id }) => run_id === id)
}

/** An administrator publishes its own runs, and those of open mode that it was given; it withdraws any. */
function handOn(visit: Visit, bundle: Bundle, { published, shared }: GivenOut, isWitnessed: boolean): Markup {
  const { run } = bundle
  const { key_id } = visit.session
  const isOwn = key_id !== undefined && [0, key_id].includes(keyOf(bundle))
  const publish = administers(visit)
    ? html`<form method="post" action="${pathOf(run.run_id)}" class="row">${formTokens(visit.session.csrf_token)}${published === undefined ? (isOwn ? html`<button name="action" value="publish">Publish</button>` : "") : html`<button name="action" value="unpublish" class="plain">Withdraw</button>`}</form>
<p class="quiet">${published === undefined ? "Not published." : html`Published since ${time(published.published_at)}: <a href="${pageOf(published.url)}">its page</a>.`} ${isOwn || published !== undefined ? "Published, everybody with its address reads and verifies the record." : `Only the key that made a run publishes it.${shared === undefined ? "" : " Share it instead."}`}</p>`
    : ""
  const records = `${recordsOf(visit)}/${run.run_id}`
  const file = `runseal-run-${run.run_id}-auditor.zip`
  return html`<p><a class="button" href="${records}/auditor.zip" download="${file}">One file for the auditor</a></p>
<p class="quiet">A ZIP with record, report, public keys and how to verify them. <code>verifier</code> takes it as it is, with keys that the auditor has by another way.</p>
<p class="commands"><button type="button" class="plain" hidden data-curl="${records}/auditor.zip" data-file="${file}">Copy as curl</button><button type="button" class="plain" hidden data-copy="verifier ${file}">Copy as verifier command</button></p>
<h3>Its parts</h3><ul class="plain-list"><li><a href="${recordsOf(visit)}/${run.run_id}/artifacts" download="runseal-run-${run.run_id}.json">Bundle</a>, for <code>verifier</code></li>
${isWitnessed ? html`<li><a href="${recordsOf(visit)}/${run.run_id}/artifacts?with=witnessed" download="runseal-run-${run.run_id}-witnessed.json">Bundle with witnesses</a>: with what they signed of the log since</li>` : ""}
${REPORT_FORMATS.map(format => html`<li><a href="${recordsOf(visit)}/${run.run_id}/report.pdf?format=${format}" download>Report, ${format}</a> (PDF)</li>`)}</ul>${shared === undefined ? "" : sharing(run.run_id, shared, visit)}${publish}`
}

/** How a run is published and shared; undefined: it is not, or the visitor may not. */
type GivenOut = { readonly published: Publication | undefined; readonly shared: readonly Share[] | undefined }

/** Links to the run that work; undefined for visitors who may not share. */
async function sharesOf(visit: Visit, run: number): Promise<readonly Share[] | undefined> {
  if (!shares(visit)) return undefined
  return (await visit.api.get(address("/admin/shares", { run, limit: SHARES_SHOWN }), sharesPageSchema)).shares
}
/** Newest links that the page of a run shows. */
const SHARES_SHOWN = 20

const sharing = (id: number, shared: readonly Share[], visit: Visit): Markup =>
  html`<h3>Share it</h3><p class="quiet">A link to record and report, which works without a key until its time is over or it is ended. <a href="/console/shared">All links</a></p>
<form method="post" action="${pathOf(id)}" class="row">${formTokens(visit.session.csrf_token)}<label>It works for<select name="expires_in_seconds"><option value="86400">a day</option><option value="3600">an hour</option><option value="259200">3 days</option><option value="604800">7 days</option></select></label><button name="action" value="share">Make a link</button></form>
${shared.length === 0 ? "" : html`<ul class="plain-list">${shared.map(one => sharedLink(one, visit))}</ul>`}`

/** A link without its token, which nobody can show again. An auditor ends its own. */
const sharedLink = ({ share_id, run_id, made_by, expires_at }: Share, visit: Visit): Markup =>
  html`<li><form method="post" action="${pathOf(run_id)}" class="row">${formTokens(visit.session.csrf_token)}<input type="hidden" name="share" value="${share_id}"><span>Link ${share_id}, made by key ${made_by}, works until ${time(expires_at)}</span> ${ends(visit, made_by) ? html`<button name="action" value="unshare" class="plain">End it</button>` : ""}</form></li>`

/** Publishes, withdraws or shares the run, or ends a link to it. */
export async function runSharing(visit: Visit): Promise<Response> {
  const id = visit.c.req.param("id") ?? ""
  const field = await formOf(visit.c)
  const action = field("action")
  const answer = { path: pathOf(id), page: runPage }
  if (action === "share") {
    const request = { expires_in_seconds: Number(field("expires_in_seconds")) }
    return answerForm(visit, await visit.api.change("POST", `/admin/runs/${id}/share`, madeShareSchema, request), {
      ...answer,
      news: ({ url }) => ({ tone: "good", text: "Everybody who has this link reads the run.", secret: url }),
    })
  }
  if (action === "unshare") return endLink(visit, field("share"), answer)
  if (action === "unpublish") return withdraw(visit, id, answer)
  return answerForm(visit, await visit.api.change("POST", `/admin/runs/${id}/publish`, publishedRunSchema), {
    ...answer,
    news: ({ url }) => ({ tone: "good", text: "Published:", link: pageOf(url) }),
  })
}

// The nine stages and five gates of a run in their order: which it reached, what each decided, and why.

type Explain = (bundle: Bundle) => Markup | string | undefined

/** What a step found, from the sections that it sealed. */
const EXPLANATIONS: Readonly<Partial<Record<TranscriptStep, Explain>>> = {
  DOG: ({ sections: { envelope, payload } }) =>
    envelope && html`Received ${time(envelope.admission_clock)}, payload of ${plural(payload.payload_bytes, "byte")}`,
  DTL: () => "Received over HTTP",
  PEPG_ADMISSION: ({ attestation_gap_receipt: gap }) =>
    gap === undefined
      ? "Every declaration that the policy requires is there"
      : html`Missing: ${gap.missing_fields.map((name, i) => html`${i > 0 ? ", " : ""}<code>${name}</code>`)}`,
  PEPG: ({ sections: { policy_evaluation: found, mcd_finding: match } }) =>
    found &&
    html`${match === undefined || found.decision_reason_code !== "MCD_SIGNATURE_MATCH" ? html`Rule <code>${found.fired_rule_id}</code>` : html`Signature <code>${found.fired_rule_id}</code> (${match.category.replaceAll("_", " ")}, ${match.severity}) matched in <code>${match.matched_in}</code>`} of policy <code>${found.policy_id}</code>: ${found.decision}`,
  DKEC: ({ sections: { efa } }) => efa && kernelsText(efa.kernels),
  CCV: ({ sections: { budget_snapshot: budget } }) =>
    budget &&
    html`${plural(budget.declared_tokens, "token")} declared, ${number(budget.run_limit)} allowed for one run`,
  MACC: ({ sections: { budget_snapshot: budget } }) =>
    budget?.window &&
    html`${number(budget.window.total_after)} of ${plural(budget.window.cap, "token")} of the window are charged or reserved`,
  AIVP_T4: ({ sections }) => reviewText(sections),
  LEDGER: ({ sections: { pote_proof: proof } }) => proof && html`Entry ${proof.log_index} of the log`,
  REGISTRY: ({ sections: { registry } }) => registry && plural(registry.artifacts.length, "artifact"),
  DLA: ({ manifest }) => manifest && html`Final seal ${shortHash(manifest.ManifestHash)}`,
}

function reviewText(sections: Bundle["sections"]): Markup | undefined {
  const { governance_review: review } = sections
  if (review === undefined) return undefined
  const unseen = declaredOutputHash(sections) === undefined ? "" : ". The output was not sent, and not reviewed"
  const { words = "" } = whyOf({ reason: review.decision_reason })
  return html`${review.decision_kind}${words === "" ? "" : `: ${words}`} <code>${review.decision_reason}</code>, by ${review.adapter_id}${review.finding_count > 0 ? html`, ${plural(review.finding_count, "finding")}: ${review.rule_ids.join(", ")}` : ""}${unseen}`
}

type Kernels = NonNullable<Bundle["sections"]["efa"]>["kernels"]

function kernelsText(kernels: Kernels): Markup {
  const found = kernels.flatMap(({ kernel, findings }) =>
    findings.map(
      ({ code, count }) =>
        html`<li>${FINDING_MEANINGS[code]}${count > 1 ? ` (${number(count)} times)` : ""} <code>${kernel} ${code}</code></li>`,
    ),
  )
  return html`${KERNELS.length} kernels computed${found.length === 0 ? ", no findings" : html`. They found:<ul>${found}</ul>`}`
}

const IS_GATE: ReadonlySet<TranscriptStep> = new Set(GATES)

type State = "done" | "pass" | "stop" | "failed" | "absent"

const WORDS: Readonly<Record<State, string>> = {
  done: "done",
  pass: "let it pass",
  stop: "stopped the run",
  failed: "failed",
  absent: "not reached",
}
const MARKS: Readonly<Record<State, string>> = { done: "●", pass: "✓", stop: "■", failed: "✗", absent: "○" }

const stateOf = (result: StepResult | undefined): State => {
  if (result === undefined) return "absent"
  return result === "done" || result === "pass" ? result : "stop"
}

/** How each step of a run ended. A stopped run has a receipt; its log entry is that of the receipt, not of stage LEDGER. */
function statesOf(bundle: Bundle): ReadonlyMap<TranscriptStep, State> {
  const { run, sections } = bundle
  const results = new Map(sections.transcript?.events.map(({ step, result }) => [step, result]))
  const stopped = receiptOf(bundle) === undefined ? undefined : run.error_stage
  return new Map(
    WHOLE_PATH.map(step => {
      if (run.outcome_kind === "stage_error") return [step, beforeFailure(bundle, step)]
      if (step === stopped) return [step, "stop"]
      const after = run.outcome_kind === "ok" && !results.has(step) ? "done" : stateOf(results.get(step))
      return [step, after]
    }),
  )
}

/** How far a run came that failed, which has no transcript: to the step that failed, or to the gate that had refused it. */
function beforeFailure(bundle: Bundle, step: TranscriptStep): State {
  const failed = bundle.run.error_stage
  if (step === failed) return "failed"
  const gate = refusingGate(bundle)
  if (step === gate) return "stop"
  const last = WHOLE_PATH.findIndex(each => each === (gate ?? failed))
  if (WHOLE_PATH.indexOf(step) >= last) return "absent"
  return IS_GATE.has(step) ? "pass" : "done"
}

function timeline(bundle: Bundle): Markup {
  const states = statesOf(bundle)
  const words = bundleFacts(bundle).enforcement === undefined ? WORDS : { ...WORDS, stop: "would have stopped it" }
  const items = WHOLE_PATH.map(step => {
    const state = states.get(step) ?? "absent"
    const kind = IS_GATE.has(step) ? "gate" : "stage"
    const why = state === "absent" ? undefined : EXPLANATIONS[step]?.(bundle)
    return html`<li class="${kind} ${state}"><span class="mark" aria-hidden="true">${MARKS[state]}</span><span class="step">${STEP_LABELS[step]} <span class="code">${step}</span></span><span class="decided">${words[state]}</span>${why === undefined ? "" : html`<span class="why">${why}</span>`}${state === "failed" ? html`<span class="why">${bundle.run.error_message ?? ""}</span>` : ""}</li>`
  })
  return html`<ol class="timeline">${items}</ol>`
}
