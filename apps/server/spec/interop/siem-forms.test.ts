/**
 * Forms of events in programs of others: the official OCSF schema (as the Python package ocsf-json-schema holds it), a parser of RFC 5424, and
 * rsyslog, which takes messages over TCP and TLS and reads CEF with liblognorm. Packages of Python are installed into a folder of their own;
 * without Python, its package index, rsyslogd or its modules the tests are skipped and say so.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { type JsonValue, parseStrictJson } from "@runseal/canonical"
import { ocsfEvent } from "@runseal/core/event-forms/ocsf-event"
import { afterAll, describe, expect, test } from "vitest"
import { freePort } from "../../../../libs/core/test/fixtures/free-port.ts"
import { hostileRun, SAMPLE_EVENTS, SENDER } from "../../../../libs/core/test/fixtures/sample-events.ts"
import { testFolder } from "../../../../libs/core/test/fixtures/test-folder.ts"
import { syslogOf } from "../../src/events/sealed-event.ts"
import { type Child, endStrays, startChild } from "../harness/child.ts"
import { at, listAt, numberAt, textAt } from "../harness/read-answer.ts"
import { EICAR, request } from "../harness/sample-requests.ts"
import { hostCertificate } from "../harness/stream-receiver.ts"
import { until } from "../harness/until.ts"

const TIMEOUT_MS = 480_000
const PACKAGES = ["ocsf-json-schema==1.2.0", "jsonschema==4.26.0", "syslog-rfc5424-parser==0.3.2"]
const HOSTILE_ROUTE = 'a=b\\c|d"é\r\ne act=denied'

const folder = testFolder("runseal-siem")
const rsyslogs: ChildProcess[] = []
afterAll(async () => {
  for (const one of rsyslogs) one.kill("SIGKILL")
  await endStrays()
})

type Found = { readonly command: string } | { readonly why: string }
const commandOf = (found: Found): string => ("command" in found ? found.command : "")
const absence = (found: Found): string => ("why" in found ? ` (not run: ${found.why})` : "")

function installPython(): Found {
  const place = join(folder, "python")
  try {
    execFileSync("python3", ["-m", "venv", place], { stdio: "pipe" })
    execFileSync(join(place, "bin/pip"), ["install", "-q", ...PACKAGES], { stdio: "pipe" })
    return { command: join(place, "bin/python") }
  } catch (error) {
    const [why = ""] = String(error).split("\n")
    return { why: `the Python packages could not be installed, ${why.slice(0, 100)}` }
  }
}

/** Modules of rsyslog that Debian has in packages of their own. */
const RSYSLOG_MODULES = ["lmnsd_ossl", "mmnormalize"]

function findRsyslog(): Found {
  const config = join(folder, "modules.conf")
  const loads = RSYSLOG_MODULES.map(name => `module(load="${name}")`)
  writeFileSync(config, [...loads, `*.* action(type="omfile" file="${join(folder, "nothing")}")`, ""].join("\n"))
  const answers = (command: string, args: readonly string[]): boolean => {
    try {
      execFileSync(command, args, { stdio: "pipe" })
      return true
    } catch {
      return false
    }
  }
  const command = ["rsyslogd", "/usr/sbin/rsyslogd"].find(name => answers(name, ["-v"]))
  if (command === undefined) return { why: "rsyslogd not found" }
  return answers(command, ["-N1", "-f", config])
    ? { command }
    : { why: `rsyslogd lacks ${RSYSLOG_MODULES.join(" or ")}` }
}

const python = installPython()
const rsyslog = findRsyslog()

/** Runs a program of Python with lines as its input, and gives what it prints for each. */
function inPython(program: string, lines: readonly string[]): readonly JsonValue[] {
  const file = join(folder, "program.py")
  writeFileSync(file, program)
  const printed = execFileSync(commandOf(python), [file], { input: lines.join("\n"), maxBuffer: 64 * 1024 * 1024 })
  return printed
    .toString("utf8")
    .trim()
    .split("\n")
    .map(line => parseStrictJson(line))
}

