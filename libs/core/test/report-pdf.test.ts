import { inflateSync } from "node:zlib"
import { canonicalize, sha256Hex } from "@runseal/canonical"
import type { ServiceKey } from "@runseal/log/trust/trusted-keys"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { isPdf } from "../src/report-pdf/is-pdf.ts"
import type { Inflate } from "../src/report-pdf/pdf-file.ts"
import { readReportPdf, verifyReportFile } from "../src/report-pdf/verify-report-pdf.ts"
import { isUnreadable, type Unreadable } from "../src/verify/document.ts"
import type { Report } from "../src/verify/report.ts"
import { clockSeconds } from "../src/vocabulary/scalars.ts"
import { makeDeployment, receiptAnswer, sealRun } from "./fixtures/deployment.ts"
import { type SmallPdf, signPdf, smallPdf, stream } from "./fixtures/small-pdf.ts"

const deployment = makeDeployment()
const { bundle } = sealRun(deployment, { outcome: "ok" })
const record = canonicalize(bundle)
const seal = bundle.bundle_hash
/** Of letters that "Bundle hash" has, so that every font of these reports has them. */
const foreign = "ad".repeat(32)

const inflate: Inflate = async (data, maxBytes) => inflateSync(data, { maxOutputLength: maxBytes })
const madeAt = clockSeconds(bundle.run.created_at) ?? 0
const made = (changes: Partial<SmallPdf> = {}, signer = deployment): Uint8Array =>
  smallPdf({ attachments: [record], pages: [[`Bundle hash ${seal}`, "Page 1 of 1"]], madeAt, ...changes }, signer)

async function answer(pdf: Uint8Array, trusts = [deployment.trust]): Promise<Report | Unreadable> {
  const file = await readReportPdf(pdf, inflate)
  return "unreadable" in file ? file : verifyReportFile(file, trusts)
}
async function verified(pdf: Uint8Array, trusts = [deployment.trust]): Promise<Report> {
  const report = await answer(pdf, trusts)
  if (isUnreadable(report)) throw new Error(report.unreadable)
  return report
}
async function refusal(pdf: Uint8Array): Promise<string> {
  const report = await answer(pdf)
  return isUnreadable(report) ? report.unreadable : `judged: ${report.verdict}`
}
async function recordOf(pdf: Uint8Array): Promise<string> {
  const file = await readReportPdf(pdf, inflate)
  return "unreadable" in file ? file.unreadable : new TextDecoder().decode(file.record)
}

describe("a report", () => {
  test("is known by its first bytes", () => {
    expect(isPdf(made())).toBe(true)
    expect(isPdf(new TextEncoder().encode(record))).toBe(false)
    expect(isPdf(new Uint8Array())).toBe(false)
  })

  test.each([true, false])("gives back the record it carries, to the byte (compressed: %s)", async compress => {
    expect(await recordOf(made({ compress }))).toBe(record)
  })

  test("has the verdict of its record, and says what its pages print", async () => {
    const report = await verified(made({ pages: [[seal], [bundle.manifest!.ManifestHash, "text"]] }))
    expect(report.verdict).toBe("VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED")
    expect(report.checks.slice(-2)).toEqual([
      {
        id: "report_signature",
        result: "pass",
        message: `Service key ${deployment.serviceKey.keyId} signed the whole file; nothing dates that signature.`,
      },
      {
        id: "printed_hashes",
        result: "pass",
        message: "2 pages print 2 hashes, the record's seal among them; all are in the attached record.",
      },
    ])
  })

  test("may print hashes made at render time, when they are labelled so", async () => {
    const broken = [`claim:${foreign.slice(0, 32)}`, foreign.slice(32)]
    const pages = [[seal, `claim:${foreign}`, `compile:${foreign}`, ...broken]]
    expect((await verified(made({ pages }))).checks.at(-1)?.result).toBe("pass")
  })

  test("may print a longer run of hex digits of its record in pieces, wherever they are broken", async () => {
    const long = Array.from({ length: 40 }, (_, i) => sha256Hex(`${i}`)).join("")
    const declared = { attested_context: { decision_note: long } }
    const { bundle: other } = sealRun(deployment, { outcome: "ok", declared })
    const pages = [[other.bundle_hash, long.slice(0, 77), long.slice(77, 154), long.slice(154)]]
    const pdf = made({ attachments: [canonicalize(other)], pages })
    expect((await verified(pdf)).checks.at(-1)?.result).toBe("pass")
  })

  test("fails when its record was changed", async () => {
    const changed = record.replace(bundle.run.route_id, `${bundle.run.route_id}x`)
    expect((await verified(made({ attachments: [changed] }))).verdict).toBe("FAILED")
  })

  test.each([
    [
      "a hash that is not the record's",
      [[seal, foreign]],
      "The pages print 1 hash that the attached record does not hold.",
    ],
    [
      "such a hash in two pieces",
      [[seal, foreign.slice(0, 32), foreign.slice(32)]],
      "The pages print 1 hash that the attached record does not hold.",
    ],
    [
      "such a hash in capitals",
      [[seal, foreign.toUpperCase()]],
      "The pages print 1 hash that the attached record does not hold.",
    ],
    [
      "a hash of two of the record's",
      [[seal, `${seal.slice(0, 32)}${bundle.run.program_id.slice(0, 32)}`]],
      "The pages print 1 hash that the attached record does not hold.",
    ],
    ["no seal of the record", [["nothing"]], "The pages do not print the hash that seals the attached record."],
    [
      "the seal as if it were made at render time",
      [[`claim:${seal}`]],
      "The pages do not print the hash that seals the attached record.",
    ],
  ])("fails when it prints %s", async (_, pages, message) => {
    const report = await verified(made({ pages }))
    expect(report).toMatchObject({ verdict: "FAILED", first_failure: "printed_hashes" })
    expect(report.checks.at(-1)?.message).toBe(message)
  })
})

