/** Verifies an action of an administrator. docs/formats.md section 7.10. */

import { canonicalize } from "@runseal/canonical"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { ADMIN_EVENT_KIND, type AdminEvent, adminEventSchema, PERSON_EVENT_KIND } from "../artifacts/admin-event.ts"
import { parseExact } from "../artifacts/parse-exact.ts"
import { ADMIN_EVENT_FORM } from "../formulas/chain-forms.ts"
import { PERSON_ACTOR } from "../vocabulary/scalars.ts"
import { checkAnchor, chooseTrust, passedEntry } from "./anchor-check.ts"
import type { SlottedAnchor } from "./anchor-slots.ts"
import type { ChainDocument } from "./chain-document.ts"
import { brokenRules } from "./contradictions.ts"
import { collectFindings, conclude } from "./examination.ts"
import { type EvidenceLine, kindOf, line } from "./kind.ts"
import type { RecordFacts } from "./record-facts.ts"
import { chainRules, tenantRule } from "./record-places.ts"
import { limitation, type Report, VERDICTS } from "./report.ts"

export const ADMIN_EVENT = /* @__PURE__ */ kindOf<AdminEvent>({
  document: "admin_event",
  title: "Admin event",
  genuine: "The event is genuine.",
  verdict: "admin_event",
  recognizes: ({ kind }) => kind === ADMIN_EVENT_KIND || kind === PERSON_EVENT_KIND,
  parse: value => parseExact(adminEventSchema, value),
  verify: verifyAdminEvent,
  anchors: anchorsOf,
  evidence: evidenceOf,
  named: event => ({ event }),
  inChain: { counted: "events", document: eventInChain },
})

/** As the comparisons of an export see it. */
function eventInChain(event: AdminEvent): ChainDocument {
  const brief = `event ${event.leaf.tenant_ordinal}`
  return {
    anchor: event,
    clock: event.seal_clock,
    brief,
    long: `${brief} (${event.action})`,
    redemptions: [],
    movements: [],
  }
}

function verifyAdminEvent(event: AdminEvent, trusts: readonly TrustedKeys[]): Report {
  const { kind, leaf, entry, who, event_clock, seal_clock, event_hash } = event
  const findings = collectFindings()
  const examination = { trust: chooseTrust(entry, trusts), findings }
  const isPerson = who.actor === PERSON_ACTOR
  const isNamed = isPerson || who.actor.startsWith("api-key-")
  findings.fail(
    "decision",
    ...brokenRules([
      [isNamed === (who.name !== undefined), "a key and a person, and no other, have a name"],
      [
        [who.issuer, who.subject].every(text => isPerson === (text !== undefined)),
        "a person, and no other, has an issuer and a subject",
      ],
      [isPerson === (kind === PERSON_EVENT_KIND), "the kind of the event is not that of its actor"],
      [event_clock <= seal_clock, "the action is dated after it was sealed"],
    ]),
  )
  findings.fail(
    "leaf",
    ...brokenRules([
      [ADMIN_EVENT_FORM.hash(event) === event_hash, "the event does not match its hash"],
      [leaf.event_hash === event_hash, "the anchored leaf names another event"],
      tenantRule(event, leaf),
    ]),
  )
  checkAnchor({ leaf, entry }, { leaf, clock: seal_clock }, examination)
  findings.fail("inclusion", ...brokenRules(chainRules(leaf, entry)))
  return conclude(examination, {
    document: "admin_event",
    good: VERDICTS.admin_event,
    passed: {
      shape: "kinds and fields of the event are as they must be",
      decision: "who acted is named as such an actor is, and the action is not later than its seal",
      leaf: "the event and the deployment's chain are those of the anchored leaf",
      ...passedEntry(entry),
      log_time: "logged within 600 s of the time at which it was sealed",
    },
    clock: seal_clock,
    facts: factsOf(event),
    withheld: [],
    limitations: [limitation("operator_log"), limitation("event_clock"), limitation("chain_tail")],
    anchors: anchorsOf(event),
  })
}

function anchorsOf({ leaf, entry }: AdminEvent): readonly SlottedAnchor[] {
  return [{ slot: "admin_event", anchor: { leaf, entry } }]
}

const factsOf = ({
  tenant_id,
  who: { subject: person, ...who },
  action,
  subject,
  event_clock,
}: AdminEvent): RecordFacts => ({
  tenant_id,
  event: {
    ...who,
    ...(person === undefined ? {} : { person }),
    action,
    subject: `${subject.kind} ${subject.id}`,
    done_at: event_clock,
  },
})

function evidenceOf({ who, subject, leaf, entry, ...event }: AdminEvent): readonly EvidenceLine[] {
  return [
    ...line("done_at", event.event_clock),
    ...line("action", event.action),
    ...line("actor", who.name === undefined ? who.actor : `${who.actor} (${who.name})`),
    ...line("issuer", who.issuer),
    ...line("person", who.subject),
    ...line("subject", `${subject.kind} ${subject.id}`),
    ...line("before", event.before && canonicalize(event.before)),
    ...line("after", event.after && canonicalize(event.after)),
    ...line("sealed_at", event.seal_clock),
    ...line("log_entry", entry.logIndex),
    ...line("tenant_ordinal", leaf.tenant_ordinal),
    ...line("event_hash", event.event_hash),
  ]
}
