/** Forms of an event: OCSF API Activity, CEF, and syslog messages of RFC 5424. docs/events.md, "Formats". */
import { describe, expect, test } from "vitest"
import { cefLine } from "../src/event-forms/cef-line.ts"
import { ocsfEvent } from "../src/event-forms/ocsf-event.ts"
import { asciiJson, octetCounted, syslogMessage } from "../src/event-forms/syslog-message.ts"
import { hostileRun, SAMPLE_EVENTS, SENDER } from "./fixtures/sample-events.ts"

describe("OCSF", () => {
  test("a denied run is a denied API activity, with all that the event says under its own names", () => {
    const event = ocsfEvent(SAMPLE_EVENTS.denied, SENDER)
    expect(event).toMatchObject({
      class_uid: 6003,
      category_uid: 6,
      activity_id: 1,
      type_uid: 600301,
      time: Date.UTC(2026, 0, 15, 9, 30),
      severity_id: 3,
      status_id: 2,
      status_code: "pepg_deny",
      status_detail: "RULE_DENIED",
      action_id: 2,
      disposition_id: 2,
      duration: 5,
      actor: { user: { uid: "api-key-2" }, app_uid: "2".repeat(64) },
      metadata: { version: "1.8.0", uid: SAMPLE_EVENTS.denied.id, sequence: 42, log_name: SENDER.log_origin },
      resources: [{ type: "route", uid: "payments/approve" }],
      unmapped: { ...SAMPLE_EVENTS.denied.data, position: 42 },
    })
  })

  test("a refusal that was only observed says that nothing was stopped", () => {
    const event = ocsfEvent(SAMPLE_EVENTS.observed, SENDER)
    expect(event).toMatchObject({ action_id: 3, disposition_id: 17 })
    expect(event.message).toContain("nothing was stopped")
  })

  test.each([
    ["ok", 1, 1, 1],
    ["stageError", 4, 2, undefined],
    ["opened", 1, 1, 1],
    ["actFailed", 2, 2, 1],
    ["ended", 2, 2, undefined],
    ["admin", 2, 1, undefined],
    ["test", 1, 1, undefined],
  ] as const)("%s has severity %i, status %i and action %s", (name, severity, status, action) => {
    const { severity_id, status_id, action_id } = ocsfEvent(SAMPLE_EVENTS[name], SENDER)
    expect([severity_id, status_id, action_id]).toEqual([severity, status, action])
  })
})

describe("CEF", () => {
  test("a denied run has its header of seven fields and its own names as labels", () => {
    expect(cefLine(SAMPLE_EVENTS.denied, SENDER)).toBe(
      [
        "CEF:0|Runseal|Runseal|1.0.0|run.sealed|Run 9 ended as pepg_deny|6|rt=1768469400000",
        `externalId=${SAMPLE_EVENTS.denied.id} deviceExternalId=runseal.example - 4127 suser=api-key-2 act=denied`,
        "outcome=pepg_deny reason=RULE_DENIED cs1=payments/approve cs1Label=route_id",
        `cs2=${"2".repeat(64)} cs2Label=program_id cs3=${"6".repeat(64)} cs3Label=policy_hash cs4=deny-large`,
        `cs4Label=rule_id cs5=${"5".repeat(64)} cs5Label=document_hash cn1=9 cn1Label=run_id cn2=42`,
        "cn2Label=position cn3=7 cn3Label=tenant_ordinal",
      ].join(" "),
    )
  })

  test("a name of a caller ends no field: = and \\ are escaped, line breaks are written, other control characters are spaces", () => {
    const line = cefLine(hostileRun("a=b\\c|d\r\ne\u0000f\u2028 act=denied"), SENDER)
    expect(line).toContain(String.raw`cs1=a\=b\\c|d\r\ne f  act\=denied cs1Label=route_id`)
    expect(line).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u)
  })

  test("a pipe in the header is escaped", () => {
    expect(cefLine(SAMPLE_EVENTS.ok, { ...SENDER, version: "1|0\\" })).toContain(
      String.raw`|Runseal|1\|0\\|run.sealed|`,
    )
  })
})

describe("a syslog message", () => {
  const facts = {
    weight: "medium",
    timestamp: "2026-01-15T09:30:00.000Z",
    origin: SENDER.log_origin,
    type: "run.sealed",
  } as const

  test("has facility log audit, its severity, a name without spaces and no structured data", () => {
    expect(syslogMessage({ ...facts, text: "{}" })).toBe(
      "<108>1 2026-01-15T09:30:00.000Z runseal.example---4127 runseal - run.sealed - {}",
    )
    expect(syslogMessage({ ...facts, origin: "", text: "{}" })).toContain("Z - runseal")
    expect(syslogMessage({ ...facts, origin: "x".repeat(300), text: "{}" })).toContain(` ${"x".repeat(255)} `)
  })

  test("is counted in bytes", () => {
    expect(octetCounted("é")).toBe("2 é")
  })

  test("JSON in ASCII has the same meaning", () => {
    const value = { text: 'é 🙂 \u2028 "' }
    const text = asciiJson(JSON.stringify(value))
    expect(text).toMatch(/^[ -~]*$/)
    expect(JSON.parse(text)).toEqual(value)
  })
})
