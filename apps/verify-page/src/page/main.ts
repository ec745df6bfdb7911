/** The page: takes a document and keys, judges, shows. Nothing is sent anywhere; what is fetched is this service's own. */
import { DEFAULT_MAX_BYTES } from "@runseal/canonical"
import { MAX_TRUST_BYTES } from "@runseal/core/presentation/trust-rows"
import { keepPage, openZone } from "./drop-zone.ts"
import { byId, element, fill, type Piece } from "./elements.ts"
import { exportPieces } from "./export-view.ts"
import { judge } from "./judge-document.ts"
import { isExport, judgeExport, MAX_EXPORT_BYTES } from "./judge-export.ts"
import { placeOf } from "./page-address.ts"
import { type Believed, keysOf, readTrust, trustPieces } from "./page-trust.ts"
import { type ReadProblem, readAddress, readFile, tooLarge } from "./read-bounded.ts"
import { reportPieces, unreadablePieces } from "./report-view.ts"

/** A document's bytes, or an export, which is read anew each time that it is judged. */
type Content = Uint8Array | Blob
type Source = { readonly name: string; readonly read: () => Promise<Content | ReadProblem> }
/** What was given and is judged again when the keys change. */
type Held = { readonly name: string; readonly content: Content }

const place = placeOf(location)
let believed: Believed = { from: "nobody" }
let current: Held | undefined
/** Counts what was asked for, so that a late answer never replaces a newer one. */
let turn = 0

const say = (text: string): void => fill(byId("status"), text)

function show(name: string, outcome: string, ...pieces: readonly Piece[]): void {
  fill(byId("result"), ...pieces)
  byId("result").setAttribute("aria-busy", "false")
  say(`${name}: ${outcome}`)
}

/** Lets the browser draw what was said before the work begins. */
const drawn = (): Promise<void> => new Promise(resolve => requestAnimationFrame(() => setTimeout(resolve)))

async function take({ name, read }: Source): Promise<void> {
  const mine = ++turn
  current = undefined
  fill(byId("result"))
  say(`Reading ${name} …`)
  const content = await read()
  if (mine !== turn) return
  if ("problem" in content)
    return show(name, "not read", ...unreadablePieces({ unreadable: sentenceOf(content.problem) }))
  current = { name, content }
  await verify()
}

/** A sentence as a part of another. */
const sentenceOf = (text: string): string => text.replace(/\.$/, "")

/** Judges the document at hand with the keys at hand. */
async function verify(): Promise<void> {
  if (current === undefined) return
  const mine = ++turn
  const { name, content } = current
  fill(byId("result"))
  byId("result").setAttribute("aria-busy", "true")
  say(`Verifying ${name} …`)
  await drawn()
  await ready
  if (mine !== turn) return
  if (content instanceof Blob) return await verifyExport(name, content, mine)
  const judged = await judge(content, keysOf(believed))
  if (mine !== turn) return
  if ("unreadable" in judged)
    return show(name, "nothing was verified", ...unreadablePieces(hinted(judged.unreadable, content)))
  show(name, judged.report.verdict, ...reportPieces(judged, believed))
}

/** Judges an export, unless another turn comes meanwhile. */
async function verifyExport(name: string, file: Blob, mine: number): Promise<void> {
  const found = await judgeExport(file, keysOf(believed), {
    progress: lines => say(`Verifying ${name} … line ${lines}`),
    stopped: () => mine !== turn,
  }).catch((error: unknown) => {
    // A file that was moved or changed while it was read.
    if (error instanceof DOMException) return { unreadable: "the browser could not read it to its end" }
    throw error
  })
  if (found === undefined || mine !== turn) return
  if ("unreadable" in found) return show(name, "nothing was verified", ...unreadablePieces(found))
  show(name, found.verdict, ...exportPieces(found, believed))
}

/** What a file holds: an export as it lies there, any other document's bytes. */
async function readDocument(file: File): Promise<Content | ReadProblem> {
  if (!(await isExport(file).catch(() => false))) return await readFile(file, DEFAULT_MAX_BYTES)
  if (file.size <= MAX_EXPORT_BYTES) return file
  const { problem } = tooLarge(MAX_EXPORT_BYTES)
  return { problem: `${sentenceOf(problem)}, which is more than this page reads: run verifier ${file.name} --complete` }
}

/** A trust document is never believed because it was handed over as a record. */
function hinted(unreadable: string, bytes: Uint8Array): { readonly unreadable: string } {
  const isTrust = bytes.length <= MAX_TRUST_BYTES && !("problem" in readTrust(bytes))
  return {
    unreadable: isTrust
      ? "it is a trust document, no record; load it under “Keys you believe” if you trust where it came from"
      : unreadable,
  }
}

function believe(next: Believed): void {
  believed = next
  fill(byId("keys"), ...trustPieces(believed, place))
}

async function takeTrust(file: File): Promise<void> {
  const bytes = await readFile(file, MAX_TRUST_BYTES)
  const keys = "problem" in bytes ? bytes : readTrust(bytes)
  if ("problem" in keys) {
    fill(byId("trust-note"), `${file.name} is no trust document to rely on. ${keys.problem}`)
    return
  }
  fill(byId("trust-note"))
  believe({ from: "file", name: file.name, keys })
  await verify()
}

/** Keys of the service that served the page, unless the reader was faster with a file. */
async function believeService(): Promise<void> {
  if (place.service === undefined) return believe({ from: "nobody" })
  const bytes = await readAddress(place.service.trust, MAX_TRUST_BYTES)
  const keys = "problem" in bytes ? bytes : readTrust(bytes)
  if (believed.from === "file") return
  if ("problem" in keys) believe({ from: "nobody", problem: keys.problem })
  else believe({ from: "service", host: place.service.host, keys })
}

/** Of a published run the bundle is at hand: it is verified at once. */
async function openPublished(address: string): Promise<void> {
  byId("document-heading").textContent = "Published run"
  byId("lead").textContent =
    "This run was published. Your browser fetches its sealed record and verifies it itself; the service's word is not taken for it."
  byId("document-zone").classList.add("small")
  byId("document-call").textContent = "Choose another file, or drop it here"
  byId("document-hint").hidden = true
  await take({ name: "The published bundle", read: () => readAddress(address, DEFAULT_MAX_BYTES) })
  if (current === undefined) return
  const link = document.createElement("a")
  link.href = address
  link.download = ""
  link.textContent = "Save its bundle"
  fill(byId("document-note"), link, element("span", "", ", to keep it or to verify it on your own machine."))
}

/** A fault of the page itself: nothing counts as verified. */
function failed(): void {
  turn++
  fill(byId("result"), ...unreadablePieces({ unreadable: "the page itself failed; please report it" }))
  say("The page failed: nothing was verified.")
}

addEventListener("error", failed)
addEventListener("unhandledrejection", failed)
keepPage()
const ready = believeService()
openZone("document", file => void take({ name: file.name, read: () => readDocument(file) }))
openZone("trust", file => void takeTrust(file))
if (place.service?.bundle !== undefined) void openPublished(place.service.bundle)
