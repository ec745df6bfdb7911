/** Verifies the record of a run in the visitor's browser, with the code of every verifier, and shows what it found. */
import { DEFAULT_MAX_BYTES } from "@runseal/canonical"
import {
  anchorText,
  genuineMeaning,
  MARKS,
  outcomeHeadline,
  shortMessage,
  titleOf,
  verdictTone,
} from "@runseal/core/presentation/account"
import { MAX_TRUST_BYTES, trustRows } from "@runseal/core/presentation/trust-rows"
import type { CheckResult } from "@runseal/core/verify/report"
import type { TrustedKeys } from "@runseal/log/trust/trusted-keys"
import { byId, element, facts, fill, list, section } from "@runseal/verify-page/page/elements"
import { judge, type Reading } from "@runseal/verify-page/page/judge-document"
import { readTrust } from "@runseal/verify-page/page/page-trust"
import { collect } from "@runseal/verify-page/page/read-bounded"
import { askService } from "./ask-service.ts"

const place = byId("verification")

/** The bytes at an address of this service, with the session's cookie. @throws Error with a sentence */
async function read(address: string, maxBytes: number): Promise<Uint8Array> {
  const response = await askService(address)
  const bytes = response.ok && response.body !== null ? await collect(response.body, maxBytes) : undefined
  if (bytes === undefined) throw new Error(`${address} could not be read: status ${response.status}`)
  return bytes
}

function show({ report }: Reading, keys: TrustedKeys): void {
  const { verdict, checks, limitations, anchors } = report
  const tone = verdictTone(report)
  const of = (wanted: CheckResult): number => checks.filter(({ result }) => result === wanted).length
  const other = [
    [of("fail"), "failed"],
    [of("withheld"), "of withheld sections"],
    [of("absent"), of("absent") === 1 ? "does not apply to it" : "do not apply to it"],
  ] as const
  const counts = [`${of("pass")} checks passed`, ...other.flatMap(([n, what]) => (n === 0 ? [] : [`${n} ${what}`]))]
  const status = element(
    "p",
    `verdict ${tone}`,
    `${tone === "good" ? MARKS.pass : tone === "bad" ? MARKS.fail : "!"} ${verdict}`,
  )
  status.setAttribute("role", "status")
  const items = checks.map(({ id, result, message }) =>
    element(
      "li",
      result,
      element("span", "mark", MARKS[result]),
      element("code", "", id),
      element("span", "sentence", shortMessage(message)),
    ),
  )
  const outcome = outcomeHeadline(report)
  fill(
    place,
    // First what happened to the run, so that the good record of a refusal is not taken for a success.
    ...(outcome === undefined ? [] : [element("p", `${outcome.tone}-text`, outcome.text)]),
    status,
    element(
      "p",
      "",
      `${genuineMeaning(report) ?? "The record is not genuine, or not complete."} ${counts.join(", ")}, here and now.`,
    ),
    element("details", "", element("summary", "", "Every check"), element("ul", "checks", ...items)),
    element(
      "details",
      "",
      element("summary", "", "What is not verified"),
      ...list(limitations.map(({ sentence }) => sentence)),
    ),
    element(
      "details",
      "",
      element("summary", "", "Keys and log entries"),
      element(
        "p",
        "",
        `${titleOf(report)}, as this address publishes them. Compare their fingerprints with the operator by another way.`,
      ),
      ...facts(trustRows(keys)),
      ...section("Log entries", ...facts(anchors.map(anchor => ({ label: anchor.slot, value: anchorText(anchor) })))),
    ),
  )
}

function fail(sentence: string): void {
  const status = element("p", "verdict bad", "✗ NOTHING WAS VERIFIED")
  status.setAttribute("role", "alert")
  fill(place, status, element("p", "", sentence))
}

async function main(): Promise<void> {
  const { bundle = "", trust = "" } = place.dataset
  const [bytes, trusted] = await Promise.all([read(bundle, DEFAULT_MAX_BYTES), read(trust, MAX_TRUST_BYTES)])
  const keys = readTrust(trusted)
  if ("problem" in keys) return fail(`The keys of this service cannot be used: ${keys.problem}`)
  const reading = judge(bytes, [keys])
  if ("unreadable" in reading) return fail(`The record cannot be read: ${reading.unreadable}.`)
  show(reading, keys)
}

main().catch((error: unknown) => fail(error instanceof Error ? error.message : "The page itself failed."))