const OCSF_ERRORS = `
import json, sys
from jsonschema import Draft202012Validator
from ocsf_json_schema import OcsfJsonSchemaEmbedded, get_ocsf_schema
schema = OcsfJsonSchemaEmbedded(get_ocsf_schema("1.8.0")).get_class_schema("api_activity", ["ai_operation", "security_control"])
# The schema names no member of the object in which a source keeps what OCSF has no place for.
schema["$defs"]["object"]["additionalProperties"] = True
validator = Draft202012Validator(schema)
for line in sys.stdin:
    print(json.dumps([f"{error.json_path}: {error.message}"[:200] for error in validator.iter_errors(json.loads(line))]))
`

const SYSLOG_FACTS = `
import json, sys
from syslog_rfc5424_parser import SyslogMessage
for line in sys.stdin:
    print(json.dumps(SyslogMessage.parse(json.loads(line)).as_dict()))
`

describe.skipIf("why" in python)(`packages of Python${absence(python)}`, () => {
  test("every kind of event is an OCSF API Activity by the official schema of 1.8.0", { timeout: TIMEOUT_MS }, () => {
    const events = [...Object.values(SAMPLE_EVENTS), hostileRun(HOSTILE_ROUTE)]
    const errors = inPython(
      OCSF_ERRORS,
      events.map(event => JSON.stringify(ocsfEvent(event, SENDER))),
    )
    expect(errors).toEqual(events.map(() => []))
    const wrong = { ...ocsfEvent(SAMPLE_EVENTS.ok, SENDER), severity_id: "1", extra: 1 }
    expect(inPython(OCSF_ERRORS, [JSON.stringify(wrong)])[0]).not.toEqual([])
  })

  test("every message is one of RFC 5424", { timeout: TIMEOUT_MS }, () => {
    const events = Object.values(SAMPLE_EVENTS)
    const messages = events.map(event => JSON.stringify(syslogOf(event, "standard", SENDER)))
    for (const [index, found] of inPython(SYSLOG_FACTS, messages).entries()) {
      const event = events[index]
      expect(found).toMatchObject({
        facility: "audit",
        version: 1,
        hostname: "runseal.example---4127",
        appname: "runseal",
      })
      expect(at(found, "msgid")).toBe(event?.type)
      expect(at(found, "timestamp")).toBe(event?.timestamp)
      expect(parseStrictJson(textAt(found, "msg"))).toEqual(event)
    }
  })
})

type Rsyslog = {
  readonly port: number
  /** What it wrote for each message, in order. */
  readonly written: () => readonly JsonValue[]
  readonly stop: () => Promise<void>
}

/** @param port 0: one that is free. @param name of the file that it writes to, which it continues */
async function startRsyslog(
  name: string,
  port = 0,
  tls?: { readonly key: string; readonly cert: string },
): Promise<Rsyslog> {
  const own = port === 0 ? await freePort() : port
  const path = (file: string): string => join(folder, `${name}.${file}`)
  writeFileSync(path("rules"), "version=2\nrule=:%cef:cef%\n")
  if (tls !== undefined) for (const part of ["key", "cert"] as const) writeFileSync(path(part), tls[part])
  const driver = tls === undefined ? "" : `StreamDriver.Name="ossl" StreamDriver.Mode="1" StreamDriver.AuthMode="anon"`
  const files =
    tls === undefined
      ? ""
      : `DefaultNetstreamDriverCAFile="${path("cert")}" DefaultNetstreamDriverCertFile="${path("cert")}" DefaultNetstreamDriverKeyFile="${path("key")}"`
  writeFileSync(
    path("conf"),
    `global(workDirectory="${folder}" maxMessageSize="64k" ${files})
module(load="imtcp" ${driver})
module(load="mmnormalize")
template(name="all" type="list") { property(name="jsonmesg") constant(value="\\n") }
ruleset(name="in") {
  action(type="mmnormalize" rulebase="${path("rules")}" useRawMsg="off")
  action(type="omfile" file="${path("out")}" template="all")
}
input(type="imtcp" address="127.0.0.1" port="${own}" ruleset="in")
`,
  )
  const child = spawn(commandOf(rsyslog), ["-n", "-f", path("conf"), "-i", path("pid")], {
    stdio: ["ignore", "pipe", "pipe"],
  })
  rsyslogs.push(child)
  return {
    port: own,
    written: () =>
      existsSync(path("out"))
        ? readFileSync(path("out"), "utf8")
            .trim()
            .split("\n")
            .map(line => parseStrictJson(line))
        : [],
    stop: () =>
      new Promise(resolve => {
        child.once("exit", () => {
          rmSync(path("pid"), { force: true })
          resolve()
        })
        child.kill("SIGTERM")
      }),
  }
}

