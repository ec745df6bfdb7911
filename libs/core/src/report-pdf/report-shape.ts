/**
 * Everything that an audit report is made of, object by object. There is no form XObject, image, pattern, graphics state, annotation but
 * the one invisible signature field, action, script, optional content, layer, transparency or second attachment: pages paint with what
 * their content streams say, and with nothing else. ISO 32000-1; docs/formats.md section 11.
 */
import { member, type PdfFile } from "./pdf-file.ts"
import {
  backTo,
  dictionary,
  either,
  integer,
  isTrue,
  type Kind,
  list,
  literal,
  type Met,
  name,
  named,
  number,
  ofKind,
  pairs,
  type Shape,
  text,
  to,
  tuple,
  walkObjects,
} from "./pdf-shape.ts"
import { PdfError, type PdfValue } from "./pdf-value.ts"
import { DEFAULT_WIDTH } from "./report-text.ts"

/** A4 in points. */
const MEDIA_BOX = [0, 0, 595.28, 841.89] as const
/** Printed, and not to be moved or deleted. ISO 32000-1 table 165. */
const FIELD_FLAGS = 132
/** Signatures exist, and the file may only be appended to. ISO 32000-1 table 219. */
const SIGNATURE_FLAGS = 3

const numbers = list(ofKind("number"))
const object = (shape: Shape): Kind => ({ shape, stream: false })
/** A stream with these members. */
const stream = (
  members: Readonly<Record<string, Shape>> = {},
  optional: Readonly<Record<string, Shape>> = {},
): Kind => ({
  shape: dictionary({ Length: integer, ...members }, { Filter: name("FlateDecode"), ...optional }),
  stream: true,
})

/** Where an outline's entry leads: a place of a page of this file. */
const destination = tuple(to("Page"), name("XYZ"), ofKind("null"), ofKind("number"), ofKind("null"))
const attribute = dictionary(
  { O: name("Table", "List", "Layout") },
  {
    Scope: name("Row", "Column"),
    ListNumbering: name("Decimal", "Disc"),
    Placement: name("Block"),
    BBox: numbers,
  },
)
/** A child of a structure element: another one, a mark of its page, or one of another page. */
const child = either(
  value => value.kind === "number",
  integer,
  either(
    value => value.kind === "dictionary",
    dictionary({ Type: name("MCR"), Pg: to("Page"), MCID: integer }),
    to("StructElem"),
  ),
)

const DOCUMENT: Readonly<Record<string, Kind>> = {
  Catalog: object(
    dictionary(
      {
        Type: name("Catalog"),
        Pages: to("Pages"),
        Names: dictionary({ EmbeddedFiles: dictionary({ Names: tuple(text, to("Filespec")) }) }),
        AcroForm: dictionary({ Fields: tuple(to("Field")), SigFlags: number(SIGNATURE_FLAGS) }),
      },
      {
        Lang: text,
        MarkInfo: dictionary({ Marked: isTrue }),
        StructTreeRoot: to("StructTreeRoot"),
        ViewerPreferences: dictionary({ DisplayDocTitle: isTrue }),
        PageMode: name("UseOutlines"),
        Outlines: to("Outlines"),
        Metadata: to("Metadata"),
        OutputIntents: tuple(to("OutputIntent")),
        AF: tuple(to("Filespec")),
      },
    ),
  ),
  Information: object(
    dictionary({}, { Title: text, Subject: text, Creator: text, Producer: text, CreationDate: text, ModDate: text }),
  ),
  Metadata: stream({ Type: name("Metadata"), Subtype: name("XML") }),
  OutputIntent: object(
    dictionary({
      Type: name("OutputIntent"),
      S: name("GTS_PDFA1"),
      OutputConditionIdentifier: text,
      Info: text,
      DestOutputProfile: to("Profile"),
    }),
  ),
  Profile: stream({ N: number(3) }),
  Filespec: object(
    dictionary(
      { Type: name("Filespec"), F: text, EF: dictionary({ F: to("EmbeddedFile") }, { UF: to("EmbeddedFile") }) },
      { UF: text, Desc: text, AFRelationship: name("Data") },
    ),
  ),
  EmbeddedFile: stream(
    { Type: name("EmbeddedFile") },
    {
      Subtype: name("application/json"),
      Params: dictionary({ Size: integer, CreationDate: text, ModDate: text, CheckSum: ofKind("string") }),
    },
  ),
}

const PAGES: Readonly<Record<string, Kind>> = {
  Pages: object(dictionary({ Type: name("Pages"), Kids: list(to("Page")), Count: integer })),
  Page: object(
    dictionary(
      {
        Type: name("Page"),
        Parent: to("Pages"),
        MediaBox: tuple(...MEDIA_BOX.map(number)),
        Resources: dictionary({ Font: named(/^F[1-9]\d{0,4}$/, to("Font")) }),
        Contents: to("Content"),
      },
      { StructParents: integer, Tabs: name("S"), Annots: tuple(to("Field")) },
    ),
  ),
  Content: stream(),
  Field: object(
    dictionary({
      Type: name("Annot"),
      Subtype: name("Widget"),
      FT: name("Sig"),
      T: literal("Signature"),
      F: number(FIELD_FLAGS),
      Rect: tuple(number(0), number(0), number(0), number(0)),
      P: to("Page"),
      V: to("Signature"),
    }),
  ),
  // Its bytes are compared with those that signature-object.ts writes.
  Signature: object(ofKind("dictionary")),
}