/** A piece of text drawn where the page begins, a hundredth of a point from the next: what a reader takes for one hash. */
const glyph = (code: string, left: number, baseline: number): string =>
  `BT 0 0 0 rg /F1 9 Tf 1 0 0 1 ${left} ${baseline} Tm [<${code}>] TJ ET`

const inBox = (codes: string): string =>
  `/Span <</ActualText <FEFFD83DDC4D>>> BDC\nBT 0 0 0 rg /F1 9 Tf 1 0 0 1 9 9 Tm [${codes}] TJ ET\nEMC`
const utf16Hex = (text: string): string =>
  [...text].map(sign => sign.charCodeAt(0).toString(16).padStart(4, "0")).join("")

describe("whoever holds the service key cannot sign", () => {
  const pageStream = stream("0 0 0 rg 0 0 500 500 re f", false, "/Type /XObject /Subtype /Form /BBox [ 0 0 500 500 ] ")
  /** The objects of a report of one page and one attachment are 1 to 14. */
  const plus =
    (...more: readonly string[]) =>
    (objects: Map<number, string>): void => {
      for (const [at, text] of more.entries()) objects.set(15 + at, text)
    }
  const changed = (object: number, from: string, into: string) => (objects: Map<number, string>) => {
    const text = objects.get(object) ?? ""
    if (!text.includes(from)) throw new Error(`${from} is not there`)
    objects.set(object, text.replace(from, into))
  }
  const all =
    (...edits: readonly ((objects: Map<number, string>) => void)[]) =>
    (objects: Map<number, string>): void => {
      for (const edit of edits) edit(objects)
    }
  const script = "<< /Type /Action /S /JavaScript /JS (app.alert\\(1\\)) >>"
  const attachment = stream(record, false, "/Type /EmbeddedFile ")
  const second = [`<< /Type /Filespec /F (b.json) /EF << /F 16 0 R >> >>`, attachment]
  const annotation = (type: string, more = ""): string =>
    `<< /Type /Annot /Subtype /${type} /Rect [ 0 0 99 99 ] ${more}>>`
  const withAnnotation = (text: string, ...more: readonly string[]) =>
    all(changed(11, "/Annots [ 9 0 R ]", "/Annots [ 9 0 R 15 0 R ]"), plus(text, ...more))

  test.each<[string, Partial<SmallPdf>]>([
    ["a script that runs when it is opened", { catalog: `/OpenAction ${script} ` }],
    ["actions of the document", { catalog: `/AA << /WC ${script} >> ` }],
    ["actions of a page", { page: `/AA << /O ${script} >> ` }],
    ["actions of its signature field", { edit: changed(9, "/FT /Sig", `/FT /Sig /AA << /E ${script} >>`) }],
    [
      "a script by name",
      { edit: changed(1, "/EmbeddedFiles", `/JavaScript << /Names [ (a) 15 0 R ] >> /EmbeddedFiles`) },
    ],
    ["a second attachment of the document", { catalog: "/AF [ 13 0 R 15 0 R ] ", edit: plus(...second) }],
    ["another attachment of the document", { catalog: "/AF [ 15 0 R ] ", edit: plus(...second) }],
    ["an attachment of a page", { page: "/AF [ 13 0 R ] " }],
    ["a second embedded file", { attachments: [record, record] }],
    ["an embedded file for another system", { edit: changed(13, "/EF << /F", "/EF << /DOS 14 0 R /F") }],
    ["a related file", { edit: changed(13, "/EF <<", "/RF << /F [ (a) 14 0 R ] >> /EF <<") }],
    [
      "names of attachments in a tree",
      { edit: changed(1, "/EmbeddedFiles << /Names", "/EmbeddedFiles << /Kids [ ] /Names") },
    ],
    ["a collection", { catalog: "/Collection << /View /T >> " }],
    ["a file attached as an annotation", { edit: withAnnotation(annotation("FileAttachment", "/FS 13 0 R ")) }],
    ["a stamp", { edit: withAnnotation(annotation("Stamp", "/AP << /N 16 0 R >> "), pageStream) }],
    ["a link", { edit: withAnnotation(annotation("Link", "/A << /S /URI /URI (https://example.com) >> ")) }],
    ["a text field", { edit: withAnnotation(annotation("Widget", "/FT /Tx /T (a) /V (b) ")) }],
    ["a visible signature", { edit: changed(9, "/Rect [ 0 0 0 0 ]", "/Rect [ 0 0 99 99 ]") }],
    [
      "a signature with an appearance",
      { edit: all(changed(9, "/FT /Sig", "/FT /Sig /AP << /N 15 0 R >>"), plus(pageStream)) },
    ],
    [
      "a second field",
      { edit: all(changed(1, "/Fields [ 9 0 R ]", "/Fields [ 9 0 R 15 0 R ]"), plus("<< /FT /Tx /T (a) >>")) },
    ],
    [
      "a form for XML",
      { edit: all(changed(1, "/SigFlags 3", "/SigFlags 3 /XFA 15 0 R"), plus(stream("<a/>", false))) },
    ],
    ["permissions", { catalog: "/Perms << /DocMDP 10 0 R >> " }],
    ["optional content", { catalog: "/OCProperties << /OCGs [ ] /D << >> >> " }],
    ["requirements, extensions or unknown keys", { catalog: "/Other 1 " }],
    [
      "a form object that paints over the page",
      { content: "/X Do", edit: all(changed(11, "/Font <<", "/XObject << /X 15 0 R >> /Font <<"), plus(pageStream)) },
    ],
    ["an inline image", { content: "BI /W 1 /H 1 /BPC 8 /CS /G ID x EI" }],
    ["a shading", { content: "/Sh sh" }],
    ["a pattern", { content: "/Pattern cs /P scn" }],
    ["a graphics state", { content: "/GS gs" }],
    ["a turned page", { page: "/Rotate 180 " }],
    ["a cut page", { page: "/CropBox [ 0 0 9 9 ] " }],
    ["a page's thumbnail", { page: "/Thumb 15 0 R ", edit: plus(pageStream) }],
    ["text drawn by another operator", { content: "BT /F1 9 Tf 1 0 0 1 9 9 Tm <0001> Tj ET" }],
    ["text moved between glyphs", { content: "BT 0 0 0 rg /F1 9 Tf 1 0 0 1 9 9 Tm 4 Tc [<0001>] TJ ET" }],
    ["text that is turned", { content: "BT 0 0 0 rg /F1 9 Tf 0 1 1 0 9 9 Tm [<0001>] TJ ET" }],
    ["a scaled page", { content: "2 0 0 2 0 0 cm" }],
    ["text as a clipping path", { content: "BT 7 Tr ET" }],
    ["another text to copy than is shown", { content: `/Span <</ActualText <FEFF${utf16Hex(foreign)}>>> BDC\nEMC` }],
    ["a box for a character with a piece of a hash in it", { content: inBox("<0001>") }],
    ["operators that nobody knows", { content: "BX foo EX" }],
    ["a font whose glyphs are drawings", { edit: changed(3, "/Subtype /Type0", "/Subtype /Type3") }],
    ["a font that is not in the file", { edit: changed(6, "/FontFile2 7 0 R ", "/Lang 7 0 R ") }],
    [
      "a font whose codes have two texts",
      { edit: objects => objects.set(4, stream("1 beginbfchar <0001> <0061> <0001> <0062> endbfchar", false)) },
    ],
    ["objects that nothing refers to", { edit: plus("<< >>") }],
    ["a comment", { edit: changed(2, "<< /Type", "<< % hidden\n/Type") }],
    ["a page's content twice", { edit: changed(11, "/Contents 12 0 R", "/Contents [ 12 0 R 12 0 R ]") }],
    ["a page twice", { edit: changed(2, "/Kids [ 11 0 R ]", "/Kids [ 11 0 R 11 0 R ]") }],
    ["a page tree in a circle", { edit: changed(2, "/Kids [ 11 0 R ]", "/Kids [ 2 0 R ]") }],
    ["a key twice", { edit: changed(2, "/Type /Pages", "/Type /Pages /Type /Pages") }],
    ["an external stream", { edit: changed(12, "/Length", "/F (x.bin) /Length") }],
    ["another filter", { edit: changed(12, "/FlateDecode", "/LZWDecode") }],
    ["an earlier revision", { trailer: "/Prev 9 " }],
    ["a hybrid table", { trailer: "/XRefStm 9 " }],
    ["encryption", { trailer: "/Encrypt 2 0 R " }],
  ])("%s", async (_, changes) => {
    expect(await refusal(made(changes))).toContain("not an audit report of ours")
  })

  test.each<[string, Partial<SmallPdf>]>([
    ["drawn letter by letter, in any order", { content: [...foreignHash()].reverse().join("\n") }],
    ["drawn letter by letter, up and down", { content: [...foreignHash(2)].join("\n") }],
    ["in the outline or a title", { trailer: "/Info 15 0 R ", edit: plus(`<< /Title (${foreign}) >>`) }],
    [
      "in the metadata",
      {
        catalog: "/Metadata 15 0 R ",
        edit: plus(stream(`<title>${foreign}</title>`, false, "/Type /Metadata /Subtype /XML ")),
      },
    ],
  ])("a foreign hash %s", async (_, changes) => {
    const report = await verified(made(changes))
    expect(report).toMatchObject({ verdict: "FAILED", first_failure: "printed_hashes" })
  })
})

