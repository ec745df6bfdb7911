/** What a user may have meant by an argument that names no file. Loaded only for one. */
import { nearestWord } from "@runseal/core/presentation/nearest-word"

/** Words that other programs have for what `verifier` does, and how it is done here. */
const OTHER_WORDS: Readonly<Record<string, string>> = {
  verify: "a document needs no command before it, as in verifier bundle.json",
  check: "a document needs no command before it, as in verifier bundle.json",
  validate: "a document needs no command before it, as in verifier bundle.json",
  audit: "did you mean verifier log audit?",
  schema: "did you mean verifier json-schema?",
  man: "did you mean verifier manual?",
  version: "did you mean verifier --version?",
}
/** A hint for a word that is no file and may be meant as a command; undefined when it is like none. @param commands their names */
export function commandHint(word: string, commands: Iterable<string>): string | undefined {
  const other = Object.hasOwn(OTHER_WORDS, word) ? OTHER_WORDS[word] : undefined
  if (other !== undefined) return other
  const near = nearestWord(word, commands)
  return near === undefined ? undefined : `did you mean verifier ${near}?`
}
