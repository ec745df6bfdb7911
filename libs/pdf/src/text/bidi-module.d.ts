/** The part of bidi-js that is used. Its own types describe the CommonJS file; Node loads this one. */
declare module "bidi-js/dist/bidi.mjs" {
  type Levels = {
    readonly levels: Uint8Array
    readonly paragraphs: readonly { readonly start: number; readonly end: number; readonly level: number }[]
  }
  type Bidi = {
    getEmbeddingLevels(text: string, direction: "ltr" | "rtl" | "auto"): Levels
    getMirroredCharacter(character: string): string | null
  }
  const bidiFactory: () => Bidi
  export = bidiFactory
}