/** The foreign hash glyph by glyph: each begins where the one before it ends. */
function* foreignHash(wave = 0): Generator<string> {
  const characters = [...new Set(`Bundle hash ${seal}Page 1 of 1`)]
  for (const [at, character] of [...foreign].entries()) {
    const code = (characters.indexOf(character) + 1).toString(16).padStart(4, "0")
    yield glyph(code, 50 + at * 5.4, 100 + (at % 2) * wave)
  }
}
describe("the signature", () => {
  const pdf = made()
  const room = "/Contents <"
  const at = Buffer.from(pdf).indexOf(room) + room.length
  const withText = (from: number, text: string): Uint8Array => {
    const changed = Uint8Array.from(pdf)
    changed.set(Buffer.from(text, "latin1"), from)
    return changed
  }

  test("no changed bit of a report verifies", { timeout: 300_000 }, async () => {
    const small = made({ compress: true })
    const bits = fc.sample(fc.nat({ max: 8 * small.length - 1 }), 3000)
    // All bits around the signature, which does not cover itself.
    const from = 8 * (at - room.length - 80)
    for (const bit of [...bits, ...Array.from({ length: 8 * 260 }, (_, i) => from + i)]) {
      const changed = Uint8Array.from(small)
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      const report = await answer(changed)
      expect(isUnreadable(report) ? "unreadable" : report.verdict, `bit ${bit}`).toMatch(/^(?:unreadable|FAILED)$/)
    }
  })

  test.each([
    [
      "in capitals",
      withText(
        at,
        Buffer.from(pdf.subarray(at, at + 64))
          .toString("latin1")
          .toUpperCase(),
      ),
    ],
    ["with a space in it", withText(at + 3000, " ")],
    ["with something behind it", withText(at + 3000, "01")],
    ["of nothing", withText(at, "0".repeat(3072))],
  ])("is spelled in one way: not %s", async (_, changed) => {
    const report = await answer(changed)
    expect(isUnreadable(report) ? "FAILED" : report.verdict).toBe("FAILED")
  })

  const other = makeDeployment({ seed: "another service", host: "other.example" })
  test("is by a key of the reader's trust documents, and of the one that the record is of", async () => {
    expect(await verified(made({}, other))).toMatchObject({ verdict: "FAILED", first_failure: "report_signature" })
    const both = await verified(made({}, other), [deployment.trust, other.trust])
    expect(both.verdict).toBe("FAILED")
    expect((await verified(pdf, [other.trust, deployment.trust])).verdict).toBe(
      "VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED",
    )
  })

  const under = (change: Partial<ServiceKey>): Promise<Report> => {
    const serviceKeys = deployment.trust.serviceKeys.map(key => ({ ...key, ...change }))
    return verified(pdf, [{ ...deployment.trust, serviceKeys }])
  }
  test("counts when its key was retired since the record was made, and not when it was retired before", async () => {
    expect((await under({ validTo: madeAt + 3600 })).verdict).toBe("VERIFIED AND ANCHORED, COMPLETE RECORD ANCHORED")
    expect((await under({ validTo: madeAt - 1 })).checks).toContainEqual({
      id: "report_signature",
      result: "fail",
      message: "The service key that signed the report was no longer in use when the record was made.",
    })
  })

  test("does not count once its key is revoked, whenever that was", async () => {
    const report = await under({ revokedFrom: madeAt + 3600 })
    expect(report).toMatchObject({ verdict: "FAILED", first_failure: "report_signature" })
    // Of several trust documents with this key one may know it.
    const revoked = { ...deployment.trust, serviceKeys: [{ ...deployment.trust.serviceKeys[0]!, revokedFrom: madeAt }] }
    expect((await verified(pdf, [deployment.trust, revoked])).verdict).toBe("FAILED")
  })

  test("states the time of the record, or of its key where that is younger", async () => {
    expect(await verified(made({ madeAt: madeAt + 1 }))).toMatchObject({ first_failure: "report_signature" })
    const serviceKeys = deployment.trust.serviceKeys.map(key => ({ ...key, validFrom: madeAt + 86_400 }))
    const later = { ...deployment, trust: { ...deployment.trust, serviceKeys } }
    const signed = await answer(made({}, later), [later.trust])
    expect(isUnreadable(signed) ? undefined : signed.checks.find(({ id }) => id === "report_signature")?.result).toBe(
      "pass",
    )
  })
})

