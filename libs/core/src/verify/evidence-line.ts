/** The lines of an evidence summary: what a document states, for people. The report says what of it was checked. */

/** A fact: `label` for people, `key` for programs. */
export type EvidenceLine = { readonly key: string; readonly label: string; readonly value: string }

const LABELS: Readonly<Record<string, string>> = {
  payload_hash: "payload SHA-256",
  ai_output_hash: "AI output SHA-256",
  declared_output_hash: "output SHA-256 as declared",
  complete_record_entry: "complete-record entry",
}

/** The line of a fact; none where the document does not state it. */
export const line = (key: string, value: string | number | undefined): readonly EvidenceLine[] =>
  value === undefined ? [] : [{ key, label: LABELS[key] ?? key.replaceAll("_", " "), value: `${value}` }]