type Ready = { readonly server: Child; readonly key: Readonly<Record<string, string>> }
async function startServer(name: string): Promise<Ready> {
  const server = await startChild(["--data-dir", join(folder, name), "--delivery-network", "127.0.0.1"])
  const admin = { name: "ops", scope: "admin", confirm_admin_scope: true }
  return { server, key: { "x-service-key": textAt((await server.post("/admin/keys", admin)).body, "secret") } }
}
async function deliverTo({ server, key }: Ready, destination: object): Promise<void> {
  const answer = await server.post(
    "/admin/destinations",
    { kind: "syslog", types: ["run.sealed"], ...destination },
    key,
  )
  expect(answer.status, answer.text).toBe(201)
}
const untilPassed = ({ server, key }: Ready) =>
  until("everything is delivered", async () => {
    const response = await fetch(`${server.url}/admin/deliveries`, { headers: key })
    return listAt(await response.json(), "deliveries").every(one => at(one, "backlog") === 0)
  })
const positionsOf = (written: readonly JsonValue[]): readonly number[] =>
  written.map(one => numberAt(parseStrictJson(textAt(one, "msg")), "position"))

describe.skipIf("why" in rsyslog)(`rsyslog${absence(rsyslog)}`, () => {
  test("takes messages over TCP, and reads the fields of a CEF line", { timeout: TIMEOUT_MS }, async () => {
    const receiver = await startRsyslog("cef")
    const ready = await startServer("cef-data")
    await deliverTo(ready, { url: `tcp://127.0.0.1:${receiver.port}`, format: "cef" })
    await ready.server.post("/execute", request({ payload: EICAR, route_id: HOSTILE_ROUTE }), ready.key)
    const [first] = await until("it has written the message", () => {
      const written = receiver.written()
      return written.length > 0 && written
    })
    expect(first).toMatchObject({
      syslogfacility: "13",
      syslogseverity: "4",
      "app-name": "runseal",
    })
    expect(at(first, "msgid")).toBe("run.sealed")
    const cef = at(first, "$!", "cef")
    expect(cef).toMatchObject({ DeviceVendor: "Runseal", SignatureID: "run.sealed", Severity: "6" })
    expect(at(cef, "Extensions")).toMatchObject({
      act: "denied",
      outcome: "pepg_deny",
      cs1: HOSTILE_ROUTE,
    })
    await ready.server.end("SIGTERM")
    await receiver.stop()
  })

  test("that is stopped again and again while events come gets all of them", { timeout: TIMEOUT_MS }, async () => {
    let receiver = await startRsyslog("stopped")
    const ready = await startServer("stopped-data")
    await deliverTo(ready, { url: `tcp://127.0.0.1:${receiver.port}` })
    const runs = 120
    for (let run = 0; run < runs; run++) {
      await ready.server.post("/execute", request(), ready.key)
      if (run % 30 !== 29) continue
      await receiver.stop()
      await ready.server.post("/execute", request(), ready.key)
      receiver = await startRsyslog("stopped", receiver.port)
    }
    await untilPassed(ready)
    await until("it has written all", () => new Set(positionsOf(receiver.written())).size >= runs + 4)
    const first = [...new Set(positionsOf(receiver.written()))]
    expect(first).toEqual(first.toSorted((one, other) => one - other))
    await ready.server.end("SIGTERM")
    await receiver.stop()
  })

  test("takes messages over TLS, with a certificate that the destination names", { timeout: TIMEOUT_MS }, async () => {
    const certificate = hostCertificate()
    const receiver = await startRsyslog("tls", 0, certificate)
    const ready = await startServer("tls-data")
    await deliverTo(ready, { url: `tls://localhost:${receiver.port}`, ca: certificate.cert, format: "ocsf" })
    for (let run = 0; run < 5; run++) await ready.server.post("/execute", request(), ready.key)
    await untilPassed(ready)
    await until("it has written all", () => receiver.written().length === 5)
    expect(at(parseStrictJson(textAt(receiver.written()[0], "msg")), "class_uid")).toBe(6003)
    await ready.server.end("SIGTERM")
    await receiver.stop()
  })
})