describe("a file that is no report of ours is refused", () => {
  const streamOf = (object: number) => (objects: Map<number, string>) =>
    objects.set(object, "<< /Length 3 >>\nstream\nabcdef\nendstream")
  const later = (text: string): Uint8Array => Buffer.concat([pdfOf(), Buffer.from(text, "latin1")])
  const pdfOf = (): Uint8Array => made()
  test.each<[string, Uint8Array, string]>([
    ["something behind its end", made({ after: "%PDF" }), "it does not end as a report"],
    ["a line behind its end", made({ after: "\n" }), "it does not end as a report"],
    ["something before its beginning", Buffer.concat([Buffer.from("\n"), made()]), "it does not begin as a report"],
    [
      "a second revision without /Prev",
      later(
        "\n1 0 obj\n<< >>\nendobj\nxref\n0 1\n0000000000 65535 f \n\ntrailer\n<< /Size 1 >>\n\nstartxref\n9\n%%EOF",
      ),
      "not an audit report of ours",
    ],
    ["no attachment", made({ attachments: [] }), "not an audit report of ours"],
    ["an attachment that is no JSON", made({ attachments: ["{"] }), "the record in the PDF is not strict JSON"],
    [
      "a receipt for its record",
      made({ attachments: [canonicalize(receiptAnswer(sealRun(deployment, { outcome: "pepg_deny" }).bundle)!)] }),
      "no audit bundle",
    ],
    ["a stream of another length", made({ edit: streamOf(8) }), "longer or shorter"],
    ["values nested deep", made({ edit: objects => objects.set(2, "[".repeat(5000)) }), "nested too deep"],
    [
      "no signature",
      made({ edit: objects => objects.set(10, "<< /Type /Sig >>") }),
      "its signature does not cover the whole file",
    ],
    [
      "a signature over a part",
      signPdf(
        Buffer.from(
          Buffer.from(made())
            .toString("latin1")
            .replace(/ByteRange \[ 0 (\d)/, "ByteRange [ 1 $1"),
          "latin1",
        ),
        "",
        deployment,
      ),
      "its signature does not cover the whole file",
    ],
  ])("for %s", async (_, pdf, sentence) => {
    expect(await refusal(pdf)).toContain(sentence)
  })

  test("for a stream that inflates beyond its bound", async () => {
    const bomb = made({ attachments: [`"${"x".repeat(20 * 1024 * 1024)}"`] })
    expect(await refusal(bomb)).toContain("within bounds")
  })

  test("for any bytes behind a PDF's first line, without a throw", async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 400 }), async bytes => {
        expect(await refusal(Buffer.concat([Buffer.from("%PDF-1.7\n"), bytes]))).toContain(
          "not an audit report of ours",
        )
      }),
    )
  })

  test("for a report in which bytes were changed, without a throw", async () => {
    const pdf = made({ compress: false })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat({ max: pdf.length - 1 }), fc.integer({ min: 0, max: 255 })), {
          minLength: 1,
          maxLength: 4,
        }),
        async changes => {
          const changed = Uint8Array.from(pdf)
          for (const [at, byte] of changes) changed[at] = byte
          const report = await answer(changed)
          if (isUnreadable(report) || report.verdict === "FAILED") return
          expect(Buffer.from(changed).equals(pdf)).toBe(true)
        },
      ),
    )
  })
})
