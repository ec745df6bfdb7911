/** *Log health*: size, checkpoint, witnesses, outside logs. The visitor's browser audits the log itself. */
import {
  type OUTSIDE_FAULTS,
  type OutsideStanding,
  outsideLogsAnswerSchema,
  type WITNESS_FAULTS,
  type WitnessesAnswer,
  witnessesAnswerSchema,
} from "@runseal/core/wire/log-answers"
import {
  type OutsideTroubles,
  outsideTroubles,
  silentSince,
  type WitnessTroubles,
  witnessTroubles,
} from "@runseal/core/wire/log-troubles"
import { indexAnswerSchema, type ReadyAnswer, readyAnswerSchema } from "@runseal/core/wire/service-answers"
import { isRefusal, type Refusal } from "../api.ts"
import { unwitnessedText } from "../parts/attention.ts"
import { number, plural, seconds, shortTime, time } from "../parts/format.ts"
import { html, type Markup } from "../parts/markup.ts"
import { facts, heading, label, notice, table } from "../parts/pieces.ts"
import { show, type Visit } from "../visit.ts"

export const witnessesOf = ({ api }: Visit): Promise<WitnessesAnswer> =>
  api.get("/log/witnesses", witnessesAnswerSchema)

export async function logPage(visit: Visit): Promise<Response> {
  const { api } = visit
  const [index, ready, outside, witnesses] = await Promise.all([
    api.get("/", indexAnswerSchema),
    api.ask("/ready", readyAnswerSchema),
    api.get("/log/outside", outsideLogsAnswerSchema),
    witnessesOf(visit),
  ])
  const body = html`${heading("Log health", "An append-only list of every decision. Who saw it before sees whether anything in it was changed.")}${verdict(ready, witnesses, outside.logs)}
<div class="columns"><div><section class="card"><h2>This log</h2>${facts([
    ["Entries", html`<strong class="big">${number(index.log.size)}</strong>`],
    ["Origin", index.log.origin],
    ["Checked", isRefusal(ready) ? undefined : time(ready.checked_at)],
    ["Checkpoint", html`<a href="/log/checkpoint">signed now</a>`],
    ["Keys", html`<a href="/.well-known/runseal-trust.json">trust document</a>`],
  ])}</section>
<section class="card"><h2>Witnesses</h2>${witnessList(witnesses, index.log.size)}</section>
${outside.logs.length === 0 ? "" : html`<section class="card"><h2>Outside logs</h2>${outside.logs.map(outsideLog)}</section>`}
</div><div><section class="card"><h2>Audit from this browser</h2>
<p>Your browser fetches the checkpoint and every hash of the log, computes the root again, and compares it with what this browser saw before.</p>
<div id="audit" data-own data-origin="${index.log.origin}"><p class="buttons"><button type="button">Audit the log</button></p><p role="status"></p></div>
<noscript><p class="notice warn">Scripts are switched off. Audit it with the command line instead.</p></noscript>
<p class="quiet">It relies on the keys that this address publishes. With keys of your own, and for the entries themselves: <code>verifier log audit</code>.</p></section></div></div>`
  return show(visit, { title: "Log health", body, islands: ["log.js"], live: true })
}

/** The first line of the page: good where nothing is wrong, and otherwise all that is. */
function verdict(ready: ReadyAnswer | Refusal, witnesses: WitnessesAnswer, logs: readonly OutsideStanding[]): Markup {
  const { contradicting, silent, unwitnessed } = witnessTroubles(witnesses, Date.now())
  const { failing, late } = outsideTroubles(logs)
  const bad = [
    ...(isRefusal(ready) ? [ready.error] : []),
    ...contradicting.map(({ name }) => `The witness ${name} signed another history of this log.`),
    ...failing.map(outsideFault),
  ]
  const found = [
    ...bad,
    ...silent.map(silentText),
    ...unwitnessed.map(unwitnessedText),
    ...late.map(({ host, seconds: age }) => `An entry has waited for ${host} for ${seconds(age)}.`),
  ]
  if (found.length > 0) return notice(bad.length > 0 ? "bad" : "warn", html`${found.map(one => html`<p>${one}</p>`)}`)
  return notice("good", "Records can be sealed, and every witness signs this log.")
}

const silentText = ({ name, fault, cosigned_at }: WitnessTroubles["silent"][number]): string =>
  `The witness ${name} ${cosigned_at === undefined ? "has not signed this log yet" : "does not sign this log now"}${fault === undefined ? "" : `: ${WITNESS_FAULT_NAMES[fault]}`}.`

const WITNESS_FAULT_NAMES: Readonly<Record<(typeof WITNESS_FAULTS)[number], string>> = {
  unreachable: "it cannot be reached",
  refused: "it refused",
  invalid: "its answer was not valid",
  contradicted: "it signed another history",
}

function witnessList({ witnesses, checkpoint }: WitnessesAnswer, size: number): Markup {
  if (witnesses.length === 0)
    return html`<p>None signed this log. The operator could show different logs to different people; independent witnesses make that impossible.</p>`
  const behind = checkpoint && size - checkpoint.size
  const rows = witnesses.map(one => {
    const state = !one.asked
      ? label("warn", "–", "removed")
      : one.fault !== undefined
        ? label("bad", "✗", one.fault)
        : silentSince(one.cosigned_at, Date.now())
          ? label("warn", "–", "silent")
          : label("good", "✓", "signs")
    return html`<tr><td class="long">${one.name}</td><td>${state}</td><td class="nowrap">${shortTime(one.cosigned_at)}</td><td class="figure">${one.size === undefined ? "" : number(one.size)}</td></tr>`
  })
  return html`<p>${
    checkpoint === undefined
      ? "No checkpoint was signed by enough of them yet."
      : html`Enough of them signed the log at ${plural(checkpoint.size, "entry", "entries")}, last at ${time(checkpoint.cosigned_at)}${behind === undefined || behind <= 0 ? "; these are all" : html`; ${plural(behind, "entry", "entries")} since`}.`
  }</p>${table("Witnesses", ["Witness", "State", "Signed last (UTC)", "Entries"], rows)}`
}

const OUTSIDE_FAULT_NAMES: Readonly<Record<(typeof OUTSIDE_FAULTS)[number], string>> = {
  unreachable: "it cannot be reached",
  limited: "it wants fewer requests",
  failed: "it answers with an error of its own",
  refused: "it refused the entry",
  invalid: "its answer was not valid",
  untimed: "no timestamp was valid",
}

/** What keeps an outside log from the next entry. */
const outsideFault = ({ host, fault, failing_seconds }: OutsideTroubles["failing"][number]): string =>
  `${host} has not taken the next entry for ${seconds(failing_seconds)}: ${OUTSIDE_FAULT_NAMES[fault]}.`

const outsideLog = (log: OutsideStanding): Markup => {
  const { host, backlog, oldest_age_seconds, next_index } = log
  return html`<h3>${host}</h3>${outsideTroubles([log]).failing.map(one => notice("bad", outsideFault(one)))}${facts([
    ["Holds entries below", number(next_index)],
    [
      "Backlog",
      backlog === 0
        ? "none"
        : html`${plural(backlog, "entry", "entries")}, the oldest for ${seconds(oldest_age_seconds)}`,
    ],
  ])}`
}
