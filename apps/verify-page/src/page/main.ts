/** The page: verifies a document with trusted keys and shows the result. It sends nothing, and fetches only from its own service. */
import { DEFAULT_MAX_BYTES } from "@runseal/canonical"
import { MARKS } from "@runseal/core/presentation/account"
import { NOT_TRUSTED } from "@runseal/core/presentation/advice"
import {
  type AccountRow,
  exportTitle,
  noteTexts,
  omittedText,
  passedRows,
  problemText,
  statementRows,
  type WindowTable,
  windowTables,
} from "@runseal/core/presentation/completeness-account"
import { printable } from "@runseal/core/presentation/printable"
import { MAX_TRUST_BYTES } from "@runseal/core/presentation/trust-rows"
import { COMPLETENESS_VERDICTS, type Completeness } from "@runseal/core/verify/completeness"
import { byId, element, facts, fill, list, type Piece, paragraphs, section } from "./elements.ts"
import { judge } from "./judge-document.ts"
import { isExport, judgeExport, MAX_EXPORT_BYTES, tooManyBytes } from "./judge-export.ts"
import { placeOf } from "./page-address.ts"
import { type Believed, keysOf, readTrust, trustPieces } from "./page-trust.ts"
import { type ReadProblem, readAddress, readFile } from "./read-bounded.ts"
import { HOW_TO_LOAD, headlineOf, reportPieces, sentenceOf, unreadablePieces } from "./report-view.ts"

// A label that accepts a file: chosen, dropped on it, or by keyboard through the input inside it.

/**
 * Calls `take` with each file that the zone `#<name>-zone` and its input `#<name>-file` are given, and `many` where several are dropped
 * at once: what is then shown of one would be taken for all.
 */
function createDropZone(name: string, take: (file: File) => void, many: () => void): void {
  const zone = byId(`${name}-zone`)
  const input = byId(`${name}-file`)
  if (!(input instanceof HTMLInputElement)) throw new Error(`#${name}-file is no input`)
  input.addEventListener("change", () => {
    const [file] = input.files ?? []
    if (file !== undefined) take(file)
    // Else choosing the same file again, after an edit, would fire no event.
    input.value = ""
  })
  const mark = (over: boolean): void => void zone.classList.toggle("over", over)
  zone.addEventListener("dragover", () => mark(true))
  zone.addEventListener("dragleave", () => mark(false))
  zone.addEventListener("drop", event => {
    mark(false)
    const [file, other] = event.dataTransfer?.files ?? []
    if (other !== undefined) many()
    else if (file !== undefined) take(file)
  })
}

/** Prevents a file that is dropped beside a zone from being opened in place of the page. */
function preventFileNavigation(): void {
  for (const name of ["dragover", "drop"]) document.addEventListener(name, event => event.preventDefault())
}

/** A document's bytes; of an export the file, which is read again for each verification. */
type Content = Uint8Array | File
type Source = { readonly name: string; readonly read: () => Promise<Content | ReadProblem> }
/** The current document, which is verified again when the keys change. */
type Loaded = { readonly name: string; readonly content: Content }

const place = placeOf(location)
let believed: Believed = { from: "nobody" }
let current: Loaded | undefined
/** Number of the latest verification: the result of an older one is dropped. */
let latest = 0

function say(text: string): void {
  byId("status").classList.remove("unseen")
  fill(byId("status"), text)
}

/** @param headline what happened to the run, by a record that is believed */
function show(name: string, outcome: string, pieces: readonly Piece[], headline?: string): void {
  entitle(headline ?? TITLE)
  fill(byId("result"), ...pieces)
  byId("result").setAttribute("aria-busy", "false")
  byId("result").scrollIntoView({ block: "nearest" })
  say(`${name}: ${outcome}`)
  // For screen readers alone: the result itself is right below.
  byId("status").classList.add("unseen")
}

/** Of the page without a run. */
const TITLE = "Verify a Runseal record"

/** On the page of a published run: what the server stated of it is replaced as soon as a record is judged. */
function entitle(text: string): void {
  if (place.service?.linked === undefined) return
  document.title = printable(text)
  document.querySelector("h1")?.replaceChildren(printable(text))
}

/** Lets the browser draw the status before the work starts. */
const drawn = (): Promise<void> => new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)))