const TYPE: Shape = ofKind("name")
const FONTS: Readonly<Record<string, Kind>> = {
  Font: object(
    dictionary({
      Type: name("Font"),
      Subtype: name("Type0"),
      BaseFont: TYPE,
      Encoding: name("Identity-H"),
      DescendantFonts: tuple(to("Descendant")),
      ToUnicode: to("CharacterMap"),
    }),
  ),
  Descendant: object(
    dictionary({
      Type: name("Font"),
      Subtype: name("CIDFontType2"),
      BaseFont: TYPE,
      CIDSystemInfo: dictionary({ Registry: literal("Adobe"), Ordering: literal("Identity"), Supplement: number(0) }),
      FontDescriptor: to("FontDescriptor"),
      DW: number(DEFAULT_WIDTH),
      W: tuple(number(1), numbers),
      CIDToGIDMap: to("GlyphMap"),
    }),
  ),
  FontDescriptor: object(
    dictionary({
      Type: name("FontDescriptor"),
      FontName: TYPE,
      Flags: integer,
      FontBBox: numbers,
      ItalicAngle: ofKind("number"),
      Ascent: ofKind("number"),
      Descent: ofKind("number"),
      CapHeight: ofKind("number"),
      StemV: ofKind("number"),
      FontFile2: to("FontFile"),
    }),
  ),
  FontFile: stream({ Length1: integer }),
  GlyphMap: stream(),
  CharacterMap: stream(),
}

/** What describes the pages: the outline, and the texts that a screen reader reads. */
const BESIDE: Readonly<Record<string, Kind>> = {
  Outlines: object(
    dictionary({ Type: name("Outlines"), First: to("OutlineItem"), Last: to("OutlineItem"), Count: integer }),
  ),
  OutlineItem: object(
    dictionary(
      {
        Title: text,
        Parent: backTo("Outlines", "OutlineItem"),
        Dest: destination,
      },
      {
        Prev: to("OutlineItem"),
        Next: to("OutlineItem"),
        First: to("OutlineItem"),
        Last: to("OutlineItem"),
        Count: integer,
      },
    ),
  ),
  StructTreeRoot: object(
    dictionary({
      Type: name("StructTreeRoot"),
      K: tuple(to("StructElem")),
      ParentTree: to("ParentTree"),
      ParentTreeNextKey: integer,
    }),
  ),
  ParentTree: object(dictionary({ Nums: pairs(integer, to("Parents")) })),
  Parents: object(list(to("StructElem"))),
  StructElem: object(
    dictionary(
      {
        Type: name("StructElem"),
        S: ofKind("name"),
        P: backTo("StructTreeRoot", "StructElem"),
        K: list(child),
      },
      { Pg: to("Page"), Alt: text, A: attribute },
    ),
  ),
}

const KINDS: Readonly<Record<string, Kind>> = { ...DOCUMENT, ...PAGES, ...FONTS, ...BESIDE }
/** Kinds of which a report has one object. */
const SINGLE = ["Catalog", "Pages", "Filespec", "EmbeddedFile", "Field", "Signature"] as const
type SingleKind = (typeof SINGLE)[number]

/** A report's parts. */
type ReportParts = {
  /** Page dictionaries in order. */
  readonly pages: readonly PdfValue[]
  readonly attachment: PdfValue
  /** Number of the signature's object. */
  readonly signature: number
  readonly metadata: readonly PdfValue[]
  /** Texts that a viewer may show beside the pages. */
  readonly texts: readonly string[]
}

const reference = (object: number): PdfValue => ({ kind: "reference", object })

/** Checks a file against the list. @throws PdfError for anything that is not on it */
export function reportParts(file: PdfFile): ReportParts {
  const trailer = dictionary(
    { Size: integer, Root: to("Catalog"), ID: tuple(ofKind("string"), ofKind("string")) },
    { Info: to("Information") },
  )
  const met = walkObjects(file, trailer, KINDS)
  const only = (kind: SingleKind): number => onlyOf(met, kind)
  for (const kind of SINGLE) only(kind)
  return {
    pages: pagesOf(file, met, only("Pages")),
    attachment: reference(only("EmbeddedFile")),
    signature: only("Signature"),
    metadata: (met.objects.get("Metadata") ?? []).map(reference),
    texts: met.texts,
  }
}

function onlyOf({ objects }: Met, kind: SingleKind): number {
  const [only, ...others] = objects.get(kind) ?? []
  if (only === undefined || others.length > 0) throw new PdfError("it does not hold each of its parts once")
  return only
}

/** The pages, each listed once and with a content of its own; the first one has the signature field. */
function pagesOf(file: PdfFile, { objects }: Met, tree: number): readonly PdfValue[] {
  const [kids, counted] = ["Kids", "Count"].map(key => member(file.objects.get(tree)?.value, key))
  const listed = kids?.kind === "array" ? kids.items.map(kid => file.resolve(kid)) : []
  const pages = listed.filter(page => page !== undefined)
  const count = objects.get("Page")?.length ?? 0
  const once = new Set(pages).size === count && pages.length === count && objects.get("Content")?.length === count
  const field = pages.every((page, at) => (member(page, "Annots") !== undefined) === (at === 0))
  // Some viewers show as many pages as it says, others all that it lists.
  const exact = counted?.kind === "number" && counted.value === count
  if (!once || !field || !exact || count === 0) throw new PdfError("its page tree is not exact")
  return pages
}
