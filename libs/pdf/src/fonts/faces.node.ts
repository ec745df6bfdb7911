import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { create, type Font } from "fontkit"
import { readTrueType, type TrueType } from "./truetype.ts"

/** A font file, opened: what shapes text and what is embedded. */
export type Face = {
  readonly name: string
  /** PostScript name as in the file. */
  readonly postScriptName: string
  readonly font: Font
  readonly tables: TrueType
  /** What makes its letters look as large as those of the text face. */
  readonly scale: number
  /** Every glyph has the same width and none needs shaping. */
  readonly monospaced: boolean
  /** The glyph of a code point; 0 when the face has none. */
  readonly glyph: (codePoint: number) => number
}

export type FontStyle = "regular" | "bold" | "italic" | "mono"

type Source = { readonly file: string; readonly scale: number; readonly monospaced?: true }

const PLEX = "@expo-google-fonts/ibm-plex-sans"
const DEJAVU = "dejavu-fonts-ttf/ttf"

export type FaceName =
  | "text"
  | "text_bold"
  | "text_italic"
  | "mono"
  | "world"
  | "world_bold"
  | "world_mono"
  | "han"
  | "hangul"

const SOURCES: Readonly<Record<FaceName, Source>> = {
  text: { file: `${PLEX}/400Regular/IBMPlexSans_400Regular.ttf`, scale: 1 },
  text_bold: { file: `${PLEX}/600SemiBold/IBMPlexSans_600SemiBold.ttf`, scale: 1 },
  text_italic: { file: `${PLEX}/400Regular_Italic/IBMPlexSans_400Regular_Italic.ttf`, scale: 1 },
  mono: {
    file: "@expo-google-fonts/ibm-plex-mono/400Regular/IBMPlexMono_400Regular.ttf",
    scale: 0.93,
    monospaced: true,
  },
  world: { file: `${DEJAVU}/DejaVuSans.ttf`, scale: 0.92 },
  world_bold: { file: `${DEJAVU}/DejaVuSans-Bold.ttf`, scale: 0.92 },
  world_mono: { file: `${DEJAVU}/DejaVuSansMono.ttf`, scale: 0.92, monospaced: true },
  han: {
    file: "@expo-google-fonts/chocolate-classical-sans/400Regular/ChocolateClassicalSans_400Regular.ttf",
    scale: 0.97,
  },
  hangul: { file: "@expo-google-fonts/gowun-dodum/400Regular/GowunDodum_400Regular.ttf", scale: 1 },
}

/** Faces to look in, best first. The large ones are opened when a text first needs them. */
const CHAINS: Readonly<Record<FontStyle, readonly FaceName[]>> = {
  regular: ["text", "world", "han", "hangul"],
  bold: ["text_bold", "world_bold", "world", "han", "hangul"],
  italic: ["text_italic", "world", "han", "hangul"],
  mono: ["mono", "world_mono", "world", "han", "hangul"],
}

const opened = new Map<FaceName, Face>()

/** Opens a face once per thread. */
export function face(name: FaceName): Face {
  const known = opened.get(name)
  if (known !== undefined) return known
  const made = open(name)
  opened.set(name, made)
  return made
}

/** The face that a style is set in. */
export function firstFace(style: FontStyle): Face {
  return face(CHAINS[style][0] ?? "text")
}

/** The first face of the style that has a glyph for the code point. */
export function faceFor(style: FontStyle, codePoint: number): Face | undefined {
  for (const name of CHAINS[style]) {
    if ((name === "han" && !HAN.test(String.fromCodePoint(codePoint))) || (name === "hangul" && codePoint < 0x1100))
      continue
    const candidate = face(name)
    if (candidate.glyph(codePoint) !== 0) return candidate
  }
  return undefined
}

/** Where the face for Han is worth opening: East Asian scripts and the symbols and punctuation set among them. */
const HAN =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\u3000-\u33ff\ufe30-\ufe4f\uff00-\uffef\u2000-\u2bff]/u

function open(name: FaceName): Face {
  const source = SOURCES[name]
  const file = readFileSync(createRequire(import.meta.url).resolve(source.file))
  const font = create(file)
  if (!("glyphForCodePoint" in font)) throw new Error("font file is a collection")
  const glyphs = new Map<number, number>()
  return {
    name,
    postScriptName: font.postscriptName,
    font,
    // Not the Buffer itself: what a Buffer calls a slice is the same memory, and subsets change theirs.
    tables: readTrueType(new Uint8Array(file.buffer, file.byteOffset, file.length)),
    scale: source.scale,
    monospaced: source.monospaced ?? false,
    glyph: codePoint => {
      const known = glyphs.get(codePoint)
      if (known !== undefined) return known
      const glyph = font.hasGlyphForCodePoint(codePoint) ? font.glyphForCodePoint(codePoint).id : 0
      glyphs.set(codePoint, glyph)
      return glyph
    },
  }
}