async function take({ name, read }: Source): Promise<void> {
  const own = ++latest
  current = undefined
  fill(byId("result"))
  say(`Reading ${name} …`)
  const content = await read()
  if (own !== latest) return
  if ("problem" in content) return show(name, "not read", unreadablePieces({ unreadable: content.problem }))
  current = { name, content }
  await verify()
}

/** Verifies the current document with the trusted keys. */
async function verify(): Promise<void> {
  if (current === undefined) return
  const own = ++latest
  const { name, content } = current
  fill(byId("result"))
  byId("result").setAttribute("aria-busy", "true")
  say(`Verifying ${name} …`)
  await drawn()
  await ready
  if (own !== latest) return
  if (content instanceof File) return await verifyExport(name, content, own)
  const judged = judge(content, keysOf(believed))
  if ("unreadable" in judged)
    return show(name, "nothing was verified", unreadablePieces(hinted(judged.unreadable, content)))
  const { report } = judged
  const headline = headlineOf(report)?.text
  const ending = headline === undefined ? "" : `${sentenceOf(headline)}; `
  show(name, `${ending}${report.verdict}`, reportPieces(judged, believed), headline)
}

/** Verifies an export, unless a newer verification starts meanwhile. @param own number of this verification */
async function verifyExport(name: string, file: File, own: number): Promise<void> {
  const found = await judgeExport(file, keysOf(believed), {
    progress: lines => say(`Verifying ${name} … line ${lines}`),
    stopped: () => own !== latest,
  }).catch((error: unknown) => {
    // The file was moved or changed while it was read.
    if (error instanceof DOMException) return { unreadable: "the browser could not read it to its end" }
    throw error
  })
  if (found === undefined || own !== latest) return
  if ("unreadable" in found) return show(name, "nothing was verified", unreadablePieces(found))
  show(name, found.verdict, exportPieces(found, believed))
}

/** The file itself for an export, the bytes of any other document. */
async function readDocument(file: File): Promise<Content | ReadProblem> {
  if (!(await isExport(file).catch(() => false))) return await readFile(file, DEFAULT_MAX_BYTES)
  if (file.size <= MAX_EXPORT_BYTES) return file
  return { problem: tooManyBytes(file.name) }
}

/** Explains that a trust document is no record. Giving it as a record never makes its keys trusted. */
function hinted(unreadable: string, bytes: Uint8Array): { readonly unreadable: string } {
  const isTrust = bytes.length <= MAX_TRUST_BYTES && !("problem" in readTrust(bytes))
  return {
    unreadable: isTrust
      ? "it is a trust document, no record; load it under “Keys you trust” if you trust where it came from"
      : unreadable,
  }
}

function believe(next: Believed): void {
  believed = next
  fill(byId("keys"), ...trustPieces(believed, place))
}

/** Number of the latest trust document that was given: of an older one that is read later nothing is believed. */
let latestTrust = 0

async function takeTrust(file: File): Promise<void> {
  const own = ++latestTrust
  const bytes = await readFile(file, MAX_TRUST_BYTES)
  const keys = "problem" in bytes ? bytes : readTrust(bytes)
  if (own !== latestTrust) return
  if ("problem" in keys) {
    fill(byId("trust-note"), `${file.name} is no trust document to rely on. ${keys.problem}`)
    return
  }
  fill(byId("trust-note"))
  believe({ from: "file", name: file.name, keys })
  await verify()
}

/** Trusts the keys of the service that served the page, unless the reader has loaded a file meanwhile. */
async function believeService(): Promise<void> {
  if (place.service === undefined) return believe({ from: "nobody" })
  const bytes = await readAddress(place.service.trust, MAX_TRUST_BYTES)
  const keys = "problem" in bytes ? bytes : readTrust(bytes)
  if (believed.from === "file") return
  if ("problem" in keys) believe({ from: "nobody", problem: keys.problem })
  else believe({ from: "service", host: place.service.host, keys })
}

/** What the page says of itself before a run is published on it. */
const lead = byId("lead").textContent

type Linked = NonNullable<NonNullable<typeof place.service>["linked"]>

