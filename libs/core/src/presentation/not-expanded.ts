/**
 * Why compressed input is not read. The same sentence everywhere, because decoders find the same fault at different places: Node's ignores
 * zeros behind a stream, a browser's refuses them, and neither says which of these it found.
 */
export const NOT_EXPANDED = "could not be expanded: it was cut off, is damaged, or has something behind its end"
