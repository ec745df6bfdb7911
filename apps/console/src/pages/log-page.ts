/** *Log health*: size, checkpoint, witnesses, outside logs. The visitor's browser audits the log itself. */
import { outsideLogsAnswerSchema } from "@runseal/core/wire/log-answers"
import { indexAnswerSchema, readyAnswerSchema } from "@runseal/core/wire/service-answers"
import { parseCheckpoint } from "@runseal/log/notes/checkpoint"
import { parseNote } from "@runseal/log/notes/signed-note"
import { isRefusal } from "../api.ts"
import { number, plural, seconds, time } from "../parts/format.ts"
import { html, type Markup } from "../parts/markup.ts"
import { facts, heading, notice } from "../parts/pieces.ts"
import { show, type Visit } from "../visit.ts"

/** The witnesses that signed a checkpoint, by the names in its signatures; the log's own signature comes first. */
export async function witnessed({
  api,
}: Visit): Promise<{ readonly size: number; readonly names: readonly string[] } | undefined> {
  const response = await api.send("GET", "/log/witnessed-checkpoint")
  const note = response.ok ? parseNote(await response.text()) : undefined
  const checkpoint = note && parseCheckpoint(note.text)
  if (note === undefined || checkpoint === undefined) return undefined
  return {
    size: checkpoint.size,
    names: note.signatures.map(({ name }) => name).filter(name => name !== checkpoint.origin),
  }
}

export async function logPage(visit: Visit): Promise<Response> {
  const { api } = visit
  const [index, ready, outside, seen] = await Promise.all([
    api.get("/", indexAnswerSchema),
    api.ask("/ready", readyAnswerSchema),
    api.get("/log/outside", outsideLogsAnswerSchema),
    witnessed(visit),
  ])
  const state = isRefusal(ready) ? notice("bad", ready.error) : notice("good", "Records can be sealed.")
  const body = html`${heading("Log health", "An append-only list of every decision. Nothing in it can be changed without it being seen.")}${state}
<div class="columns"><div><section class="card"><h2>This log</h2>${facts([
    ["Entries", html`<strong class="big">${number(index.log.size)}</strong>`],
    ["Origin", index.log.origin],
    ["Checked", isRefusal(ready) ? undefined : time(ready.checked_at)],
    ["Checkpoint", html`<a href="/log/checkpoint">signed now</a>`],
    ["Keys", html`<a href="/.well-known/runseal-trust.json">trust document</a>`],
  ])}</section>
<section class="card"><h2>Witnesses</h2>${witnesses(seen, index.log.size)}</section>
${outside.logs.length === 0 ? "" : html`<section class="card"><h2>Outside logs</h2>${outside.logs.map(outsideLog)}</section>`}
</div><div><section class="card"><h2>Audit from this browser</h2>
<p>Your browser fetches the checkpoint and every hash of the log, computes the root again, and compares it with what this browser saw before.</p>
<div id="audit" data-origin="${index.log.origin}"><p class="buttons"><button type="button">Audit the log</button></p><p role="status"></p></div>
<noscript><p class="notice warn">Scripts are switched off. Audit it with the command line instead.</p></noscript>
<p class="quiet">It relies on the keys that this address publishes. With keys of your own, and for the entries themselves: <code>verifier log audit</code>.</p></section></div></div>`
  return show(visit, { title: "Log health", body, islands: ["log.js"] })
}

function witnesses(
  seen: { readonly size: number; readonly names: readonly string[] } | undefined,
  size: number,
): Markup {
  if (seen === undefined)
    return html`<p>None signed this log. The operator could show different logs to different people; independent witnesses make that impossible.</p>`
  const behind = size - seen.size
  return html`<p>${plural(seen.names.length, "witness", "witnesses")} signed the first ${number(seen.size)} entries${behind <= 0 ? ", which are all" : html`; ${plural(behind, "entry", "entries")} since`}.</p><ul>${seen.names.map(name => html`<li>${name}</li>`)}</ul>`
}

type Outside = {
  readonly host: string
  readonly backlog: number
  readonly oldest_age_seconds: number
  readonly fault?: string
  readonly next_index: number
}

const outsideLog = ({ host, backlog, oldest_age_seconds, fault, next_index }: Outside): Markup =>
  html`<h3>${host}</h3>${fault === undefined ? "" : notice("bad", `It does not take the next entry: ${fault}.`)}${facts(
    [
      ["Holds entries below", number(next_index)],
      [
        "Backlog",
        backlog === 0
          ? "none"
          : html`${plural(backlog, "entry", "entries")}, the oldest for ${seconds(oldest_age_seconds)}`,
      ],
    ],
  )}`