/** Verifies the bundle of a run that was published or shared. */
async function verifyLinked({ as: linked, bundle: address }: Linked): Promise<void> {
  byId("document-heading").textContent = linked === "published" ? "Published run" : "Shared run"
  byId("lead").textContent = `This run was ${linked}. Your browser fetches its sealed record and verifies it itself.`
  byId("document-zone").classList.add("small")
  byId("document-call").textContent = "Choose another file, or drop it here"
  byId("document-hint").hidden = true
  await take({ name: `The ${linked} bundle`, read: () => readAddress(address, DEFAULT_MAX_BYTES) })
  if (current === undefined || isOwn) return
  const link = document.createElement("a")
  link.href = address
  link.download = ""
  link.textContent = "Save its bundle"
  fill(byId("document-note"), link, element("span", "", ", to keep it or to verify it on your own machine."))
}

/** Whether the visitor gave a document. */
let isOwn = false

/** Takes a document of the visitor, which is not the published one. */
function takeOwn(source: Source): void {
  isOwn = true
  if (place.service?.linked !== undefined) {
    entitle(TITLE)
    byId("document-heading").textContent = "Document"
    byId("lead").textContent = lead
    fill(byId("document-note"))
    for (const hint of document.querySelectorAll<HTMLElement>("header .hint")) hint.hidden = true
  }
  void take(source)
}

/** Several files have several results, and this page shows one. */
const SEVERAL: ReadProblem = { problem: "These are several files, and this page reads one at a time." }

/** A bug of the page itself: nothing counts as verified. */
function failed(): void {
  latest++
  entitle(TITLE)
  fill(byId("result"), ...unreadablePieces({ unreadable: "the page itself failed; please report it" }))
  say("The page failed: nothing was verified.")
}

addEventListener("error", failed)
addEventListener("unhandledrejection", failed)
preventFileNavigation()
// A page that was opened from disk has no other pages beside it.
if (place.service === undefined) document.querySelector(".site")?.remove()
const ready = believeService()
createDropZone(
  "document",
  file => takeOwn({ name: file.name, read: () => readDocument(file) }),
  () => takeOwn({ name: "Several files", read: async () => SEVERAL }),
)
createDropZone(
  "trust",
  file => void takeTrust(file),
  () => fill(byId("trust-note"), SEVERAL.problem),
)
if (place.service?.linked !== undefined) void verifyLinked(place.service.linked)

// The result of an export as the page shows it: verdict, problems, statement, limitations.

function exportPieces(found: Completeness, believed: Believed): readonly Piece[] {
  const { verdict, untrusted, statement, service, problems, limitations } = found
  const failed = verdict === COMPLETENESS_VERDICTS.failed
  const omitted = omittedText(found)
  const sameAddress = service !== undefined && believed.from === "service" ? ", as this address publishes them" : ""
  return [
    ...(untrusted === undefined ? [] : [element("h2", "outcome warn", NOT_TRUSTED)]),
    element(
      untrusted === undefined ? "h2" : "p",
      `verdict ${failed ? "bad" : "good"}`,
      `${failed ? MARKS.fail : MARKS.pass} ${verdict}`,
    ),
    element("p", "", `${exportTitle(found)}${sameAddress}.`),
    ...section("Problems", ...list([...problems.map(problemText), ...(omitted === undefined ? [] : [omitted])])),
    ...(statement !== undefined && service === undefined ? section("What to do", ...paragraphs(HOW_TO_LOAD)) : []),
    ...section("Checked", ...checks(passedRows(found))),
    ...section("Statement", ...(statement === undefined ? [] : facts(statementRows(statement)))),
    ...section("Budgets", ...windowTables(found).map(windowPiece)),
    ...section("Changed on the way", ...list(noteTexts(found))),
    ...section("Not shown by this", ...list(limitations.map(({ sentence }) => sentence))),
  ]
}

/** A budget window: its heading, and its movements for who opens it. */
const windowPiece = ({ heading, rows }: WindowTable): HTMLElement =>
  element("details", "", element("summary", "", heading), ...list(rows))

const checks = (rows: readonly AccountRow[]): readonly Piece[] =>
  rows.length === 0 ? [] : [element("ul", "checks", ...rows.map(passed))]

function passed({ label, value }: AccountRow): HTMLElement {
  const mark = element("span", "mark", MARKS.pass)
  mark.setAttribute("aria-hidden", "true")
  const name = element("code", "", label, element("span", "unseen", " passed: "))
  return element("li", "pass", mark, name, element("span", "sentence", value))
}
