/**
 * Patterns that may take more than linear time on some text, and why that text never comes, or is too short to matter. To
 * add a pattern to the code it is enough that it is not slow; to add one here it takes a reason.
 */
export const SLOW_PATTERNS: Readonly<Record<string, string>> = {
  "/=.*$/s": "Of an option that the operator mistyped.",
  "/ argument '.*' is invalid/s": "Of an option that the operator mistyped.",
  "/\\/+$/": "The address of a reviewer, an option of the operator's.",
  "/(?:^|,)[ \\t]*chunked$/i": "A comma ends every try; the header is bounded.",
  "/\\\\[xpP]\\{[^}]*\\}|\\\\x[0-9a-f]{2}|\\\\.|\\[\\^?(?:\\\\.|[^\\]\\\\])+\\]/gis":
    "A signature of the operator's library.",
  "/\\\\[xpP]\\{[^}]*\\}|\\\\./g": "A signature of the operator's library.",
  "/.*?[A-Za-z0-9]-(?=[A-Za-z])|.+/g": "Whatever the first half passes over in vain, the second half takes whole.",
  '/<meta http-equiv="Content-Security-Policy" content="([^"]+)"/': "A page of our own.",
  "/^ +| +$/g": "A header field of at most 1024 characters.",
}
